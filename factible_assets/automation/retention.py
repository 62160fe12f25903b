"""Retention: what is removed because of its age, and what never is.

What belongs here: the policy, and applying it to a data folder. What does not: how texts are
removed (warehouse/retention.py), how caches forget (resources/cache), when (nightly.py).

Removed are texts of pages that no check has used for a while and that nothing current rests on,
kept answers that nobody asked for, and Dagster's records of old runs: some 160 events each, which
would otherwise outgrow what they tell of. Verdicts, evidence, quotes, claims and all history stay,
and so do the runs that made the newest set of an asset, by which Dagster knows that it is there.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from resources.statements import statements

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from factible_assets.settings import Settings


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long things are kept.

    Attributes:
        texts: Texts of pages, since a check last used them.
        answers: Kept answers, since somebody last asked for them.
        runs: Dagster's records of runs, since they began.
    """

    texts: timedelta
    answers: timedelta
    runs: timedelta

    def texts_before(self, now: datetime) -> datetime:
        """Return the moment before which texts are too old."""
        return now - self.texts


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed, or with `dry_run` would be.

    Attributes:
        texts: Texts of pages.
        characters: Their length, in code points.
        answers: Kept answers by kind; empty for a dry run, which does not look at them.
        bytes_freed: By how much the warehouse's file became shorter.
        runs: Runs whose records at Dagster went.
    """

    texts: int
    characters: int
    answers: dict[str, int]
    bytes_freed: int
    dry_run: bool
    runs: int = 0


def retention_policy(settings: Settings) -> RetentionPolicy:
    """Return how long this machine keeps things."""
    return RetentionPolicy(
        texts=timedelta(days=settings.retention_text_days),
        answers=timedelta(days=settings.retention_cache_days),
        runs=timedelta(days=settings.retention_run_days),
    )


def apply_retention(
    settings: Settings,
    policy: RetentionPolicy,
    instance: DagsterInstance,
    *,
    now: datetime,
    dry_run: bool = False,
) -> Removed:
    """Remove what is too old, give its room back, and publish the warehouse again.

    Args:
        settings: The data folder.
        policy: How long things are kept.
        instance: Has the records of runs.
        now: The present, timezone-aware.
        dry_run: Count the texts and the runs, and change nothing.

    Raises:
        WarehouseError: The warehouse cannot be opened or written.
    """
    from resources.cache import DiskCache  # noqa: PLC0415 - heavy, and not needed for the policy
    from warehouse.retention import TrimmedTexts, compact, trim_texts  # noqa: PLC0415
    from warehouse.store import Warehouse  # noqa: PLC0415

    trimmed, freed, answers = TrimmedTexts(0, 0), 0, {}
    if settings.warehouse.exists():
        store = Warehouse(settings.warehouse)
        trimmed = trim_texts(store, before=policy.texts_before(now), now=now, dry_run=dry_run)
        # A lake has small files to merge, whatever went.
        if (trimmed.texts or not isinstance(settings.warehouse, Path)) and not dry_run:
            freed = compact(store)
            store.publish(settings.published)
    if settings.cache.exists() and not dry_run:
        cache = DiskCache(settings.cache, settings.cache_policy)
        answers = {str(kind): count for kind, count in cache.trim(policy.answers).items()}
        cache.close()
    old = _old_runs(settings, instance, now - policy.runs)
    for run_id in () if dry_run else old:
        instance.delete_run(run_id)
        # Where each run has a file, it is emptied and left; and so is what steps printed.
        for file in Path(instance.root_directory).glob(f"history/runs/{run_id}.db*"):
            file.unlink(missing_ok=True)
        shutil.rmtree(Path(instance.root_directory) / "storage" / run_id, ignore_errors=True)
    return Removed(trimmed.texts, trimmed.characters, answers, freed, dry_run, len(old))


def _old_runs(settings: Settings, instance: DagsterInstance, before: datetime) -> list[str]:
    """Return the runs that ended, are old, and made no newest set of any asset."""
    from dagster import DagsterRunStatus, RunsFilter  # noqa: PLC0415 - slow to import

    from warehouse.store import Warehouse  # noqa: PLC0415 - as above

    ended = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
    runs = instance.get_runs(RunsFilter(statuses=ended, created_before=before))
    newest = (instance.get_latest_materialization_event(key) for key in instance.get_asset_keys())
    kept = {event.run_id for event in newest if event is not None}
    if runs and settings.warehouse.exists():
        sql = statements("factible_assets.automation", "retention.sql")["runs_of_newest_sets"]
        kept |= set(Warehouse(settings.warehouse).query(sql)["run_id"])
    return [run.run_id for run in runs if run.run_id not in kept]
