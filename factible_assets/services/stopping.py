"""Stopping a run from outside: what it waits for is cancelled, and what it holds open is closed.

What belongs here: who may be cancelled on behalf of which run. What does not: who asks for it and
why (running/), signals.

A run is stopped by cancelling its asyncio task, so that every `async with` on the way closes what
it opened: clients, caches, a browser. Dagster's own interrupt is raised between any two
instructions and closes nothing.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

_KEPT_RUNS = 256

STOPPED = "The run was stopped on request. Start it again to go on."


class Stops:
    """Which runs are to stop, and the tasks that would have to. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._tasks: dict[str, list[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]]] = {}

    def ask(self, run_id: str) -> None:
        """Ask a run to stop: at once where it waits, else as soon as it would next wait."""
        with self._lock:
            self._asked[run_id] = None
            if len(self._asked) > _KEPT_RUNS:
                self._asked.popitem(last=False)
            for loop, task in self._tasks.get(run_id, ()):
                loop.call_soon_threadsafe(task.cancel)

    @contextmanager
    def heeded(self, run_id: str) -> Iterator[None]:
        """Let the current task be cancelled while it is in the body, if its run is to stop.

        Raises:
            dagster.Failure: The run is to stop. Never retried.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can be stopped; use this inside a coroutine")
        entry = (asyncio.get_running_loop(), task)
        with self._lock:
            if run_id in self._asked:
                raise dg.Failure(STOPPED, allow_retries=False)
            self._tasks.setdefault(run_id, []).append(entry)
        try:
            yield
        except asyncio.CancelledError:
            if run_id not in self._asked:
                raise
            raise dg.Failure(STOPPED, allow_retries=False) from None
        finally:
            with self._lock:
                self._tasks[run_id].remove(entry)
                if not self._tasks[run_id]:
                    del self._tasks[run_id]


STOPS = Stops()
"""The stops of this process."""
