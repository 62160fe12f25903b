"""Defines how long tests wait, in seconds of an idle machine.

A test that waits for an event uses `eventually`, or waits without a limit: the watchdog
(watchdog.py) ends a slow test. A test that expects an answer over HTTP uses a patient client. Only
a test marked as waiting in vain has short limits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from resources.http import HttpLimits

Found = TypeVar("Found")

IN_VAIN = pytest.mark.waits_in_vain
TEST_SECONDS = 300.0
"""The limit of a test on an idle machine."""

_BURST_SECONDS = 0.01
_MEASURED_EVERY_SECONDS = 3.0
A_DAY = 24 * 3600.0
"""A limit in seconds that no test reaches."""


class _Machine:
    """Measures how much slower this machine is than an idle one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slowness = 1.0
        self._measured_at = 0.0

    def slowness(self) -> float:
        """Return wall-clock seconds per CPU second, at least 1.0, from a recent measurement.

        A measurement costs a hundredth of a second of CPU, at most every three seconds. Shorter
        work would not notice a busy machine, because it fits into one time slice of the scheduler.
        """
        with self._lock:
            if time.monotonic() > self._measured_at + _MEASURED_EVERY_SECONDS:
                began, worked = time.monotonic(), time.thread_time()
                while time.thread_time() < worked + _BURST_SECONDS:
                    pass
                took = (time.monotonic() - began) / (time.thread_time() - worked)
                self._slowness = max(1.0, (self._slowness + took) / 2)
                self._measured_at = time.monotonic()
            return self._slowness


_machine = _Machine()
if hasattr(os, "register_at_fork"):
    # A fork may happen during another thread's measurement, and its child would wait for that
    # thread.
    os.register_at_fork(after_in_child=_machine.__init__)  # type: ignore[misc]


class Patience:
    """A number of seconds to wait on an idle machine."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def pause(self, seconds: float, sleep: Callable[[float], object] = time.sleep) -> None:
        """Sleep for some seconds of the clock, and count the patience that this used."""
        began = time.monotonic()
        sleep(seconds)
        self.left -= (time.monotonic() - began) / _machine.slowness()


def eventually(
    found: Callable[[], Found | None],
    words: str | Callable[[], str] = "it never came about",
    *,
    pause: float = 0.05,
    seconds: float = TEST_SECONDS,
) -> Found:
    """Return the first true answer of `found`.

    It pauses `pause` seconds of the clock between calls. After `seconds` seconds of an idle machine
    the test fails with the message.
    """
    patience = Patience(seconds)
    while not (answer := found()):
        if patience.left < 0:
            pytest.fail(words if isinstance(words, str) else words())
        patience.pause(pause)
    return answer


def patience(request: pytest.FixtureRequest, impatient: HttpLimits) -> HttpLimits:
    """Return limits that no machine reaches, or short ones for a test that waits in vain."""
    if request.node.get_closest_marker(IN_VAIN.name) is not None:
        return impatient
    return replace(
        impatient,
        connect_seconds=A_DAY,
        read_seconds=A_DAY,
        write_seconds=A_DAY,
        attempt_seconds=A_DAY,
    )
