"""Cancels the runs of this process.

Cancelling a run cancels its asyncio task, so that every `async with` closes its clients, caches and
browser. Dagster's own interrupt stops between any two instructions and closes nothing; Dagster also
retries the interrupted step if the asset has a retry policy.
"""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import dagster as dg

_CANCELLED = "The run was stopped on request. Start it again to go on."


class Cancellations:
    """Cancels runs of this process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # A signal handler may interrupt its own thread.
        self._requested: set[str] = set()
        self._tasks: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]] = {}

    def request(self, run_id: str) -> None:
        """Stop a run at the point where its task waits now or waits next."""
        with self._lock:
            self._requested.add(run_id)
            if run_id in self._tasks:
                loop, task = self._tasks[run_id]
                loop.call_soon_threadsafe(task.cancel)

    def is_requested(self, run_id: str) -> bool:
        return run_id in self._requested

    def catch_signals(self, run_id: str) -> list[tuple[signal.Signals, Any]]:
        """Let Ctrl-C and SIGTERM cancel the task of a run; return the handlers before.

        Dagster installs its own handlers each time a step yields an event. They raise an error in
        any code that runs, and an event loop swallows it in some places. So call this after an
        event if the task still works.
        """
        # Only the main thread can handle signals: it works on a run that a launcher started.
        is_main = threading.current_thread() is threading.main_thread()
        kinds = (signal.SIGINT, signal.SIGTERM) if is_main and run_id in self._tasks else ()
        return [(kind, signal.signal(kind, lambda *_: self.request(run_id))) for kind in kinds]

    @contextmanager
    def cancellable(self, run_id: str) -> Iterator[None]:
        """Let `request`, Ctrl-C or SIGTERM cancel the current task within the block.

        The steps of a run have their blocks one after the other.

        Raises dagster.Failure: The run is to stop. Never retried.
        """
        task = cast("asyncio.Task[object]", asyncio.current_task())
        with self._lock:
            if run_id in self._requested:
                raise dg.Failure(_CANCELLED, allow_retries=False)
            self._tasks[run_id] = asyncio.get_running_loop(), task
        before = self.catch_signals(run_id)
        try:
            yield
        except asyncio.CancelledError:
            if run_id not in self._requested:
                raise
            raise dg.Failure(_CANCELLED, allow_retries=False) from None
        finally:
            for kind, handler in before:
                signal.signal(kind, handler)
            with self._lock:
                del self._tasks[run_id]


CANCELLATIONS = Cancellations()
"""The cancellations of this process."""
