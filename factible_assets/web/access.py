"""What every request passes before it reaches a route, and every answer before it leaves.

What belongs here: the time that its head may take, the host that is named, the origin that asks,
the token, the rate, the size and type of the body, security headers. What does not: what a route
does.

The walls stand before the body is read, so that a stranger's body is never parsed. Of a form of the
desk whose session has ended, the words are kept on the page that asks for the token again.

- Host: a page that has its own name resolved to this machine (DNS rebinding) still sends its name.
- Origin and content type: a page of another site can make a browser send a form here, but neither
  JSON nor, without being listed, its own origin. Forms are taken by the desk alone, and as what
  comes with a session, only from pages that say that they are the service's own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Self, TypeAlias
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from factible_assets.settings import Settings
from factible_assets.web.auth import ANYBODY, Client, Clients, is_loopback
from factible_assets.web.models import problem_response
from resources.lines import shown

MOST_BODY_BYTES = 64 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MOST_FORM_BYTES = 32 * 1024 * 1024
"""What a form of the desk may bring: a transcript, and pages."""

DESK, SIGN_IN, SIGN_OUT, CARDS = "/desk", "/desk/sign-in", "/desk/sign-out", "/desk/cards/"
HEALTH = "/api/v1/health"
OPEN_PATHS = frozenset({HEALTH, SIGN_IN})
"""What may be asked without a token: whether the service is there, and the way in. Cards, which
pages of others frame, are open too; their route looks for the signature in the address."""

SESSION = "factible_session"
"""The cookie that a browser brings once its user has given a token."""

HEAD_SECONDS = 10.0
"""How long a connection may take to send the head of a request."""

TURN_SECONDS = 4.0
"""How long a request waits for its turn before it is told that the service is busy."""

_BODY_SECONDS = 30.0
_HOST = re.compile(
    r"(?:(?P<name>[\w.-]{1,255})|\[(?P<address>[0-9a-f:.]{2,45})\])(?::(?P<port>\d{0,5}))?",
    re.ASCII | re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}
_Origin: TypeAlias = tuple[str, str, int]
MOST_KEPT_BYTES = 16 * 1024
"""Of a form that comes after its session has ended: so much is kept until its user is back."""
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
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
    """Who is let in: clients, under `hosts` (lower case; None: any), from own pages and `origins`.

    `challenge` is how a client without a token is asked for one. `public` is the origin under which
    a proxy, such as one with TLS, shows the service; None: clients ask it directly.
    """

    clients: Clients
    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()
    challenge: str = "Bearer"
    public: str | None = None

    @classmethod
    def of(cls, settings: Settings, *, name: str, address: str) -> Self:
        """Return who is let in to what listens on an address, which its operator called a name."""
        clients = Clients.of(settings, beyond_loopback=not is_loopback(address))
        listed = {host.lower() for host in settings.serve_hosts}
        # With tokens a rebound name is worth nothing to a stranger, so any name will do where the
        # settings list none.
        any_name = bool(clients.by_digest) and not listed
        hosts = None if any_name else frozenset(listed | LOOPBACK_NAMES | {name.lower()})
        return cls(
            clients,
            hosts,
            frozenset(each.rstrip("/") for each in settings.serve_origins),
            public=settings.public_url,
        )

    def client_of(self, scope: Scope) -> Client:
        """Return who asks; HTTPException: they may not."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        name = _name_of(host)
        if name is None or (self.hosts is not None and name not in self.hosts):
            raise HTTPException(
                421,
                f"This service is not {shown(host)}. Ask it by its address, or add "
                "the name to FACTIBLE_SERVE_HOSTS.",
            )
        session = HTTPConnection(scope).cookies.get(SESSION)
        authorization = headers.get("authorization")
        # A websocket is not held back by the browser's own rule for pages of other origins.
        writes = scope["type"] == "websocket" or scope["method"] not in READING
        if writes:
            is_form = path.startswith(DESK) and _kind(headers) in _FORMS
            is_session = authorization is None and session is not None
            own = self._own_origin(scope.get("scheme", "http"), host)
            self._require_origin(headers, own, by_itself=is_form or is_session)
        if path in OPEN_PATHS or path.startswith(CARDS):
            return ANYBODY
        try:
            address = (scope.get("client") or ("",))[0]
            client = self.clients.who(authorization, session, address=address)
        except HTTPException as error:
            if error.status_code == HTTPStatus.UNAUTHORIZED:
                error.headers = {"WWW-Authenticate": self.challenge}
            raise
        self.clients.count_request(client.id)
        if writes and path != SIGN_OUT and not client.may("review"):
            raise HTTPException(403, "This token may read, and neither start checks nor review.")
        return client

    def _own_origin(self, scheme: str, host: str) -> _Origin | None:
        """Return the origin of the service's own pages in a browser that asks for a host."""
        public = _origin_of(self.public or "")
        own = _origin_of(f"{scheme.replace('ws', 'http')}://{host}")
        # Behind a proxy with TLS the request comes in the clear, and its pages did not.
        return public if public is not None and _name_of(host) == public[1] else own

    def _require_origin(self, headers: Headers, own: _Origin | None, *, by_itself: bool) -> None:
        """Refuse other sites' pages; `by_itself`: a browser may send this for them unasked."""
        if any(len(headers.getlist(name)) > 1 for name in ("origin", "sec-fetch-site")):
            raise HTTPException(403, "A request is from one page: send the header Origin once.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and by_itself and site != "same-origin":
            words = "A form must say which page it is from: send the header Origin with it."
            raise HTTPException(403, words)
        if origin is None and site not in {None, "same-origin", "none"}:
            raise HTTPException(403, "Pages of other sites may not call this service.")
        if origin is None or origin in self.origins:
            return
        if own is None or _origin_of(origin) != own:
            raise HTTPException(
                403,
                f"Pages of {shown(origin)} may not call this service. If they are its own, shown "
                "by a proxy, set FACTIBLE_PUBLIC_URL; if they are others that should, add the "
                "origin to FACTIBLE_SERVE_ORIGINS.",
            )


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _name_of(host: str) -> str | None:
    """Return the name in a header Host, in lower case; None if that has not NAME or NAME:PORT."""
    found = _HOST.fullmatch(host)
    return (found["name"] or found["address"]).lower().rstrip(".") if found else None


def _origin_of(address: str) -> _Origin | None:
    """Return the scheme, the name and the port of an origin, None if it is none."""
    scheme, mark, host = address.lower().rstrip("/").partition("://")
    name, found = _name_of(host), _HOST.fullmatch(host)
    if not mark or scheme not in _PORTS or not name or found is None:
        return None
    return scheme, name, int(found["port"] or _PORTS[scheme])


@dataclass
class Walls:
    """The middleware. It leaves the client in the request's state, as `client`."""

    app: ASGIApp
    admission: Admission
    headers: Mapping[str, str] = field(default_factory=lambda: SECURITY_HEADERS)
    most_body_bytes: int = MOST_BODY_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        path = scope["path"]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    if name != "X-Frame-Options" or not path.startswith(CARDS):
                        headers.setdefault(name, value)
            await send(message)

        try:
            scope.setdefault("state", {})["client"] = self.admission.client_of(scope)
            if scope["type"] == "http" and scope["method"] not in READING:
                forms = path.startswith(f"{DESK}/")
                most = MOST_FORM_BYTES if forms and path != SIGN_IN else self.most_body_bytes
                body = await _body(Headers(scope=scope), receive, most, forms=forms)
                rest = receive
                first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

                async def replayed() -> Message:
                    return first.pop() if first else await rest()

                receive = replayed
        except HTTPException as problem:
            await refuse(problem, scope, receive, guarded)
            return
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}  # the server leaves out the body
        await self.app(scope, receive, guarded)


