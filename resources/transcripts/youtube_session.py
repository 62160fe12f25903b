"""How YouTube is asked over HTTP, within bounds on time, size and place, and what can go wrong.

What belongs here: the session that the transcript library sends its requests with, the sentence for
each of its errors and the library's, and which kind of outcome that is. What does not: what
YouTube's answers mean (youtube.py).

The library (youtube-transcript-api) speaks through `requests` and sets no time limit. So this is a
session of `requests` and not `resources.http`: every request of one call shares one deadline, a
body is read no further than its bound, and no redirect leads away from YouTube. Proxies of the
environment are not used; one is used where the caller gives it.

Sentences repeat nothing that YouTube or the library said, but for YouTube's own word on why a video
is not shown, cut short: other texts may hold addresses with keys.
"""

from __future__ import annotations

import io
import re
import time
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

import requests
import urllib3
import youtube_transcript_api as library
from requests.adapters import HTTPAdapter
from youtube_transcript_api.proxies import ProxyConfig

from resources.transcripts.base import Missing, Outage
from resources.transcripts.file import one_line

if TYPE_CHECKING:
    from requests import _types

ORIGIN = "https://www.youtube.com"
MAX_BYTES = 20_000_000
"""Of one answer. A watch page has 1 to 2 MB, the captions of three hours 0.5 MB."""

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 15.0
_MAX_REDIRECTS = 5
_CHUNK = 65_536
_HOST = "youtube.com"
_BLOCK_PAGE = ("google.com", "/sorry/")
_LED_AWAY = "led to another site, which was not followed"


class BlockPageError(requests.RequestException):
    """YouTube sends this address to the page that tells people from robots."""


class BoundError(requests.RequestException):
    """A bound of ours ended the request; its only argument is the end of a sentence."""


class YouTubeSession(requests.Session):
    """Sends the requests of one call. Not thread-safe: use it in the thread that made it.

    Args:
        seconds: The time that all requests together may take.
        proxy: Sends every request through it.
        origin: Where https://www.youtube.com is really asked, such as a mirror on loopback.
    """

    def __init__(
        self, *, seconds: float, proxy: ProxyConfig | None = None, origin: str = ORIGIN
    ) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = _MAX_REDIRECTS
        self.watch_page: str | None = None
        """The last watch page that came, so that nobody needs to ask for it again."""
        adapter = _BoundedAdapter(time.monotonic() + seconds, origin)
        for scheme in ("https://", "http://"):
            self.mount(scheme, adapter)
        if proxy is not None:
            through = proxy.to_requests_dict()
            self.proxies = {"http": through["http"], "https": through["https"]}
            if proxy.prevent_keeping_connections_alive:
                self.headers["Connection"] = "close"

        def keep_watch_page(response: requests.Response, *_: object, **__: object) -> None:
            if response.ok and urlsplit(response.url).path == "/watch":
                self.watch_page = response.text

        self.hooks["response"].append(keep_watch_page)


class _BoundedAdapter(HTTPAdapter):
    """Keeps one deadline (of time.monotonic) for all requests, and the bound on each answer."""

    def __init__(self, deadline: float, origin: str) -> None:
        self._deadline = deadline
        self._origin = urlsplit(origin)
        super().__init__()

    def _left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise BoundError("was not done in time")
        return seconds

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: _types.TimeoutType = None,
        verify: _types.VerifyType = True,
        cert: _types.CertType = None,
        proxies: dict[str, str] | None = None,
    ) -> requests.Response:
        """Send one request and read its answer to the end, within the bounds."""
        url = request.url or ""
        _check_target(url)
        left = self._left()
        sent = request.copy()
        if self._origin.geturl() != ORIGIN:
            parts = urlsplit(url)
            sent.url = parts._replace(
                scheme=self._origin.scheme, netloc=self._origin.netloc
            ).geturl()
        response = super().send(
            sent,
            stream=True,
            timeout=(min(_CONNECT_SECONDS, left), min(_READ_SECONDS, left)),
            verify=verify,
            cert=cert,
            proxies=proxies,
        )
        # To the library and to redirects, the answer comes from where it was asked for.
        response.url, response.request = url, request
        with response.raw as raw:
            response.raw = io.BytesIO(self._body(raw))
        return response

    def _body(self, raw: urllib3.BaseHTTPResponse) -> bytes:
        body = bytearray()
        try:
            while chunk := raw.read1(_CHUNK, decode_content=True):
                body += chunk
                if len(body) > MAX_BYTES:
                    raise BoundError("sent more than any transcript has")
                self._left()
        except urllib3.exceptions.ReadTimeoutError as error:
            raise requests.ReadTimeout from error
        except urllib3.exceptions.SSLError as error:
            raise requests.exceptions.SSLError from error
        except urllib3.exceptions.DecodeError as error:
            raise requests.exceptions.ContentDecodingError from error
        except urllib3.exceptions.HTTPError as error:
            raise requests.exceptions.ChunkedEncodingError from error
        return bytes(body)


