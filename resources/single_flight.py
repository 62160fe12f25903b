"""Shares work between concurrent callers: one task per key in one event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class SingleFlight(Generic[Value]):
    """Runs the work of a key once for all callers: while it runs or, if `kept`, for good.

    A failure reaches every caller of the key. The last cancelled caller cancels the task.
    """

    def __init__(self, *, kept: bool = True) -> None:
        self._kept = kept
        self._tasks: dict[Hashable, asyncio.Task[Value]] = {}
        self._waiting: Counter[asyncio.Task[Value]] = Counter()

    async def get(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return the result of a key's work; start the work if it neither runs nor was kept."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
        self._waiting[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            is_abandoned = not task.done() and not self._waiting[task]
            if not self._waiting[task]:
                del self._waiting[task]
            is_over = is_abandoned or (task.done() and not self._kept)
            if is_over and self._tasks.get(key) is task:
                del self._tasks[key]
            if is_abandoned:
                task.cancel()
                await asyncio.wait([task])
