"""Opens the Dagster instance of a data folder, and runs a job on a video in this process.

Such a run is a normal Dagster run, which the UI shows like any other.
"""

import errno
import hashlib
import itertools
import json
import os
import signal
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import NoReturn, TypeAlias, TypeVar

import dagster as dg
import yaml
from filelock import FileLock
from sqlalchemy.exc import DatabaseError, OperationalError

from factible_assets.config import FactCheckConfig
from factible_assets.definitions import build_defs
from factible_assets.errors import RUN_THREAD, ExitCode, FactibleError, code_of
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.pipeline.liveness import (
    CANCELLATIONS,
    end_dead_runs,
    hold_run_lock,
    refuse_lost_warehouse,
    video_lock,
)
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.resources import ReportsResource
from factible_assets.pipeline.run_records import failures_of_run
from factible_assets.records.tables import METHOD
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.reusable import Reuse, find_reusable, input_tags
from factible_assets.services.models import BUDGETS
from factible_assets.services.reasoning import fitting_strategy
from factible_assets.settings import PACKAGE_PARENT, Settings, SettingsError
from factible_assets.stages.ports import Observer
from factible_assets.wording import counted, dollars, web_address
from resources.errors import SetupError
from resources.files import write_whole
from resources.llm.limits import Budget
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

Result = TypeVar("Result")

Watch: TypeAlias = Callable[[Callable[[], Budget]], AbstractContextManager[Observer]]
"""Opens the observer of one run; its argument returns the cost of the model calls so far."""

_OPENING_SECONDS = 1_800
"""The longest wait for a process that creates the databases: seconds, or minutes on a busy machine.
The end of that process frees the lock."""

_CALL_SECONDS = "1800"
"""How long Dagster's processes wait for answers of each other, such as a sensor's."""

_GRACE_SECONDS = "30"

_WORKSPACE = """\
# `factible dev` writes this file at every start.
load_from:
  - python_module:
      module_name: factible_assets.definitions
      location_name: factible-assets
      working_directory: {folder}
"""

_INSTANCE_TEMPLATE = Path(__file__).with_name("dagster.yaml")

_OWN_TEMPLATES = {
    hashlib.sha256(_INSTANCE_TEMPLATE.read_bytes()).hexdigest(),
    # Its predecessor names a run launcher that no longer exists, so it is replaced.
    "f14a85d1ad7b50749304f1cde59f65ac9c7d91bdd633d3c01f10f1580c5da1ed",
}
"""Hashes of the instance files that this project writes, which need no permission of the user."""

_TICK_SECONDS = 0.2
"""The delay between a signal and its effect."""

_CLOSING_SECONDS = 3.0
"""The time for a stopping run to close its files and connections, before this abandons it."""

_TICKS_PER_QUERY = 5
"""Ticks between two queries to Dagster's databases."""

_STOPPING = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}
_NOT_STARTED = {dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING}


# --- The instance -------------------------------------------------------------------------------


def prepare_instance(settings: Settings) -> Path:
    """Create the folder of the Dagster instance if it is missing, and return it.

    Raises SettingsError: Its dagster.yaml is no file, or may be a stranger's (Settings.own_file).
    """
    folder = settings.dagster_home
    target = folder / "dagster.yaml"
    if target.is_fifo():  # opening it would wait for a writer forever
        raise SettingsError(
            f"{target} is a named pipe. Move it away; the next start writes a file."
        )
    found = _template_of(target) if target.exists() else None
    if found is not None and found not in _OWN_TEMPLATES:
        settings.own_file("dagster/dagster.yaml")
    elif found != _template_of(_INSTANCE_TEMPLATE):
        write_whole(target, _INSTANCE_TEMPLATE.read_bytes())
    return folder


