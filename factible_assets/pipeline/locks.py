"""Locks of runs and videos, and the end of runs whose process is gone.

The process that works on a run holds a lock on a file named after the run. The kernel frees the
lock when that process ends, however it ends, so a free lock means a dead run. A run without a file
has not started yet, or belongs to another machine, and stays as it is. Dagster itself notices a
lost run only while the code server that started it is alive.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import dagster as dg
from filelock import FileLock, Timeout

RUN_LOCKS = "run_locks"
"""The folder of the Dagster instance that holds a lock file per run."""

_DEAD = (
    "The process of this run is gone: it was killed, or the machine went down. Completed assets "
    "are stored. Start the run again to go on."
)
_POLL_SECONDS = 0.2


def hold_run_lock(instance: dg.DagsterInstance, run_id: str) -> IO[bytes]:
    """Lock the file of a run until the returned file is closed or the process ends."""
    folder = _folder(instance, RUN_LOCKS)
    # Lock it under another name first: no other process may find the final name unlocked.
    temporary = folder / f".{run_id}-{os.getpid()}"
    lock = temporary.open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    temporary.rename(folder / run_id)
    # Write the folder to disk: a power cut must not lose the name and keep the run.
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return lock


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs whose process is gone as failed or canceled, and return their ids.

    This frees their places in the queue and their pool slots.
    """
    folder = _folder(instance, RUN_LOCKS)
    dead = []
    for file in sorted(folder.glob("[!.]*")):
        # The file is missing if another process ended the run, and locked if the run is alive.
        with suppress(FileNotFoundError, BlockingIOError), file.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _end_run(instance, instance.get_run_by_id(file.name)):
                dead.append(file.name)
            file.unlink(missing_ok=True)
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
