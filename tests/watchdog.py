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
from functools import cache
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

    present: Watchdog | None = None
    """The watchdog of the test that runs now."""

    def __init__(self, item: Any, settings: Any) -> None:
        self._item, self._settings = item, settings
        self._before = signal.signal(signal.SIGALRM, self._fail)
        Watchdog.present = self
        _watch_tests()

    def cancel(self) -> None:
        """End the watch after the test."""
        if Watchdog.present is self:
            Watchdog.present = None
            with _SENDING:  # no signal that is on its way meets the handler of before
                signal.signal(signal.SIGALRM, self._before)

    def _fail(self, *_: object) -> None:
        if Watchdog.present is self:
            pytest_timeout.timeout_sigalrm(self._item, self._settings)

    def watch(self) -> None:
        """Return after the test; end it first if it takes too long."""
        if self._is_over(self._settings.timeout):
            return
        with _SENDING:
            if Watchdog.present is not self:
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
        while patience.left > 0 and Watchdog.present is self:
            patience.pause(_LOOK_SECONDS, _sleep)
        return Watchdog.present is not self


_SENDING = threading.Lock()
_sleep = threading.Event().wait  # tests replace time.sleep


@cache
def _watch_tests() -> None:
    """Start this process's thread that watches its tests, unless it runs."""

    def watch() -> None:
        while True:
            seen = Watchdog.present
            # Most tests end before the next look, and cost no measurement of the machine.
            _sleep(_LOOK_SECONDS)
            if seen is not None:
                seen.watch()

    threading.Thread(target=watch, name="watchdog", daemon=True).start()


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
