"""Who may ask, and how much: tokens, roles, sessions and quotas.

What belongs here: when a token is needed, comparing tokens, what a role allows, counting. What does
not: where in a request the token stands (walls.py), settings (settings.py).

A client is known by a digest of its token, never by the token itself; without tokens there is one
client, the machine. A token may be given with the name of who holds it and what they may do,
`NAME:ROLE:TOKEN`; one that stands alone is nameless and may do everything.
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
from factible_assets.web.models import too_many
from resources.statements import statements

Role = Literal["read", "review", "admin"]
"""What a client may do, each more than the one before: read; start checks and review; everything,
the Dagster UI included."""

SHORTEST_TOKEN = 16
SESSION_SECONDS = 12 * 3600.0
"""How long a browser that gave a token need not give it again."""

_NAMED = re.compile(r"([^:]{1,80}):(read|review|admin):(.*)", re.DOTALL)
_MINUTE, _DAY = 60.0, 86_400.0
_VIDEOS_PER_DAY, _REQUESTS_PER_MINUTE = 50, 120
"""The quotas of clients beyond loopback, where the settings state none."""

_WRONG_PER_MINUTE = 10
"""Wrong tokens from one address; further ones are not even looked at for a minute."""
_MOST_PLACES = 10_000

_ASK = statements("factible_assets.web", "auth.sql")


def is_loopback(address: str) -> bool:
    """Tell whether an address (not a name) can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _neighbourhood(address: str) -> str:
    """Return what stands for the holder of an address: of IPv6 the network of 64 bits."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if known.version == 4:  # noqa: PLR2004 - of the internet protocol
        return str(known)
    return str(ipaddress.ip_network((known, 64), strict=False))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.strip().encode()).digest()


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks; `name` is None where the token bears none."""

    id: str
    name: str | None = None
    role: Role = "admin"

    def may(self, role: Role) -> bool:
        """Tell whether what a role allows is allowed to this client."""
        return get_args(Role).index(self.role) >= get_args(Role).index(role)


MACHINE = Client("this machine")
ANYBODY = Client("", role="read")
"""Who asks for what is open to all."""


