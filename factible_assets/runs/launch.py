"""Runs a job on a video in this process, as a normal Dagster run that the UI shows like any other.

Everything that starts a check calls `run_video`, except Dagster itself.
"""

import itertools
import signal
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import FrameType, MappingProxyType
from typing import TypeAlias, TypeVar

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.definitions import build_defs
from factible_assets.errors import RUN_THREAD, ExitCode, FactibleError, code_of
from factible_assets.pipeline.cancellation import CANCELLATIONS
from factible_assets.pipeline.executor import refuse_lost_warehouse
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.locks import hold_run_lock, video_lock
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.resources import ReportsResource
from factible_assets.pipeline.run_records import failures_of_run
from factible_assets.records.tables import METHOD
from factible_assets.runs.instance import open_instance
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.reusable import Reuse, find_reusable, input_tags
from factible_assets.services.models import BUDGETS
from factible_assets.services.reasoning import fitting_strategy
from factible_assets.stages.ports import Observer
from factible_assets.wording import counted, dollars
from resources.errors import SetupError
from resources.llm.limits import Budget

Result = TypeVar("Result")

Watch: TypeAlias = Callable[[Callable[[], Budget]], AbstractContextManager[Observer]]
"""Opens the observer of one run; its argument returns the cost of the model calls so far."""

_TICK_SECONDS = 0.2
"""The delay between a signal and its effect."""

_CLOSING_SECONDS = 3.0
"""The time for a stopping run to close its files and connections, before this abandons it."""

_TICKS_PER_QUERY = 5
"""Ticks between two queries to Dagster's databases."""

_STOPPING = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}
_NOT_STARTED = {dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING}


def run_video(
    video: StoredVideo,
    *,
    config: FactCheckConfig,
    watch: Watch = lambda _: nullcontext(Observer()),
    reuse: Reuse = "nothing",
    assets: Sequence[str] | None = None,
    job_name: str = "fact_check",
    run_id: str | None = None,
    tags: Mapping[str, str] = MappingProxyType({}),
    remedy: str = "The same command goes on from there.",
) -> Checked:
    """Run a job on one video in this process, publish the result, and write the report.

    The run has a thread of its own. Ctrl-C, SIGTERM and a termination in Dagster's UI stop it
    cleanly, and Dagster records it as canceled. If another check of the video is going on, this one
    waits for it.

    `assets` of None are all seven. `job_name` is fact_check, recheck or pictures. `run_id` is a
    UUID, if the caller needs it before the run ends. `remedy` tells how to resume a stopped run.

    Raises FactibleError: The run could not be started, its strategy needs a language model and none
    is set up, it failed with nothing stored, or it was stopped; complete results stay stored.
    Raises KeyboardInterrupt: The run did not stop in time and was abandoned.
    """
    video_id, settings = video.video_id, video.settings
    refuse_lost_warehouse(settings)
    try:
        fitting_strategy(config.strategy, config, settings)
    except SetupError as error:
        raise FactibleError(str(error), code=ExitCode.ENVIRONMENT) from error
    run_id = run_id or str(uuid.uuid4())
    failures: tuple[str, ...] = ()
    is_canceled = False
    with (
        warnings.catch_warnings(),
        watch(lambda: BUDGETS.of_run(run_id)) as observer,
        open_instance(settings) as instance,
        video_lock(instance, video_id, observer.waiting),
    ):
        inputs = input_tags(video, config)
        if reuse != "nothing":
            assets, remark = find_reusable(video.data(), instance, inputs, reuse, config)
            if remark:
                observer.remarked(remark)
        has_work = assets is None or len(assets) > 0
        if has_work:
            # Dagster warns authors of pipelines about previews; users need not see that.
            for kind in (dg.BetaWarning, dg.PreviewWarning):
                warnings.simplefilter("ignore", kind)
            all_tags = {"video": video_id, "launched_by": "factible"} | inputs | {**tags}
            run = _execute(video, config, assets, job_name, run_id, all_tags, instance, observer)
            if not run.is_success:
                failures = failures_of_run(instance, run_id)
            is_canceled = run.status is dg.DagsterRunStatus.CANCELED
    checked = video.result(publish=has_work and not failures)
    if is_canceled:
        raise _stopped(run_id, remedy)
    if checked is None:
        why = " ".join(failures) or "it stored nothing"
        raise FactibleError(f"The check of {video_id} failed: {why}", code=code_of(failures))
    if not has_work:
        return checked
    return replace(checked, run_id=run_id, failures=failures, is_new=True)


