"""Runs: which a living process works on, whose turn a video is, stopping one, why one failed.

What belongs here: file locks in the folder of the Dagster instance, ending the runs that nobody has
any more, what may be cancelled on behalf of which run, what Dagster recorded of runs. What does
not: starting runs, who asks that one is stopped and why (running/).

Whoever works on a run holds a lock on a file of its name. The kernel frees the lock with the
process, however that ends, so a free lock means a dead run; there is nothing to renew, and a
process id that somebody else was given means nothing. A run without a file may belong to another
machine and is left alone, unless Dagster was about to queue or start it an hour ago: that takes
seconds. Dagster itself notices a lost run only while the code server that started it is alive.

A run is stopped by cancelling its asyncio task, so that every `async with` on the way closes what
it opened: clients, caches, a browser. Dagster's own interrupt is raised between any two
instructions and closes nothing.
"""

import asyncio
import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

import dagster as dg
from filelock import FileLock, Timeout

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.pipeline.partitions import PARTITION_TAG, RANGE_TAG, videos
from factible_assets.records import ASSET_RECORDS
from factible_assets.settings import load_settings

DEAD = (
    "The process of this run is gone: it was killed, or the machine went down. What was complete "
    "is stored. Start the run again to go on."
)

_PASSING = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
_LONGEST_PASSING = timedelta(hours=1)
_POLL_SECONDS = 0.2
_OWN = ("factible_assets.", "resources.", "warehouse.")
_DIGITS = 32


def mark_alive(instance: dg.DagsterInstance, run_id: str, pid: int | None = None) -> IO[bytes]:
    """Hold the lock of a run for as long as the returned file is open.

    `pid` is the process that an interrupt would reach the run in: this one if None, 0 for none.
    """
    folder = _folder(instance)
    # Under its own name it appears locked: who looks in between must not find it free.
    made = folder / f".{run_id}-{os.getpid()}"
    held = made.open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    held.write(str(os.getpid() if pid is None else pid).encode())
    held.flush()
    made.rename(folder / run_id)
    # A power cut must not take the name and leave the run.
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return held


def pid_of(instance: dg.DagsterInstance, run_id: str) -> int | None:
    """Return the process of this machine that works on a run; None if there is none."""
    with suppress(FileNotFoundError), (_folder(instance) / run_id).open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(held.read() or 0) or None
    return None


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Record the end of runs whose process is gone, and return their ids.

    They leave the queue, their pool slots are free again, and what waits for them goes on.
    """
    folder = _folder(instance)
    dead = []
    for file in [each for each in folder.iterdir() if each.name[0] != "."]:
        # Gone if another process looks at the same time; locked if its own is alive.
        with suppress(FileNotFoundError, BlockingIOError), file.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _end(instance, instance.get_run_by_id(file.name)):
                dead.append(file.name)
            file.unlink(missing_ok=True)
    before = datetime.now(UTC) - _LONGEST_PASSING
    for run in instance.get_runs(dg.RunsFilter(statuses=_PASSING, updated_before=before)):
        has_file = (folder / run.run_id).exists()
        if not has_file and _end(instance, instance.get_run_by_id(run.run_id)):
            dead.append(run.run_id)
    return dead


def _end(instance: dg.DagsterInstance, run: dg.DagsterRun | None) -> bool:
    if run is None or run.is_finished:
        return False
    if run.status is dg.DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run, DEAD)
    else:
        instance.report_run_failed(run, DEAD)
    instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return True


@contextmanager
def turn(
    instance: dg.DagsterInstance, video_id: str, waiting: Callable[[], None] | None = None
) -> Iterator[bool]:
    """Have a video to oneself: one check of it at a time, whoever starts it.

    A thread that has the turn may take it again. Yields whether another check was waited for, for
    which `waiting` is called once.
    """
    name = hashlib.sha256(video_id.encode()).hexdigest()[:_DIGITS]
    lock = FileLock(_folder(instance, "turns") / name, is_singleton=True)
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


STOPPED = "The run was stopped on request. Start it again to go on."


class Stops:
    """Which runs are to stop, and the tasks that would have to. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._tasks: dict[str, list[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]]] = {}

    def ask(self, run_id: str) -> None:
        """Ask a run to stop: at once where it waits, else as soon as it would next wait."""
        with self._lock:
            self._asked.add(run_id)
            for loop, task in self._tasks.get(run_id, ()):
                loop.call_soon_threadsafe(task.cancel)

    @contextmanager
    def heeded(self, run_id: str) -> Iterator[None]:
        """Let the current task be cancelled while it is in the body, if its run is to stop.

        Raises dagster.Failure: The run is to stop. Never retried.
        """
        entry = (asyncio.get_running_loop(), cast("asyncio.Task[object]", asyncio.current_task()))
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


_OF_A_VIDEO = {*ASSET_RECORDS, "claim_checks"}
"""The steps that make something of one video."""


