"""What every request passes before it reaches a route, and every answer before it leaves.

What belongs here: the time that its head may take, the host that is named, the origin that asks,
the token, the rate, the size and type of the body, security headers. What does not: what a route
does.

The walls stand before the body is read, so that a stranger's body is never parsed.

- Host: a page that has its own name resolved to this machine (DNS rebinding) still sends its name.
- Origin and content type: a page of another site can make a browser send a form here, but neither
  JSON nor, without being listed, its own origin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from factible_assets.http_service.auth import Quotas, Tokens
from factible_assets.http_service.problems import (
    MEDIA_TYPE,
    ForbiddenError,
    MisdirectedError,
    ProblemError,
    SlowBodyError,
    TooLargeError,
    UnauthorizedError,
    WrongTypeError,
)

MOST_BODY_BYTES = 64 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/api/v1/health"})
"""What may be asked without a token: whether the service is there."""

HEAD_SECONDS = 10.0
"""How long a connection may take to send the head of a request."""

_BODY_SECONDS = 30.0
_SHOWN_CHARACTERS = 80
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Set where the answer does not set them itself."""


@dataclass(frozen=True)
class Admission:
    """Who is let in.

    Attributes:
        tokens: The tokens that are accepted.
        quotas: How much one client may ask.
        hosts: The names of this service, lower case; None lets every name pass.
        origins: The web origins whose pages may write here, besides the service's own.
    """

    tokens: Tokens
    quotas: Quotas
    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()

    challenge: str = "Bearer"
    """How a client without a token is asked for one."""

    def client_of(self, scope: Scope) -> str:
        """Return who asks.

        Raises:
            ProblemError: They may not.
        """
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        self._require_host(host)
        if scope["path"] in OPEN_PATHS:
            return ""
        # A websocket is not held back by the browser's own rule for pages of other origins.
        if scope["type"] == "websocket" or scope["method"] not in READING:
            self._require_origin(headers.get("origin"), host)
        try:
            client = self.tokens.client_of(headers.get("authorization"))
        except UnauthorizedError as error:
            error.headers["WWW-Authenticate"] = self.challenge
            raise
        self.quotas.count_request(client)
        return client

    def _require_host(self, host: str) -> None:
        if self.hosts is not None and _name_of(host) not in self.hosts:
            raise MisdirectedError(
                f"This service is not {host[:_SHOWN_CHARACTERS]!r}. Ask it by its address, or add "
                "the name to FACTIBLE_SERVE_HOSTS."
            )

    def _require_origin(self, origin: str | None, host: str) -> None:
        if origin is None or origin in self.origins:
            return
        if urlsplit(origin).netloc.lower() != host.lower():
            raise ForbiddenError(
                f"Pages of {origin[:_SHOWN_CHARACTERS]!r} may not call this service. Add the "
                "origin to FACTIBLE_SERVE_ORIGINS if they should."
            )


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


class Walls:
    """The middleware. It leaves the client in the request's state, as `client`."""

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        *,
        headers: Mapping[str, str] = SECURITY_HEADERS,
        most_body_bytes: int = MOST_BODY_BYTES,
    ) -> None:
        self._app = app
        self._admission = admission
        self._headers = headers
        self._most = most_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            scope.setdefault("state", {})["client"] = self._admission.client_of(scope)
            if scope["type"] == "http" and scope["method"] not in READING:
                body = await _body(Headers(scope=scope), receive, self._most)
                receive = _replayed(body, receive)
        except ProblemError as problem:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
            else:
                await problem_response(problem)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def problem_response(error: ProblemError) -> Response:
    """Return the answer that says what is wrong."""
    return Response(
        error.problem.model_dump_json(),
        status_code=error.status,
        headers=error.headers,
        media_type=MEDIA_TYPE,
    )


async def _body(headers: Headers, receive: Receive, most: int) -> bytes:
    """Read a body whole: small, in time, and JSON if there is any.

    Raises:
        ProblemError: It is not.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise TooLargeError(
                        f"The body is larger than {most} bytes, and no request needs that much."
                    )
                if not message.get("more_body", False):
                    break
    except TimeoutError as error:
        raise SlowBodyError("The body did not come in time; send the request again.") from error
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if size and kind != "application/json":
        raise WrongTypeError("Send JSON, with the header Content-Type: application/json.")
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, then whatever comes."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay


def host_names(bound: str, listed: Iterable[str], *, has_tokens: bool) -> frozenset[str] | None:
    """Return the names that requests may give this service; None if any will do.

    With tokens a rebound name is worth nothing to a stranger, so any name will do where the
    settings list none.
    """
    names = {name.lower() for name in listed}
    if has_tokens and not names:
        return None
    return frozenset(names | LOOPBACK_NAMES | {bound.lower()})


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose next request does not arrive whole, up to its body, in time.

    Uvicorn waits for it without a limit, so that a few hundred half-sent ones use up the service. A
    connection that has become a web socket is no longer this protocol's.
    """

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Wait for the request that begins here, or answer the one that is complete."""
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        """Wait for what may have been sent behind the request; an idle connection is uvicorn's."""
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        if self._closing is not None:
            self._closing.cancel()

    def _expect(self) -> None:
        """Count the time while a request is awaited; more data of it wins no more time."""
        cycle: RequestResponseCycle | None = self.cycle
        is_socket = self.transport.get_protocol() is not self
        is_answering = is_socket or (cycle is not None and not cycle.response_complete)
        if is_answering and self._closing is not None:
            self._closing.cancel()
            self._closing = None
        elif not is_answering and self._closing is None:
            self._closing = self.loop.call_later(HEAD_SECONDS, self.transport.close)