def _template_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of a data folder; use it as a context manager.

    A lock lets one process at a time create the databases: two that create them at once leave
    schema versions that no Dagster opens again. Opening also ends the runs whose process is gone,
    so that no caller takes them for running.

    Raises SettingsError: The files of the instance cannot be read or written.
    """
    try:
        folder = prepare_instance(settings)
        opening = FileLock(folder / ".opening.lock", timeout=_OPENING_SECONDS).acquire()
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise
        raise SettingsError(
            f"Dagster's records in {settings.dagster_home} cannot be opened: Dagster writes there "
            f"even to read them ({error.strerror}). Make that folder writable, or set "
            "FACTIBLE_HOME to a copy of the data folder that is."
        ) from error
    with opening:
        try:
            instance = dg.DagsterInstance.from_config(str(folder))
            instance.get_dynamic_partitions(str(videos.name))
            instance.get_run_records(limit=1)
            instance.all_instigator_state()
        except yaml.YAMLError as error:
            raise SettingsError(
                f"{folder / 'dagster.yaml'} is no YAML ({' '.join(str(error).split())}). Correct "
                "it, or move it away: the next start writes a new one."
            ) from error
        except DatabaseError as error:
            if isinstance(error, OperationalError):  # The database is busy or missing.
                raise
            raise SettingsError(
                f"Dagster's records in {folder} are damaged ({error.orig}). Move that folder away: "
                "Dagster starts a new record of runs, and the verdicts are in the warehouse."
            ) from error
    if not instance.get_python_log_dagster_handler_config():
        # Even without such handlers Dagster configures Python's logging at the start of each run.
        # It then holds the lock of all logging and waits for the handlers of the other runs in
        # this process, while a run that logs waits for that lock: a deadlock.
        instance.get_yaml_python_handlers = list  # type: ignore[method-assign]
    end_dead_runs(instance)
    return instance


def serve_ui(settings: Settings, *, host: str, port: int) -> NoReturn:
    """Replace this process by the Dagster UI and daemon over this data folder.

    Raises SettingsError: The data folder has files that may be a stranger's (Settings.own_file).
    """
    for name in ("models.yaml", ".env"):
        settings.own_file(name)  # The processes below see a data folder that the environment names.
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(prepare_instance(settings)),
        "FACTIBLE_HOME": str(settings.home),
        # Runs link to the reports and the desk.
        "FACTIBLE_PUBLIC_URL": settings.public_url or web_address(host, port),
        # Python must not import modules from the working folder.
        "PYTHONSAFEPATH": "1",
    }
    for name in ("GRPC", "REPOSITORY_GRPC", "SCHEDULE_GRPC", "SENSOR_GRPC"):
        environment.setdefault(f"DAGSTER_{name}_TIMEOUT_SECONDS", _CALL_SECONDS)
    # By default the shutdown waits for open calls as long as for answers.
    environment.setdefault("DAGSTER_GRPC_SHUTDOWN_GRACE_PERIOD", _GRACE_SECONDS)
    with open_instance(settings):
        pass
    workspace = settings.dagster_home / "workspace.yaml"
    # This replaces a link that a stranger may have put there, and does not follow it.
    write_whole(workspace, _WORKSPACE.format(folder=json.dumps(str(PACKAGE_PARENT))).encode())
    module = "factible_assets.web.dagster_ui"
    where = ["-w", str(workspace), "-h", host, "-p", str(port)]
    # Sensors log several times a minute and would hide the problems.
    command = [sys.executable, "-m", module, "dev", *where, "--log-level", "warning"]
    # In a script's background job SIGINT is ignored, and Dagster would then ignore SIGTERM too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, command, environment)  # noqa: S606 - no shell is the point


# --- A run --------------------------------------------------------------------------------------


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

    Everything that starts a check, except Dagster itself, calls this function. The run has a thread
    of its own. Ctrl-C, SIGTERM and a termination in Dagster's UI stop it cleanly, and Dagster
    records it as canceled. If another check of the video is going on, this one waits for it.

    `assets` of None are all seven. `job_name` is fact_check, recheck or pictures. `run_id` is a
    UUID, if the caller needs it before the run ends. `remedy` tells how to resume a stopped run.

    Raises FactibleError: The run could not be started, its strategy needs a language model and none
    is set up, it failed with nothing stored, or it was stopped; complete results stay stored.
    Raises KeyboardInterrupt: The run did not stop in time and was abandoned.
    """
    video_id, settings = video.video_id, video.settings
    _prepare(settings, config)
    run_id = run_id or str(uuid.uuid4())
    failed: tuple[str, ...] = ()
    run = None
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
            # The report is written once, below, however the run ends.
            reports = ReportsResource.of(settings, launcher_writes=True)
            shown = {"observer": observer, "reports": reports}
            job = build_defs(settings, resource_overrides=shown).resolve_job_def(job_name)
            instance.add_dynamic_partitions(str(videos.name), [video_id])
            with hold_run_lock(instance, run_id):
                result = supervised(
                    lambda: job.execute_in_process(
                        partition_key=video_id,
                        instance=instance,
                        raise_on_error=False,
                        asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
                        run_config=run_config_for(config, assets or METHOD),
                        run_id=run_id,
                        tags={"video": video_id, "launched_by": "factible"} | inputs | {**tags},
                    ),
                    run_id,
                    instance,
                    observer,
                )
            if not result.success:
                failed = failures_of_run(instance, run_id)
                run = instance.get_run_by_id(run_id)
    checked = video.result(publish=has_work and not failed)
    if run is not None and run.status is dg.DagsterRunStatus.CANCELED:
        raise _stopped(run_id, remedy)
    if checked is None:
        why = " ".join(failed) or "it stored nothing"
        raise FactibleError(f"The check of {video_id} failed: {why}", code=code_of(failed))
    return replace(checked, run_id=run_id, failures=failed, is_new=True) if has_work else checked


def _stopped(run_id: str, remedy: str) -> FactibleError:
    cost, paid = BUDGETS.of_run(run_id), ""
    if cost.calls:
        calls = counted(cost.calls, "model call")
        paid = f" Answers are kept and not paid again ({calls}, {dollars(cost.spent)} so far)."
    return FactibleError(
        f"Stopped: the run {run_id[:8]} is canceled, and nothing is half-written.{paid}",
        remedy,
        ExitCode.INTERRUPTED,
    )


def _prepare(settings: Settings, config: FactCheckConfig) -> None:
    refuse_lost_warehouse(settings)
    try:
        fitting_strategy(config.strategy, config, settings)
    except SetupError as error:
        raise FactibleError(str(error), code=ExitCode.ENVIRONMENT) from error

    def create_warehouse() -> None:
        with suppress(WarehouseError):  # the run will meet it and report it
            Warehouse(settings.warehouse).ensure_exists()

    if not settings.warehouse.exists():
        # Creating it takes a second, as does opening Dagster's databases. The thread is no daemon:
        # if the check fails at once, the end of the process would leave an unfinished file.
        threading.Thread(target=create_warehouse).start()


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
