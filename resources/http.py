"""The HTTP client of every resource: limits, retries, redirects and typed failures.

A request ends in a `Response`, whatever its status, or in one of two errors: `OutageError` (it may
succeed later) or `UnavailableError` (a repetition will not help). Their reasons are sentences for
people, without query string, credential or header.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, cached_property
from http import HTTPStatus
from typing import Any, ClassVar, Literal
from weakref import WeakValueDictionary

import httpcore
import httpx

from resources.network_guard import ForbiddenTargetError, GuardedBackend, NetworkGuard, host_of

USER_AGENT = "factible-assets/0.1 (fact-checking research; reads pages that a search found)"

_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
_PASSING_STATUSES = frozenset({408, 425, 429})
_SLOWING_STATUSES = frozenset({429, 503})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip"})
_MAX_REDIRECTS = 8
_SHOWN_CHARACTERS = 120
_LONGEST_WAIT = 1e9
_RANDOM = random.SystemRandom()


class HttpFailureError(Exception):
    """A request without a usable answer. `reason` is a sentence without secrets."""

    outcome: ClassVar[Literal["outage", "unavailable"]]

    def __init__(
        self,
        reason: str,
        *,
        http_status: int | None = None,
        final_url: str | None = None,
        retry: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.http_status = http_status
        self.final_url = final_url
        self.retry = retry


class OutageError(HttpFailureError):
    """The request may succeed later: after a `pause` in seconds, if known."""

    outcome = "outage"
    pause: float | None = None


class UnavailableError(HttpFailureError):
    """The server refuses, or the guard does; a repetition will not help."""

    outcome = "unavailable"


@contextmanager
def attributed_to(response: Response) -> Iterator[None]:
    """Add the status and the URL of a response to the failures in a block."""
    try:
        yield
    except HttpFailureError as failure:
        failure.http_status, failure.final_url = response.status, response.url
        raise


class TooLargeError(UnavailableError):
    """A body beyond the limit."""


_FAILURES = (
    HttpFailureError,
    ForbiddenTargetError,
    TimeoutError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    ssl.SSLError,
)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one client."""

    connect_seconds: float = 10.0
    read_seconds: float = 15.0
    write_seconds: float = 10.0
    attempt_seconds: float = 45.0
    """One attempt with all its redirects and its whole body; stops servers that drip."""
    max_bytes: int = 10_000_000
    """Of a body after decompression; a larger one is an error."""
    max_requests: int = 64
    """Simultaneous requests to all hosts."""
    max_requests_per_host: int = 6
    at_once: Mapping[str, int] = field(default_factory=dict)
    """Overrides `max_requests_per_host`, by host as `host_of` writes it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is repeated."""

    attempts: int = 3
    first_delay_seconds: float = 0.5
    max_delay_seconds: float = 8.0
    after_silence: bool = True
    """Whether to repeat a request whose answer timed out."""
    max_retry_after_seconds: float = 15.0
    """A server that asks for a longer wait gets no repetition."""

    def delay(self, attempt: int) -> float:
        """Return a random pause after an attempt, at least half of a ceiling that doubles."""
        ceiling = min(self.max_delay_seconds, self.first_delay_seconds * 2.0 ** (attempt - 1))
        return _RANDOM.uniform(ceiling / 2, ceiling)


