"""Work that is wanted several times at once and done once.

What belongs here: sharing one running task among those who wait for it. What does not: what the
work is; keeping results beyond one run (resources).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Once(Generic[Key, Value]):
    """Does a piece of work once per key, however many ask for it and whenever.

    Whoever asks while it runs waits for the same task. If all who wait are cancelled, so is the
    task: nothing outlives its last reader. A failure reaches everyone who asks for the key.
    """

    def __init__(self, work: Callable[[Key], Coroutine[Any, Any, Value]]) -> None:
        self._work = work
        self._tasks: dict[Key, asyncio.Task[Value]] = {}
        self._waiting: Counter[Key] = Counter()

    async def get(self, key: Key) -> Value:
        """Return the work's result for a key, starting the work if nobody has asked before."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._work(key))
        self._waiting[key] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key] and not task.done():
                del self._tasks[key]
                task.cancel()
                await asyncio.wait([task])
