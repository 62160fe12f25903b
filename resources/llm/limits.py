"""How fast and how many at once a provider may be asked, and how its wish to wait is read.

What belongs here: limits on requests and tokens per minute and on concurrency, shared by all
models of a provider, and Retry-After. What does not: when to ask again (structured.py).
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import httpx

from resources.http import retry_after_seconds

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a provider allows; None for no limit. Tokens are input and output together."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_concurrent: int = 16


@dataclass(slots=True, eq=False)
class _Entry:
    moment: float
    amount: float


class _Window:
    """Never more than `limit` in any window of so many seconds. Not safe without a lock."""

    def __init__(self, limit: float, seconds: float) -> None:
        self._limit = limit
        self._seconds = seconds
        self._entries: deque[_Entry] = deque()

    def earliest(self, amount: float, moment: float) -> float:
        """Return the first moment from the given one at which the amount fits.

        Moments must not go back from one entry to the next. An amount beyond the limit could
        never fit: it goes alone.
        """
        amount = min(amount, self._limit)
        used = sum(e.amount for e in self._entries if e.moment > moment - self._seconds)
        for entry in self._entries:
            if used + amount <= self._limit:
                break
            if entry.moment > moment - self._seconds:
                used -= entry.amount
                leaving = entry.moment + self._seconds
                moment = max(moment, leaving)
        return moment

    def add(self, amount: float, moment: float) -> _Entry:
        while self._entries and self._entries[0].moment <= moment - self._seconds:
            self._entries.popleft()
        entry = _Entry(moment, min(amount, self._limit))
        self._entries.append(entry)
        return entry

    def drop(self, entry: _Entry) -> None:
        if entry in self._entries:
            self._entries.remove(entry)


class Turn:
    """The right to send one request. `used` corrects the tokens that were expected."""

    def __init__(self, tokens: _Entry | None) -> None:
        self._tokens = tokens

    def used(self, tokens: int) -> None:
        """Count what the request really took."""
        if self._tokens is not None:
            self._tokens.amount = tokens


class RateLimiter:
    """Hands out turns in the order of asking. One per provider, shared by its models.

    Rates hold over all event loops and threads of the process; `max_concurrent` holds per loop.
    """

    def __init__(
        self,
        limits: RateLimits | None = None,
        *,
        minute_seconds: float = _MINUTE,
    ) -> None:
        """Set the limits.

        Args:
            limits: What the provider allows.
            minute_seconds: The length of the minute that rates are counted over.
        """
        self.limits = limits or RateLimits()
        self._lock = threading.Lock()
        self._requests = _window(self.limits.requests_per_minute, minute_seconds)
        self._tokens = _window(self.limits.tokens_per_minute, minute_seconds)
        self._not_before = 0.0
        self._last = 0.0
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[Turn]:
        """Wait for a turn, and hold a slot while it lasts.

        Args:
            tokens: The most that the request is expected to take.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            slot = self._slots.setdefault(loop, asyncio.Semaphore(self.limits.max_concurrent))
        async with slot:
            moment, request, expected = self._book(tokens)
            try:
                await asyncio.sleep(max(0.0, moment - time.monotonic()))
                # The provider may have asked for a pause since the turn was booked.
                await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            except BaseException:
                self._cancel(request, expected)
                raise
            yield Turn(expected)

    def pause(self, seconds: float) -> None:
        """Give no turn for so many seconds, because the provider said so."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def _book(self, tokens: int) -> tuple[float, _Entry | None, _Entry | None]:
        with self._lock:
            moment = max(time.monotonic(), self._last, self._not_before)
            settled = False
            while not settled:
                later = moment
                for window, amount in ((self._requests, 1), (self._tokens, tokens)):
                    later = window.earliest(amount, later) if window else later
                settled, moment = later == moment, later
            self._last = moment
            request = self._requests.add(1, moment) if self._requests else None
            expected = self._tokens.add(tokens, moment) if self._tokens else None
            return moment, request, expected

    def _cancel(self, request: _Entry | None, expected: _Entry | None) -> None:
        with self._lock:
            if self._requests and request:
                self._requests.drop(request)
            if self._tokens and expected:
                self._tokens.drop(expected)


def _window(limit: int | None, seconds: float) -> _Window | None:
    return None if limit is None else _Window(limit, seconds)


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds a server wants to be left alone; None if it does not say.

    `retry-after-ms` (OpenAI, Azure) before `retry-after` in seconds, fractions included, before
    `retry-after` as a date (RFC 9110, section 10.2.3).
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return retry_after_seconds(httpx.Headers({"retry-after": headers.get("retry-after", "")}))
