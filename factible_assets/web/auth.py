"""Identifies clients by token or session, and keeps their quotas.

The service stores digests of tokens and sessions, never the secrets. A token can carry a name and a
role, as `NAME:ROLE:TOKEN`. A bare token has no name and the role admin. Without any token there is
one client: this machine.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, cast, get_args

from starlette.exceptions import HTTPException

from factible_assets.settings import Settings, SettingsError
from factible_assets.web.problems import too_many
from resources.statements import statements

Role = Literal["read", "review", "admin"]
"""Each role includes the ones before: read, start checks and review, use the Dagster UI."""

SHORTEST_TOKEN = 16
SESSION_SECONDS = 12 * 3600.0
SESSION_COOKIE = "factible_session"

_NAMED = re.compile(r"([^:]{1,80}):(read|review|admin):(.*)", re.DOTALL)
_MINUTE, _DAY = 60.0, 86_400.0
_VIDEOS_PER_DAY, _REQUESTS_PER_MINUTE = 50, 120
"""The default quotas if the service listens beyond loopback."""
_WRONG_TOKENS_PER_MINUTE = 10
_MOST_KEYS = 10_000

_SQL = statements("factible_assets.web", "auth.sql")


def is_loopback(address: str) -> bool:
    """Tell whether only this machine can reach an address. Names are not addresses."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _network(address: str) -> str:
    """Return the network that one holder controls: an IPv4 address, or 64 bits of IPv6."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    bits = 32 if isinstance(parsed, ipaddress.IPv4Address) else 64
    return str(ipaddress.ip_network((parsed, bits), strict=False))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.strip().encode()).digest()


@dataclass(frozen=True, slots=True)
class Client:
    """The holder of a token. Tokens without a name give None as the name."""

    id: str
    name: str | None = None
    role: Role = "admin"

    def may(self, role: Role) -> bool:
        """Tell whether the client's role includes another one."""
        return get_args(Role).index(self.role) >= get_args(Role).index(role)


LOCAL_CLIENT = Client("this machine")
ANONYMOUS = Client("", role="read")
"""The client of requests to open pages."""


@dataclass
class RateLimit:
    """Allows so many events per minute for each key. No limit if `most` is None."""

    most: int | None
    _times: dict[str, deque[float]] = field(default_factory=dict)

    def wait_seconds(self, key: str) -> float:
        """Return how long the key must wait for its next event; 0 means now."""
        times, now = self._times.get(key, deque()), time.monotonic()
        while times and times[0] <= now - _MINUTE:
            times.popleft()
        return times[0] + _MINUTE - now if self.most is not None and len(times) >= self.most else 0

    def count(self, key: str) -> None:
        now = time.monotonic()
        if len(self._times) >= _MOST_KEYS:
            known, since = self._times.items(), now - _MINUTE
            self._times = {name: times for name, times in known if times and times[-1] > since}
        self._times.setdefault(key, deque()).append(now)


