"""Limits single tests, and replaces a worker that did not survive its test.

The limit counts seconds of an idle machine (patience.py). Past it the test fails with the stacks of
all threads. If the test continues in code that no signal interrupts, its worker ends with all its
child processes.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest_timeout
from xdist.scheduler import LoadFileScheduling

from tests.patience import Patience

_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 60.0
_TESTS_TO_BEGIN = 2


class Watchdog:
    """Waits until a test ends or reaches its limit."""

    def __init__(self, item: Any, settings: Any) -> None:
        self._item, self._settings = item, settings
        self._ended, self._sending = threading.Event(), threading.Lock()
        self._before = signal.signal(signal.SIGALRM, self._fail)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the watch after the test."""
        if not self._ended.is_set():
            self._ended.set()
            with self._sending:  # no signal that is on its way meets the handler of before
                signal.signal(signal.SIGALRM, self._before)
            self._thread.join()

    def _fail(self, *_: object) -> None:
        if not self._ended.is_set():
            pytest_timeout.timeout_sigalrm(self._item, self._settings)

    def _watch(self) -> None:
        if self._is_over(self._settings.timeout):
            return
        with self._sending:
            if self._ended.is_set():
                return
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        if self._is_over(_GRACE_SECONDS):
            return
        for process in processes_below(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        pytest_timeout.timeout_timer(self._item, self._settings)

    def _is_over(self, seconds: float) -> bool:
        """Wait for the end of the test, up to a number of seconds of an idle machine."""
        patience = Patience(seconds)
        # Before the first measurement of the machine, because most tests take less than a second.
        if self._ended.wait(_LOOK_SECONDS):
            return True
        while patience.left > 0 and not self._ended.is_set():
            patience.pause(_LOOK_SECONDS, self._ended.wait)
        return self._ended.is_set()


def processes_below(process: int) -> Iterator[int]:
    """Yield the ids of a process's descendants."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            # The name of the program comes in brackets, and may contain anything.
            parent = int(each.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(each.parent.name))
    waiting = [process]
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            yield child
            waiting.append(child)


class FileByFile(LoadFileScheduling):  # type: ignore[misc] # xdist is not typed
    """Hands out whole files, and continues after a test whose worker died.

    The scheduler of pytest-xdist gives the same test to each replacement, which dies again. A
    replacement with a single test waits for a second one before it starts.
    """

    def remove_node(self, node: Any) -> str | None:
        """Remove a worker; return the test that killed it, if it had tests left."""
        units = self.assigned_work[node]
        left = ((name, unit) for unit in units.values() for name, done in unit.items() if not done)
        fatal = next(left, None)
        if fatal is not None:
            name, unit = fatal
            unit[name] = True
        self.assigned_work[node] = {
            name: unit for name, unit in units.items() if not all(unit.values())
        }
        super().remove_node(node)
        return fatal and fatal[0]

    def _reschedule(self, node: Any) -> None:
        super()._reschedule(node)
        while (
            self.workqueue
            and not node.shutting_down
            and self._pending_of(self.assigned_work[node]) < _TESTS_TO_BEGIN
        ):
            self._assign_work_unit(node)
