"""Requests to a hub: guarded, following redirects, repeated when that may help, streamed.

What belongs here: one request and its failures. What does not: what a hub says about a file
(hub.py), and files (download.py).

Bodies are streamed, which resources.http does not do. The same guard applies: no private addresses
but that of the hub that the user named, and https only but from a hub on this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Self, TypeVar

import httpcore
import httpx

from resources.http import USER_AGENT, RetryPolicy, retry_after_seconds, shown
from resources.models.errors import HubUnreachableError, ModelPullError, NotOnHubError
from resources.network_guard import ForbiddenTargetError, GuardedBackend, NameTable, NetworkGuard

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_ANNOUNCED = ("x-repo-commit", "x-linked-etag", "x-linked-size")
_MOST_REDIRECTS = 6
_RETRY = RetryPolicy(attempts=5, max_delay_seconds=20.0, max_retry_after_seconds=60.0)

Done = TypeVar("Done")


class PassingError(Exception):
    """A request failed and may be repeated. The text ends without a full stop."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass(frozen=True, slots=True)
class HubAnswer:
    """An answer whose body is still on the wire.

    `announced` has what any answer on the way said of the file (names in lower case).
    """

    status: int
    headers: Mapping[str, str]
    announced: Mapping[str, str]
    body: AsyncIterator[bytes]

    @property
    def is_redirect(self) -> bool:
        """Whether the file is elsewhere."""
        return self.status in _REDIRECTS


class HubLine:
    """A connection to a hub and to where it keeps its files. Open it with `async with`."""

    def __init__(
        self,
        base_url: str,
        *,
        retry: RetryPolicy = _RETRY,
        connect_seconds: float = 15.0,
        read_seconds: float = 30.0,
    ) -> None:
        """Name the hub; nothing is opened yet.

        Raises:
            ModelPullError: The address is none, or neither https nor on this machine.
        """
        try:
            self._base = httpx.URL(base_url.rstrip("/"))
            names = NameTable.for_service(base_url)
        except (httpx.InvalidURL, ValueError) as error:
            raise ModelPullError(
                "The hub's address is not one that can be fetched from. Correct FACTIBLE_MODEL_HUB."
            ) from error
        if self._base.scheme != "https" and self._base.host not in _LOOPBACK:
            raise ModelPullError(
                f"The hub {shown(self._base)} is not fetched from, because it is not https. "
                "Correct FACTIBLE_MODEL_HUB."
            )
        self._guard = NetworkGuard(names)
        self._retry = retry
        self._timeout = {
            "connect": connect_seconds,
            "read": read_seconds,
            "write": read_seconds,
            "pool": connect_seconds,
        }
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def __aenter__(self) -> Self:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(), network_backend=GuardedBackend(self._guard)
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()

    @property
    def host(self) -> str:
        """The hub, for sentences."""
        return self._base.host

    def url(self, path: str) -> httpx.URL:
        """Return the address of a path, which is quoted already."""
        return httpx.URL(f"{self._base}/{path}")

    async def repeat(
        self,
        ask: Callable[[], Awaitable[Done]],
        what: str,
        reached: Callable[[], int] = lambda: 0,
    ) -> Done:
        """Ask until there is an answer.

        Args:
            ask: Asks once.
            what: What is asked for, for the sentence.
            reached: How far it came; whatever comes further may fail as often as in the beginning.

        Raises:
            HubUnreachableError: It failed too often without coming further.
        """
        failures, best = 0, reached()
        while True:
            try:
                return await ask()
            except PassingError as error:
                now = reached()
                failures, best = (1, now) if now > best else (failures + 1, best)
                pause = self._retry.delay(failures) if error.pause is None else error.pause
                if failures >= self._retry.attempts or pause > self._retry.max_retry_after_seconds:
                    raise HubUnreachableError(
                        f"{self.host} did not give {what}: {error}. Check the network and pull "
                        "again; it goes on where it stopped."
                    ) from error
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def follow(
        self, method: str, url: httpx.URL, what: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[HubAnswer]:
        """Ask once, and follow redirects: for HEAD until the hub has announced a large file.

        Raises:
            PassingError: It failed and may be repeated.
            NotOnHubError: There is no such file, or not for everybody.
        """
        said: dict[str, str] = {}
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._ask(method, url, dict(headers or {})) as answer:
                said = {n: answer.headers[n] for n in _ANNOUNCED if n in answer.headers} | said
                told = method == "HEAD" and "x-linked-etag" in said
                if told or not answer.is_redirect:
                    _check_status(answer, self.host, what)
                    yield HubAnswer(answer.status, answer.headers, said, answer.body)
                    return
            url = self._next(url, answer.headers.get("location", ""))
        raise NotOnHubError(f"{self.host} redirects more than {_MOST_REDIRECTS} times for {what}.")

    def _next(self, url: httpx.URL, location: str) -> httpx.URL:
        try:
            return url.join(location)
        except httpx.InvalidURL as error:
            raise NotOnHubError(f"{shown(url)} redirects to what is not an address.") from error

    @asynccontextmanager
    async def _ask(
        self, method: str, url: httpx.URL, headers: dict[str, str]
    ) -> AsyncIterator[HubAnswer]:
        if self._pool is None:
            raise RuntimeError("A HubLine is opened with `async with` before it is used.")
        self._check(url)
        sent = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers}
        sent["Host"] = url.netloc.decode("ascii")
        try:
            async with self._pool.stream(
                method, str(url), headers=list(sent.items()), extensions={"timeout": self._timeout}
            ) as raw:
                found = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in raw.headers
                }
                yield HubAnswer(raw.status, found, {}, raw.aiter_stream())
        except ForbiddenTargetError as error:
            raise NotOnHubError(f"{shown(url)} is not fetched from: {error.reason}.") from error
        except (httpcore.TimeoutException, TimeoutError) as error:
            raise PassingError(f"{url.host} was silent for too long") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise PassingError(f"the connection to {url.host} failed ({error})") from error

    def _check(self, url: httpx.URL) -> None:
        """Refuse what is not https, except from the hub itself if that is on this machine.

        Raises:
            NotOnHubError: A redirect leads to where nothing is fetched from.
        """
        own = (url.scheme, url.netloc) == (self._base.scheme, self._base.netloc)
        if url.scheme != "https" and not own:
            raise NotOnHubError(f"{shown(url)} is not fetched from, because it is not https.")
        try:
            self._guard.check_url(url)
        except ForbiddenTargetError as error:
            raise NotOnHubError(f"{shown(url)} is not fetched from: {error.reason}.") from error


def _check_status(answer: HubAnswer, host: str, what: str) -> None:
    status = answer.status
    if status < HTTPStatus.BAD_REQUEST or status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return
    if status in _PASSING:
        pause = retry_after_seconds(httpx.Headers(dict(answer.headers)))
        raise PassingError(f"it answered {status}", pause)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise NotOnHubError(
            f"{host} gives {what} only to those who have an account, or does not have it "
            f"({status}). Fetch the model by hand, or name another hub in FACTIBLE_MODEL_HUB."
        )
    if status == HTTPStatus.NOT_FOUND:
        raise NotOnHubError(
            f"{host} does not have {what} (404). It may have been moved or removed there; a newer "
            "factible may know where to."
        )
    raise NotOnHubError(f"{host} refused to give {what} ({status}).")