@dataclass
class Turnstile:
    """The middleware that answers some requests at once, and tells those that wait too long.

    Pages are made in threads that share one interpreter: of two hundred at once, none would be done
    soon. A stream is open for as long as a check takes, and is not counted.
    """

    app: ASGIApp
    at_once: int = 4
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Have all places free."""
        self._places = asyncio.Semaphore(self.at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request when it has a place, or say that the service is busy."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path == HEALTH or path.endswith(("/stream", "/events")):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            words = "The service is busy with other requests. Try again in some seconds."
            problem = HTTPException(503, words, {"Retry-After": str(int(TURN_SECONDS) or 1)})
            await refuse(problem, scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            self._places.release()


async def refuse(problem: HTTPException, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what is wrong; a browser that wants a page is sent to give its token first.

    What else is wrong with what it asks of the desk is said on a page.
    """
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    path, is_read = scope["path"], scope["method"] in READING
    headers = Headers(scope=scope)
    answer: Response = problem_response(problem)
    is_page = path == "/" or path.startswith((DESK, "/reports/"))
    accepts_pages = "text/html" in headers.get("accept", "")
    is_unknown = problem.status_code == HTTPStatus.UNAUTHORIZED and is_page and accepts_pages
    if is_unknown and is_read:
        query = scope["query_string"].decode("latin-1")
        wanted = path + (f"?{query}" if query else "")
        answer = RedirectResponse(f"{SIGN_IN}?{urlencode({'to': wanted})}", status_code=303)
    elif is_unknown:
        from factible_assets.web.desk.routes import session_ended  # noqa: PLC0415

        kept = None
        if _kind(headers) == "application/x-www-form-urlencoded":
            with suppress(HTTPException):  # it is large, or late
                kept = await _body(headers, receive, MOST_KEPT_BYTES, forms=True)
        answer = session_ended(path, headers.get("referer", ""), kept)
    elif path.startswith(DESK) and accepts_pages:
        from factible_assets.web.desk.routes import refused  # noqa: PLC0415 - it needs us

        status = HTTPStatus(problem.status_code)
        answer = refused(Request(scope), status, status.phrase, problem.detail)
        answer.headers.update(problem.headers or {})
    await answer(scope, receive, send)


async def _body(headers: Headers, receive: Receive, most: int, *, forms: bool) -> bytes:
    """Read a body whole; HTTPException: it is large, late, or neither JSON nor a form taken."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    words = f"The body is larger than {most} bytes, and no request needs that much."
                    raise HTTPException(413, words)
                if not message.get("more_body", False):
                    break
    except TimeoutError as error:
        words = "The body did not come in time; send the request again."
        raise HTTPException(408, words) from error
    kind = _kind(headers)
    if size and kind != "application/json" and not (forms and kind in _FORMS):
        raise HTTPException(415, "Send JSON, with the header Content-Type: application/json.")
    return b"".join(parts)


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
