"""Sensors that add the videos of corpora, end dead runs, and publish the warehouse."""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

import dagster as dg

from factible_assets.corpora.reading import CorporaReading
from factible_assets.pipeline.assets.external import PUBLISHED_COPY
from factible_assets.pipeline.locks import end_dead_runs
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices
from warehouse.store import Warehouse

READABLE = "corpora_are_readable"

PARTITIONS_PER_TICK = 1_000
"""A request with many keys is slow; the next ticks add the rest."""

_SHOWN = 5


def _reading_problems(reading: CorporaReading) -> str:
    problems = [str(problem) for problem in reading.problems]
    more = f" And {len(problems) - _SHOWN:,} more." if len(problems) > _SHOWN else ""
    return " ".join(problems[:_SHOWN]) + more or "All corpus files are readable."


@dg.asset_check(asset="transcripts", name=READABLE)
def corpora_are_readable(corpora: CorporaResource) -> dg.AssetCheckResult:
    """All corpus files are readable; otherwise the file, the line and the remedy.

    An unreadable file removes no partition.
    """
    reading = corpora.read()
    return dg.AssetCheckResult(passed=not reading.problems, description=_reading_problems(reading))


@dg.sensor(
    name="corpus_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=(
        "Adds a partition for every video of the files in corpora/, and never removes one. An "
        "unreadable file fails the check corpora_are_readable of transcripts."
    ),
)
def corpus_sensor(context: dg.SensorEvaluationContext, corpora: CorporaResource) -> dg.SensorResult:
    reading = corpora.read()
    outcome = _reading_problems(reading)
    for problem in reading.problems:
        context.log.warning(str(problem))
    # The history of a video is data, so a partition stays when its entry goes.
    existing = set(context.instance.get_dynamic_partitions(str(videos.name)))
    listed = (entry.video.video_id for entry in reading.videos())
    added = [video_id for video_id in listed if video_id not in existing][:PARTITIONS_PER_TICK]
    skipped = None if added else "Every listed video has a partition."
    if reading.problems and not added:
        skipped = f"There are no new videos, and the partitions stay. {outcome}"
    evaluation = dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey("transcripts"),
        check_name=READABLE,
        passed=not reading.problems,
        description=outcome,
    )
    return dg.SensorResult(
        dynamic_partitions_requests=[videos.build_add_request(added)] if added else [],
        skip_reason=skipped,
        # Report changes only: each tick would add an event.
        asset_events=[] if outcome == context.cursor else [evaluation],
        cursor=outcome,
    )


@dg.sensor(
    name="dead_runs_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Ends runs whose process is gone, so that they do not block the queue.",
)
def dead_runs_sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    dead = end_dead_runs(context.instance)
    return dg.SkipReason(f"Ended: {', '.join(dead)}." if dead else "No run is dead.")


@dg.run_status_sensor(
    name="publish_sensor",
    run_status=dg.DagsterRunStatus.SUCCESS,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="After a run, publishes a copy of the warehouse for readers.",
)
def publish_sensor(context: dg.RunStatusSensorContext, services: FactCheckServices) -> None:
    settings = services.settings()
    if settings.warehouse.exists():
        Warehouse(settings.warehouse).publish(settings.published)
        metadata = {"copy": str(settings.published)}
        event = dg.AssetMaterialization(PUBLISHED_COPY, metadata=metadata)
        context.instance.report_runless_asset_event(event)
        context.log.info("Published %s", settings.published)
