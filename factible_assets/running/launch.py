"""Runs a fact-check in this process, as a real Dagster run that the UI shows like any other.

What belongs here: the instance of a data folder, adding a partition, running a job on it, and
turning Dagster's failures into sentences. What does not: what the run does (assets/), how it is
shown (cli/).
"""

import hashlib
import json
import os
import shutil
import sys
import threading
import uuid
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import dagster as dg
import yaml
from filelock import FileLock
from sqlalchemy.exc import DatabaseError, OperationalError

from factible_assets.config import FactCheckConfig
from factible_assets.definitions import build_defs
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.files import write_whole
from factible_assets.launchpad import run_config_for
from factible_assets.partitions import videos
from factible_assets.records import METHOD
from factible_assets.running.standing import Inputs, Standing, inputs_of, standing
from factible_assets.running.supervision import Listener, supervised
from factible_assets.services.alive import end_dead_runs, failures_of_run, mark_alive, turn
from factible_assets.services.dagster_internals import (
    NO_CAPTURE,
    InstanceRef,
    know_newest_revisions,
    leave_logging_alone,
)
from factible_assets.services.event_log import kept_open
from factible_assets.services.reasoning import fitting_strategy
from factible_assets.settings import PACKAGE_PARENT, Settings, SettingsError, SetupError
from factible_assets.stages.ports import Observer
from factible_assets.wording import web_address
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_OPENING_SECONDS = 120
"""How long to wait while another process creates the databases, which takes it a few seconds."""

_WORKSPACE = """\
# Written at every start of `factible dev`.
load_from:
  - python_module:
      module_name: factible_assets.definitions
      location_name: factible-assets
      working_directory: {folder}
"""

_INSTANCE_TEMPLATE = Path(__file__).with_name("dagster.yaml")

_OWN_TEMPLATES = {
    hashlib.sha256(_INSTANCE_TEMPLATE.read_bytes()).hexdigest(),
    # Those of earlier versions, which are replaced.
    "d4a3f3d53c6fad0e1f0a8ddb3b632b4cd138f4042bd5285157f07b5d8a4b81a0",
    "7a128218cc2263a09b553744a914b79e3ddb7148a859f28cc04caaa8b7ae4bbc",
    "0293ce8012746386800935cd123cd1eb7f0d308cc3b011033800aaccb51c7f81",
    "1c43a263169548d6e3a1a5a1d6b65f37c504062ca63269b366f5ceea8e24ba63",
}
"""Such a file may name code of any kind; these are no reason to ask the user about it."""


class CheckError(FactibleError):
    """A fact-check could not be run; the message is a sentence with the remedy."""

    code = ExitCode.FAILED


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """How a run ended. `failures` has a sentence for each step that failed.

    A run that was `canceled`, by Ctrl-C or in the UI, did not fail; what was complete is stored.
    """

    run_id: str
    success: bool
    failures: tuple[str, ...]
    canceled: bool = False


def prepare_instance(settings: Settings) -> Path:
    """Create the folder of the Dagster instance where it is missing, and return it.

    Raises:
        SettingsError: It is the working folder's, and has a dagster.yaml that nobody allowed.
    """
    folder = settings.dagster_home
    target = folder / "dagster.yaml"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_INSTANCE_TEMPLATE, target)
    elif (found := _template_of(target)) not in _OWN_TEMPLATES:
        settings.require_trust(target)
    elif found != _template_of(_INSTANCE_TEMPLATE):
        write_whole(target, _INSTANCE_TEMPLATE.read_bytes())
    return folder


def _template_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def open_instance(settings: Settings, *, captures_output: bool = True) -> dg.DagsterInstance:
    """Open the Dagster instance of a data folder; use it as a context manager.

    Two processes that create its databases at once leave both with two schema versions, which no
    Dagster opens again. So they take turns until the databases are there. Runs whose process is
    gone are ended here, so that nobody who asks takes them for running.

    Args:
        settings: The data folder.
        captures_output: Whether steps that this instance runs have their stdout and stderr led
            into files, by four more processes per step, which a Ctrl-C in the terminal reaches too.
    """
    folder = prepare_instance(settings)
    know_newest_revisions()
    leave_logging_alone()
    with FileLock(folder / ".opening.lock", timeout=_OPENING_SECONDS):
        overrides = {} if captures_output else dict(NO_CAPTURE)
        if _template_of(folder / "dagster.yaml") in _OWN_TEMPLATES:
            overrides.update(kept_open(folder))
        try:
            reference = InstanceRef.from_dir(str(folder), overrides=overrides)
        except yaml.YAMLError as error:
            raise SettingsError(
                f"{folder / 'dagster.yaml'} is no YAML ({' '.join(str(error).split())}). Correct "
                "it, or move it away: it is written anew."
            ) from error
        try:
            instance = dg.DagsterInstance.from_ref(reference)
            instance.get_dynamic_partitions(str(videos.name))
            instance.get_run_records(limit=1)
            instance.all_instigator_state()
        except DatabaseError as error:
            if isinstance(error, OperationalError):  # of a database that is busy, or not there
                raise
            raise SettingsError(
                f"Dagster's records in {folder} are damaged ({error.orig}). Move that folder away: "
                "the record of runs begins anew, and the verdicts are in the warehouse."
            ) from error
    end_dead_runs(instance)
    return instance


