"""Guards every request before it reaches a route, and every answer before it leaves.

All checks come before the body, so that nobody reads a stranger's body.

- Host: a page that made its own name resolve to this machine (DNS rebinding) still sends that name.
- Origin and content type: another site's page can make a browser send a form here, but no JSON, and
  it cannot forge its origin. Only the desk takes forms. Forms and requests with a session must come
  from the service's own pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factible_assets.settings import Settings
from factible_assets.web.auth import ANONYMOUS, SESSION_COOKIE, Client, Clients, is_loopback
from resources.text_files import quoted

MOST_BODY_BYTES = 64 * 1024
MOST_FORM_BYTES = 32 * 1024 * 1024
"""A form of the desk can bring a transcript and pages."""
MOST_KEPT_BYTES = 16 * 1024
"""A form of up to this size survives the end of its session: its user can sign in and send it."""

DESK, SIGN_IN, SIGN_OUT, CARDS = "/desk", "/desk/sign-in", "/desk/sign-out", "/desk/cards/"
HEALTH = "/api/v1/health"
OPEN_PATHS = frozenset({HEALTH, SIGN_IN})
"""These need no token. Cards need none either: their route checks a signature in the address."""

READING = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""The defaults. An answer can set its own."""

_HOST = re.compile(
    r"(?:(?P<name>[\w.-]{1,255})|\[(?P<address>[0-9a-f:.]{2,45})\])(?::(?P<port>\d{0,5}))?",
    re.ASCII | re.IGNORECASE,
)
_EXTENSION = re.compile(r"(chrome|moz|safari-web)-extension://[\w-]{1,64}", re.ASCII)
_WORDS_FORM = "application/x-www-form-urlencoded"
_FORMS = frozenset({_WORDS_FORM, "multipart/form-data"})

ErrorResponse: TypeAlias = Callable[[Request, HTTPException, bytes | None], Response]
"""Makes the answer to a refused request. The bytes are a form whose session has ended."""


