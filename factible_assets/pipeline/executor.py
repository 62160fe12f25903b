"""The executor of all jobs: it locks the run and its video while Dagster's own executor works."""

from collections.abc import Iterator
from typing import IO, Any

import dagster as dg

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.pipeline.cancellation import CANCELLATIONS
from factible_assets.pipeline.locks import hold_run_lock, video_lock
from factible_assets.pipeline.partitions import PARTITION_TAG, videos
from factible_assets.records.tables import ASSET_RECORDS
from factible_assets.settings import Settings, load_settings

_CANCEL = {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}

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
                    current = instance.get_run_by_id(run.run_id)
                    # End a run that is to stop before Dagster retries the step. If a user
                    # terminated it, Dagster records it as canceled. If its machine shuts down,
                    # Dagster records a failure, and run_retries (deploy/dagster.yaml) starts again.
                    is_canceled = current is not None and current.status in _CANCEL
                    if is_canceled or CANCELLATIONS.is_requested(run.run_id):
                        raise dg.DagsterExecutionInterruptedError


_in_process: Any = dg.in_process_executor

locking_executor = dg.ExecutorDefinition(
    name="in_process",
    config_schema=_in_process.config_schema,
    executor_creation_fn=lambda init: _LockingExecutor(_in_process.executor_creation_fn(init)),
    description="Executes the steps of a run in one process, which locks the run and its video.",
)