@dataclass
class Clients:
    """The clients by the digests of their tokens, and what each may do; without any, all may enter.

    Launches and sessions are kept in a file, so that a restart gives nobody a new day. A limit that
    is None is none.
    """

    file: Path
    by_digest: Mapping[bytes, Client]
    videos_per_day: int | None = None
    requests_per_minute: int | None = None
    _requests: dict[str, deque[float]] = field(default_factory=dict)
    _wrong: dict[str, deque[float]] = field(default_factory=dict)
    """When tokens from a place were wrong, within the last minute."""
    _proven: set[tuple[str, bytes]] = field(default_factory=set)
    """Places and the digests of tokens that were right from there."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, settings: Settings, *, beyond_loopback: bool) -> Self:
        """Read tokens and quotas of the settings; beyond loopback there are always some.

        Raises SettingsError: There is no token although others than this machine can reach the
        service, or one is too short to be a secret.
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
        videos, requests = settings.serve_videos_per_day, settings.serve_requests_per_minute
        if beyond_loopback:
            if not clients:
                raise SettingsError(
                    "Others could reach the service, so it needs a token: set FACTIBLE_SERVE_TOKEN "
                    "(such as the output of: openssl rand -hex 32), or listen on 127.0.0.1."
                )
            videos = _VIDEOS_PER_DAY if videos is None else videos
            requests = _REQUESTS_PER_MINUTE if requests is None else requests
        return cls(settings.home / "serve.sqlite", clients, videos, requests)

    def who(
        self, authorization: str | None, session: str | None = None, *, address: str = ""
    ) -> Client:
        """Return the client that asks from an address, by its header or its session.

        Raises HTTPException: Neither is known (401), or too many tokens were wrong (429).
        """
        if not self.by_digest:
            return MACHINE
        if authorization is None and session is not None:
            with self._kept() as database:
                row = database.execute(
                    _ASK["signed_in"], [_digest(session), time.time()]
                ).fetchone()
            # A session ends with its token, too.
            for client in self.by_digest.values():
                if row is not None and row[0] == client.id:
                    return client
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() == "basic":
            # A browser's form: any name, the token as the password.
            try:
                token = base64.b64decode(token, validate=True).decode().partition(":")[2]
            except ValueError:
                token = ""
        if scheme.lower() not in {"bearer", "basic"} or not token.strip():
            raise HTTPException(
                401, "This service needs a token: send the header Authorization: Bearer TOKEN."
            )
        holder = self.with_token(token, address)
        if holder is None:
            raise HTTPException(
                401, "The token is not one of this service's; ask its operator for a valid one."
            )
        return holder

    def with_token(self, token: str, address: str) -> Client | None:
        """Return the holder of a token that comes from an address; None if nobody holds it.

        Raises HTTPException (429): Too many tokens from there were wrong within a minute. A token
        that was right from there before is never slowed.
        """
        given, place, now = _digest(token), _neighbourhood(address), time.monotonic()
        with self._lock:
            wrong = self._wrong.get(place, deque())
            while wrong and wrong[0] <= now - _MINUTE:
                wrong.popleft()
            if len(wrong) >= _WRONG_PER_MINUTE and (place, given) not in self._proven:
                raise too_many(
                    f"{_WRONG_PER_MINUTE} wrong tokens came from this address within a minute; "
                    "wait before you try again.",
                    wrong[0] + _MINUTE - now,
                )
        # All are compared, each in constant time, so that the time taken tells nothing.
        known = [digest for digest in self.by_digest if hmac.compare_digest(digest, given)]
        with self._lock:
            if known:
                self._proven.add((place, given))
                return self.by_digest[known[0]]
            if len(self._wrong) >= _MOST_PLACES:
                recent = self._wrong.items()
                self._wrong = {at: each for at, each in recent if each[-1] > now - _MINUTE}
            self._wrong.setdefault(place, wrong).append(now)
        return None

    def begin_session(self, client: Client) -> str:
        """Return what a browser brings instead of the token, for SESSION_SECONDS at most."""
        session = secrets.token_urlsafe(32)
        now, digest = time.time(), _digest(session)
        with self._kept() as database:
            database.execute(_ASK["end"], [digest, now])  # Those that are over go, too.
            database.execute(_ASK["begin"], [digest, client.id, now + SESSION_SECONDS])
        return session

    def end_session(self, session: str) -> None:
        """End a session for whoever holds it, also a copy of it."""
        with self._kept() as database:
            database.execute(_ASK["end"], [_digest(session), time.time()])

    def sign(self, client: Client, subject: str) -> str:
        """Return with what anybody may see one thing that a client shows to all."""
        digest = next((digest for digest, each in self.by_digest.items() if each == client), b"")
        return _seal(digest, subject)

    def is_signed(self, subject: str, signature: str) -> bool:
        """Tell whether one of the clients shows a thing to all; without tokens everything is."""
        return not self.by_digest or any(
            hmac.compare_digest(_seal(digest, subject).encode(), signature.encode())
            for digest in self.by_digest
        )

    def count_request(self, client: str) -> None:
        """Count a request; HTTPException: the client has sent too many within a minute."""
        if self.requests_per_minute is None:
            return
        now = time.time()
        with self._lock:
            times = self._requests.setdefault(client, deque())
            while times and times[0] <= now - _MINUTE:
                times.popleft()
            if len(times) >= self.requests_per_minute:
                raise too_many(
                    f"More than {self.requests_per_minute} requests within a minute; slow down, "
                    "or raise FACTIBLE_SERVE_REQUESTS_PER_MINUTE.",
                    times[0] + _MINUTE - now,
                )
            times.append(now)

    def count_video(self, client: str) -> None:
        """Count a launch; HTTPException: the client has launched its share of the last 24 hours."""
        if self.videos_per_day is None:
            return
        now = time.time()
        with self._kept() as database:
            database.execute(_ASK["forget"], [now - _DAY])
            launched, first = database.execute(_ASK["launched"], [client]).fetchone()
            if launched >= self.videos_per_day:
                raise too_many(
                    f"{launched} fact-checks were launched with this token within 24 hours, and "
                    f"{self.videos_per_day} are allowed. Wait, or raise "
                    "FACTIBLE_SERVE_VIDEOS_PER_DAY.",
                    (first or now) + _DAY - now,
                )
            database.execute(_ASK["count"], [client, now])

    @contextmanager
    def _kept(self) -> Iterator[sqlite3.Connection]:
        with self._lock, closing(sqlite3.connect(self.file, timeout=10)) as database, database:
            database.executescript(_ASK["tables"])
            yield database


def _seal(digest: bytes, subject: str) -> str:
    text = f"shown: {subject}".encode("utf-8", "surrogatepass")
    return hmac.new(digest, text, hashlib.sha256).hexdigest()
