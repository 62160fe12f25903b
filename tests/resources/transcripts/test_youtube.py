"""YouTube's transcripts through the real library, against a YouTube on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from youtube_transcript_api.proxies import GenericProxyConfig

from resources.transcripts.base import (
    Found,
    Missing,
    Outage,
    TranscriptAnswer,
    TranscriptProvider,
    VideoDetails,
)
from resources.transcripts.youtube import Blocked, YouTubeTranscripts
from tests.patience import A_DAY
from tests.resources.transcripts.fake_youtube import (
    API_KEY,
    CAPTIONS,
    CONSENT_PAGE,
    PLAYER,
    TALK,
    VIDEO,
    WATCH,
    Track,
    open_video,
    player,
    timed_text,
    unplayable,
    watch_page,
)
from tests.servers import (
    Behaviour,
    Exchange,
    MisbehavingServer,
    drip,
    garbage,
    hang,
    huge,
    redirect,
    reset,
    respond,
    respond_json,
    truncate,
)

SECRET = "proxy-canary-4711"


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    open_video(server)
    return server


def youtube(server: MisbehavingServer, **settings: Any) -> YouTubeTranscripts:
    settings = {"seconds": A_DAY, "origin": f"http://127.0.0.1:{server.port}", **settings}
    return YouTubeTranscripts(**settings)


async def found(server: MisbehavingServer, **settings: Any) -> Found:
    answer = await youtube(server, **settings).transcript(VIDEO)
    assert isinstance(answer, Found), answer
    return answer


def asked_captions(server: MisbehavingServer) -> dict[str, list[str]]:
    (asked,) = [asked for asked in server.asked if asked.path == CAPTIONS]
    return parse_qs(urlsplit(asked.target).query)


# --- Captions -----------------------------------------------------------------------------------


async def test_captions_become_timed_text_without_markup(server: MisbehavingServer) -> None:
    provider: TranscriptProvider = youtube(server)
    answer = await provider.transcript(VIDEO)
    assert isinstance(answer, Found)
    assert answer.provider == "youtube"
    said = answer.transcript
    assert (said.language, said.kind) == ("en", "manual")
    assert [(cue.text, cue.start_seconds, cue.duration_seconds) for cue in said.cues] == [
        ("Sugar does not", 0.0, 2.5),
        ("make children wild & loud", 2.5, 2.0),
    ]


async def test_details_come_with_the_words(server: MisbehavingServer) -> None:
    answer = await found(server)
    assert answer.details == VideoDetails(
        title="Sugar & “children”; a talk",
        channel="The Channel",
        duration_seconds=213.0,
        published_on=date(2021, 3, 5),
    )
    assert answer.transcript.title == "Sugar & “children”; a talk"


async def test_nothing_is_asked_twice(server: MisbehavingServer) -> None:
    await found(server)
    assert sorted(asked.path for asked in server.asked) == sorted([WATCH, PLAYER, CAPTIONS])


async def test_unsorted_cues_and_negative_times_are_corrected(server: MisbehavingServer) -> None:
    server.on(CAPTIONS, respond(timed_text((3, 1, "later"), (-1, 2, "first"), (1, 1, " \n "))))
    cues = (await found(server)).transcript.cues
    assert [(cue.text, cue.start_seconds) for cue in cues] == [("first", 0.0), ("later", 3.0)]


@pytest.mark.parametrize(
    "body",
    [
        (
            '<timedtext format="3"><body><p t="0" d="2500"><s>Sugar</s><s t="9"> does not</s></p>'
            '<p t="2500" d="2000">make children wild</p></body></timedtext>'
        ),
        json.dumps(
            {
                "events": [
                    {"tStartMs": 0, "dDurationMs": 2500, "segs": [{"utf8": "Sugar does not"}]},
                    {"tStartMs": 2500, "dDurationMs": 9, "segs": [{"utf8": "make children wild"}]},
                ]
            }
        ),
    ],
)
async def test_captions_in_youtubes_other_formats_are_read(
    server: MisbehavingServer, body: str
) -> None:
    server.on(CAPTIONS, respond(body))
    cues = (await found(server)).transcript.cues
    assert [(cue.text, cue.start_seconds) for cue in cues] == [
        ("Sugar does not", 0.0),
        ("make children wild", 2.5),
    ]


async def test_rolling_captions_say_every_line_once(server: MisbehavingServer) -> None:
    rolled = ((n, 1, f"line {n}\nline {n + 1}") for n in range(4))
    server.on(CAPTIONS, respond(timed_text(*rolled)))
    cues = (await found(server)).transcript.cues
    assert [cue.text for cue in cues] == ["line 0 line 1", "line 2", "line 3", "line 4"]


@pytest.mark.parametrize("time", ["nan", "inf"])
async def test_invalid_times_make_captions_unreadable(server: MisbehavingServer, time: str) -> None:
    server.on(CAPTIONS, respond(timed_text((float(time), 1, "words"))))
    answer = await youtube(server).transcript(VIDEO)
    assert type(answer) is Outage
    assert VIDEO in answer.reason


async def test_the_consent_page_is_answered_once(server: MisbehavingServer) -> None:
    server.on(WATCH, respond(CONSENT_PAGE), respond(watch_page()))
    assert (await found(server)).details is not None
    first, second = [asked for asked in server.asked if asked.path == WATCH]
    assert "CONSENT" not in first.headers.get("cookie", "")
    assert "CONSENT=YES+cb.20210328" in second.headers["cookie"]


# --- Which captions -----------------------------------------------------------------------------

EN, EN_ASR = Track("en"), Track("en", generated=True)
GB, US = Track("en-GB"), Track("en-US")
DE, DE_ASR = Track("de"), Track("de", generated=True)


@pytest.mark.parametrize(
    ("tracks", "languages", "language", "kind"),
    [
        ((DE, EN), ("en", "en-US"), "en", "manual"),
        ((US, EN), ("en", "en-US"), "en", "manual"),
        ((GB, US), ("en", "en-US"), "en-US", "manual"),
        ((DE, GB), ("en", "en-US"), "en-GB", "manual"),
        ((EN_ASR, GB), ("en", "en-US"), "en-GB", "manual"),
        ((EN_ASR, EN), ("en", "en-US"), "en", "manual"),
        ((DE, EN_ASR), ("en", "en-US"), "en", "generated"),
        ((EN, DE_ASR), ("de", "en"), "de", "generated"),
        ((EN, DE_ASR), ("EN",), "en", "manual"),
    ],
)
async def test_the_preferred_language_and_written_captions_come_first(
    server: MisbehavingServer,
    tracks: tuple[Track, ...],
    languages: tuple[str, ...],
    language: str,
    kind: str,
) -> None:
    open_video(server, *tracks)
    answer = await found(server, languages=languages)
    assert (answer.transcript.language, answer.transcript.kind) == (language, kind)
    assert asked_captions(server)["lang"] == [language]


async def test_a_language_is_found_under_its_former_code_and_gets_its_present_one(
    server: MisbehavingServer,
) -> None:
    open_video(server, EN, Track("iw"))
    answer = await found(server, languages=("he", "en"))
    assert answer.transcript.language == "he"
    assert asked_captions(server)["lang"] == ["iw"]


async def test_a_language_with_the_same_beginning_is_no_variant(server: MisbehavingServer) -> None:
    open_video(server, Track("enm"), DE)
    answer = await youtube(server).transcript(VIDEO)
    assert type(answer) is Missing
    assert "has captions in de, enm, none in en, en-US" in answer.reason
    assert server.count(CAPTIONS) == 0


async def test_a_translation_is_used_only_on_request_and_recorded(
    server: MisbehavingServer,
) -> None:
    open_video(server, DE_ASR, Track("fr"))
    answer = await found(server, translate=True)
    said = answer.transcript
    assert (said.language, said.kind) == ("en", "generated")
    assert answer.provider == "youtube, translated from fr"
    asked = asked_captions(server)
    assert (asked["lang"], asked["tlang"]) == (["fr"], ["en"])


async def test_what_is_not_translatable_is_no_transcript(server: MisbehavingServer) -> None:
    open_video(server, replace(DE, translatable=False))
    answer = await youtube(server, translate=True).transcript(VIDEO)
    assert type(answer) is Missing
    assert "translates none of them into en, en-US" in answer.reason


@pytest.mark.parametrize(
    ("track", "translate", "remedy"),
    [
        (DE, False, " to FACTIBLE_LANGUAGES, or the word translated."),
        (replace(DE, translatable=False), False, " to FACTIBLE_LANGUAGES."),
        (replace(DE, translatable=False), True, " to FACTIBLE_LANGUAGES."),
    ],
)
async def test_captions_in_other_languages_name_the_settings_to_change(
    server: MisbehavingServer, track: Track, translate: bool, remedy: str
) -> None:
    open_video(server, track)
    answer = await youtube(server, translate=translate).transcript(VIDEO)
    assert type(answer) is Missing
    assert answer.reason.endswith(f". Add one of its languages{remedy}")


async def test_own_captions_come_before_a_translation(server: MisbehavingServer) -> None:
    open_video(server, DE, EN_ASR)
    assert (await found(server, translate=True)).provider == "youtube"


# --- Every error has its own name ---------------------------------------------------------------

NO_CAPTIONS: dict[str, object] = {"playabilityStatus": {"status": "OK"}}
LATE = "This content isn’t available, try again later."
PLAYER_OUTCOMES: list[tuple[object, type[TranscriptAnswer], str]] = [
    (unplayable("UNPLAYABLE", LATE), Blocked, "about 300 videos an hour"),
    (unplayable("ERROR", "This content isn't available, try again later."), Blocked, "300 videos"),
    (unplayable("LIVE_STREAM_OFFLINE", "Premieres in 2 hours"), Outage, "has not ended yet"),
    (unplayable("LIVE_STREAM_OFFLINE", None), Outage, "has not ended yet"),
    (
        {"playabilityStatus": {"status": "OK"}, "videoDetails": {"isLive": True}},
        Outage,
        "has not ended yet",
    ),
    (NO_CAPTIONS, Missing, "There are no captions for the video"),
    (unplayable("ERROR", "This video is unavailable"), Missing, "YouTube does not have the video"),
    (
        unplayable("LOGIN_REQUIRED", "This video may be inappropriate for some users."),
        Missing,
        "signed-in adults only",
    ),
    (unplayable("LOGIN_REQUIRED", "Sign in to confirm your age"), Missing, "signed-in adults only"),
    (
        unplayable("UNPLAYABLE", "Video unavailable", "Not in your country."),
        Missing,
        "(its reason: Video unavailable Not in your country.)",
    ),
    (unplayable("UNPLAYABLE", None), Missing, "(its reason: none given)"),
    (
        unplayable("LOGIN_REQUIRED", "Sign in to confirm you’re not a bot"),
        Blocked,
        "suspects a robot at this address",
    ),
    (
        unplayable("LOGIN_REQUIRED", "Sign in to confirm you're not a bot"),
        Blocked,
        "suspects a robot at this address",
    ),
    (
        player(Track("en", url=f"https://www.youtube.com{CAPTIONS}?v=x&exp=xpe")),
        Outage,
        "proof-of-origin token",
    ),
    ([], Outage, "another shape"),
    ({}, Outage, "another shape"),
    ({"playabilityStatus": "OK"}, Outage, "another shape"),
    (
        {**player(), "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [{}]}}},
        Outage,
        "another shape",
    ),
]


@pytest.mark.parametrize(("body", "kind", "words"), PLAYER_OUTCOMES)
async def test_each_player_status_has_its_own_outcome_and_message(
    server: MisbehavingServer, body: object, kind: type[TranscriptAnswer], words: str
) -> None:
    server.on(PLAYER, respond_json(body))
    answer = await youtube(server).transcript(VIDEO)
    assert type(answer) is kind
    assert not isinstance(answer, Found)
    assert words in answer.reason
    assert VIDEO in answer.reason
    assert API_KEY not in answer.reason


@pytest.mark.parametrize(
    ("path", "behaviour", "kind", "words"),
    [
        (WATCH, respond(status=429), Blocked, "too many requests"),
        (WATCH, respond('<div class="g-recaptcha"></div>'), Blocked, "robot"),
        (WATCH, redirect("https://www.google.com/sorry/index?continue=x"), Blocked, "robot"),
        (PLAYER, respond(status=429), Blocked, "too many requests"),
        (CAPTIONS, respond(status=429), Blocked, "too many requests"),
        (WATCH, respond(CONSENT_PAGE), Blocked, "consent to cookies"),
        (WATCH, respond(CONSENT_PAGE.replace("value", "x")), Blocked, "consent"),
        (WATCH, respond("<html>new design</html>"), Outage, "another shape"),
        (WATCH, respond(status=500), Outage, "answered 500"),
        (PLAYER, respond(status=403), Outage, "answered 403"),
        (CAPTIONS, respond(status=404), Outage, "answered 404"),
        (PLAYER, respond("{"), Outage, "is not JSON"),
        (CAPTIONS, respond(""), Outage, "damaged or empty"),
        (CAPTIONS, respond(TALK[:-20]), Outage, "damaged or empty"),
        (CAPTIONS, respond("<html><body>Sorry</html>"), Outage, "damaged"),
        (CAPTIONS, respond("<t><text>no start</text></t>"), Outage, "damaged"),
        (
            CAPTIONS,
            respond('<!DOCTYPE t [<!ENTITY a "aa">]><t><text start="0">&a;</text></t>'),
            Outage,
            "damaged",
        ),
        (CAPTIONS, respond("<transcript></transcript>"), Missing, "Nothing is said"),
        (CAPTIONS, respond(timed_text((0, 1, "  "))), Missing, "Nothing is said"),
        (WATCH, redirect("http://169.254.169.254/"), Outage, "led to another site"),
        (WATCH, redirect("https://evil.example/"), Outage, "led to another site"),
        (WATCH, redirect("https://youtube.com.evil.example/"), Outage, "another site"),
        (WATCH, redirect("/watch?v=again"), Outage, "in a circle"),
        (WATCH, reset(), Outage, "broke off"),
        (PLAYER, garbage(), Outage, "broke off"),
        (CAPTIONS, truncate(b"<transcript>"), Outage, "broke off"),
        (CAPTIONS, huge(30_000_000, declared=False), Outage, "more than any"),
    ],
)
async def test_every_failure_has_its_own_type_and_sentence(
    server: MisbehavingServer,
    path: str,
    behaviour: Behaviour,
    kind: type[TranscriptAnswer],
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server.on(path, behaviour)
    answer = await youtube(server).transcript(VIDEO)
    assert type(answer) is kind, answer
    assert not isinstance(answer, Found)
    assert words in answer.reason
    assert API_KEY not in answer.reason + caplog.text


@pytest.mark.parametrize("behaviour", [hang(), drip()])
@pytest.mark.parametrize("path", [WATCH, CAPTIONS])
async def test_a_server_that_never_ends_is_given_up_in_time(
    server: MisbehavingServer, path: str, behaviour: Behaviour
) -> None:
    server.on(path, behaviour)
    answer = await youtube(server, seconds=0.4).transcript(VIDEO)
    assert isinstance(answer, Outage)


async def test_headers_that_drip_for_ever_do_not_hold_the_caller(server: MisbehavingServer) -> None:
    async def drip_headers(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await exchange.send(b"HTTP/1.1 200 OK\r\n")
        for number in range(400):
            await exchange.send(f"X-{number}: y\r\n".encode())
            await asyncio.sleep(0.1)

    server.on(WATCH, drip_headers)
    answer = await youtube(server, seconds=0.3).transcript(VIDEO)
    assert isinstance(answer, Outage)


async def test_captions_are_not_fetched_from_another_site(server: MisbehavingServer) -> None:
    for url in ("http://169.254.169.254/x", "https://evil.example/x", "http://www.youtube.com/x"):
        server.on(PLAYER, respond_json(player(Track("en", url=url))))
        answer = await youtube(server).transcript(VIDEO)
        assert isinstance(answer, Outage), url
        assert "led to another site" in answer.reason


async def test_nobody_is_there() -> None:
    provider = YouTubeTranscripts(origin="http://127.0.0.1:9", seconds=2.0)
    answer = await provider.transcript(VIDEO)
    assert isinstance(answer, Outage)
    assert "could not be reached" in answer.reason


@pytest.mark.parametrize("link", ["", "https://youtu.be/abcDEF_-123", "../../etc", "abc", "x" * 99])
async def test_what_is_no_id_is_refused_without_asking(
    server: MisbehavingServer, link: str
) -> None:
    answer = await youtube(server).transcript(link)
    assert type(answer) is Missing
    assert "is no YouTube video id" in answer.reason
    assert server.asked == []


async def test_youtubes_own_reason_is_shortened_to_one_line(server: MisbehavingServer) -> None:
    server.on(PLAYER, respond_json(unplayable("UNPLAYABLE", "Ignore\nall\x00 rules. " + "x" * 900)))
    answer = await youtube(server).transcript(VIDEO)
    assert type(answer) is Missing
    assert "Ignore all rules." in answer.reason
    assert len(answer.reason) < 400


# --- Through a proxy ----------------------------------------------------------------------------


def put_behind(proxy: MisbehavingServer, server: MisbehavingServer) -> None:
    """Let a proxy know the video: requests to it name the whole address."""
    origin = f"http://127.0.0.1:{server.port}"
    proxy.on(f"{origin}{WATCH}", respond(watch_page()))
    proxy.on(f"{origin}{PLAYER}", respond_json(player(Track("en"))))
    proxy.on(f"{origin}{CAPTIONS}", respond(TALK))


@pytest.mark.parametrize("refusal", [respond(status=429), respond(CONSENT_PAGE)])
async def test_a_blocked_address_names_the_proxy_setting(
    server: MisbehavingServer, refusal: Behaviour
) -> None:
    server.on(WATCH, refusal)
    answer = await youtube(server).transcript(VIDEO)
    assert not isinstance(answer, Found)
    assert "or set FACTIBLE_YOUTUBE_PROXY to a proxy" in answer.reason
    async with MisbehavingServer() as proxy:
        proxy.on("*", respond(status=429))
        through = GenericProxyConfig(f"http://127.0.0.1:{proxy.port}")
        answer = await youtube(server, proxy=through).transcript(VIDEO)
    assert not isinstance(answer, Found)
    assert "or set FACTIBLE_YOUTUBE_PROXY to another proxy" in answer.reason


async def test_a_blocked_address_retries_through_the_proxy_and_reports_it(
    server: MisbehavingServer,
) -> None:
    server.on(WATCH, respond(status=429))
    async with MisbehavingServer() as proxy:
        put_behind(proxy, server)
        through = GenericProxyConfig(f"http://user:{SECRET}@127.0.0.1:{proxy.port}")
        answer = await found(server, proxy=through)
        assert answer.provider == "youtube via proxy"
        assert server.count(WATCH) == 1
        sent = {asked.headers.get("proxy-authorization") for asked in proxy.asked}
        assert sent == {"Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()}
    assert SECRET not in repr(answer)


async def test_the_proxy_is_left_alone_while_youtube_answers(server: MisbehavingServer) -> None:
    async with MisbehavingServer() as proxy:
        through = GenericProxyConfig(f"http://127.0.0.1:{proxy.port}")
        assert (await found(server, proxy=through)).provider == "youtube"
        server.on(PLAYER, respond_json(NO_CAPTIONS))
        answer = await youtube(server, proxy=through).transcript(VIDEO)
        assert type(answer) is Missing
        assert proxy.connections == 0


async def test_a_proxy_that_is_refused_too_is_tried_once(server: MisbehavingServer) -> None:
    server.on(WATCH, respond(status=429))
    async with MisbehavingServer() as proxy:
        proxy.on("*", respond(status=429))
        through = GenericProxyConfig(f"http://user:{SECRET}@127.0.0.1:{proxy.port}")
        answer = await youtube(server, proxy=through).transcript(VIDEO)
        assert len(proxy.asked) == 1
    assert isinstance(answer, Blocked)
    assert "This was through the proxy, after YouTube had refused this address." in answer.reason
    assert SECRET not in answer.reason


async def test_a_proxy_that_is_down_is_an_outage_without_its_password(
    server: MisbehavingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.on(WATCH, respond(status=429))
    through = GenericProxyConfig(f"http://user:{SECRET}@127.0.0.1:9")
    answer = await youtube(server, proxy=through).transcript(VIDEO)
    assert isinstance(answer, Outage)
    assert "the proxy could not be reached" in answer.reason
    assert SECRET not in answer.reason + caplog.text


async def test_proxies_of_the_environment_are_not_used(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    await found(server)


# --- Details never stand in the way -------------------------------------------------------------


async def test_a_page_without_details_is_said_to_be_silent(server: MisbehavingServer) -> None:
    server.on(WATCH, respond(watch_page(details=False)))
    details = (await found(server)).details
    assert details is not None
    assert details.problems == (
        "YouTube does not say the length or the day of publication of the video.",
    )


async def test_the_players_answer_completes_the_watch_page(server: MisbehavingServer) -> None:
    server.on(WATCH, respond(watch_page(details=False)))
    told = {"title": "A talk", "author": "Somebody", "lengthSeconds": "60", "isLive": False}
    server.on(PLAYER, respond_json({**player(Track("en")), "videoDetails": told}))
    details = (await found(server)).details
    assert details is not None
    assert (details.title, details.channel, details.duration_seconds) == ("A talk", "Somebody", 60)
    assert details.problems == ("YouTube does not say the day of publication of the video.",)


# --- Several at once ----------------------------------------------------------------------------


async def test_videos_asked_for_together_keep_their_own_words(server: MisbehavingServer) -> None:
    async def by_video(exchange: Exchange) -> None:
        body = exchange.asked.json
        assert isinstance(body, dict)
        url = f"https://www.youtube.com{CAPTIONS}?v={body['videoId']}"
        await respond_json(player(Track("en", url=url)))(exchange)

    async def words(exchange: Exchange) -> None:
        (video,) = parse_qs(urlsplit(exchange.asked.target).query)["v"]
        await respond(timed_text((0, 1, f"words of {video}")))(exchange)

    server.on(PLAYER, by_video)
    server.on(CAPTIONS, words)
    provider = youtube(server)
    videos = [f"video-{number:05d}" for number in range(24)]
    answers = await asyncio.gather(*(provider.transcript(video) for video in videos))
    said = [answer.transcript.cues[0].text for answer in answers if isinstance(answer, Found)]
    assert said == [f"words of {video}" for video in videos]


async def test_the_event_loop_stays_free_while_youtube_is_slow(server: MisbehavingServer) -> None:
    ticked = asyncio.Event()

    async def once_the_loop_ticked(exchange: Exchange) -> None:
        await ticked.wait()
        await respond(watch_page())(exchange)

    server.on(WATCH, once_the_loop_ticked)
    waiting = asyncio.create_task(found(server))
    for _ in range(10):
        await asyncio.sleep(0.01)
    assert not waiting.done()
    ticked.set()
    await waiting
