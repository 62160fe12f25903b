"""Transcripts and details of YouTube videos, through youtube-transcript-api.

The library's client is not thread-safe. Every call therefore makes its own client and session in
its worker thread. The library uses `requests` and sets no time limit, so this has a session of its
own: all requests of a call share one deadline, bodies have a size limit, and no redirect leads away
from YouTube. It ignores proxies of the environment.

Error messages repeat no words of YouTube or the library, which may contain addresses with keys,
except YouTube's own reason for not showing a video, shortened.
"""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

import requests
import urllib3
import yaml
import youtube_transcript_api as library
from requests.adapters import HTTPAdapter
from youtube_transcript_api import Transcript, TranscriptList, YouTubeTranscriptApi
from youtube_transcript_api.proxies import ProxyConfig

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.file import parse_transcript
from resources.transcripts.segments import NothingSaidError, one_line
from resources.transcripts.youtube_ids import is_video_id

ORIGIN = "https://www.youtube.com"
MAX_BYTES = 20_000_000
"""Limit of one answer. A watch page has 1 to 2 MB, the captions of three hours 0.5 MB."""
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 15.0
_MAX_REDIRECTS = 5
_CHUNK = 65_536
_HOST = "youtube.com"
_BLOCK_PAGE = ("google.com", "/sorry/")
_LED_AWAY = "led to another site, which was not followed"

Value = TypeVar("Value")

DEFAULT_LANGUAGES = ("en", "en-US")

_BACKSTOP_SECONDS = 2.0
_MAX_LISTED = 12


# --- Requests -----------------------------------------------------------------------------------


class BlockPageError(requests.RequestException):
    """YouTube redirects this address to its test for robots."""


class BoundError(requests.RequestException):
    """One of our limits ended the request. The argument completes a sentence."""


class YouTubeSession(requests.Session):
    """Sends the requests of one call, in one thread.

    All requests together may take `seconds`. `origin` replaces https://www.youtube.com, for example
    by a mirror on loopback.
    """

    def __init__(
        self, *, seconds: float, proxy: ProxyConfig | None = None, origin: str = ORIGIN
    ) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = _MAX_REDIRECTS
        self.answers: dict[str, str] = {}
        """The last successful answer of each path."""
        adapter = _BoundedAdapter(time.monotonic() + seconds, origin)
        for scheme in ("https://", "http://"):
            self.mount(scheme, adapter)
        if proxy is not None:
            through = proxy.to_requests_dict()
            self.proxies = {"http": through["http"], "https": through["https"]}
            if proxy.prevent_keeping_connections_alive:
                self.headers["Connection"] = "close"

        def keep(response: requests.Response, *_: object, **__: object) -> None:
            if response.ok:
                self.answers[urlsplit(response.url).path] = response.text

        self.hooks["response"].append(keep)

    @property
    def player(self) -> object:
        """YouTube's answer for the player; None if it is damaged or missing."""
        with suppress(ValueError, RecursionError):
            return json.loads(self.answers.get(_PLAYER_PATH, "null"))
        return None


