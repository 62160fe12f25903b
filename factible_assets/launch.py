"""Runs a fact-check in this process, as a real Dagster run that the UI shows like any other.

What belongs here: the instance of a data folder, adding a partition, running a job on it, and
turning Dagster's failures into sentences. What does not: what the run does (assets/), how it is
shown (cli/).
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import dagster as dg
from dagster._core.execution.plan.objects import StepFailureData
from filelock import FileLock

from factible_assets.config import FactCheckConfig
from factible_assets.definitions import build_defs
from factible_assets.partitions import videos
from factible_assets.records import ASSET_RECORDS
from factible_assets.run_config import run_config_for
from factible_assets.settings import Settings, project_root
from factible_assets.stages.ports import Observer
from warehouse.store import Warehouse

_OPENING_SECONDS = 120
"""How long to wait while another process creates the databases, which takes it a few seconds."""

_INSTANCE_TEMPLATE = Path(__file__).with_name("dagster.yaml")


class CheckError(Exception):
    """A fact-check could not be run; the message is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """How a run ended. `failures` has a sentence for each step that failed."""

    run_id: str
    success: bool
    failures: tuple[str, ...]


def prepare_instance(settings: Settings) -> Path:
    """Create the folder of the Dagster instance where it is missing, and return it."""
    folder = settings.dagster_home
    target = folder / "dagster.yaml"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_INSTANCE_TEMPLATE, target)
    return folder


def open_instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of a data folder; use it as a context manager.

    Two processes that create its databases at once leave both with two schema versions, which no
    Dagster opens again. So they take turns until the databases are there.
    """
    folder = prepare_instance(settings)
    with FileLock(folder / ".opening.lock", timeout=_OPENING_SECONDS):
        instance = dg.DagsterInstance.from_config(str(folder))
        instance.get_dynamic_partitions(_partitions_name())
        instance.get_run_records(limit=1)
        instance.all_instigator_state()
    return instance


def check_video(
    video_id: str,
    *,
    settings: Settings,
    config: FactCheckConfig,
    observer: Observer,
    assets: Sequence[str] | None = None,
) -> CheckOutcome:
    """Fact-check one video and publish the result for readers.

    Args:
        video_id: The partition; it is added if it is new.
        settings: The data folder and the services.
        config: The run's knobs.
        observer: Hears of claims and verdicts as they come.
        assets: The assets to materialize; all seven if not given.

    Raises:
        CheckError: the run could not be started.
    """
    job = build_defs(settings, resource_overrides={"observer": observer}).resolve_job_def(
        "fact_check"
    )
    with open_instance(settings) as instance:
        instance.add_dynamic_partitions(_partitions_name(), [video_id])
        result = job.execute_in_process(
            partition_key=video_id,
            instance=instance,
            raise_on_error=False,
            asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
            run_config=run_config_for(config, assets or tuple(ASSET_RECORDS)),
            tags={"video": video_id, "launched_by": "factible"},
        )
    if result.success:
        Warehouse(settings.warehouse).publish(settings.published)
    return CheckOutcome(result.run_id, result.success, tuple(_failures(result)))


def _failures(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    """Yield one sentence for each failed step, the asset named first."""
    for event in result.all_events:
        if event.is_step_failure:
            yield f"{event.step_key}: {_sentence(event.step_failure_data)}"


def _sentence(data: StepFailureData) -> str:
    """Return what the asset said went wrong, without the frames of the framework around it."""
    if data.user_failure_data and data.user_failure_data.description:
        return data.user_failure_data.description
    error = data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else "it failed without saying why"


def _partitions_name() -> str:
    name = videos.name
    if name is None:
        raise CheckError("The partitions have no name; define them with one.")
    return name


def serve_ui(settings: Settings, *, host: str, port: int) -> NoReturn:
    """Replace this process by the Dagster UI and daemon over this data folder."""
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(prepare_instance(settings)),
        "FACTIBLE_HOME": str(settings.home),
    }
    with open_instance(settings):
        pass
    root = project_root()
    # Without a workspace file (an installed package), the same definitions are found by name.
    where = ["-w", str(root / "workspace.yaml")] if root else ["-m", "factible_assets.definitions"]
    command = [sys.executable, "-m", "dagster", "dev", *where, "-h", host, "-p", str(port)]
    os.execve(sys.executable, command, environment)  # noqa: S606 - no shell is the point
