"""The runs as Dagster has recorded them: the same that its UI shows.

What belongs here: reading the instance for the service, and ending runs whose worker is gone. What
does not: launching (runs.py, worker.py). Functions block, the first one for as long as loading
Dagster takes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import dagster as dg

from factible_assets.http_service.models import RunInfo, RunStatus
from factible_assets.partitions import PARTITION_TAG
from factible_assets.running.launch import open_instance
from factible_assets.settings import Settings


def recorded_runs(
    settings: Settings, *, limit: int, video_id: str | None = None, run_id: str | None = None
) -> list[RunInfo]:
    """Return the newest runs of the data folder, whoever launched them; of a video, or the one."""
    wanted = dg.RunsFilter(
        tags={PARTITION_TAG: video_id} if video_id is not None else None,
        run_ids=[run_id] if run_id is not None else None,
    )
    with open_instance(settings) as instance:
        records = instance.get_run_records(filters=wanted, limit=limit)
    found = []
    for record in records:
        run, times = record.dagster_run, (record.start_time, record.end_time)
        started, ended = (each and datetime.fromtimestamp(each, UTC) for each in times)
        found.append(
            RunInfo(
                run_id=run.run_id,
                video_id=run.tags.get("video") or run.tags.get(PARTITION_TAG),
                status=cast("RunStatus", run.status.value.lower()),
                launched_by=run.tags.get("launched_by"),
                experiment_name=run.tags.get("experiment"),
                started_at=started or None,
                ended_at=ended or None,
                events=None,
            )
        )
    return found


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
