"""Weekly retention: removes old page texts, cached answers, and Dagster's records of runs."""

# No `from __future__ import annotations`: Dagster reads the annotations of ops as types.

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

import dagster as dg

from factible_assets.pipeline.resources import FactCheckServices
from factible_assets.pipeline.run_erasure import delete_runs
from factible_assets.pipeline.schedules import schedule_status
from factible_assets.settings import Settings
from resources.statements import statements
from resources.storage.answers import DiskCache
from warehouse.store import Warehouse
from warehouse.upkeep import compact, trim_texts

_RETENTION_CRON = "30 4 * * 0"
"""Sundays at half past four, after the night's re-checks."""

_KEPT_RUN_DAYS = 90
"""Dagster's UI slows down with the number of runs, and nobody looks up older ones."""

_UNUSED_ANSWER_DAYS = 90
"""Longer than the time between two re-checks; the size of the cache has its own limit."""

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@dataclass(slots=True)
class Removed:
    """The numbers of removed items, or in a dry run of the items to remove.

    `texts` are page texts, `characters` their code points together. `answers` are cached answers by
    kind; a dry run does not count them.
    """

    dry_run: bool
    texts: int = 0
    characters: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    bytes_freed: int = 0
    runs: int = 0


def apply_retention(
    settings: Settings, instance: dg.DagsterInstance, *, now: datetime, dry_run: bool = False
) -> Removed:
    """Remove old page texts, cached answers and runs, and publish the warehouse.

    Raises WarehouseError: The warehouse cannot be opened or written.
    """
    removed = Removed(dry_run)
    if settings.warehouse.exists():
        store = Warehouse(settings.warehouse)
        before = now - timedelta(days=settings.retention_days)
        texts, characters = trim_texts(store, before=before, now=now, dry_run=dry_run)
        removed.texts, removed.characters = texts, characters
        # A lake also merges its small files.
        if (texts or settings.warehouse.is_shared) and not dry_run:
            removed.bytes_freed = compact(store)
            store.publish(settings.published)
    if settings.cache.exists() and not dry_run:
        unused = timedelta(days=_UNUSED_ANSWER_DAYS)
        answers = DiskCache(settings.cache, settings.cache_policy).trim(unused)
        removed.answers = {str(kind): count for kind, count in answers.items()}
    runs = _old_runs(settings, instance, now)
    removed.runs = len(runs)
    if not dry_run:
        delete_runs(instance, runs)
    return removed


def _old_runs(settings: Settings, instance: dg.DagsterInstance, now: datetime) -> list[str]:
    """Return the ids of old ended runs, except those that made the newest set of an asset.

    Dagster knows a set only through its run.
    """
    before = now - timedelta(days=min(settings.retention_days, _KEPT_RUN_DAYS))
    runs = instance.get_runs(dg.RunsFilter(statuses=_ENDED, created_before=before))
    newest = (instance.get_latest_materialization_event(key) for key in instance.get_asset_keys())
    kept = {event.run_id for event in newest if event is not None}
    if runs and settings.warehouse.exists():
        sql = statements("factible_assets.pipeline", "retention.sql")["runs_of_newest_sets"]
        kept |= {row["run_id"] for row in Warehouse(settings.warehouse).rows(sql)}
    return [run.run_id for run in runs if run.run_id not in kept]


_DRY_RUN = dg.Field(bool, default_value=False, description="Count old items without removing them.")


@dg.op(config_schema={"dry_run": _DRY_RUN})
def remove_old_items(context: dg.OpExecutionContext, services: FactCheckServices) -> None:
    removed = apply_retention(
        services.settings(), context.instance, now=datetime.now(UTC), **context.op_config
    )
    numbers = asdict(removed) | {"answers": sum(removed.answers.values())}
    context.add_output_metadata(
        {name.replace("_", " "): number for name, number in numbers.items()}
    )


@dg.job
def retention() -> None:
    """Remove old page texts, cached answers, and Dagster's records of runs.

    Verdicts, evidence and quotes stay, and so do the texts behind current verdicts.
    """
    remove_old_items()


def weekly_retention(settings: Settings) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name="weekly_retention",
        job=retention,
        cron_schedule=_RETENTION_CRON,
        execution_timezone="UTC",
        default_status=schedule_status(settings),
        description="Removes old items once a week.",
    )