def _execute(
    video: StoredVideo,
    config: FactCheckConfig,
    assets: Sequence[str] | None,
    job_name: str,
    run_id: str,
    tags: Mapping[str, str],
    instance: dg.DagsterInstance,
    observer: Observer,
) -> dg.DagsterRun:
    """Execute a job on one video, and return its run."""
    # `run_video` writes the report once, however the run ends.
    reports = ReportsResource.of(video.settings, launcher_writes=True)
    overrides = {"observer": observer, "reports": reports}
    job = build_defs(video.settings, resource_overrides=overrides).resolve_job_def(job_name)
    instance.add_dynamic_partitions(str(videos.name), [video.video_id])
    with hold_run_lock(instance, run_id):
        result = supervised(
            lambda: job.execute_in_process(
                partition_key=video.video_id,
                instance=instance,
                raise_on_error=False,
                asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
                run_config=run_config_for(config, assets or METHOD),
                run_id=run_id,
                tags=tags,
            ),
            run_id,
            instance,
            observer,
        )
    # `result` has the run as it was before a cancellation was recorded.
    return instance.get_run_by_id(run_id) or result.dagster_run


def _stopped(run_id: str, remedy: str) -> FactibleError:
    spent, sentence = BUDGETS.of_run(run_id), ""
    if spent.calls:
        calls = counted(spent.calls, "model call")
        sentence = f" Answers are kept and not paid again ({calls}, {dollars(spent.spent)} so far)."
    return FactibleError(
        f"Stopped: the run {run_id[:8]} is canceled, and nothing is half-written.{sentence}",
        remedy,
        ExitCode.INTERRUPTED,
    )


def supervised(
    work: Callable[[], Result], run_id: str, instance: dg.DagsterInstance, observer: Observer
) -> Result:
    """Do the work of a run in a thread, and stop it on Ctrl-C, SIGTERM or a termination in the UI.

    Dagster records a run as canceled only if it was marked before it ended, so this thread handles
    the signals. After the first signal the run closes its files and connections. If that takes
    seconds, or at a second signal, this abandons the run.

    Raises KeyboardInterrupt: It abandoned the run; the caller ends the process.
    """
    future: Future[Result] = Future()

    def settle() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            future.set_exception(error)

    # A daemon thread does not keep the process alive after a second Ctrl-C.
    thread = threading.Thread(target=settle, name=f"{RUN_THREAD}{run_id[:8]}", daemon=True)
    is_stopping = False
    with _signal_times() as signals:
        thread.start()
        for tick in itertools.count(1):
            thread.join(_TICK_SECONDS)
            if not thread.is_alive():
                break
            if not is_stopping and (signals or tick % _TICKS_PER_QUERY == 0):
                is_stopping = _stop(instance, run_id, observer, has_signal=bool(signals))
            if len(signals) > 1 or (signals and time.monotonic() > signals[0] + _CLOSING_SECONDS):
                _record_cancellation(instance, run_id)
                raise KeyboardInterrupt
    if is_stopping:
        _record_cancellation(instance, run_id)
    return future.result()


def _record_cancellation(instance: dg.DagsterInstance, run_id: str) -> None:
    """Record that a run was canceled, also if Dagster has recorded a failure because of it."""
    run = instance.get_run_by_id(run_id)
    if run and (not run.is_finished or run.status is dg.DagsterRunStatus.FAILURE):
        instance.report_run_canceled(run)


def _stop(
    instance: dg.DagsterInstance, run_id: str, observer: Observer, *, has_signal: bool
) -> bool:
    """Stop a run after a signal or a termination in the UI; tell whether there was one."""
    run = instance.get_run_by_id(run_id)
    # Dagster forgets the mark of a run that has not started.
    if run is None or run.status in _NOT_STARTED or not (has_signal or run.status in _STOPPING):
        return False
    observer.stopping()
    if not run.is_finished and run.status not in _STOPPING:
        instance.report_run_canceling(run)
    CANCELLATIONS.request(run_id)
    return True


@contextmanager
def _signal_times() -> Iterator[list[float]]:
    """Collect the times of SIGINT and SIGTERM, by the monotonic clock; in the main thread only."""
    signals: list[float] = []

    def note(_: int, __: FrameType | None) -> None:
        signals.append(time.monotonic())

    is_main = threading.current_thread() is threading.main_thread()
    kinds = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = [(kind, signal.signal(kind, note)) for kind in kinds]
    try:
        yield signals
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)
