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

    async def join(
        self, key: str, work: Callable[[], Coroutine[Any, Any, Value]]
    ) -> tuple[asyncio.Task[Value], bool]:
        """Wait for the key's work, starting it if it is not running.

        Returns the work, which has ended, and whether this is the first of those who take it.
        """
        place = (asyncio.get_running_loop(), key)
        flight = self._flights.get(place)
        if flight is None:
            flight = self._flights[place] = _Flight(asyncio.create_task(work()))
        task = flight.task
        flight.waiting += 1
        try:
            await asyncio.wait([task])
        finally:
            flight.waiting -= 1
            if task.done() or not flight.waiting:
                if self._flights.get(place) is flight:
                    del self._flights[place]
                if not task.done():
                    task.cancel()
                    await asyncio.wait([task])
                    if not task.cancelled():
                        task.exception()  # nobody is left to be told
        first, flight.taken = not flight.taken, True
        return task, first
