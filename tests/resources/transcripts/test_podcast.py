"""Podcast feeds, and the transcripts and recordings that their episodes link to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.text_files import PlacedError
from resources.transcripts import podcast
from resources.transcripts.base import Found, Missing, Outage
from resources.transcripts.podcast import LinkedRecording, LinkedTranscript, parse_feed
from resources.transcripts.recording import RecordingTranscript
from tests.servers import MisbehavingServer, respond, truncate
from tests.speech import SPEECH, needs_whisper, weights

FEED = "https://pods.example/feeds/talks.xml"
HEAD = (
    '<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel>'
    "<title>Everyday Talks</title><language>en-us</language>"
)


def feed(*items: str) -> bytes:
    return f"{HEAD}{''.join(f'<item>{each}</item>' for each in items)}</channel></rss>".encode()


def test_an_episode_has_its_title_day_length_and_links() -> None:
    read = parse_feed(
        feed(
            "<title>Walls</title><guid>a-1</guid><link>/1</link>"
            "<pubDate>Tue, 04 Mar 2025 10:00:00 GMT</pubDate>"
            "<itunes:duration>1:02:03</itunes:duration>"
            '<enclosure url="../walls.mp3" type="audio/mpeg"/>',
            "<title>News</title>",
        ),
        FEED,
    )
    (episode,) = read.episodes
    assert (read.title, read.language, read.without_words) == ("Everyday Talks", "en-us", 1)
    assert (episode.identity, episode.title) == ("a-1", "Walls")
    assert episode.page_url == "https://pods.example/1"
    assert episode.recording_url == "https://pods.example/walls.mp3"
    assert episode.published_on == date(2025, 3, 4)
    assert episode.duration_seconds == 3_723


@pytest.mark.parametrize("day", ["soon", f"Tue, 04 Mar {'9' * 20} 10:00:00 GMT"])
def test_an_unreadable_day_is_unknown(day: str) -> None:
    item = f'<pubDate>{day}</pubDate><enclosure url="/1.mp3" type="audio/mpeg"/>'
    assert parse_feed(feed(item), FEED).episodes[0].published_on is None


def test_a_transcript_with_times_comes_before_one_without() -> None:
    links = "".join(
        f'<podcast:transcript url="/bats.{each}" type="{kind}"/>'
        for each, kind in (("txt", "text/plain"), ("vtt", "TEXT/VTT"), ("html", "text/html"))
    )
    (episode,) = parse_feed(feed(f"<title>Bats</title>{links}"), FEED).episodes
    assert episode.transcript_url == "https://pods.example/bats.vtt"
    assert episode.recording_url is None


@pytest.mark.parametrize("link", ["javascript:alert(1)", "file:///etc/passwd", "http://[", ""])
def test_a_link_that_is_no_web_address_is_none(link: str) -> None:
    with pytest.raises(PlacedError, match="No episode"):
        parse_feed(feed(f'<enclosure url="{link}" type="audio/mpeg"/>'), FEED)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<html><body>No feed</body></html>", "no RSS feed"),
        (b"ID3\x04", "no XML"),
        (b"", "no XML"),
        (b'<!DOCTYPE rss [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><rss>&b;</rss>', "entities"),
        (b'<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/hosts">]><rss>&a;</rss>', "entities"),
    ],
)
def test_what_is_no_feed_is_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(PlacedError, match=sentence):
        parse_feed(content, FEED)


def test_a_feed_without_end_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podcast, "MAX_EPISODES", 2)
    items = (f'<enclosure url="/{each}.mp3" type="audio/mpeg"/>' for each in range(5))
    read = parse_feed(feed(*items), FEED)
    assert (len(read.episodes), read.beyond_limit) == (2, 3)


@given(st.one_of(st.binary(), st.text().map(feed)))
def test_no_content_breaks_the_reader(content: bytes) -> None:
    with contextlib.suppress(PlacedError):
        assert parse_feed(content, FEED).episodes


@pytest.fixture
def client(server: MisbehavingServer) -> Callable[[], HttpClient]:
    return partial(
        HttpClient,
        guard=NetworkGuard(server.names),
        limits=HttpLimits(),
        retry=RetryPolicy(attempts=1),
    )


async def test_a_linked_transcript_is_fetched_and_read(
    server: MisbehavingServer, client: Callable[[], HttpClient]
) -> None:
    cue = "00:01.000 --> 00:02.000\n<v Ann>Bats <00:01.500>sleep."
    server.on("/bats.vtt", respond(f"WEBVTT\n\n{cue}\n"))
    answer = await LinkedTranscript("http://pods.example/bats.vtt", client, "en").transcript("e")
    assert isinstance(answer, Found)
    (read,) = answer.transcript.cues
    assert (read.text, read.speaker, answer.provider) == ("Bats sleep.", "Ann", "podcast")
    assert (answer.transcript.language, answer.transcript.kind) == ("en", "generated")


async def test_a_deleted_transcript_is_missing_but_a_failed_server_is_an_outage(
    server: MisbehavingServer, client: Callable[[], HttpClient]
) -> None:
    server.on("/gone.vtt", respond(status=404))
    server.on("/busy.vtt", respond(status=503))
    server.on("/page.vtt", respond("<html><body><p>Please log in.</p></body></html>"))
    answers = {
        name: await LinkedTranscript(f"http://pods.example/{name}.vtt", client).transcript("e")
        for name in ("gone", "busy", "page")
    }
    assert {name: type(answer) for name, answer in answers.items()} == {
        "gone": Missing,
        "busy": Outage,
        "page": Missing,
    }


async def test_a_link_into_the_own_network_is_not_followed() -> None:
    client = partial(HttpClient, retry=RetryPolicy(attempts=1))
    answer = await LinkedTranscript("http://127.0.0.1/secret", client).transcript("e")
    assert type(answer) is Missing
    assert "not a public address" in answer.reason


async def test_no_recording_is_fetched_that_cannot_be_heard(
    server: MisbehavingServer, client: Callable[[], HttpClient]
) -> None:
    recognise = partial(RecordingTranscript, model=None)
    provider = LinkedRecording("http://pods.example/talk.mp3", client, recognise)
    assert type(await provider.transcript("e")) is Missing
    assert server.asked == []


@needs_whisper
async def test_a_linked_recording_is_fetched_and_heard(
    server: MisbehavingServer, client: Callable[[], HttpClient]
) -> None:
    server.on("/talk", respond(SPEECH.read_bytes(), content_type="audio/mpeg"))
    server.on("/cut", truncate(SPEECH.read_bytes()[:9_000]))
    recognise = partial(RecordingTranscript, model=weights())
    answer = await LinkedRecording("http://pods.example/talk", client, recognise).transcript("e")
    assert isinstance(answer, Found)
    assert "visible from the moon" in answer.transcript.cues[0].text
    cut = await LinkedRecording("http://pods.example/cut", client, recognise).transcript("e")
    assert type(cut) is Outage


@needs_whisper
async def test_a_recording_beyond_the_limit_is_not_kept(
    server: MisbehavingServer,
    client: Callable[[], HttpClient],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(podcast, "MAX_RECORDING_BYTES", 10_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server.on("/talk.mp3", respond(SPEECH.read_bytes()))
    recognise = partial(RecordingTranscript, model=weights())
    provider = LinkedRecording("http://pods.example/talk.mp3", client, recognise)
    answer = await provider.transcript("e")
    assert isinstance(answer, Missing)
    assert "0.01 MB" in answer.reason
    assert not any(await asyncio.to_thread(lambda: [*tmp_path.iterdir()]))
