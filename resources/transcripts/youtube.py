"""Gets captions and details of YouTube videos, through youtube-transcript-api.

The library's client is not thread-safe, so every call makes its own. The library sets no limits, so
it sends its requests through a session of this module. All requests of a call share one deadline,
bodies have a size limit, no redirect leads away from YouTube, and proxies of the environment are
ignored. Error messages repeat only YouTube's own reason for not showing a video, shortened, because
other words of YouTube or the library may contain addresses with keys.
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
from babel.core import get_global
from requests.adapters import HTTPAdapter
from youtube_transcript_api import Transcript, TranscriptList, YouTubeTranscriptApi
from youtube_transcript_api.proxies import GenericProxyConfig

from resources.text_files import PlacedError
from resources.transcripts import base
from resources.transcripts.cleaning import NothingSaidError, one_line
from resources.transcripts.file import parse_transcript
from resources.transcripts.youtube_ids import is_video_id

ORIGIN = "https://www.youtube.com"
MAX_BYTES = 20_000_000
"""Limit of one answer. A watch page has 1 to 2 MB, the captions of three hours 0.5 MB."""
_CONNECT_SECONDS, _READ_SECONDS, _BACKSTOP_SECONDS = 10.0, 15.0, 2.0
_MAX_REDIRECTS, _MAX_LISTED, _MAX_REASON, _CHUNK = 5, 12, 160, 65_536
_HOST, _BLOCK_HOST, _BLOCK_PATH = ".youtube.com", ".google.com", "/sorry/"
_PLAYER_PATH, _CAPTIONS_PATH, _WATCH_PATH = "/youtubei/v1/player", "/api/timedtext", "/watch"
_LED_AWAY = "led to another site, which was not followed"

Value = TypeVar("Value")


# --- Requests -----------------------------------------------------------------------------------


class BlockPageError(requests.RequestException):
    """YouTube redirects this IP address to its test for robots."""


class BoundError(requests.RequestException):
    """One of our limits ended the request. The argument completes a sentence."""


class _Session(requests.Session):
    """Sends the requests of one call, in one thread, and keeps the answers."""

    def __init__(self, *, seconds: float, origin: str) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = _MAX_REDIRECTS
        self.answers: dict[str, str] = {}
        """The last successful answer of each path."""
        for scheme in ("https://", "http://"):
            self.mount(scheme, _BoundedAdapter(time.monotonic() + seconds, origin))
        self.hooks["response"].append(self._keep)

    def _keep(self, response: requests.Response, *_: object, **__: object) -> None:
        if response.ok:
            self.answers[urlsplit(response.url).path] = response.text

    @property
    def player(self) -> object:
        """YouTube's answer for the player; None if it is damaged or missing."""
        with suppress(ValueError, RecursionError):
            return json.loads(self.answers.get(_PLAYER_PATH, "null"))
        return None


class _BoundedAdapter(HTTPAdapter):
    """Enforces one deadline (of time.monotonic) for all requests, and the limit of each answer."""

    def __init__(self, deadline: float, origin: str) -> None:
        self._deadline, self._origin = deadline, origin.rstrip("/")
        super().__init__()

    def _left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise BoundError("was not done in time")
        return seconds

    def send(self, request: requests.PreparedRequest, *_: Any, **options: Any) -> requests.Response:
        url = request.url or ""
        _check_target(url)
        left = self._left()
        sent = request.copy()
        if self._origin != ORIGIN:
            sent.url = self._origin + urlsplit(url)._replace(scheme="", netloc="").geturl()
        options["timeout"] = min(_CONNECT_SECONDS, left), min(_READ_SECONDS, left)
        response = super().send(sent, **options | {"stream": True})
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
        host, port = f".{parts.hostname or ''}".rstrip("."), parts.port
    except ValueError as error:
        raise BoundError(_LED_AWAY) from error
    if host.endswith(_BLOCK_HOST) and parts.path.startswith(_BLOCK_PATH):
        raise BlockPageError
    if (parts.scheme, port, parts.username) != ("https", None, None) or not host.endswith(_HOST):
        raise BoundError(_LED_AWAY)


