"""Locks of runs and videos, cancellation of runs, and the executor that applies them.

The process that works on a run holds a lock on a file named after the run. The kernel frees the
lock when that process ends, however it ends, so a free lock means a dead run. A run without a file
may belong to another machine and stays as it is. If it has been neither queued nor started for an
hour, it is dead, because Dagster takes only seconds for either. Dagster itself notices a lost run
only while the code server that started it is alive.

Cancelling a run cancels its asyncio task, so that every `async with` closes its clients, caches and
browser. Dagster's own interrupt stops between any two instructions and closes nothing; Dagster also
retries the interrupted step if the asset has a retry policy.
"""

import asyncio
import fcntl
import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

import dagster as dg
from filelock import FileLock, Timeout

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.records.tables import ASSET_RECORDS
from factible_assets.settings import Settings, load_settings

RUN_LOCKS = "run_locks"
"""The folder of the Dagster instance that holds a lock file per run."""

_DEAD = (
    "The process of this run is gone: it was killed, or the machine went down. Completed assets "
    "are stored. Start the run again to go on."
)
_CANCELLED = "The run was stopped on request. Start it again to go on."
_BEFORE_START = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
_CANCEL = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}
_LONGEST_START = timedelta(hours=1)
_POLL_SECONDS = 0.2


# --- Locks --------------------------------------------------------------------------------------


def hold_run_lock(instance: dg.DagsterInstance, run_id: str) -> IO[bytes]:
    """Lock the file of a run until the returned file is closed or the process ends."""
    folder = _folder(instance, RUN_LOCKS)
    # Lock it under another name first: no other process may find the final name unlocked.
    temporary = folder / f".{run_id}-{os.getpid()}"
    held = temporary.open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    temporary.rename(folder / run_id)
    # Write the folder to disk: a power cut must not lose the name and keep the run.
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return held


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process is gone as failed or canceled, and return their ids.

    This frees their places in the queue and their pool slots.
    """
    folder = _folder(instance, RUN_LOCKS)
    dead = []
    for file in [each for each in folder.iterdir() if each.name[0] != "."]:
        # The file is missing if another process ended the run, and locked if the run is alive.
        with suppress(FileNotFoundError, BlockingIOError), file.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _end_run(instance, instance.get_run_by_id(file.name)):
                dead.append(file.name)
            file.unlink(missing_ok=True)
    before = datetime.now(UTC) - _LONGEST_START
    for run in instance.get_runs(dg.RunsFilter(statuses=_BEFORE_START, updated_before=before)):
        has_file = (folder / run.run_id).exists()
        if not has_file and _end_run(instance, instance.get_run_by_id(run.run_id)):
            dead.append(run.run_id)
    return dead


def _end_run(instance: dg.DagsterInstance, run: dg.DagsterRun | None) -> bool:
    if run is None or run.is_finished:
        return False
    if run.status is dg.DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run, _DEAD)
    else:
        instance.report_run_failed(run, _DEAD)
    instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return True


@contextmanager
def video_lock(
    instance: dg.DagsterInstance, video_id: str, waiting: Callable[[], None] | None = None
) -> Iterator[bool]:
    """Lock a video, so that one process checks it at a time; reentrant within a thread.

    Yields whether another process held the lock. In that case `waiting` is called once.
    """
    name = hashlib.sha256(video_id.encode()).hexdigest()[:32]
    lock = FileLock(_folder(instance, "video_locks") / name, is_singleton=True)
    has_waited = False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        has_waited = True
        if waiting is not None:
            waiting()
        lock.acquire(poll_interval=_POLL_SECONDS)
    try:
        yield has_waited
    finally:
        lock.release()


def _folder(instance: dg.DagsterInstance, name: str) -> Path:
    folder = Path(instance.root_directory) / name
    folder.mkdir(exist_ok=True)
    return folder


# --- Cancellation -------------------------------------------------------------------------------


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


# --- The executor -------------------------------------------------------------------------------

_VIDEO_STEPS = {*ASSET_RECORDS, "claim_checks"}
"""The steps that materialize assets of one video."""

_HELD_LOCKS: list[IO[bytes]] = []
"""Held until the process ends, as Dagster records the end of a run after its executor returns."""


def video_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return the video of a run.

    Raises FactibleError: The run names no partition, or one that does not exist.
    """
    video_id = run.tags.get(PARTITION_TAG)
    # For checks alone, Dagster's UI asks for no partition.
    if video_id is None or (run.asset_check_selection and not run.asset_selection):
        raise FactibleError(
            "The run names no video.",
            "Checks run whenever a video is materialized: choose the video's partition and "
            "materialize it. To materialize several videos, launch a backfill.",
            ExitCode.FAILED,
        )
    if not instance.has_dynamic_partition(str(videos.name), video_id):
        raise FactibleError(
            f"The partition {video_id} does not exist: it was deleted, or not added yet.",
            "Add it, and launch the run again. corpus_sensor adds the videos of a corpus within a "
            "minute.",
            ExitCode.FAILED,
        )
    return video_id


def refuse_lost_warehouse(settings: Settings) -> None:
    """Raise FactibleError if the warehouse is gone and its copy is not."""
    warehouse, published = settings.warehouse, settings.published
    if published.exists() and not warehouse.exists():
        raise FactibleError(
            f"The warehouse {warehouse} is gone, but its published copy exists.",
            f"Restore it with: factible restore. To start over, move {published} away.",
            ExitCode.FAILED,
        )


class _LockingExecutor(dg.Executor):
    """Holds the locks of a run and its video while another executor works."""

    def __init__(self, inner: dg.Executor) -> None:
        self._inner = inner

    @property
    def retries(self) -> Any:
        return self._inner.retries

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        instance, run = plan_context.instance, plan_context.dagster_run
        _HELD_LOCKS.append(hold_run_lock(instance, run.run_id))
        if _VIDEO_STEPS.isdisjoint(execution_plan.step_keys_to_execute):
            yield from self._inner.execute(plan_context, execution_plan)
            return
        video_id = video_of(instance, run)
        refuse_lost_warehouse(load_settings())

        def waiting() -> None:
            plan_context.log.info("Another run checks %s; this run waits for it.", video_id)

        with video_lock(instance, video_id, waiting):
            for event in self._inner.execute(plan_context, execution_plan):
                yield event
                if event.is_step_failure or event.is_step_up_for_retry:
                    now = instance.get_run_by_id(run.run_id)
                    # End a run that is to stop before Dagster retries the step. If a user
                    # terminated it, Dagster records it as canceled. If its machine shuts down,
                    # Dagster records a failure, and run_retries (deploy/dagster.yaml) starts again.
                    if CANCELLATIONS.is_requested(run.run_id) or (now and now.status in _CANCEL):
                        raise dg.DagsterExecutionInterruptedError


_in_process: Any = dg.in_process_executor

locking_executor = dg.ExecutorDefinition(
    name="in_process",
    config_schema=_in_process.config_schema,
    executor_creation_fn=lambda init: _LockingExecutor(_in_process.executor_creation_fn(init)),
    description="Executes the steps of a run in one process, which locks the run and its video.",
)
