"""A run in a thread of its own, and somebody beside it who can stop it.

What belongs here: signals, what Dagster is told of a run that is stopped, and telling a listener
which assets are stored meanwhile. What does not: how work ends itself (stopping.py), starting runs
(launch.py).

Dagster marks a run as canceled only if it was marked as canceling before it ended; a bare Ctrl-C
becomes a failure. So signals are heard here, in the main thread, while the run goes on in another.
"""

import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeVar

import dagster as dg

from factible_assets.services.stopping import STOPS
from factible_assets.stages.ports import Observer

Result = TypeVar("Result")

_TICK_SECONDS = 0.2
"""How soon a signal is acted upon."""

_TICKS_PER_LOOK = 5
"""How often Dagster is asked: each time is a query to two databases."""

_ENDING = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}
_BEFORE = {dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING}


class Listener(Protocol):
    """Hears what Dagster records of a run while it goes on. Must return at once, never raise."""

    def waiting(self) -> None:
        """Hear that another check of the video goes on, and is waited for."""
        ...

    def asset_stored(self, asset: str) -> None:
        """Hear that an asset was stored."""
        ...

    def stopping(self) -> None:
        """Hear that the run was asked to stop, and closes what it has open."""
        ...


class Watcher(Observer, Listener, Protocol):
    """Hears both the flow and the run that it belongs to."""


@contextmanager
def _heard() -> Iterator[list[int]]:
    """Collect Ctrl-C and requests to terminate: Python gives them to the main thread alone."""
    signals: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        del frame
        signals.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [(kind, signal.signal(kind, hear)) for kind in kinds]
    try:
        yield signals
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)


def supervised(
    work: Callable[[], Result],
    *,
    run_id: str,
    instance: dg.DagsterInstance,
    listener: Listener | None = None,
) -> Result:
    """Do the work of a run, and stop it when a person or Dagster's UI asks for it.

    The first Ctrl-C (or SIGTERM) lets the run close what it has open; Dagster records it as
    canceled. The second one leaves at once.

    Raises:
        KeyboardInterrupt: Somebody pressed Ctrl-C twice.
        BaseException: Whatever the work raises.
    """
    future: Future[Result] = Future()

    def settle() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits for it
            future.set_exception(error)

    # A daemon, so that a second Ctrl-C can leave a run that does not end.
    thread = threading.Thread(target=settle, name=f"run-{run_id[:8]}", daemon=True)
    stopped = False
    cursor = None
    with _heard() as signals:
        thread.start()
        for tick in itertools.count(1):
            thread.join(_TICK_SECONDS)
            if not thread.is_alive():
                break
            is_ending = False
            if tick % _TICKS_PER_LOOK == 0:
                cursor = _tell_stored(instance, run_id, listener, cursor)
                run = instance.get_run_by_id(run_id)
                is_ending = run is not None and run.status in _ENDING
            if not stopped and (signals or is_ending):
                stopped = _stop(instance, run_id, listener)
            if len(signals) > 1:
                run = instance.get_run_by_id(run_id)
                if run is not None and not run.is_finished:
                    instance.report_run_canceled(run)
                raise KeyboardInterrupt
        _tell_stored(instance, run_id, listener, cursor)
    return future.result()


def _stop(instance: dg.DagsterInstance, run_id: str, listener: Listener | None) -> bool:
    """Let a run stop; tell whether it has started, for before that Dagster forgets the mark."""
    run = instance.get_run_by_id(run_id)
    if run is None or run.status in _BEFORE:
        return False
    if listener is not None:
        listener.stopping()
    if not run.is_finished and run.status not in _ENDING:
        instance.report_run_canceling(run)
    STOPS.ask(run_id)
    return True


def _tell_stored(
    instance: dg.DagsterInstance, run_id: str, listener: Listener | None, cursor: str | None
) -> str | None:
    """Tell which assets the run's event log says are stored since the cursor; return the next."""
    if listener is None:
        return None
    stored = dg.DagsterEventType.ASSET_MATERIALIZATION
    found: Any = instance.get_records_for_run(run_id, cursor, stored)
    for record in found.records:
        key = record.event_log_entry.asset_materialization.asset_key
        listener.asset_stored(key.path[-1])
    next_cursor: str | None = found.cursor
    return next_cursor
