"""How YouTube is asked over HTTP: with bounds on time, size and where requests may lead.

What belongs here: the session that the transcript library sends its requests with, and its own
failures. What does not: what YouTube's answers mean (youtube.py, youtube_details.py), and what
failures are called (youtube_outcomes.py).

The library (youtube-transcript-api) speaks through `requests` and sets no time limit. So this is a
session of `requests` and not `resources.http`: every request of one call shares one deadline, a
body is read no further than its bound, and no redirect leads away from YouTube. Proxies of the
environment are not used; one is used where the caller gives it.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from youtube_transcript_api.proxies import GenericProxyConfig, ProxyConfig, WebshareProxyConfig

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


class LedAwayError(requests.RequestException):
    """A redirect or an answer leads to another site than YouTube."""


class BlockPageError(requests.RequestException):
    """YouTube sends this address to the page that tells people from robots."""


class TooSlowError(requests.Timeout):
    """All requests together took longer than they may."""


class TooLargeError(requests.RequestException):
    """An answer is larger than any that YouTube gives."""


def http_proxy(url: str) -> ProxyConfig:
    """Return the proxy at a URL such as http://USER:PASSWORD@HOST:PORT."""
    return GenericProxyConfig(http_url=url)


def webshare_proxy(username: str, password: str, *, countries: tuple[str, ...] = ()) -> ProxyConfig:
    """Return Webshare's rotating residential proxies, in these countries only if any are named.

    The library's own ten retries are left out: one retry is what is recorded.
    """
    return WebshareProxyConfig(
        username, password, filter_ip_locations=list(countries), retries_when_blocked=0
    )


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which all requests of one call must be done."""

    seconds: float
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_end", time.monotonic() + self.seconds)

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TooSlowError: None are.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TooSlowError
        return seconds


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
        adapter = _BoundedAdapter(Deadline(seconds), origin)
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
    def __init__(self, deadline: Deadline, origin: str) -> None:
        self._deadline = deadline
        self._origin = urlsplit(origin)
        super().__init__()

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
        left = self._deadline.left()
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
                    raise TooLargeError
                self._deadline.left()
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
        raise LedAwayError from error
    site, path = _BLOCK_PAGE
    if (host == site or host.endswith(f".{site}")) and parts.path.startswith(path):
        raise BlockPageError
    is_youtube = host == _HOST or host.endswith(f".{_HOST}")
    if parts.scheme != "https" or not is_youtube or port is not None or parts.username is not None:
        raise LedAwayError
