"""Re-checks: which videos are due, which must not be touched now, and what a re-check renews.

What belongs here: what the nightly schedule and the command line share. What does not: the rule of
the plan (warehouse/views/40_rechecks.sql), the schedule (nightly.py), what a run does (assets/).

A re-check keeps the claims and the queries of a video, so that verdicts can be compared over time,
and renews search results, ratings, pages, evidence and verdicts. Queries are written anew only for
claims whose queries a service failed to write: otherwise such a verdict could never be completed.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.partitions import PARTITION_TAG, videos
from factible_assets.services.dagster_internals import cron_string_iterator
from factible_assets.settings import Settings
from warehouse.rechecks import RecheckLimits

RECHECK_JOB = "recheck"
QUERIES = "queries"
RENEWED = ("search_hits", "reliability_ratings", "evidence", "verdicts")
RECHECK_ASSETS = (QUERIES, *RENEWED)

IN_FLIGHT = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Runs in these states may still write: nothing is launched beside them."""

_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def recheck_config(knobs: FactCheckConfig | None = None) -> FactCheckConfig:
    """Return the knobs of a re-check: those given, with everything asked anew."""
    return (knobs or FactCheckConfig()).model_copy(update={"renew": True})


def recheck_assets(*, with_queries: bool) -> tuple[str, ...]:
    """Return what a re-check materializes."""
    return RECHECK_ASSETS if with_queries else RENEWED


def recheck_limits(settings: Settings) -> RecheckLimits:
    """Return the limits of a night, as this machine sets them."""
    return RecheckLimits(
        videos=settings.recheck_videos,
        cost_usd=settings.recheck_cost_usd,
        minimum_age_days=settings.recheck_min_age_days,
    )


def next_tick(settings: Settings, after: datetime) -> datetime:
    """Return when the schedule ticks next, in UTC.

    A time that the clock skips in spring, or shows twice in autumn, is Dagster's to interpret.
    """
    ticks = cron_string_iterator(
        after.timestamp(), settings.recheck_cron, settings.recheck_timezone
    )
    found = next(ticks).astimezone(UTC)
    # The iterator begins at its start if that is a tick itself.
    return found if found > after else next(ticks).astimezone(UTC)


def held_videos(instance: dg.DagsterInstance, listed: Iterable[str]) -> set[str]:
    """Return the videos that must not be launched: in flight, or without a partition.

    Args:
        instance: Knows the runs and the partitions.
        listed: The videos that the warehouse knows.
    """
    partitions = instance.get_dynamic_partitions(str(videos.name))
    return in_flight(instance, partitions) | (set(listed) - set(partitions))


def in_flight(instance: dg.DagsterInstance, partitions: Sequence[str]) -> set[str]:
    """Return the videos that a run is working on, or waits in the queue to work on."""
    busy: set[str] = set()
    for record in instance.get_run_records(dg.RunsFilter(statuses=IN_FLIGHT)):
        tags = record.dagster_run.tags
        if PARTITION_TAG in tags:
            busy.add(tags[PARTITION_TAG])
        if "video" in tags:
            busy.add(tags["video"])
        if tags.get(_FIRST) in partitions and tags.get(_LAST) in partitions:
            first, last = partitions.index(tags[_FIRST]), partitions.index(tags[_LAST])
            busy.update(partitions[first : last + 1])
    return busy


def run_tags(video_id: str, corpus: str | None, launched_by: str) -> dict[str, str]:
    """Return the tags by which runs are found in the UI."""
    tags = {"video": video_id, "launched_by": launched_by}
    return {**tags, "corpus": corpus} if corpus else tags
