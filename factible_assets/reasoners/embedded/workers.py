"""Threads for work on texts: at most one per processor at a time, so the event loop stays free."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")


class Workers:
    """Runs functions in threads, at most one per processor at a time.

    There is one gate per event loop, because several runs in one process may each have their own
    loop while they share the workers.
    """

    def __init__(self) -> None:
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run a function in a thread and return its result."""
        loop = asyncio.get_running_loop()
        gate = self._gates.get(loop)
        if gate is None:
            gate = self._gates.setdefault(loop, asyncio.Semaphore(os.cpu_count() or 1))
        async with gate:
            return await asyncio.to_thread(work)