@dataclass
class Clients:
    """All clients by the digests of their tokens, their sessions and their quotas.

    A file keeps launches and sessions across restarts. A quota of None means no limit.
    """

    file: Path
    by_digest: Mapping[bytes, Client]
    videos_per_day: int | None = None
    requests_per_minute: int | None = None
    _proven: set[tuple[str, bytes]] = field(default_factory=set)
    """Networks, each with the digest of a token that was right from there."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._requests = RateLimit(self.requests_per_minute)
        self._wrong_tokens = RateLimit(_WRONG_TOKENS_PER_MINUTE)

    @classmethod
    def from_settings(cls, settings: Settings, *, beyond_loopback: bool) -> Self:
        """Read tokens and quotas. Beyond loopback, both must exist.

        Raises SettingsError: A token is too short, or there is none although other machines can
        reach the service.
        """
        written = settings.serve_token.get_secret_value() if settings.serve_token else ""
        clients: dict[bytes, Client] = {}
        for part in filter(None, (part.strip() for part in written.split(","))):
            named = _NAMED.fullmatch(part)
            name, role, token = named.groups() if named else (None, "admin", part)
            if len(token.strip()) < SHORTEST_TOKEN:
                raise SettingsError(
                    f"FACTIBLE_SERVE_TOKEN is too short: give at least {SHORTEST_TOKEN} "
                    "characters, such as the output of: openssl rand -hex 32"
                )
            digest = _digest(token)
            clients[digest] = Client(digest.hex()[:16], name and name.strip(), cast("Role", role))
        videos, requests = settings.serve_videos_per_day, None
        if beyond_loopback:
            if not clients:
                raise SettingsError(
                    "Other machines can reach the service, so it needs a token. Set "
                    "FACTIBLE_SERVE_TOKEN (such as the output of: openssl rand -hex 32), or listen "
                    "on 127.0.0.1."
                )
            videos = _VIDEOS_PER_DAY if videos is None else videos
            requests = _REQUESTS_PER_MINUTE
        return cls(settings.home / "serve.sqlite", clients, videos, requests)

    def authenticate(
        self, authorization: str | None, session: str | None = None, *, address: str = ""
    ) -> Client:
        """Return the client of a header or a session.

        Raises HTTPException: Neither is valid (401), or the address sent too many wrong tokens
        (429).
        """
        if not self.by_digest:
            return LOCAL_CLIENT
        if authorization is None and session is not None:
            holder = self._client_with_session(session)
            if holder is not None:
                return holder
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() == "basic":
            # A browser's password form: any name, and the token as the password.
            try:
                token = base64.b64decode(token, validate=True).decode().partition(":")[2]
            except ValueError:
                token = ""
        if scheme.lower() not in {"bearer", "basic"} or not token.strip():
            raise HTTPException(
                401, "This service needs a token: send the header Authorization: Bearer TOKEN."
            )
        if holder := self.client_with_token(token, address):
            return holder
        raise HTTPException(
            401, "The token is not valid here. Ask the operator of this service for one."
        )

    def _client_with_session(self, session: str) -> Client | None:
        """Return the client that began a session, unless its token was removed since."""
        with self._database() as database:
            row = database.execute(_SQL["signed_in"], [_digest(session), time.time()]).fetchone()
        known = {client.id: client for client in self.by_digest.values()}
        return known.get(row[0]) if row else None

    def client_with_token(self, token: str, address: str) -> Client | None:
        """Return the holder of a token, or None if the token is wrong.

        Raises HTTPException (429): The address sent too many wrong tokens within a minute. A token
        that was right from there before always works.
        """
        given, network = _digest(token), _network(address)
        with self._lock:
            wait = self._wrong_tokens.wait_seconds(network)
            if wait and (network, given) not in self._proven:
                raise too_many(
                    f"{_WRONG_TOKENS_PER_MINUTE} wrong tokens came from this address within a "
                    "minute. Wait before you try again.",
                    wait,
                )
            # All digests are compared in constant time, so that the time reveals nothing.
            matching = [digest for digest in self.by_digest if hmac.compare_digest(digest, given)]
            if matching:
                self._proven.add((network, given))
                return self.by_digest[matching[0]]
            self._wrong_tokens.count(network)
        return None

    def begin_session(self, client: Client) -> str:
        """Return a secret that stands for the token for up to SESSION_SECONDS."""
        session = secrets.token_urlsafe(32)
        now, digest = time.time(), _digest(session)
        with self._database() as database:
            database.execute(_SQL["end"], [digest, now])  # This also removes expired sessions.
            database.execute(_SQL["begin"], [digest, client.id, now + SESSION_SECONDS])
        return session

    def end_session(self, session: str) -> None:
        """End a session. Copies of its cookie become worthless too."""
        with self._database() as database:
            database.execute(_SQL["end"], [_digest(session), time.time()])

    def sign(self, client: Client, subject: str) -> str:
        """Return a signature that opens one page of the client to everybody."""
        digest = next((digest for digest, owner in self.by_digest.items() if owner == client), b"")
        return _signature(digest, subject)

    def is_signed(self, subject: str, signature: str) -> bool:
        """Tell whether a client opened a page to everybody. Without tokens, all pages are open."""
        return not self.by_digest or any(
            hmac.compare_digest(_signature(digest, subject).encode(), signature.encode())
            for digest in self.by_digest
        )

    def count_request(self, client: str) -> None:
        """Count a request of a client.

        Raises HTTPException (429): The client sent too many requests within a minute.
        """
        with self._lock:
            if wait := self._requests.wait_seconds(client):
                raise too_many(
                    f"You sent more than {self.requests_per_minute} requests within a minute. Slow "
                    "down, or send fewer requests.",
                    wait,
                )
            if self.requests_per_minute is not None:
                self._requests.count(client)

    def count_video(self, client: str) -> None:
        """Count the launch of a fact-check.

        Raises HTTPException (429): The client used up its quota of the last 24 hours.
        """
        if self.videos_per_day is None:
            return
        now = time.time()
        with self._database() as database:
            database.execute(_SQL["forget"], [now - _DAY])
            launched, first = database.execute(_SQL["launched"], [client]).fetchone()
            if launched >= self.videos_per_day:
                raise too_many(
                    f"{launched} fact-checks were launched with this token within 24 hours, and "
                    f"{self.videos_per_day} are allowed. Wait, or ask the operator to raise "
                    "FACTIBLE_SERVE_VIDEOS_PER_DAY.",
                    (first or now) + _DAY - now,
                )
            database.execute(_SQL["count"], [client, now])

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        with self._lock, closing(sqlite3.connect(self.file, timeout=10)) as database, database:
            database.executescript(_SQL["tables"])
            yield database


def _signature(digest: bytes, subject: str) -> str:
    text = f"shown: {subject}".encode("utf-8", "surrogatepass")
    return hmac.new(digest, text, hashlib.sha256).hexdigest()
