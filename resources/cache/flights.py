"""The same question asked several times at once, and answered once.

What belongs here: sharing one running piece of work among those who wait for it. What does not:
what the work is, and keeping its result (store.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Landed(Generic[Value]):
    """Work that has ended. Exactly one of those who waited for it is its `first` taker."""

    task: asyncio.Task[Value]
    first: bool

    def result(self) -> Value:
        """Return what the work returned, or raise what it raised."""
        return self.task.result()


@dataclass(slots=True)
class _Flight(Generic[Value]):
    task: asyncio.Task[Value]
    waiting: int = 0
    taken: bool = False


class Flights(Generic[Value]):
    """Does a piece of work once for all who ask for its key while it runs, in one event loop.

    Nothing is remembered: who asks after the end starts anew. If all who wait are cancelled, so is
    the work.
    """

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, str], _Flight[Value]] = {}

    async def join(self, key: str, work: Callable[[], Coroutine[Any, Any, Value]]) -> Landed[Value]:
        """Wait for the key's work, starting it if it is not running."""
        place = (asyncio.get_running_loop(), key)
        flight = self._flights.get(place)
        if flight is None:
            flight = self._flights[place] = _Flight(asyncio.create_task(work()))
        flight.waiting += 1
        try:
            await asyncio.wait([flight.task])
        finally:
            flight.waiting -= 1
            await self._leave(place, flight)
        first, flight.taken = not flight.taken, True
        return Landed(flight.task, first)

    async def _leave(
        self, place: tuple[asyncio.AbstractEventLoop, str], flight: _Flight[Value]
    ) -> None:
        """Forget work that has ended, and end work that nobody waits for any more."""
        task = flight.task
        if not task.done() and flight.waiting:
            return
        if self._flights.get(place) is flight:
            del self._flights[place]
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # nobody is left to be told
