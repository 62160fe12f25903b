"""Checking videos again: which, one after the other, and how each ended.

What belongs here: reading the plan and running it. What does not: the rule of the plan
(warehouse/views/40_rechecks.sql), what a re-check renews (automation/rechecks.py), the schedule
(automation/nightly.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from factible_assets.automation.rechecks import (
    RECHECK_JOB,
    in_flight,
    next_tick,
    recheck_assets,
    recheck_config,
    recheck_limits,
    run_tags,
)
from factible_assets.checks.verdict_changes import read_changes
from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records import Claim
from factible_assets.rows import VerdictChange
from factible_assets.running.check import Watch, watched_run
from factible_assets.running.launch import open_instance
from factible_assets.running.result import stored_result
from factible_assets.settings import Settings
from resources.statements import statements
from warehouse.rechecks import PlannedVideo, read_plan, remember_launch
from warehouse.store import Warehouse

_SQL = statements("factible_assets.running", "questions.sql")


@dataclass(frozen=True, slots=True)
class Rechecked:
    """How the re-check of one video ended."""

    video_id: str
    run_id: str
    failures: tuple[str, ...]
    incomplete: int
    flips: tuple[VerdictChange, ...]
    report: str | None

    @property
    def code(self) -> ExitCode:
        """How it ended, as an exit code."""
        if self.failures:
            return ExitCode.FAILED
        return ExitCode.INCOMPLETE if self.incomplete else ExitCode.DONE

    @property
    def words(self) -> str:
        """How it ended, in words."""
        if self.failures:
            return "failed"
        return f"{self.incomplete} verdicts incomplete" if self.incomplete else "complete"

    def as_document(self) -> dict[str, Any]:
        """Return it as JSON."""
        shown = ("claim_id", "claim", "previous_stance", "stance")
        return {
            "video_id": self.video_id,
            "run_id": self.run_id,
            "success": not self.failures,
            "failures": list(self.failures),
            "incomplete_verdicts": self.incomplete,
            "flips": [{name: getattr(flip, name) for name in shown} for flip in self.flips],
            "report": self.report,
            "exit_code": int(self.code),
        }


def next_plan(settings: Settings, limit: int | None, named: Sequence[str]) -> list[PlannedVideo]:
    """Return the plan of the next night, of all videos or of those that are named.

    Raises:
        FactibleError: A named video has no claims.
    """
    rows = _plan(settings, limit, next_tick(settings, datetime.now(UTC)), named)
    return [row for row in rows if not named or row.video_id in named]


def chosen_videos(
    settings: Settings, named: Sequence[str], limit: int | None
) -> list[PlannedVideo]:
    """Return what is checked again now: what is named, else what is due.

    Raises:
        FactibleError: A named video has no claims, or is being checked at the moment.
    """
    now = datetime.now(UTC)
    by_id = {row.video_id: row for row in _plan(settings, limit, now, named)}
    if not by_id:
        return []
    with open_instance(settings) as instance:
        busy = in_flight(instance, instance.get_dynamic_partitions("videos"))
    if not named:
        return [row for row in _plan(settings, limit, now, held=busy) if row.is_planned]
    taken = sorted(busy & set(named))
    if taken:
        raise FactibleError(
            f"{', '.join(taken)} is being checked at the moment.",
            "Wait until that run has ended, or cancel it in the Dagster UI.",
            ExitCode.FAILED,
        )
    return [by_id[video_id] for video_id in dict.fromkeys(named)][:limit]


def _plan(
    settings: Settings,
    limit: int | None,
    as_of: datetime,
    named: Sequence[str] = (),
    held: Collection[str] = (),
) -> list[PlannedVideo]:
    rows: list[PlannedVideo] = []
    if settings.warehouse.exists():
        limits = recheck_limits(settings)
        rows = read_plan(
            Warehouse(settings.warehouse),
            limits if limit is None else replace(limits, videos=limit),
            as_of,
            held=held,
            next_tick=next_tick(settings, datetime.now(UTC)),
            keep_limits=limit is None,
        )
    unknown = sorted(set(named) - {row.video_id for row in rows})
    if unknown:
        raise FactibleError(
            f"There are no claims of {', '.join(unknown)} to check again.",
            f"Check it first: factible check -- {unknown[0]}",
        )
    return rows


def recheck_videos(
    settings: Settings,
    rows: Sequence[PlannedVideo],
    config: FactCheckConfig,
    *,
    remember: bool,
    watch: Watch,
) -> Iterator[Rechecked]:
    """Check videos again, as `chosen_videos` gives them, one after the other.

    With `remember`, the plan is to know of them as launched by it.

    Raises:
        FactibleError: A run was stopped.
    """
    store = Warehouse(settings.warehouse)
    for row in rows:
        if remember:
            remember_launch(store, row, row.planned_for)
        outcome = watched_run(
            row.video_id,
            settings=settings,
            config=recheck_config(config),
            watch=watch,
            claims=store.read_current(Claim, row.video_id),
            assets=recheck_assets(with_queries=row.with_queries),
            job_name=RECHECK_JOB,
            tags=run_tags(row.video_id, row.corpus, "factible recheck"),
            remedy="What was complete is stored; run the same command to go on.",
        )
        checked = stored_result(row.video_id, settings=settings, run_id=outcome.run_id)
        yield Rechecked(
            row.video_id,
            outcome.run_id,
            outcome.failures,
            int(store.query(_SQL["incomplete_verdicts"], [row.video_id]).item()),
            read_changes(store, row.video_id, outcome.run_id).flips,
            str(checked.report) if checked else None,
        )
