"""What every request passes before it reaches a route, and every answer before it leaves.

What belongs here: the time that its head may take, the host that is named, the origin that asks,
the token, the rate, the size and type of the body, security headers. What does not: what a route
does.

The walls stand before the body is read, so that a stranger's body is never parsed.

- Host: a page that has its own name resolved to this machine (DNS rebinding) still sends its name.
- Origin and content type: a page of another site can make a browser send a form here, but neither
  JSON nor, without being listed, its own origin. Forms are taken by the desk alone, and as what
  comes with a session, only from pages that say that they are the service's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from factible_assets.http_service.auth import ANYBODY, Client, Quotas, Tokens
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
MOST_FORM_BYTES = 32 * 1024 * 1024
"""What a form of the desk may bring: a transcript, and pages."""

DESK, SIGN_IN, SIGN_OUT, CARDS = "/desk", "/desk/sign-in", "/desk/sign-out", "/desk/cards/"
OPEN_PATHS = frozenset({"/api/v1/health", SIGN_IN})
"""What may be asked without a token: whether the service is there, and the way in. Cards, which
pages of others frame, are open too; their route looks for the signature in the address."""

SESSION = "factible_session"
"""The cookie that a browser brings once its user has given a token."""

_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})

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

    def client_of(self, scope: Scope) -> Client:
        """Return who asks.

        Raises:
            ProblemError: They may not.
        """
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        self._require_host(host)
        authorization, session = headers.get("authorization"), _session(headers)
        # A websocket is not held back by the browser's own rule for pages of other origins.
        writes = scope["type"] == "websocket" or scope["method"] not in READING
        if writes:
            is_form = path.startswith(DESK) and _kind(headers) in _FORMS
            is_session = authorization is None and session is not None
            self._require_origin(headers, host, by_itself=is_form or is_session)
        if path in OPEN_PATHS or path.startswith(CARDS):
            return ANYBODY
        try:
            client = self.tokens.client_of(authorization, session)
        except UnauthorizedError as error:
            error.headers["WWW-Authenticate"] = self.challenge
            raise
        self.quotas.count_request(client.id)
        if writes and path != SIGN_OUT and not client.may("review"):
            raise ForbiddenError("This token may read, and neither start checks nor review.")
        return client

    def _require_host(self, host: str) -> None:
        if self.hosts is not None and _name_of(host) not in self.hosts:
            raise MisdirectedError(
                f"This service is not {host[:_SHOWN_CHARACTERS]!r}. Ask it by its address, or add "
                "the name to FACTIBLE_SERVE_HOSTS."
            )

    def _require_origin(self, headers: Headers, host: str, *, by_itself: bool) -> None:
        """Refuse what a page of another site sends.

        Args:
            headers: Of the request.
            host: The host that it names.
            by_itself: Whether a browser may have sent it for a page that cannot read the answer.
        """
        origin = headers.get("origin")
        if origin is None:
            if by_itself and headers.get("sec-fetch-site") != "same-origin":
                raise ForbiddenError(
                    "A form must say which page it is from: send the header Origin with it."
                )
            return
        if origin not in self.origins and urlsplit(origin).netloc.lower() != host.lower():
            raise ForbiddenError(
                f"Pages of {origin[:_SHOWN_CHARACTERS]!r} may not call this service. Add the "
                "origin to FACTIBLE_SERVE_ORIGINS if they should."
            )


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _session(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(SESSION)
    except CookieError:
        return None
    return found.value if found is not None else None


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
                    if name != "X-Frame-Options" or not scope["path"].startswith(CARDS):
                        headers.setdefault(name, value)
            await send(message)

        try:
            scope.setdefault("state", {})["client"] = self._admission.client_of(scope)
            if scope["type"] == "http" and scope["method"] not in READING:
                forms = scope["path"].startswith(f"{DESK}/")
                most = MOST_FORM_BYTES if forms and scope["path"] != SIGN_IN else self._most
                body = await _body(Headers(scope=scope), receive, most, forms=forms)
                receive = _replayed(body, receive)
        except ProblemError as problem:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
            else:
                way_in = _way_in(scope) if isinstance(problem, UnauthorizedError) else None
                await (way_in or problem_response(problem))(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _way_in(scope: Scope) -> Response | None:
    """Return where a browser that wants a page is sent to give its token; None for programs."""
    is_page = scope["path"] == "/" or scope["path"].startswith((DESK, "/reports/"))
    if not is_page or "text/html" not in Headers(scope=scope).get("accept", ""):
        return None
    query = scope["query_string"].decode("latin-1")
    is_read = scope["method"] in READING
    wanted = scope["path"] + (f"?{query}" if query else "") if is_read else DESK
    return RedirectResponse(f"{SIGN_IN}?{urlencode({'to': wanted})}", status_code=303)


def problem_response(error: ProblemError) -> Response:
    """Return the answer that says what is wrong."""
    return Response(
        error.problem.model_dump_json(),
        status_code=error.status,
        headers=error.headers,
        media_type=MEDIA_TYPE,
    )


async def _body(headers: Headers, receive: Receive, most: int, *, forms: bool) -> bytes:
    """Read a body whole: small, in time, and JSON, or where they are taken a form, if there is any.

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
    kind = _kind(headers)
    if size and kind != "application/json" and not (forms and kind in _FORMS):
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
