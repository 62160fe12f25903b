"""The schedule `videos_due`, which checks videos whose transcript was not available before."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.pipeline.assets.transcripts import DUE_TAG
from factible_assets.pipeline.partitions import PARTITION_TAG, run_tags, videos
from factible_assets.pipeline.run_records import in_flight
from factible_assets.settings import Settings
from warehouse.store import Warehouse

DUE_SCHEDULE = "videos_due"
_DUE_PER_TICK, _MOST_TRIES = 100, 48
"""YouTube answers about 300 videos an hour to one address. Tries end after two days."""


def due_requests(
    instance: dg.DagsterInstance, settings: Settings, tick: datetime
) -> list[dg.RunRequest]:
    """Return a run request for each video whose last run failed with the tag `due`.

    Leaves out videos that have been checked since, have a running or queued run, or had 48 tries.
    """
    failed = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], tags={DUE_TAG: "transcript"})
    checked = Warehouse(settings.warehouse).video_ids() if settings.warehouse.exists() else ()
    partitions = set(instance.get_dynamic_partitions(str(videos.name)))
    candidates = partitions - in_flight(instance) - set(checked)
    last: dict[str, dg.DagsterRun] = {}
    tries: Counter[str] = Counter()
    for run in instance.get_runs(failed):  # the newest first
        video_id = run.tags.get(PARTITION_TAG, "")
        tries[video_id] += 1
        last.setdefault(video_id, run)
    due = [
        video_id for video_id in last if video_id in candidates and tries[video_id] < _MOST_TRIES
    ]
    return [
        dg.RunRequest(
            run_key=f"{tick:%Y-%m-%dT%H:%MZ} {video_id}",
            partition_key=video_id,
            run_config=last[video_id].run_config,
            tags=run_tags(video_id, last[video_id].tags.get("corpus"), DUE_SCHEDULE),
        )
        for video_id in due[:_DUE_PER_TICK]
    ]


def due_schedule(fact_check: Any, settings: Settings) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=DUE_SCHEDULE,
        job=fact_check,
        cron_schedule="20 * * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=(
            "Checks hourly the videos whose transcript was not available before: YouTube's limit "
            "was reached, or a stream had not ended."
        ),
    )
    def videos_due(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        tick = context.scheduled_execution_time.astimezone(UTC)
        requests = due_requests(context.instance, settings, tick)
        return requests or dg.SkipReason("No video waits for its transcript.")

    return videos_due