def check_video(
    video_id: str,
    *,
    settings: Settings,
    config: FactCheckConfig,
    observer: Observer,
    assets: Sequence[str] | None = None,
    job_name: str = "fact_check",
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    listener: Listener | None = None,
) -> CheckOutcome:
    """Fact-check one video and publish the result for readers.

    The run goes on in a thread of its own. Ctrl-C, SIGTERM and a termination in Dagster's UI stop
    it cleanly, and Dagster records it as canceled; see supervision.py. Another check of the same
    video is waited for.

    Args:
        video_id: The partition; it is added if it is new.
        settings: The data folder and the services.
        config: The run's knobs.
        observer: Hears of claims and verdicts as they come.
        assets: The assets to materialize; all seven if not given.
        job_name: The job that materializes them: fact_check, or recheck.
        run_id: The id of the run, a UUID, for a caller who must know it before it ends.
        tags: Tags of the run, besides its own.
        listener: Hears which assets are stored meanwhile.

    Raises:
        CheckError: the run could not be started, or its strategy asks a model and none judges.
        KeyboardInterrupt: the run was to stop, did not at once, and was left.
    """
    if settings.published.exists() and not settings.warehouse.exists():
        raise CheckError(
            f"The warehouse {settings.warehouse} is gone, and its published copy is still there. "
            f"Put it back with: factible restore. To begin anew, move {settings.published} away."
        )
    try:
        fitting_strategy(config.strategy, config.reasoner, settings)
    except SetupError as error:
        raise CheckError(str(error)) from error
    run_id = run_id or new_run_id()
    if not settings.warehouse.exists():
        # It takes a second: while Dagster opens its own. No daemon, which would be cut off half-way
        # by the end of a check that fails at once, and leave its unfinished file.
        threading.Thread(target=_create_warehouse, args=(settings,)).start()
    with (
        warnings.catch_warnings(),
        open_instance(settings, captures_output=False) as instance,
        ExitStack() as stack,
    ):
        # Dagster's remarks to whoever writes pipelines are none for whoever checks a video.
        for kind in (dg.BetaWarning, dg.PreviewWarning):
            warnings.simplefilter("ignore", kind)
        definitions = build_defs(settings, resource_overrides={"observer": observer})
        job = definitions.resolve_job_def(job_name)
        instance.add_dynamic_partitions(str(videos.name), [video_id])
        stack.enter_context(
            turn(instance, video_id, None if listener is None else listener.waiting)
        )
        stack.enter_context(mark_alive(instance, run_id))
        inputs = _inputs(video_id, settings, config)
        every_tag = {
            "video": video_id,
            "launched_by": "factible",
            **(inputs.tags if inputs else {}),
            **(tags or {}),
        }
        result = supervised(
            lambda: job.execute_in_process(
                partition_key=video_id,
                instance=instance,
                raise_on_error=False,
                asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
                run_config=run_config_for(config, assets or METHOD),
                run_id=run_id,
                tags=every_tag,
            ),
            run_id=run_id,
            instance=instance,
            listener=listener,
        )
        run = instance.get_run_by_id(run_id)
        failed = () if result.success else failures_of_run(instance, run_id)
    canceled = run is not None and run.status is dg.DagsterRunStatus.CANCELED
    if result.success:
        Warehouse(settings.warehouse).publish(settings.published)
    return CheckOutcome(run_id, result.success, () if canceled else failed, canceled)


def _create_warehouse(settings: Settings) -> None:
    with suppress(WarehouseError):  # the run will meet it, and say so
        Warehouse(settings.warehouse).ensure_exists()


def new_run_id() -> str:
    """Return an id for a run that is yet to start."""
    return str(uuid.uuid4())


def still_standing(video_id: str, *, settings: Settings, config: FactCheckConfig) -> Standing:
    """Find out what of an earlier check of a video need not be done again; see standing.py."""
    inputs = _inputs(video_id, settings, config)
    if inputs is None or not settings.warehouse.exists():
        return Standing()
    with open_instance(settings) as instance:
        return standing(video_id, inputs, settings=settings, instance=instance)


def _inputs(video_id: str, settings: Settings, config: FactCheckConfig) -> Inputs | None:
    try:
        return inputs_of(video_id, settings=settings, config=config)
    except SetupError:
        # The run itself says what is not set up, where the UI shows it too.
        return None


def serve_ui(settings: Settings, *, host: str, port: int) -> NoReturn:
    """Replace this process by the Dagster UI and daemon over this data folder.

    Raises:
        SettingsError: The data folder is the working folder's, and has files that nobody allowed.
    """
    _ = settings.own_models  # The processes below take the data folder for the user's choice.
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(prepare_instance(settings)),
        "FACTIBLE_HOME": str(settings.home),
        # Where the reports and the desk are: runs link to them.
        "FACTIBLE_PUBLIC_URL": settings.public_url or web_address(host, port),
        # Nothing in the working folder is taken for a module.
        "PYTHONSAFEPATH": "1",
    }
    with open_instance(settings):
        pass
    workspace = settings.dagster_home / "workspace.yaml"
    workspace.write_text(_WORKSPACE.format(folder=json.dumps(str(PACKAGE_PARENT))), "utf-8")
    module = "factible_assets.http_service.dagster_ui"
    where = ["-w", str(workspace), "-h", host, "-p", str(port)]
    command = [sys.executable, "-m", module, "dev", *where]
    os.execve(sys.executable, command, environment)  # noqa: S606 - no shell is the point
