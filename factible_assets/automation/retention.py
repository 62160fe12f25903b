"""Retention: what is removed because of its age, and what never is.

What belongs here: applying what the settings say to a data folder. What does not: how texts are
removed (warehouse/upkeep.py), how caches forget (resources/cache), when (nightly.py).

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

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from factible_assets.settings import Settings
from resources.cache import DiskCache
from resources.statements import statements
from warehouse.store import Warehouse
from warehouse.upkeep import TrimmedTexts, compact, trim_texts


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


def apply_retention(
    settings: Settings,
    instance: DagsterInstance,
    *,
    now: datetime,
    dry_run: bool = False,
) -> Removed:
    """Remove what is too old, give its room back, and publish the warehouse again.

    Args:
        settings: The data folder, and how long things are kept.
        instance: Has the records of runs.
        now: The present, timezone-aware.
        dry_run: Count the texts and the runs, and change nothing.

    Raises:
        WarehouseError: The warehouse cannot be opened or written.
    """
    trimmed, freed, answers = TrimmedTexts(0, 0), 0, {}
    if settings.warehouse.exists():
        store = Warehouse(settings.warehouse)
        trimmed = trim_texts(
            store,
            before=now - timedelta(days=settings.retention_text_days),
            now=now,
            dry_run=dry_run,
        )
        # A lake has small files to merge, whatever went.
        if (trimmed.texts or not isinstance(settings.warehouse, Path)) and not dry_run:
            freed = compact(store)
            store.publish(settings.published)
    if settings.cache.exists() and not dry_run:
        unused = timedelta(days=settings.retention_cache_days)
        cache = DiskCache(settings.cache, settings.cache_policy)
        answers = {str(kind): count for kind, count in cache.trim(unused).items()}
        cache.close()
    ended = _old_runs(settings, instance, now - timedelta(days=settings.retention_run_days))
    for run_id in () if dry_run else ended:
        instance.delete_run(run_id)
        # Where each run has a file, it is emptied and left; and so is what steps printed.
        for file in Path(instance.root_directory).glob(f"history/runs/{run_id}.db*"):
            file.unlink(missing_ok=True)
        shutil.rmtree(Path(instance.root_directory) / "storage" / run_id, ignore_errors=True)
    return Removed(trimmed.texts, trimmed.characters, answers, freed, dry_run, len(ended))


def _old_runs(settings: Settings, instance: DagsterInstance, before: datetime) -> list[str]:
    """Return the runs that ended, are old, and made no newest set of any asset."""
    ended = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
    runs = instance.get_runs(RunsFilter(statuses=ended, created_before=before))
    newest = (instance.get_latest_materialization_event(key) for key in instance.get_asset_keys())
    kept = {event.run_id for event in newest if event is not None}
    if runs and settings.warehouse.exists():
        sql = statements("factible_assets.automation", "retention.sql")["runs_of_newest_sets"]
        kept |= set(Warehouse(settings.warehouse).query(sql)["run_id"])
    return [run.run_id for run in runs if run.run_id not in kept]