def video_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return the video of a run, before Dagster looks for what its partition is made of.

    Raises FactibleError: It is of none, of several, or of one without a partition.
    """
    video_id = run.tags.get(PARTITION_TAG)
    if video_id is None and RANGE_TAG in run.tags:
        raise FactibleError(
            "A run is of one video.",
            "Launch a backfill of these partitions with a run for each.",
            ExitCode.FAILED,
        )
    # Dagster's UI starts checks alone, and without asking for a partition.
    if video_id is None or (run.asset_check_selection and not run.asset_selection):
        raise FactibleError(
            "Of which video?",
            "Checks are made whenever a video is materialized: choose its partition and "
            "materialize it.",
            ExitCode.FAILED,
        )
    if not instance.has_dynamic_partition(str(videos.name), video_id):
        raise FactibleError(
            f"The partition {video_id} is not there: it was deleted, or not added yet.",
            "Add it, and launch the run again. What a corpus lists corpus_sensor adds within a "
            "minute.",
            ExitCode.FAILED,
        )
    return video_id


class _Watched(dg.Executor):
    """Marks its run as alive, waits for the video's turn, and lets another executor work."""

    def __init__(self, inner: dg.Executor) -> None:
        self._inner = inner

    @property
    def retries(self) -> Any:
        """How steps are retried: as the other one does."""
        return self._inner.retries

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Work through the plan."""
        instance, run = plan_context.instance, plan_context.dagster_run
        # Open until the worker ends: Dagster records the run's end after this returns.
        _HELD.append(mark_alive(instance, run.run_id))
        if _OF_A_VIDEO.isdisjoint(execution_plan.step_keys_to_execute):
            yield from self._inner.execute(plan_context, execution_plan)
            return

        video_id = video_of(instance, run)
        load_settings().refuse_lost_warehouse()

        def waiting() -> None:
            plan_context.log.info("%s is being checked; this run waits for it.", video_id)

        with turn(instance, video_id, waiting):
            yield from self._inner.execute(plan_context, execution_plan)


_HELD: list[IO[bytes]] = []
_OF_DAGSTER: Any = dg.in_process_executor

watched_executor = dg.ExecutorDefinition(
    name="in_process",
    config_schema=_OF_DAGSTER.config_schema,
    executor_creation_fn=lambda context: _Watched(_OF_DAGSTER.executor_creation_fn(context)),
    description="Executes the steps of a run in its worker, which is seen to be alive.",
)


def _folder(instance: dg.DagsterInstance, name: str = "alive") -> Path:
    folder = Path(instance.root_directory) / name
    folder.mkdir(exist_ok=True)
    return folder


def newest_runs(
    instance: dg.DagsterInstance,
    *,
    limit: int,
    video: str | None = None,
    run_id: str | None = None,
    job: str | None = None,
    statuses: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """Return what Dagster has recorded of the newest runs, of all or those that are meant."""
    wanted = dg.RunsFilter(
        run_ids=[run_id] if run_id else None,
        job_name=job,
        statuses=[dg.DagsterRunStatus[each.upper()] for each in statuses],
        tags={PARTITION_TAG: video} if video else None,
    )
    rows = []
    for record in instance.get_run_records(wanted, limit=limit):
        run = record.dagster_run
        started, ended = (
            None if seconds is None else datetime.fromtimestamp(seconds, UTC)
            for seconds in (record.start_time, record.end_time)
        )
        rows.append(
            {
                "run_id": run.run_id,
                "video_id": run.tags.get("video") or run.tags.get(PARTITION_TAG),
                "job": run.job_name,
                "status": run.status.value.lower(),
                "launched_by": run.tags.get("launched_by"),
                "experiment_name": run.tags.get("experiment"),
                "created_at": record.create_timestamp.replace(tzinfo=UTC),
                "started_at": started,
                "ended_at": ended,
            }
        )
    return rows


def knobs_of_run(instance: dg.DagsterInstance, run_id: str | None) -> dict[str, Any] | None:
    """Return the knobs with which a run checked claims, as JSON; None if Dagster has it no more.

    What only that run was to do, such as to renew everything, is left out.
    """
    run = instance.get_run_by_id(run_id) if run_id else None
    if run is None:
        return None
    ops: Any = run.run_config.get("ops", {})
    given = ops.get("claim_checks", {}).get("config", {})
    return {name: each for name, each in given.items() if name not in {"renew", "only_claims"}}


def failures_of_run(instance: dg.DagsterInstance, run_id: str) -> tuple[str, ...]:
    """Return a sentence for each step that failed in a run, else for the run: one at least.

    Whoever started it: the command line, the UI or a schedule. A step's says what the asset said
    went wrong, without the frames of the framework around it.
    """
    silent = "it failed without saying why"
    steps = []
    found = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    for event in (record.event_log_entry.dagster_event for record in found.records):
        if event is None:
            continue
        data = event.step_failure_data
        words = _cause(data.error) or silent
        if data.user_failure_data and data.user_failure_data.description:
            words = data.user_failure_data.description
        steps.append(f"{event.step_key}: {words}")
    if steps:
        return tuple(steps)
    found = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
    events = (record.event_log_entry.dagster_event for record in found.records)
    failures = (
        # Before its first step: what went wrong stands in the error alone.
        _cause(getattr(event.event_specific_data, "error", None)) or event.message or silent
        for event in events
        if event
    )
    return tuple(failures) or (silent,)


def _cause(error: Any) -> str | None:
    """Return our own sentence among what an error was made of, else the innermost cause."""
    causes = []
    while error is not None:
        causes.append(error.message.strip())
        error = error.cause
    own = (each.partition(": ")[2] for each in causes if each.startswith(_OWN))
    return next(own, causes[-1] if causes else None)
