"""Recordings and podcasts on the command line."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from factible_assets.corpora.reading import load_corpora, load_corpus
from factible_assets.settings import Settings
from resources.models.base import read_receipt
from tests.cli.conftest import Run
from tests.servers import MisbehavingServer, respond
from tests.speech import SPEECH, add_whisper, needs_whisper, weights

FEED = """<rss version="2.0"><channel><title>Everyday Talks</title>
<item><title>Walls</title><enclosure url="/walls.mp3" type="audio/mpeg"/></item>
<item><title>News</title></item></channel></rss>"""


@needs_whisper
def test_a_recording_without_a_model_names_the_command_and_leaves_nothing(
    factible: Run, home: Path
) -> None:
    result = factible("check", SPEECH)
    assert result.exit_code == 5
    assert "factible models pull whisper" in result.stderr
    assert not home.exists()


@needs_whisper
def test_a_model_is_added_from_the_folder_that_has_it(factible: Run, home: Path) -> None:
    result = factible("models", "add", "whisper-en", weights())
    assert result.exit_code == 0, result.stderr
    assert read_receipt(home, "whisper-en") is not None
    assert "recognises speech" in factible("models", "list", "--json").stdout


@needs_whisper
def test_speech_goes_in_and_verdicts_come_out(factible: Run, home: Path, tmp_path: Path) -> None:
    add_whisper(home)
    talk = shutil.copy(SPEECH, tmp_path / "Everyday talk.mp3")
    result = factible("check", talk, "--web", "miniature", "--max-claims", "2")
    assert result.exit_code in {0, 3}, result.stderr
    assert "Great Wall" in result.stdout
    (listed,) = (
        each
        for each in load_corpora(Settings(home=home).corpus_folders).videos()
        if each.file.parent == home / "corpora"
    )
    assert listed.video.title == "Everyday talk"
    assert listed.media is not None
    assert listed.media.read_bytes() == SPEECH.read_bytes()
    again = factible("check", talk)
    assert "Checked before" in again.stderr


def test_a_video_of_ones_own_can_be_listed_with_its_recording(factible: Run, home: Path) -> None:
    result = factible("corpus", "add", "my-talk", "--media", SPEECH)
    assert result.exit_code == 0, result.stderr
    listed = load_corpora(Settings(home=home).corpus_folders).find("my-talk")
    assert listed is not None
    assert listed.media == home / "corpora" / "recordings" / "my-talk.mp3"


async def test_a_feed_becomes_a_corpus(
    factible: Run, home: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = server.names.find("pods.example", 80)
    assert place is not None
    monkeypatch.setenv("FACTIBLE_HOSTS", f"pods.example={place[0]}:{place[1]}")
    server.on("/feed.xml", respond(FEED, content_type="application/rss+xml"))
    result = await asyncio.to_thread(factible, "corpus", "add", "http://pods.example/feed.xml")
    assert result.exit_code == 0, result.stderr
    assert "1 episode of Everyday Talks added" in result.stdout
    assert "1 item has neither a transcript nor a recording" in result.stderr
    (corpus,) = load_corpus(home / "corpora" / "everyday-talks.yaml").corpora
    assert corpus.videos[0].entry.recording_url == "http://pods.example/walls.mp3"
    gone = await asyncio.to_thread(factible, "corpus", "add", "http://pods.example/gone.xml")
    assert gone.exit_code == 4
    assert "404" in gone.stderr


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1/feed.xml", "not a public address"),
        ("https://www.youtube.com/playlist?list=PL1", "names a playlist"),
    ],
)
def test_an_address_without_a_feed_gets_a_sentence(
    factible: Run, home: Path, address: str, words: str
) -> None:
    result = factible("corpus", "add", address)
    assert result.exit_code == 4
    assert words in result.stderr
    assert not (home / "corpora").exists() or not list((home / "corpora").glob("*.yaml"))


def test_a_feed_is_not_described_by_options(factible: Run) -> None:
    result = factible("corpus", "add", "https://pods.example/feed.xml", "--title", "Mine")
    assert result.exit_code == 2
    assert "--limit" in result.stderr
