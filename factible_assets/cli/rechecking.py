"""Checking videos again from the command line: which, one after the other, and how each ended.

What belongs here: reading the plan and running it. What does not: arguments and tables
(recheck.py), what a re-check renews (factible_assets.automation.rechecks).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import complain, note
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.checks.verdict_changes import VerdictChange
    from factible_assets.running.launch import CheckOutcome
    from factible_assets.settings import Settings
    from warehouse.rechecks import PlannedVideo


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
        return {
            "video_id": self.video_id,
            "run_id": self.run_id,
            "success": not self.failures,
            "failures": list(self.failures),
            "incomplete_verdicts": self.incomplete,
            "flips": [
                {
                    "claim_id": flip.claim_id,
                    "claim": flip.claim,
                    "previous_stance": flip.previous_stance,
                    "stance": flip.stance,
                }
                for flip in self.flips
            ],
            "report": self.report,
            "exit_code": int(self.code),
        }


def next_plan(settings: Settings, limit: int | None, named: Sequence[str]) -> list[PlannedVideo]:
    """Return the plan of the next night, of all videos or of those that are named."""
    from factible_assets.automation.rechecks import next_tick

    tick = next_tick(settings, datetime.now(UTC))
    rows = _plan(settings, limit, tick, held=())
    _refuse_unknown(named, rows)
    return [row for row in rows if not named or row.video_id in named]


def recheck_videos(settings: Settings, named: Sequence[str], limit: int | None) -> list[Rechecked]:
    """Check again what is named, else what is due now, one video after the other.

    Raises:
        CliError: A named video has no claims, or is being checked at the moment; or the user
            stopped the command.
    """
    with warnings.catch_warnings():
        from dagster import BetaWarning, PreviewWarning

        # Dagster's remarks to whoever writes pipelines are none for whoever checks a video.
        for kind in (BetaWarning, PreviewWarning):
            warnings.simplefilter("ignore", kind)
        chosen = _chosen(settings, named, limit)
        return [
            _recheck(settings, row, f"{place}/{len(chosen)}", remember=not named)
            for place, row in enumerate(chosen, start=1)
        ]


def _chosen(settings: Settings, named: Sequence[str], limit: int | None) -> list[PlannedVideo]:
    from factible_assets.automation.rechecks import in_flight
    from factible_assets.running.launch import open_instance

    now = datetime.now(UTC)
    rows = _plan(settings, limit, now, held=())
    _refuse_unknown(named, rows)
    if not rows:
        return []
    with open_instance(settings) as instance:
        busy = in_flight(instance, instance.get_dynamic_partitions("videos"))
    if not named:
        return [row for row in _plan(settings, limit, now, held=busy) if row.is_planned]
    taken = sorted(busy & set(named))
    if taken:
        raise CliError(
            f"{', '.join(taken)} is being checked at the moment.",
            "Wait until that run has ended, or cancel it in the Dagster UI.",
            ExitCode.FAILED,
        )
    by_id = {row.video_id: row for row in rows}
    return [by_id[video_id] for video_id in dict.fromkeys(named)][:limit]


def _plan(
    settings: Settings, limit: int | None, as_of: datetime, held: Sequence[str] | set[str]
) -> list[PlannedVideo]:
    from factible_assets.automation.rechecks import next_tick, recheck_limits
    from warehouse.rechecks import read_plan
    from warehouse.store import Warehouse

    if not settings.warehouse.exists():
        return []
    limits = recheck_limits(settings)
    return read_plan(
        Warehouse(settings.warehouse),
        limits if limit is None else replace(limits, videos=limit),
        as_of,
        held=held,
        next_tick=next_tick(settings, datetime.now(UTC)),
        keep_limits=limit is None,
    )


def _refuse_unknown(named: Sequence[str], rows: Sequence[PlannedVideo]) -> None:
    unknown = sorted(set(named) - {row.video_id for row in rows})
    if unknown:
        raise CliError(
            f"There are no claims of {', '.join(unknown)} to check again.",
            f"Check it first: factible check -- {unknown[0]}",
        )


def _recheck(settings: Settings, row: PlannedVideo, place: str, *, remember: bool) -> Rechecked:
    from factible_assets.checks.verdict_changes import read_changes
    from factible_assets.cli.checking import stored_result
    from warehouse.rechecks import remember_launch
    from warehouse.store import Warehouse

    note(f"[{place}] {plain(row.video_id)}: {plain(row.reason) if remember else 'as you asked'}")
    store = Warehouse(settings.warehouse)
    if remember:
        remember_launch(store, row, row.planned_for)
    outcome = _run(settings, row)
    if outcome.canceled:
        raise CliError(
            "Interrupted.",
            "What was complete is stored; run the same command to go on.",
            ExitCode.INTERRUPTED,
        )
    failures = () if outcome.success else outcome.failures or ("The run failed.",)
    for failure in failures:
        complain(failure)
    newest = store.query(
        "SELECT count(*) FILTER (status = 'incomplete') FROM latest_verdicts WHERE video_id = ?",
        [row.video_id],
    ).item()
    checked = stored_result(row.video_id, settings=settings, run_id=outcome.run_id)
    return Rechecked(
        row.video_id,
        outcome.run_id,
        tuple(failures),
        int(newest),
        read_changes(store, row.video_id, outcome.run_id).flips,
        str(checked.report) if checked else None,
    )


def _run(settings: Settings, row: PlannedVideo) -> CheckOutcome:
    from factible_assets.automation.rechecks import (
        RECHECK_JOB,
        recheck_assets,
        recheck_config,
        run_tags,
    )
    from factible_assets.cli.progress import watching
    from factible_assets.records import Claim
    from factible_assets.running.launch import check_video, new_run_id
    from factible_assets.services.resource import spent
    from warehouse.store import Warehouse

    run_id = new_run_id()
    with watching(lambda: spent(run_id)) as watcher:
        watcher.claims_found(Warehouse(settings.warehouse).read_current(Claim, row.video_id))
        return check_video(
            row.video_id,
            settings=settings,
            config=recheck_config(),
            observer=watcher,
            assets=recheck_assets(with_queries=row.with_queries),
            job_name=RECHECK_JOB,
            run_id=run_id,
            tags=run_tags(row.video_id, row.corpus, "factible recheck"),
            listener=watcher,
        )
