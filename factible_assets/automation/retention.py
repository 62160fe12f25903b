"""Retention: what is removed because of its age, and what never is.

What belongs here: the policy, and applying it to a data folder. What does not: how texts are
removed (warehouse/retention.py), how caches forget (resources/cache), when (nightly.py).

Removed are texts of pages that no check has used for a while and that nothing current rests on, and
kept answers that nobody asked for. Verdicts, evidence, quotes, claims and all history stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factible_assets.settings import Settings


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long things are kept.

    Attributes:
        texts: Texts of pages, since a check last used them.
        answers: Kept answers, since somebody last asked for them.
    """

    texts: timedelta
    answers: timedelta

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
    """

    texts: int
    characters: int
    answers: dict[str, int]
    bytes_freed: int
    dry_run: bool


def retention_policy(settings: Settings) -> RetentionPolicy:
    """Return how long this machine keeps things."""
    return RetentionPolicy(
        texts=timedelta(days=settings.retention_text_days),
        answers=timedelta(days=settings.retention_cache_days),
    )


def apply_retention(
    settings: Settings, policy: RetentionPolicy, *, now: datetime, dry_run: bool = False
) -> Removed:
    """Remove what is too old, give its room back, and publish the warehouse again.

    Args:
        settings: The data folder.
        policy: How long things are kept.
        now: The present, timezone-aware.
        dry_run: Count the texts and change nothing.

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
        if trimmed.texts and not dry_run:
            freed = compact(store)
            store.publish(settings.published)
    if settings.cache.exists() and not dry_run:
        cache = DiskCache(settings.cache, settings.cache_policy)
        answers = {str(kind): count for kind, count in cache.trim(policy.answers).items()}
        cache.close()
    return Removed(trimmed.texts, trimmed.characters, answers, freed, dry_run)