# --- Errors -------------------------------------------------------------------------------------

_ROBOT = re.compile(r"not a bot|try again later", re.IGNORECASE)
"""YouTube's wordings beyond its limit of about 300 videos an hour, as if the video were gone."""
_AGE = re.compile(r"confirm your age|age.restricted|inappropriate for some", re.IGNORECASE)


class Blocked(base.Outage):
    """YouTube blocks this IP address as a robot's or for its country. A proxy may help."""


class NotYetError(Exception):
    """The video is a stream or a premiere that has not started or not ended."""


_UNREAD = (ParseError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that the library raises for XML and JSON of an unexpected shape."""
_ERRORS = (
    library.CouldNotRetrieveTranscript,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    PlacedError,
    *_UNREAD,
)


def _failure_of(error: BaseException, video_id: str, *, proxied: bool) -> base.Missing:
    """Return the outcome of one of _ERRORS, in the words of youtube.yaml for its class.

    `proxied` tells whether the request used a proxy.
    """
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
    cause = error.__context__  # of the library's error for an answer with a bad status
    if isinstance(cause, requests.HTTPError) and cause.response is not None:
        status = str(cause.response.status_code)
    worded = (_SENTENCES.get(base_class.__name__) for base_class in kind.__mro__)
    outcome, sentence = next(filter(None, worded))
    if sentence.startswith("For "):  # it is about the network
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


_OUTCOMES = {"missing": base.Missing, "blocked": Blocked, "outage": base.Outage}
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

    languages: Sequence[str] = ("en", "en-US")
    """In order of preference (BCP 47)."""
    translate: bool = False
    """Accept YouTube's machine translation if no captions are in one of the languages. They count
    as generated, and the provider's name has the original language."""
    proxy: GenericProxyConfig | None = None
    """For a second attempt if YouTube blocks this machine's IP address."""
    seconds: float = 40.0
    """The time limit of one attempt, with all its requests."""
    origin: str = ORIGIN
    """Replaces https://www.youtube.com."""

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        """Return a video's captions and details. A failure is an answer, no error."""
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

    def _attempt(self, video_id: str, proxy: GenericProxyConfig | None) -> base.TranscriptAnswer:
        provider = "youtube"
        with _Session(seconds=self.seconds, origin=self.origin) as session:
            try:
                available = YouTubeTranscriptApi(proxy, session).list(video_id)
                captions = _choose(available, self.languages)
                if captions is None and self.translate:
                    source, target = _choose_to_translate(available, self.languages)
                    if source is not None:
                        captions = source.translate(target)
                        provider = f"youtube, translated from {source.language_code}"
                if captions is None:
                    return self._none_fitting(video_id, available)
                # The library reads only one of YouTube's formats; ours reads all.
                with suppress(*_UNREAD):
                    captions.fetch()
                transcript = parse_transcript(session.answers[_CAPTIONS_PATH].encode(), ".xml")
            except NothingSaidError:
                return base.Missing(f"Nothing is said in the captions of the video {video_id}.")
            except _ERRORS as error:
                cause = NotYetError() if _is_unfinished(session.player) else error
                return _failure_of(cause, video_id, proxied=proxy is not None)
            details = details_of(session.player, session.answers.get(_WATCH_PATH, ""))
        kind: base.TranscriptKind = "generated" if captions.is_generated else "manual"
        language, title = _present_code(captions.language_code), details.title
        transcript = replace(transcript, language=language, kind=kind, title=title)
        return base.Found(transcript, provider, details)

    def _none_fitting(self, video_id: str, available: TranscriptList) -> base.Missing:
        languages = ", ".join(self.languages)
        codes = sorted({one_line(captions.language_code)[:20] for captions in available})
        more = f" and {len(codes) - _MAX_LISTED} more" if len(codes) > _MAX_LISTED else ""
        has = f"captions in {', '.join(codes[:_MAX_LISTED]) or 'no language'}{more}"
        lack, remedy = f"none in {languages}", ""
        if self.translate:
            lack = f"and YouTube translates none of them into {languages}"
        elif _choose_to_translate(available, self.languages)[0] is not None:
            remedy = ", or the word translated"
        return base.Missing(
            f"The video {video_id} has {has}, {lack}. Add one of its languages to "
            f"FACTIBLE_LANGUAGES{remedy}."
        )


# --- Choosing captions --------------------------------------------------------------------------


def _choose(available: TranscriptList, languages: Sequence[str]) -> Transcript | None:
    """Choose the best captions in one of the languages or its variants; None without any."""
    codes = [language.lower() for language in languages]
    bases = list(dict.fromkeys(map(_base, codes)))

    def preference(captions: Transcript) -> tuple[int, bool, int, str]:
        code = captions.language_code.lower()
        exact = codes.index(code) if code in codes else len(codes)
        return bases.index(_base(code)), captions.is_generated, exact, code

    fitting = [captions for captions in available if _base(captions.language_code) in bases]
    return min(fitting, key=preference, default=None)


def _choose_to_translate(
    available: TranscriptList, languages: Sequence[str]
) -> tuple[Transcript | None, str]:
    """Choose captions that YouTube can translate, a person's first, and the target language."""
    for captions in sorted(available, key=lambda captions: captions.is_generated):
        codes = sorted(language.language_code for language in captions.translation_languages)
        for exact in map(str.lower, languages):
            if fitting := [code for code in codes if _base(code) == _base(exact)]:
                return captions, min(fitting, key=lambda code: code.lower() != exact)
    return None, ""


def _base(language: str) -> str:
    return _present_code(language).lower().partition("-")[0]


def _present_code(language: str) -> str:
    """Return the present code of a language: YouTube calls Hebrew iw, its code until 1989."""
    base, *rest = language.split("-")
    present = get_global("language_aliases").get(base.lower(), base)
    return "-".join([present.replace("_", "-"), *rest])


# --- Details ------------------------------------------------------------------------------------

_IN_PAGE = re.compile(r"ytInitialPlayerResponse\s*=\s*(?=\{)")


def _is_unfinished(player: object) -> bool:
    """Tell whether a stream or a premiere is upcoming or live."""
    is_offline = _at(player, ("playabilityStatus", "status")) == "LIVE_STREAM_OFFLINE"
    return is_offline or _at(player, ("videoDetails", "isLive")) is True


def details_of(player: object, page: str) -> base.VideoDetails:
    """Read the details in the player's answer and in the watch page; None for missing ones."""
    in_page: object = {}
    with suppress(ValueError, RecursionError):
        if start := _IN_PAGE.search(page):
            in_page, _ = json.JSONDecoder().raw_decode(page, start.end())

    def first(convert: Callable[[Any], Value | None], *paths: Sequence[str]) -> Value | None:
        for value in (_at(answer, path) for path in paths for answer in (player, in_page)):
            with suppress(AttributeError, TypeError, ValueError, OverflowError):
                if converted := convert(value):
                    return converted
        return None

    renderer = "microformat", "playerMicroformatRenderer"
    details = base.VideoDetails(
        title=first(one_line, ("videoDetails", "title")),
        channel=first(one_line, ("videoDetails", "author")),
        duration_seconds=first(_seconds, ("videoDetails", "lengthSeconds")),
        published_on=first(
            lambda day: date.fromisoformat(day[:10]),
            (*renderer, "publishDate"),
            (*renderer, "uploadDate"),
        ),
    )
    values = {"length": details.duration_seconds, "day of publication": details.published_on}
    unknown = [f"the {name}" for name, value in values.items() if not value]
    problem = f"YouTube does not say {' or '.join(unknown)} of the video."
    return replace(details, problems=(problem,) if unknown else ())


def _at(whole: object, path: Sequence[str]) -> object:
    for key in path:
        whole = whole.get(key) if isinstance(whole, Mapping) else None
    return whole


def _seconds(value: object) -> float | None:
    return float(str(value)) if 0 < float(str(value)) < math.inf else None
