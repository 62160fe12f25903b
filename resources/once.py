"""Work that is done once for all who ask for it.

What belongs here: sharing one task in one event loop. What does not: keeping answers from run to
run (cache/), how much is done at once (http.py).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Does a piece of work once per key, for all who ask while it runs or, if `kept`, whenever.

    Whoever asks while it runs waits for the same task. If all who wait are cancelled, so is the
    task: nothing outlives its last reader. A failure reaches everyone who asks for the key.
    """

    def __init__(self, *, kept: bool = True) -> None:
        self._kept = kept
        self._tasks: dict[Hashable, asyncio.Task[Value]] = {}
        self._waiting: Counter[asyncio.Task[Value]] = Counter()

    async def get(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return what came of a key's work, which is begun if it neither runs nor was kept."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
        self._waiting[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            is_left = not task.done() and not self._waiting[task]
            if not self._waiting[task]:
                del self._waiting[task]
            if (is_left or (task.done() and not self._kept)) and self._tasks.get(key) is task:
                del self._tasks[key]
            if is_left:
                task.cancel()
                await asyncio.wait([task])