@dataclass(frozen=True, slots=True)
class Response:
    """A server's complete answer."""

    url: str
    """After redirects, without fragment."""
    status: int
    headers: httpx.Headers
    body: bytes = field(repr=False)
    attempts: int = 1
    framed: bool = True
    """Whether the answer stated its end. Otherwise it may be cut off without an error."""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def media_type(self) -> str:
        """The declared content type without parameters, lower case; empty if none is declared."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()[:100]

    def raise_for_status(self) -> None:
        """Raise the failure of a status beyond 200-299: OutageError if it may pass."""
        if self.is_success:
            return
        kind = OutageError if is_passing(self.status) else UnavailableError
        phrase = next((status.phrase for status in HTTPStatus if status == self.status), "")
        reason = f"{host_of(httpx.URL(self.url))} answered {self.status} {phrase}".rstrip()
        wait = retry_after_seconds(self.headers)
        if kind is OutageError and wait is not None:
            reason += f" and asks to wait {wait:.0f} seconds"
        if self.attempts > 1:
            reason += f" ({self.attempts} attempts)"
        raise kind(reason, http_status=self.status, final_url=self.url)

    def redirect(self) -> httpx.URL | None:
        """Return the target of a redirect, without fragment; None for any other answer.

        Raises UnavailableError: The target is no URL.
        """
        location = self.headers.get("location")
        if self.status not in _REDIRECTS or not location:
            return None
        try:
            return httpx.URL(self.url).join(location).copy_with(fragment=None)
        except (httpx.InvalidURL, ValueError) as error:
            raise UnavailableError(f"{shown_url(self.url)} redirects to an invalid URL") from error


Sink = Callable[[Response, bytes], None]
"""Receives a body block by block, with the answer, which has no body yet."""


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `HttpClient.get` and `HttpClient.post`."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    max_bytes: int | None = None
    content: bytes | None = None
    accepts: Callable[[str], bool] = lambda _: True
    sink: Sink | None = None


class HttpClient(AbstractAsyncContextManager["HttpClient"]):
    """A pooled client (HTTP/1.1 and HTTP/2) that reaches public addresses only.

    It uses httpcore's pool, because httpx's client would keep cookies between requests, log whole
    URLs, and build the request to a redirect's target before the guard checks it. It belongs to one
    event loop; open it with `async with`, or call `aclose`. Cookies live for one request and its
    redirects. It ignores proxies in the environment, because they would resolve names without the
    guard. If a host answers 429 or 503 with Retry-After, other requests to it wait that long, or
    fail at once if the policy does not allow the wait.
    """

    def __init__(
        self,
        *,
        guard: NetworkGuard | None = None,
        limits: HttpLimits | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._guard = guard or NetworkGuard()
        self._limits = limits or HttpLimits()
        self._retry = retry or RetryPolicy()
        self._headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._timeout = {
            "connect": self._limits.connect_seconds,
            "read": self._limits.read_seconds,
            "write": self._limits.write_seconds,
        }
        self._slots = asyncio.Semaphore(self._limits.max_requests)
        self._host_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._closed_until: dict[str, float] = {}

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections. A later request opens new ones."""
        if pool := self.__dict__.pop("_pool", None):
            await pool.aclose()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        accepts: Callable[[str], bool] = lambda _: True,
        sink: Sink | None = None,
    ) -> Response:
        """Get a URL, and follow redirects that pass the guard.

        Redirects to another origin do not get the additional `headers`. `max_bytes` limits the
        decompressed body; None: the client's limit. `accepts` decides by the media type (lower
        case, may be empty) whether to read a success. `sink` receives the body block by block
        instead of the response; its exceptions end the request.

        Raises OutageError, UnavailableError.
        """
        return await self._repeat(
            _Request("GET", parse_url(url), headers or {}, max_bytes, accepts=accepts, sink=sink)
        )

    async def post(
        self,
        url: str,
        *,
        content: bytes,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
    ) -> Response:
        """Post content that may arrive twice. Redirects are returned, not followed; see `get`."""
        return await self._repeat(
            _Request("POST", parse_url(url), headers or {}, max_bytes, content=content)
        )

    async def _repeat(self, request: _Request) -> Response:
        """Send a request until it succeeds, fails for good, or has no attempts left."""
        host = host_of(request.url)
        attempt = 0
        while True:
            attempt += 1
            is_last = attempt >= self._retry.attempts
            pause = self._retry.delay(attempt)
            try:
                await self._wait_for_host(host)
                response = await self._attempt(request)
            except OutageError as failure:
                if not failure.retry or is_last:
                    if attempt > 1:
                        failure.reason += f" ({attempt} attempts)"
                        failure.args = (failure.reason,)
                    raise
            else:
                wait = retry_after_seconds(response.headers)
                if wait and response.status in _SLOWING_STATUSES:
                    final_host = host_of(httpx.URL(response.url))
                    self._closed_until[final_host] = time.monotonic() + wait
                pause = pause if wait is None else wait
                too_long = wait is not None and wait > self._retry.max_retry_after_seconds
                if is_last or too_long or response.status not in _RETRIED_STATUSES:
                    return replace(response, attempts=attempt)
            await asyncio.sleep(pause)

    async def _wait_for_host(self, host: str) -> None:
        """Wait as long as a host has asked for; OutageError if that is too long."""
        while (seconds := self._closed_until.get(host, 0.0) - time.monotonic()) > 0:
            if seconds > self._retry.max_retry_after_seconds:
                raise OutageError(f"{host} asked to be left alone for {seconds:.0f} more seconds")
            await asyncio.sleep(seconds)
        self._closed_until.pop(host, None)

    async def _attempt(self, request: _Request) -> Response:
        """Send a request once, and follow its redirects."""
        url, headers = request.url, request.headers
        cookies, seconds_left = httpx.Cookies(), self._limits.attempt_seconds
        async with self._slots:
            for _ in range(_MAX_REDIRECTS + 1):
                host = host_of(url)
                at_once = self._limits.at_once.get(host, self._limits.max_requests_per_host)
                slot = self._host_slots.setdefault(host, asyncio.Semaphore(at_once))
                try:
                    async with slot:  # waiting for it does not count as the attempt's time
                        started = time.perf_counter()
                        async with asyncio.timeout(seconds_left):
                            hop = replace(request, url=url, headers=headers)
                            answer = await self._exchange(hop, cookies)
                        seconds_left -= elapsed_since(started)
                except _FAILURES as error:
                    failure = self._failure(url, error)
                    if url != request.url and failure.final_url is None:
                        failure.final_url = str(url)
                    raise failure from (None if failure is error else error)
                if isinstance(answer, Response):
                    return answer
                if (answer.scheme, host_of(answer), answer.port) != (url.scheme, host, url.port):
                    headers = {}
                url = answer
        reason = f"{shown_url(request.url)} redirects more than {_MAX_REDIRECTS} times"
        raise UnavailableError(reason, final_url=str(url))

    def _failure(self, url: httpx.URL, error: Exception) -> HttpFailureError:
        host, limits = host_of(url), self._limits
        match error:
            case HttpFailureError():
                return error
            case ForbiddenTargetError():
                return UnavailableError(f"{shown_url(url)} is not fetched: {error.reason}")
            case TimeoutError():
                return OutageError(f"{host} was not done after {limits.attempt_seconds:g} seconds")
            case _ if (handshake := failed_handshake(error)) is not None:
                return OutageError(f"the secure connection to {host} failed: {handshake}")
            case _ if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
                return OutageError(f"the name {host} could not be resolved", retry=True)
            case httpcore.ConnectTimeout():
                reason = f"{host} could not be reached within {limits.connect_seconds:g} seconds"
            case httpcore.TimeoutException():
                reason = f"{host} fell silent for {limits.read_seconds:g} seconds"
            case httpcore.ConnectError():
                reason = f"no connection to {host} could be made"
            case httpcore.ProtocolError():
                reason = f"{host} broke off or broke the rules of HTTP in its answer"
            case _:
                reason = f"the connection to {host} was lost"
        is_silence = isinstance(error, httpcore.ReadTimeout)
        return OutageError(reason, retry=self._retry.after_silence or not is_silence)

    async def _exchange(self, request: _Request, cookies: httpx.Cookies) -> Response | httpx.URL:
        """Return the answer of one server, or the URL to which it redirects."""
        self._guard.check_url(request.url)
        # Without a Host, httpx decodes the name, which fails for some Punycode, such as emoji.
        headers = {"Host": request.url.netloc.decode("ascii"), **self._headers, **request.headers}
        sent = httpx.Request(request.method, request.url, headers=headers, content=request.content)
        sent.headers.encoding = "utf-8"  # Cookies may have letters beyond ASCII.
        cookies.set_cookie_header(sent)
        target = httpcore.URL(
            scheme=sent.url.raw_scheme,
            host=sent.url.raw_host,
            port=sent.url.port,
            target=sent.url.raw_path,
        )
        async with self._pool.stream(
            request.method,
            target,
            headers=sent.headers.raw,
            content=request.content,
            extensions={"timeout": self._timeout},
        ) as raw:
            answer = httpx.Response(raw.status, headers=raw.headers, request=sent)
            cookies.extract_cookies(answer)
            # RFC 9112, section 8: a length, a last chunk, the end of a compressed stream or HTTP/2
            # distinguish the end from a lost connection.
            framed = (
                "content-length" in answer.headers
                or "transfer-encoding" in answer.headers
                or answer.headers.get("content-encoding", "identity") not in {"", "identity"}
                or raw.extensions.get("http_version") == b"HTTP/2"
            )
            head = Response(str(request.url), raw.status, answer.headers, b"", framed=framed)
            redirect = head.redirect() if request.method == "GET" else None
            with attributed_to(head):
                return redirect or await _read(raw, head, request, self._limits.max_bytes)

    @cached_property
    def _pool(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=_tls_context(),
            max_connections=self._limits.max_requests,
            max_keepalive_connections=self._limits.max_requests // 2,
            keepalive_expiry=15.0,
            http1=True,
            http2=True,
            network_backend=GuardedBackend(self._guard),
        )