def _check_target(url: str) -> None:
    """Refuse every target but YouTube's own hosts over TLS; captions carry their own URL."""
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


# --- What can go wrong --------------------------------------------------------------------------

_MAX_REASON = 160
_ROBOT = re.compile(r"not a bot", re.IGNORECASE)
_AGE = re.compile(r"confirm your age|age.restricted|inappropriate for some", re.IGNORECASE)


class Blocked(Outage):
    """YouTube refuses this address, as a robot's or for too many requests: a proxy may help."""


READING_ERRORS = (
    library.CouldNotRetrieveTranscript,
    requests.RequestException,
    ParseError,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
)
"""What asking the library raises. The builtin ones are its answer to JSON of another shape."""


def failure_of(error: BaseException, video_id: str) -> Missing:
    """Return the outcome that one of READING_ERRORS stands for."""
    kind, why, status = type(error), "", "with a failure"
    if isinstance(error, library.VideoUnplayable):
        parts = (error.reason, *error.sub_reasons)
        why = one_line(" ".join(str(part) for part in parts if part))[:_MAX_REASON]
        # The library knows two wordings exactly; YouTube uses more.
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
        (outcome, sentence)
        for outcome, sentences in _SENTENCES.items()
        for kinds, sentence in sentences.items()
        if issubclass(kind, kinds)
    )
    if sentence.startswith("For "):
        sentence += " Check the network, and try again."
    return outcome(
        sentence.format(
            video=f"the video {video_id}",
            why=why or "none given",
            status=status,
            instead="Give a transcript file instead.",
        )
    )


_Kinds: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
_SENTENCES: dict[type[Missing], dict[_Kinds, str]] = {
    Missing: {
        library.TranscriptsDisabled: (
            "There are no captions for {video}: none were made, or they are switched off. {instead}"
        ),
        library.NoTranscriptFound: "There are no captions for {video} in the wanted languages.",
        library.NotTranslatable: "YouTube does not translate the captions of {video}. {instead}",
        library.TranslationLanguageNotAvailable: (
            "YouTube does not translate the captions of {video} into the wanted languages. "
            "{instead}"
        ),
        library.VideoUnavailable: (
            "YouTube has no such video as {video}, or no longer. Check the link."
        ),
        library.InvalidVideoId: "There is no such YouTube id as in {video}.",
        library.AgeRestricted: "YouTube shows {video} to signed-in adults only. {instead}",
        library.VideoUnplayable: (
            "YouTube does not show {video} to everyone (its reason: {why}). {instead}"
        ),
    },
    Blocked: {
        (library.RequestBlocked, BlockPageError): (
            "YouTube refused the request for {video}: it takes this address for a robot's, or had "
            "too many requests from it. Try again later, or set a proxy."
        ),
    },
    # The more special before the more general.
    Outage: {
        library.PoTokenRequired: (
            "YouTube hands the captions of {video} to its own players only at the moment (it asks "
            "for a proof-of-origin token). Try again later. {instead}"
        ),
        library.FailedToCreateConsentCookie: (
            "YouTube asks for consent to cookies before it shows {video}, and did not accept it. "
            "Try again later, or set a proxy in another country."
        ),
        library.YouTubeRequestFailed: (
            "YouTube answered {status} to a request for {video}. Try again later."
        ),
        requests.exceptions.InvalidJSONError: (
            "YouTube's answer for {video} is not JSON. Try again later."
        ),
        ParseError: (
            "The captions that YouTube sent for {video} are damaged or empty. Try again later."
        ),
        requests.exceptions.ProxyError: "For {video}, the proxy could not be reached or refused.",
        requests.exceptions.SSLError: "For {video}, the secure connection to YouTube failed.",
        BoundError: "For {video}, YouTube {why}.",
        requests.Timeout: "For {video}, YouTube fell silent.",
        requests.TooManyRedirects: "For {video}, YouTube redirected in a circle.",
        requests.RequestException: (
            "For {video}, YouTube could not be reached, or broke off in its answer."
        ),
        BaseException: (
            "YouTube's answer for {video} has another shape than expected. Try again later; if it "
            "stays so, youtube-transcript-api needs an update."
        ),
    },
}
