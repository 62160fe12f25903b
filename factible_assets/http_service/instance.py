"""The runs as Dagster has recorded them: the same that its UI shows.

What belongs here: reading the instance for the service, and ending runs whose worker is gone. What
does not: launching (workers.py, worker.py). Functions block, the first one for as long as loading
Dagster takes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import dagster as dg
from dagster import RunRecord

from factible_assets.http_service.models import RunInfo, RunStatus
from factible_assets.partitions import PARTITION_TAG
from factible_assets.running.launch import open_instance
from factible_assets.settings import Settings


def newest_runs(settings: Settings, *, limit: int, video_id: str | None = None) -> list[RunInfo]:
    """Return the newest runs of the data folder, whoever launched them."""
    wanted = dg.RunsFilter(tags={PARTITION_TAG: video_id}) if video_id is not None else None
    with open_instance(settings) as instance:
        return [_info(record) for record in instance.get_run_records(filters=wanted, limit=limit)]


def recorded_run(settings: Settings, run_id: str) -> RunInfo | None:
    """Return one run, None if there is none of that id."""
    with open_instance(settings) as instance:
        record = instance.get_run_record_by_id(run_id)
        return None if record is None else _info(record)


def end_run(settings: Settings, run_id: str, *, cancelled: bool) -> None:
    """End a run whose worker is gone, so that it does not stay started for ever."""
    with open_instance(settings) as instance:
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return
        if cancelled:
            instance.report_run_canceled(run, "The run was cancelled, and its worker was ended.")
        else:
            instance.report_run_failed(run, "The worker of the run ended unexpectedly.")


def _info(record: RunRecord) -> RunInfo:
    run = record.dagster_run
    return RunInfo(
        run_id=run.run_id,
        video_id=run.tags.get("video") or run.tags.get(PARTITION_TAG),
        status=cast("RunStatus", run.status.value.lower()),
        launched_by=run.tags.get("launched_by"),
        experiment_name=run.tags.get("experiment"),
        started_at=_moment(record.start_time),
        ended_at=_moment(record.end_time),
        events=None,
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
