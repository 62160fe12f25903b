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
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from factible_assets.http_service.problems import TooManyError, UnauthorizedError
from factible_assets.settings import Settings, SettingsError
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

_ASK = statements("factible_assets.http_service", "auth.sql")


def is_loopback(address: str) -> bool:
    """Tell whether an address (not a name) can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


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


@dataclass(frozen=True)
class Tokens:
    """The clients by the digests of their tokens. None at all: everybody is let in."""

    clients: Mapping[bytes, Client] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, *, beyond_loopback: bool) -> Tokens:
        """Read the tokens of the settings.

        Raises:
            SettingsError: There is none although others than this machine can reach the service,
                or one is too short to be a secret.
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
            digest = _digest(token.strip())
            clients[digest] = Client(digest.hex()[:16], name and name.strip(), cast("Role", role))
        if beyond_loopback and not clients:
            raise SettingsError(
                "Others could reach the service, so it needs a token: set FACTIBLE_SERVE_TOKEN "
                "(such as the output of: openssl rand -hex 32), or listen on 127.0.0.1."
            )
        return cls(clients)

    def client_of(self, authorization: str | None, session: str | None = None) -> Client:
        """Return who sends a request, by its Authorization header, else by its session.

        Raises:
            UnauthorizedError: Neither is of one of the tokens.
        """
        if not self.clients:
            return MACHINE
        if authorization is None and session is not None:
            client_id, _, rest = session.partition(".")
            until, _, _ = rest.partition(".")
            for digest, client in self.clients.items():
                if client.id == client_id and until.isdecimal() and int(until) > time.time():
                    expected = _session(digest, client, int(until))
                    if hmac.compare_digest(expected.encode(), session.encode()):
                        return client
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() == "basic":
            # A browser's form: any name, the token as the password.
            try:
                token = base64.b64decode(token, validate=True).decode().partition(":")[2]
            except ValueError:
                token = ""
        if scheme.lower() not in {"bearer", "basic"} or not token.strip():
            raise UnauthorizedError(
                "This service needs a token: send the header Authorization: Bearer TOKEN."
            )
        return self.client_with(token)

    def client_with(self, token: str) -> Client:
        """Return whose token it is.

        Raises:
            UnauthorizedError: Nobody's.
        """
        given = _digest(token.strip())
        # All are compared, each in constant time, so that the time taken tells nothing.
        known = [digest for digest in self.clients if hmac.compare_digest(digest, given)]
        if not known:
            raise UnauthorizedError(
                "The token is not one of this service's; ask its operator for a valid one."
            )
        return self.clients[known[0]]

    def session_of(self, client: Client) -> str:
        """Return what a browser brings instead of the token, which cannot be told from it.

        It ends after SESSION_SECONDS, or when the token is taken out of the settings.
        """
        digest = next(digest for digest, each in self.clients.items() if each == client)
        return _session(digest, client, int(time.time() + SESSION_SECONDS))

    def sign(self, client: Client, subject: str) -> str:
        """Return with what anybody may see one thing that a client shows to all."""
        digest = next((digest for digest, each in self.clients.items() if each == client), b"")
        return _seal(digest, f"shown: {subject}")

    def is_signed(self, subject: str, signature: str) -> bool:
        """Tell whether one of the clients shows a thing to all; without tokens everything is."""
        return not self.clients or any(
            hmac.compare_digest(_seal(digest, f"shown: {subject}").encode(), signature.encode())
            for digest in self.clients
        )


def _session(digest: bytes, client: Client, until: int) -> str:
    return f"{client.id}.{until}.{_seal(digest, f'session until {until}')}"


def _seal(digest: bytes, text: str) -> str:
    return hmac.new(digest, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@dataclass
class Quotas:
    """What one client may do. None is no limit.

    Launches are kept in a file, so that a restart gives nobody a new day.
    """

    file: Path
    videos_per_day: int | None = None
    requests_per_minute: int | None = None
    now: Callable[[], float] = time.time
    _requests: dict[str, deque[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, settings: Settings, *, beyond_loopback: bool) -> Quotas:
        """Return the quotas of the settings, or the standard ones beyond loopback."""
        videos, requests = settings.serve_videos_per_day, settings.serve_requests_per_minute
        if beyond_loopback:
            videos = _VIDEOS_PER_DAY if videos is None else videos
            requests = _REQUESTS_PER_MINUTE if requests is None else requests
        return cls(settings.home / "serve.sqlite", videos, requests)

    def count_request(self, client: str) -> None:
        """Count a request.

        Raises:
            TooManyError: The client has sent too many within a minute.
        """
        if self.requests_per_minute is None:
            return
        now = self.now()
        with self._lock:
            times = self._requests.setdefault(client, deque())
            while times and times[0] <= now - _MINUTE:
                times.popleft()
            if len(times) >= self.requests_per_minute:
                raise TooManyError(
                    f"More than {self.requests_per_minute} requests within a minute; slow down, "
                    "or raise FACTIBLE_SERVE_REQUESTS_PER_MINUTE.",
                    retry_after_seconds=times[0] + _MINUTE - now,
                )
            times.append(now)

    def count_video(self, client: str) -> None:
        """Count a launched fact-check.

        Raises:
            TooManyError: The client has launched its share of the last 24 hours.
        """
        if self.videos_per_day is None:
            return
        now = self.now()
        with self._lock, closing(sqlite3.connect(self.file, timeout=10)) as database, database:
            database.executescript(_ASK["table"])
            database.execute(_ASK["forget"], [now - _DAY])
            launched, first = database.execute(_ASK["launched"], [client]).fetchone()
            if launched >= self.videos_per_day:
                raise TooManyError(
                    f"{launched} fact-checks were launched with this token within 24 hours, and "
                    f"{self.videos_per_day} are allowed. Wait, or raise "
                    "FACTIBLE_SERVE_VIDEOS_PER_DAY.",
                    retry_after_seconds=(first or now) + _DAY - now,
                )
            database.execute(_ASK["count"], [client, now])