_tls_context = cache(httpx.create_ssl_context)
"""Loads the trusted authorities once; respects SSL_CERT_FILE and SSL_CERT_DIR."""


def is_passing(status: int) -> bool:
    """Tell whether the failure of a status may pass: 408, 425, 429 and 5xx."""
    return status in _PASSING_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def read_object(response: Response) -> dict[str, Any]:
    """Return the JSON object of a success. Raises HttpFailureError for any other answer."""
    response.raise_for_status()
    answer = None
    with suppress(ValueError, RecursionError):
        answer = json.loads(response.body)
    if not isinstance(answer, dict):
        raise OutageError("the answer is no JSON object; try again later")
    return answer


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None if it asks for no wait.

    `retry-after-ms` (OpenAI, Azure) precedes `retry-after` (RFC 9110, section 10.2.3), which has
    seconds, with fractions, or a date. Names of `headers` are in lower case.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) * unit
            if math.isfinite(seconds):
                return min(max(0.0, seconds), _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def shown_url(url: httpx.URL | str) -> str:
    """Return a shortened URL for messages, without user information, query and fragment."""
    parsed = httpx.URL(url) if isinstance(url, str) else url
    text = str(parsed.copy_with(userinfo=b"", query=None, fragment=None))
    text = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
    return f"{text}?…" if parsed.query else text


def elapsed_since(started: float) -> float:
    """Return the seconds since a value of time.perf_counter."""
    return time.perf_counter() - started


def parse_url(url: str) -> httpx.URL:
    """Return a URL without its fragment. Raises UnavailableError if it is invalid."""
    try:
        return httpx.URL(url).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise UnavailableError("this is not a URL that can be fetched") from error


async def _read(raw: httpcore.Response, head: Response, request: _Request, most: int) -> Response:
    """Read the body of an answer, at most `most` bytes after decompression."""
    host = host_of(httpx.URL(head.url))
    if head.is_success and not request.accepts(head.media_type):
        raise UnavailableError(f"unsupported content type: {head.media_type or 'none declared'}")
    if request.sink is not None and not head.is_success:
        return head
    most = most if request.max_bytes is None else request.max_bytes
    too_large = TooLargeError(f"{host} sent more than {most / 1e6:g} MB; reading stopped there")
    encoding = head.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise OutageError(f"{host} sent an encoding that was not asked for: {encoding[:30]}")
    declared = head.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > most:
        raise too_large
    inflater = None if encoding in {"", "identity"} else zlib.decompressobj(zlib.MAX_WBITS | 16)
    parts: list[bytes] = []
    received = 0
    async for chunk in raw.aiter_stream():
        received += len(chunk)
        try:
            # The limit protects from decompression bombs.
            part = chunk if inflater is None else inflater.decompress(chunk, most + 1)
        except zlib.error as error:
            raise OutageError(f"{host} sent a damaged body", retry=True) from error
        most -= len(part)
        if most < 0:
            raise too_large
        if request.sink is not None:
            request.sink(head, part)
        else:
            parts.append(part)
    if inflater is not None and received and (not inflater.eof or inflater.unused_data):
        raise OutageError(f"{host} broke off in the middle of its answer", retry=True)
    return replace(head, body=b"".join(parts))


def failed_handshake(error: BaseException) -> str | None:
    """Return the reason of a failed TLS handshake among an error's causes, else None."""
    tls = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    if tls is None or isinstance(tls, ssl.SSLWantReadError):  # it only waited for bytes
        return None
    return getattr(tls, "verify_message", None) or tls.reason or "handshake failed"


def _causes(error: BaseException | None) -> list[BaseException]:
    """Return an error and its causes, the direct one first."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes
