"""What happens without anybody's click: videos are added, runs ended, results published.

What belongs here: sensors, and the pure functions that decide what they do. What does not: the
work itself.

Sensors are thin: they return the answers of functions that are tested without Dagster.
"""

from collections.abc import Collection, Iterable

import dagster as dg

from factible_assets.checks.corpus_files import evaluation, told
from factible_assets.corpora.reading import CorporaReading
from factible_assets.partitions import videos
from factible_assets.services.alive import end_dead_runs
from factible_assets.services.resource import CorporaResource, FactCheckServices
from warehouse.store import Warehouse

PARTITIONS_PER_TICK = 1_000
"""Added at once; the rest follow at the next ticks, as one request of many keys is slow."""


def partitions_to_add(video_ids: Iterable[str], existing: Iterable[str]) -> list[str]:
    """Return the videos that have no partition yet, in their order.

    A video that is in no file any more keeps its partition: its history is data, and a file that
    cannot be read must not look like a file that lists nothing.
    """
    known = set(existing)
    return [video_id for video_id in video_ids if video_id not in known]


def skip_words(reading: CorporaReading, added: Collection[str]) -> str | None:
    """Say why a tick did nothing, problems of the files first; None if it did something."""
    if added:
        return None
    if reading.problems:
        shown = "; ".join(str(problem) for problem in reading.problems[:5])
        return f"Nothing new could be read; the partitions stay as they are. {shown}"
    return "Every listed video has a partition."


@dg.sensor(
    name="corpus_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=(
        "Adds a partition for every video that a file in corpora/ lists, and never removes one. "
        "A file that cannot be read fails the check corpora_are_readable of transcripts."
    ),
)
def corpus_sensor(context: dg.SensorEvaluationContext, corpora: CorporaResource) -> dg.SensorResult:
    """Add partitions for newly listed videos, and report files that cannot be read."""
    reading = corpora.read()
    for problem in reading.problems:
        context.log.warning(str(problem))
    existing = context.instance.get_dynamic_partitions(str(videos.name))
    listed = (entry.video.video_id for entry in reading.videos())
    added = partitions_to_add(listed, existing)[:PARTITIONS_PER_TICK]
    outcome = told(reading)
    return dg.SensorResult(
        dynamic_partitions_requests=[videos.build_add_request(added)] if added else [],
        skip_reason=skip_words(reading, added),
        # Reported once: each tick would be an event of its own.
        asset_events=[] if outcome == context.cursor else [evaluation(reading)],
        cursor=outcome,
    )


@dg.sensor(
    name="dead_runs_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Ends runs whose process is gone, so that they block neither queue nor schedule.",
)
def dead_runs_sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """End dead runs."""
    dead = end_dead_runs(context.instance)
    return dg.SkipReason(f"Ended: {', '.join(dead)}." if dead else "No run is dead.")


@dg.run_status_sensor(
    name="publish_sensor",
    run_status=dg.DagsterRunStatus.SUCCESS,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="After a run, swaps in a fresh copy of the warehouse for those who only read.",
)
def publish_sensor(context: dg.RunStatusSensorContext, services: FactCheckServices) -> None:
    """Publish the warehouse after a successful run."""
    settings = services.settings()
    if settings.warehouse.exists():
        Warehouse(settings.warehouse).publish(settings.published)
        context.log.info("Published %s", settings.published)
