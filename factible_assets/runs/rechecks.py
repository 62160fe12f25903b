"""Plans re-checks, and checks videos again one after the other, as `factible recheck` does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.pipeline import schedules
from factible_assets.pipeline.partitions import run_tags
from factible_assets.pipeline.run_records import in_flight, refuse_busy
from factible_assets.runs.check import Say
from factible_assets.runs.instance import open_instance
from factible_assets.runs.launch import Watch, run_video
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.settings import Settings
from warehouse.rechecks import PlanEntry, forget_launch, make_plan, remember_launch
from warehouse.store import Warehouse


def next_plan(settings: Settings, limit: int | None, named: Sequence[str]) -> list[PlanEntry]:
    """Return the plan of the next night, for all videos or for the `named` ones.

    Raises FactibleError: A named video has no claims.
    """
    by_id = _plan(settings, limit, schedules.next_tick(settings, datetime.now(UTC)), named)
    return [row for row in by_id.values() if not named or row.video_id in named]


def chosen_videos(settings: Settings, named: Sequence[str], limit: int | None) -> list[PlanEntry]:
    """Return the videos to check again now: the `named` ones, or else those that are due.

    Raises FactibleError: A named video has no claims, or a run is checking it.
    """
    with open_instance(settings) as instance:
        busy = in_flight(instance)
        refuse_busy(instance, named)
    by_id = _plan(settings, limit, datetime.now(UTC), named, busy)
    due = [video_id for video_id, row in by_id.items() if row.is_planned]
    chosen = list(dict.fromkeys(named))[:limit] if named else due
    return [by_id[video_id] for video_id in chosen]


def _plan(
    settings: Settings,
    limit: int | None,
    as_of: datetime,
    named: Sequence[str],
    busy: Collection[str] = (),
) -> dict[str, PlanEntry]:
    by_id: dict[str, PlanEntry] = {}
    if settings.warehouse.exists():
        limits = schedules.recheck_limits(settings)
        rows = make_plan(
            Warehouse(settings.warehouse),
            limits if limit is None else replace(limits, videos=limit),
            as_of,
            held=busy,
            next_tick=schedules.next_tick(settings, datetime.now(UTC)),
            preview=limit is not None,
        )
        by_id = {row.video_id: row for row in rows}
    if unknown := sorted({*named} - by_id.keys()):
        raise FactibleError(
            f"There are no claims of {', '.join(unknown)} to check again.",
            f"Check it first: factible check -- {unknown[0]}",
        )
    return by_id


def recheck_videos(
    settings: Settings,
    rows: Sequence[PlanEntry],
    overrides: Mapping[str, object],
    *,
    remember: bool,
    watch: Watch,
    say: Say,
) -> Iterator[Checked]:
    """Check videos again, one after the other.

    Each run has the options of the video's last check, except the `overrides` (by name). With
    `remember`, the plan records these launches as its own, unless the user stops them.

    Raises FactibleError: The user stopped a run.
    """
    store = Warehouse(settings.warehouse)
    for row in rows:
        with open_instance(settings) as instance:
            last = schedules.last_options(store, instance, row.video_id)
        if remember:
            remember_launch(store, row, row.planned_for)
        try:
            yield run_video(
                StoredVideo(row.video_id, settings),
                config=schedules.recheck_config(last, overrides, say=say),
                watch=watch,
                assets=schedules.RECHECK_ASSETS if row.with_queries else schedules.RENEWED,
                job_name=schedules.RECHECK_JOB,
                tags=run_tags(row.video_id, row.corpus, "factible recheck"),
                remedy="What was complete is stored; run the same command to go on.",
            )
        except (FactibleError, KeyboardInterrupt) as error:
            if not isinstance(error, FactibleError) or error.code is ExitCode.INTERRUPTED:
                forget_launch(store, row, row.planned_for)
            raise
