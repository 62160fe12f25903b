"""How fast and how many at once a provider may be asked.

What belongs here: limits on requests and tokens per minute and on concurrency, shared by all
models of a provider. What does not: when to ask again (structured.py).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary


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

    def __init__(self, limit: float, seconds: float, counts_tokens: bool = False) -> None:
        self.counts_tokens = counts_tokens
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

    def __init__(self, booked: list[_Entry]) -> None:
        self._booked = booked

    def used(self, tokens: int) -> None:
        """Count what the request really took."""
        for entry in self._booked:
            entry.amount = tokens


class RateLimiter:
    """Hands out turns in the order of asking. One per provider, shared by its models.

    Rates hold over all event loops and threads of the process; `max_concurrent` holds per loop.
    `minute_seconds` is the length of the minute that rates are counted over.
    """

    def __init__(self, limits: RateLimits | None = None, *, minute_seconds: float = 60.0) -> None:
        self.limits = limits or RateLimits()
        self._lock = threading.Lock()
        self._windows = [
            _Window(limit, minute_seconds, counts_tokens)
            for limit, counts_tokens in (
                (self.limits.requests_per_minute, False),
                (self.limits.tokens_per_minute, True),
            )
            if limit is not None
        ]
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
            moment, booked = self._book(tokens)
            try:
                await asyncio.sleep(max(0.0, moment - time.monotonic()))
                # The provider may have asked for a pause since the turn was booked.
                await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            except BaseException:
                with self._lock:
                    for window, entry in booked:
                        window.drop(entry)
                raise
            yield Turn([entry for window, entry in booked if window.counts_tokens])

    def pause(self, seconds: float) -> None:
        """Give no turn for so many seconds, because the provider said so."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def _book(self, tokens: int) -> tuple[float, list[tuple[_Window, _Entry]]]:
        """Return the first moment at which all windows have room, and what was booked in them."""
        with self._lock:
            moment, later = -1.0, max(time.monotonic(), self._last, self._not_before)
            while later != moment:
                moment = later
                for window in self._windows:
                    later = window.earliest(tokens if window.counts_tokens else 1, later)
            self._last = moment
            return moment, [
                (window, window.add(tokens if window.counts_tokens else 1, moment))
                for window in self._windows
            ]
