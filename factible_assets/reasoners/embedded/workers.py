"""Threads for work on texts, at most one per processor, so that the event loop stays free."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")


class Workers:
    """Runs functions in threads, at most one per processor at a time.

    Each event loop has its own gate, because several loops in a process may share the workers.
    """

    def __init__(self) -> None:
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def run(self, work: Callable[[], Result]) -> Result:
        loop = asyncio.get_running_loop()
        gate = self._gates.get(loop)
        if gate is None:
            gate = self._gates.setdefault(loop, asyncio.Semaphore(os.cpu_count() or 1))
        async with gate:
            return await asyncio.to_thread(work)