class _BoundedAdapter(HTTPAdapter):
    """Enforces one deadline (of time.monotonic) for all requests, and the limit of each answer."""

    def __init__(self, deadline: float, origin: str) -> None:
        self._deadline = deadline
        self._origin = urlsplit(origin)
        super().__init__()

    def _left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise BoundError("was not done in time")
        return seconds

    def send(self, request: requests.PreparedRequest, *_: Any, **given: Any) -> requests.Response:
        url = request.url or ""
        _check_target(url)
        left = self._left()
        sent = request.copy()
        if self._origin.geturl() != ORIGIN:
            parts = urlsplit(url)
            there = {"scheme": self._origin.scheme, "netloc": self._origin.netloc}
            sent.url = parts._replace(**there).geturl()
        given["timeout"] = min(_CONNECT_SECONDS, left), min(_READ_SECONDS, left)
        response = super().send(sent, **given | {"stream": True})
        # The library and redirects must see the original address.
        response.url, response.request = url, request
        with response.raw as raw:
            response.raw = io.BytesIO(self._body(raw))
        return response

    def _body(self, raw: urllib3.BaseHTTPResponse) -> bytes:
        body = bytearray()
        while chunk := raw.read1(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > MAX_BYTES:
                raise BoundError("sent more than any transcript has")
            self._left()
        return bytes(body)


def _check_target(url: str) -> None:
    """Allow only YouTube's own hosts, by TLS. Captions have their own URL."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise BoundError(_LED_AWAY) from error
    site, path = _BLOCK_PAGE
    if (host == site or host.endswith(f".{site}")) and parts.path.startswith(path):
        raise BlockPageError
    is_youtube = host == _HOST or host.endswith(f".{_HOST}")
    if parts.scheme != "https" or not is_youtube or port is not None or parts.username is not None:
        raise BoundError(_LED_AWAY)


# --- Errors -------------------------------------------------------------------------------------

_MAX_REASON = 160
_ROBOT = re.compile(r"not a bot|try again later", re.IGNORECASE)
"""YouTube's wording for requests beyond its limit of about 300 videos an hour. It otherwise answers
as if the video were gone."""
_AGE = re.compile(r"confirm your age|age.restricted|inappropriate for some", re.IGNORECASE)


class Blocked(base.Outage):
    """YouTube blocks this address: as a robot's, for too many requests, or for its country.

    A proxy may help.
    """


class NotYetError(Exception):
    """The video is a stream or a premiere that has not started or not ended."""


READING_ERRORS = (
    NotYetError,
    library.CouldNotRetrieveTranscript,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    ParseError,
    PlacedError,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
)
"""Errors of the library. It raises the builtin ones for JSON of an unexpected shape."""
_UNREAD = (ParseError, AttributeError, KeyError, TypeError, ValueError)


def failure_of(error: BaseException, video_id: str, *, proxied: bool = False) -> base.Missing:
    """Return the outcome of one of READING_ERRORS; `proxied`: the request used a proxy."""
    kind, why, status = type(error), "", "with a failure"
    if isinstance(error, library.VideoUnplayable):
        parts = (error.reason, *error.sub_reasons)
        why = one_line(" ".join(str(part) for part in parts if part))[:_MAX_REASON]
        # The library knows only two exact wordings.
        if _ROBOT.search(why):
            kind = BlockPageError
        elif _AGE.search(why):
            kind = library.AgeRestricted
    elif isinstance(error, BoundError):
        why = str(error)
    cause = error.__context__
    if isinstance(cause, requests.HTTPError) and cause.response is not None:
        status = str(cause.response.status_code)
    outcome, sentence = next(
        _SENTENCES[each.__name__] for each in kind.__mro__ if each.__name__ in _SENTENCES
    )
    if sentence.startswith("For "):
        sentence += " Check the network, and try again."
    return outcome(
        sentence.format(
            video=f"the video {video_id}",
            why=why or "none given",
            status=status,
            a="another" if proxied else "a",
            instead="Give a transcript file instead.",
        )
    )


_OUTCOMES: Mapping[str, type[base.Missing]] = {
    "missing": base.Missing,
    "blocked": Blocked,
    "outage": base.Outage,
}
_SENTENCES: Mapping[str, tuple[type[base.Missing], str]] = {
    name: (_OUTCOMES[outcome], sentence)
    for outcome, sentences in yaml.safe_load(
        Path(__file__).with_name("youtube.yaml").read_text("utf-8")
    ).items()
    for name, sentence in sentences.items()
}


# --- The provider -------------------------------------------------------------------------------


@dataclass(kw_only=True)
class YouTubeTranscripts:
    """The provider of YouTube's captions.

    A language includes its variants: en also accepts en-GB. Within a language, captions by a person
    come before a recogniser's, then exact languages in their order, then their variants.
    """

    languages: Sequence[str] = DEFAULT_LANGUAGES
    """In order of preference (BCP 47)."""
    translate: bool = False
    """Accept YouTube's machine translation if no captions are in one of the languages. They count
    as generated, and the provider's name has the original language."""
    proxy: ProxyConfig | None = None
    """For a second attempt if YouTube blocks this address."""
    seconds: float = 40.0
    """The time limit of one attempt, with all its requests."""
    origin: str = ORIGIN
    """Replaces https://www.youtube.com."""

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        """Return a video's captions and details. A failure is an answer, no error.

        `Found.provider` is "youtube", with any proxy or machine translation.
        """
        if not is_video_id(video_id):
            return base.Missing(
                f"{video_id[:40]!r} is no YouTube video id, which has 11 letters, digits, - or _. "
                "Check the corpus entry."
            )
        attempts = 1 if self.proxy is None else 2
        try:
            # The session has its own deadline; this one is for a server that stalls it unnoticed.
            async with asyncio.timeout(attempts * self.seconds + _BACKSTOP_SECONDS):
                return await asyncio.to_thread(self._ask, video_id)
        except TimeoutError:
            why = f"For the video {video_id}, YouTube was not done in time. Try again later."
            return base.Outage(why)

    def _ask(self, video_id: str) -> base.TranscriptAnswer:
        answer = self._attempt(video_id, None)
        if self.proxy is None or not isinstance(answer, Blocked):
            return answer
        again = self._attempt(video_id, self.proxy)
        if isinstance(again, base.Found):
            return replace(again, provider=f"{again.provider} via proxy")
        through = "(This was through the proxy, after YouTube had refused this address.)"
        return replace(again, reason=f"{again.reason} {through}")

    def _attempt(self, video_id: str, proxy: ProxyConfig | None) -> base.TranscriptAnswer:
        translated_from = None
        with YouTubeSession(seconds=self.seconds, proxy=proxy, origin=self.origin) as session:
            try:
                available = YouTubeTranscriptApi(http_client=session).list(video_id)
                captions = choose(available, self.languages)
                if captions is None and self.translate:
                    source, target = choose_to_translate(available, self.languages)
                    if source is not None:
                        captions, translated_from = source.translate(target), source.language_code
                if captions is None:
                    return self._none_fitting(video_id, available)
                # The library reads only one of YouTube's formats; ours reads all.
                with suppress(*_UNREAD):
                    captions.fetch()
                transcript = parse_transcript(session.answers[_CAPTIONS_PATH].encode(), ".xml")
            except NothingSaidError:
                return base.Missing(f"Nothing is said in the captions of the video {video_id}.")
            except READING_ERRORS as error:
                is_later = _is_later(session.player)
                return failure_of(
                    NotYetError() if is_later else error, video_id, proxied=proxy is not None
                )
            details = details_of(session.player, session.answers.get("/watch", ""))
        return base.Found(
            replace(
                transcript,
                language=captions.language_code,
                kind="generated" if captions.is_generated else "manual",
                title=details.title,
            ),
            provider="youtube"
            if translated_from is None
            else f"youtube, translated from {translated_from}",
            details=details,
        )

    def _none_fitting(self, video_id: str, available: TranscriptList) -> base.Missing:
        wanted = ", ".join(self.languages)
        codes = sorted({one_line(captions.language_code)[:20] for captions in available})
        more = f" and {len(codes) - _MAX_LISTED} more" if len(codes) > _MAX_LISTED else ""
        has = f"captions in {', '.join(codes[:_MAX_LISTED]) or 'no language'}{more}"
        lack, remedy = f"none in {wanted}", ""
        if self.translate:
            lack = f"and YouTube translates none of them into {wanted}"
        elif choose_to_translate(available, self.languages)[0] is not None:
            remedy = ", or the word translated"
        return base.Missing(
            f"The video {video_id} has {has}, {lack}. Add one of its languages to "
            f"FACTIBLE_LANGUAGES{remedy}."
        )


# --- Choosing captions --------------------------------------------------------------------------


def choose(available: TranscriptList, languages: Sequence[str]) -> Transcript | None:
    """Choose the best captions in one of the languages or its variants; None without any."""
    wanted = [language.lower() for language in languages]
    bases = list(dict.fromkeys(_base(language) for language in wanted))

    def preference(captions: Transcript) -> tuple[int, bool, int, str]:
        code = captions.language_code.lower()
        exact = wanted.index(code) if code in wanted else len(wanted)
        return bases.index(_base(code)), captions.is_generated, exact, code

    fitting = [captions for captions in available if _base(captions.language_code) in bases]
    return min(fitting, key=preference, default=None)


def choose_to_translate(
    available: TranscriptList, languages: Sequence[str]
) -> tuple[Transcript | None, str]:
    """Choose captions that YouTube can translate, a person's first, and the target language."""
    for captions in sorted(available, key=lambda captions: captions.is_generated):
        codes = [language.language_code for language in captions.translation_languages]
        for language in languages:
            fitting = [code for code in codes if _base(code) == _base(language)]
            if fitting:
                exact = language.lower()
                return captions, min(fitting, key=lambda code: (code.lower() != exact, code))
    return None, ""


def _base(language: str) -> str:
    return language.lower().partition("-")[0]


# --- Details ------------------------------------------------------------------------------------

_PLAYER_PATH, _CAPTIONS_PATH = "/youtubei/v1/player", "/api/timedtext"
_IN_PAGE = re.compile(r"ytInitialPlayerResponse\s*=\s*(?=\{)")


def _is_later(player: object) -> bool:
    """Tell whether a stream or a premiere is upcoming or live."""
    is_offline = _at(player, ("playabilityStatus", "status")) == "LIVE_STREAM_OFFLINE"
    return is_offline or _at(player, ("videoDetails", "isLive")) is True


def details_of(player: object, page: str) -> base.VideoDetails:
    """Read the details in the player's answer and in the watch page; None for missing ones."""
    in_page: object = {}
    with suppress(ValueError, RecursionError):
        if start := _IN_PAGE.search(page):
            in_page, _ = json.JSONDecoder().raw_decode(page, start.end())

    def first(convert: Callable[[object], Value | None], *paths: Sequence[str]) -> Value | None:
        values = (convert(_at(answer, path)) for path in paths for answer in (player, in_page))
        return next(filter(None, values), None)

    more = "microformat", "playerMicroformatRenderer"
    details = base.VideoDetails(
        title=first(_words, ("videoDetails", "title")),
        channel=first(_words, ("videoDetails", "author")),
        duration_seconds=first(_seconds, ("videoDetails", "lengthSeconds")),
        published_on=first(_day, (*more, "publishDate"), (*more, "uploadDate")),
    )
    if details.duration_seconds and details.published_on:
        return details
    problem = "YouTube does not say the length of the video and its day of publication."
    return replace(details, problems=(problem,))


def _at(whole: object, path: Sequence[str]) -> object:
    for key in path:
        whole = whole.get(key) if isinstance(whole, Mapping) else None
    return whole


def _words(value: object) -> str | None:
    return one_line(value) if isinstance(value, str) else None


def _seconds(value: object) -> float | None:
    with suppress(ValueError, OverflowError):
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return float(value) if 0 < float(value) < math.inf else None
    return None


def _day(value: object) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(value.strip()[:10]) if isinstance(value, str) else None
    return None