@dataclass(frozen=True)
class AccessPolicy:
    """The clients, host names and origins that the service accepts.

    Attributes:
        clients: The tokens, sessions and quotas.
        hosts: The names of the service in lower case, or None for any name.
        origins: Other sites whose pages may call the service.
        challenge: The header that asks a client for a token.
        public: The origin under which a proxy shows the service, if there is one.
    """

    clients: Clients
    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()
    challenge: str = "Bearer"
    public: str | None = None

    @classmethod
    def from_settings(cls, settings: Settings, *, name: str, address: str) -> Self:
        """Return the policy for a service that listens on an address, under a name."""
        clients = Clients.from_settings(settings, beyond_loopback=not is_loopback(address))
        public = urlsplit(settings.public_url or "").hostname
        # With tokens, a rebound name helps no stranger. Any name is fine then.
        names = LOOPBACK_NAMES | {name.lower()} | ({public} if public else set())
        hosts = None if clients.by_digest else frozenset(names)
        origins = frozenset(origin.rstrip("/") for origin in settings.serve_origins)
        return cls(clients, hosts, origins, public=settings.public_url)

    def admit(self, scope: Scope) -> Client:
        """Return the client of a request, or raise the HTTPException that refuses it."""
        headers, path = Headers(scope=scope), scope["path"]
        self._require_host(headers)
        # Browsers let pages of any origin open a websocket, so it counts as writing.
        writes = scope["type"] == "websocket" or scope["method"] not in READING
        session = HTTPConnection(scope).cookies.get(SESSION_COOKIE)
        authorization = headers.get("authorization")
        if writes:
            is_form = path.startswith(DESK) and _media_type(headers) in _FORMS
            is_session = authorization is None and session is not None
            self._require_origin(
                headers, self._own_origin(scope), must_name_it=is_form or is_session
            )
        if path in OPEN_PATHS or path.startswith(CARDS):
            return ANONYMOUS
        try:
            address = (scope.get("client") or ("",))[0]
            client = self.clients.authenticate(authorization, session, address=address)
        except HTTPException as error:
            if error.status_code == 401:  # noqa: PLR2004 - unauthorized
                error.headers = {"WWW-Authenticate": self.challenge}
            raise
        self.clients.count_request(client.id)
        if writes and path != SIGN_OUT and not client.may("review"):
            words = "Your token is for reading. It cannot start checks or review."
            raise HTTPException(403, words)
        return client

    def _require_host(self, headers: Headers) -> None:
        """Refuse a request that names another host than this service."""
        host = headers.get("host", "")
        name = _host_name(host)
        if name is None or (self.hosts is not None and name not in self.hosts):
            raise HTTPException(
                421,
                f"This service does not answer as {quoted(host)}. Use its address, or set "
                "FACTIBLE_PUBLIC_URL.",
            )

    def _own_origin(self, scope: Scope) -> str:
        """Return the origin of the service's own pages, as the browser of a request sees it."""
        host = Headers(scope=scope).get("host", "")
        # A proxy with TLS sends plain HTTP to the service, but its pages have https.
        if self.public is not None and _host_name(host) == urlsplit(self.public).hostname:
            return self.public.lower().rstrip("/")
        return f"{scope.get('scheme', 'http').replace('ws', 'http')}://{host}".lower()

    def _require_origin(self, headers: Headers, own_origin: str, *, must_name_it: bool) -> None:
        """Refuse requests from other sites' pages.

        `must_name_it` is for requests that a browser also sends for other sites. An extension of a
        browser is no page of a site: it may send the token that its user gave it.
        """
        if any(len(headers.getlist(name)) > 1 for name in ("origin", "sec-fetch-site")):
            raise HTTPException(403, "A request comes from one page. Send the header Origin once.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and must_name_it and site != "same-origin":
            words = "A form must say which page it comes from. Send the header Origin with it."
            raise HTTPException(403, words)
        if origin is None and site not in {None, "same-origin", "none"}:
            raise HTTPException(403, "Pages of other sites may not call this service.")
        # `authenticate` examines the token later. Browsers add other schemes by themselves.
        scheme = headers.get("authorization", "").partition(" ")[0].lower()
        has_token = bool(self.clients.by_digest) and scheme == "bearer"
        is_extension = has_token and _EXTENSION.fullmatch(origin or "")
        if not (origin is None or origin in {own_origin, *self.origins} or is_extension):
            raise HTTPException(
                403,
                f"Pages of {quoted(origin)} may not call this service. If a proxy shows the "
                "service there, set FACTIBLE_PUBLIC_URL. If it is another site that may call it, "
                "add it to FACTIBLE_SERVE_ORIGINS.",
            )


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _host_name(host: str) -> str | None:
    """Return the name of a Host header in lower case, or None unless it is NAME or NAME:PORT."""
    matched = _HOST.fullmatch(host)
    return (matched["name"] or matched["address"]).lower().rstrip(".") if matched else None


@dataclass
class AccessMiddleware:
    """Applies the policy, limits the body and adds the headers. Sets `client` in the state."""

    app: ASGIApp
    policy: AccessPolicy
    error_response: ErrorResponse
    headers: Mapping[str, str] = field(default_factory=lambda: SECURITY_HEADERS)
    most_body_bytes: int = MOST_BODY_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        path = scope["path"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    if name != "X-Frame-Options" or not path.startswith(CARDS):
                        headers.setdefault(name, value)
            await send(message)

        takes_forms = path.startswith(f"{DESK}/")
        is_large = takes_forms and path != SIGN_IN
        most = MOST_FORM_BYTES if is_large else self.most_body_bytes
        try:
            scope.setdefault("state", {})["client"] = self.policy.admit(scope)
            if scope["type"] == "http" and scope["method"] not in READING:
                _require_body(Headers(scope=scope), most, forms=takes_forms)
        except HTTPException as problem:
            await refuse(problem, self.error_response, scope, receive, send_with_headers)
            return
        if scope.get("method") == "HEAD":
            scope = {**scope, "method": "GET"}  # The server leaves out the body.
        await RequestBodyLimitMiddleware(self.app, most)(scope, receive, send_with_headers)


def _require_body(headers: Headers, most: int, *, forms: bool) -> None:
    """Refuse a body that is too large (413), or neither JSON nor a form if `forms` (415)."""
    length, kind = headers.get("content-length", "0"), _media_type(headers)
    if length.isdecimal() and int(length) > most:
        raise HTTPException(413, f"Send at most {most:,} bytes.")
    is_empty = length == "0" and "transfer-encoding" not in headers
    if not is_empty and kind != "application/json" and not (forms and kind in _FORMS):
        raise HTTPException(415, "Send JSON, with the header Content-Type: application/json.")


async def refuse(
    problem: HTTPException,
    error_response: ErrorResponse,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Answer with an error. Pass on the words of a form whose session has ended."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    unsent, request = None, Request(scope, receive)
    is_form = scope["path"].startswith(DESK) and _media_type(request.headers) == _WORDS_FORM
    length = request.headers.get("content-length", "")
    is_short = length.isdecimal() and int(length) <= MOST_KEPT_BYTES
    if problem.status_code == 401 and is_form and is_short:  # noqa: PLR2004 - unauthorized
        unsent = await request.body()
    await error_response(request, problem, unsent)(scope, receive, send)
