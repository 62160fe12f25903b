"""Checking: one video, a list of claims, or again what was checked before.

What belongs here: what everybody does who starts a check and waits for its end; what still stands
and is taken over; how many of a list go on at once; which videos are checked again; what came of
each. What does not: which video is meant (targets.py), the run itself (launch.py), reading a list
(exchange/claims.py), the plan of a night (warehouse/views/40_rechecks.sql), the schedule
(pipeline/schedules.py), showing what happens (cli/).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError, code_of
from factible_assets.pipeline import schedules
from factible_assets.pipeline.liveness import turn
from factible_assets.records import Claim
from factible_assets.runs.launch import Watch, check_video, open_instance
from factible_assets.runs.result import Checked, stored_result
from factible_assets.runs.reusable import Standing, still_standing
from factible_assets.scales import veracity_of
from factible_assets.settings import Settings
from factible_assets.wording import WAITING, counted
from warehouse.rechecks import PlannedVideo, forget_launch, read_plan, remember_launch
from warehouse.store import Warehouse

Say: TypeAlias = Callable[[str], None]
"""Told a sentence for the person who waits, beside the result."""


def check_and_report(
    video_id: str,
    *,
    settings: Settings,
    config: FactCheckConfig,
    watch: Watch,
    say: Say,
    fresh: bool = True,
    takes_over: bool = False,
) -> Checked:
    """Fact-check a video and write its report. One process checks it at a time; the others wait.

    `watch` hears what happens meanwhile, and `say` what is waited for and what is taken over. With
    `fresh`, the transcript and the claims are found anew, even if the stored ones still stand; with
    `takes_over`, what another process found while this one waited for it will do.

    Raises FactibleError: The run failed and left nothing to show, or was stopped.
    Raises KeyboardInterrupt: It was to stop, did not at once, and was left.
    """
    with (
        open_instance(settings) as instance,
        turn(instance, video_id, lambda: say(WAITING)) as has_waited,
    ):
        if has_waited and takes_over:
            stored = stored_result(video_id, settings=settings)
            if stored is not None and stored.data.is_finished:
                return stored
        still = Standing()
        if not fresh:
            still = still_standing(video_id, instance, settings=settings, config=config)
        if still.stored_at is not None:
            when = f"{still.stored_at:%Y-%m-%d %H:%M} UTC"
            if still.claims is None:
                say(f"Going on with the transcript of {when}; --force asks for it again.")
            else:
                say(
                    f"Going on with the transcript and the {counted(len(still.claims), 'claim')} "
                    f"of {when}: nothing that they come from has changed. --force finds them anew."
                )
        return check_video(
            video_id,
            settings=settings,
            config=config,
            watch=watch,
            claims=still.claims or (),
            assets=still.assets,
        )


# --- A list of claims ---------------------------------------------------------------------------


def _row(video_id: str, checked: Checked | None, failure: str) -> dict[str, Any]:
    """Return what came of a claim as a row of a table; without a verdict it says the failure."""
    verdict = next(iter(checked.data.verdicts), None) if checked else None
    level = verdict and (verdict.veracity or veracity_of(verdict.stance, verdict.confidence))
    shown = ("confidence", "confidence_score", "supporting", "refuting")
    return {
        "status": verdict.status if verdict else "failed",
        "stance": verdict.stance if verdict else None,
        "veracity": level or None,
        **{name: getattr(verdict, name, None) for name in shown},
        "summary": verdict.summary if verdict else failure or None,
        "video_id": video_id,
        "report": str(checked.report) if checked else None,
    }


def _is_of_these(video_id: str, settings: Settings, config: FactCheckConfig) -> bool:
    """Tell whether a stored check is of the claim as it is worded and dated now, by these knobs."""
    with open_instance(settings) as instance:
        still = still_standing(video_id, instance, settings=settings, config=config)
        last = schedules.last_knobs(Warehouse(settings.warehouse), instance, video_id)
    given = config.model_dump(mode="json", exclude_none=True)
    alike = last is not None and {**given, **last} == given
    return still.claims is not None and alike


def check_claim_list(
    video_ids: Sequence[str],
    *,
    settings: Settings,
    config: FactCheckConfig,
    watch: Watch,
    say: Say,
    jobs: int,
    fresh: bool,
) -> Iterator[tuple[dict[str, Any], ExitCode]]:
    """Check claims, `jobs` at once; yield what came of each, as a row, as soon as it has ended.

    A claim that cannot be checked is its own failure and stops no other. Each entry of `video_ids`
    is a claim; `watch` opens a watcher of each run, several of them in threads of their own; with
    `fresh`, what is complete is checked again, as is what was found of other words or by other
    knobs.

    Raises FactibleError: It was interrupted. What was complete by then is stored.
    """

    def one(video_id: str) -> tuple[dict[str, Any], ExitCode]:
        try:
            stored = None if fresh else stored_result(video_id, settings=settings)
            if stored is None or not (
                stored.data.is_finished and _is_of_these(video_id, settings, config)
            ):
                stored = check_and_report(
                    video_id, settings=settings, config=config, watch=watch, say=say
                )
        except FactibleError as error:
            return _row(video_id, None, str(error)), code_of([str(error)])
        return _row(video_id, stored, " ".join(stored.failures)), stored.code

    with ThreadPoolExecutor(jobs, thread_name_prefix="claim") as pool:
        waiting = [pool.submit(one, video_id) for video_id in video_ids]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except KeyboardInterrupt as interrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            # Marked as canceling, which whoever supervises each of them sees.
            running = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
            with open_instance(settings) as instance:
                for run in instance.get_runs(filters=running):
                    if run.tags.get("video") in video_ids:
                        instance.report_run_canceling(run)
            raise FactibleError(
                "Stopped: the claims that were complete are stored.",
                "The same command goes on from there.",
                ExitCode.INTERRUPTED,
            ) from interrupt


# --- Again --------------------------------------------------------------------------------------


def next_plan(settings: Settings, limit: int | None, named: Sequence[str]) -> list[PlannedVideo]:
    """Return the plan of the next night, of all videos or of those that are named.

    Raises FactibleError: A named video has no claims.
    """
    rows = _plan(settings, limit, schedules.next_tick(settings, datetime.now(UTC)), named)
    return [row for row in rows if not named or row.video_id in named]


def chosen_videos(
    settings: Settings, named: Sequence[str], limit: int | None
) -> list[PlannedVideo]:
    """Return what is checked again now: what is named, else what is due.

    Raises FactibleError: A named video has no claims, or is being checked at the moment.
    """
    with open_instance(settings) as instance:
        busy = schedules.in_flight(instance)
    rows = _plan(settings, limit, datetime.now(UTC), named, busy)
    if not named:
        return [row for row in rows if row.is_planned]
    if taken := sorted(busy & set(named)):
        raise FactibleError(
            f"{', '.join(taken)} is being checked at the moment.",
            "Wait until that run has ended, or cancel it in the Dagster UI.",
            ExitCode.FAILED,
        )
    by_id = {row.video_id: row for row in rows}
    return [by_id[video_id] for video_id in dict.fromkeys(named)][:limit]


def _plan(
    settings: Settings,
    limit: int | None,
    as_of: datetime,
    named: Sequence[str],
    held: Collection[str] = (),
) -> list[PlannedVideo]:
    rows: list[PlannedVideo] = []
    if settings.warehouse.exists():
        limits = schedules.recheck_limits(settings)
        rows = read_plan(
            Warehouse(settings.warehouse),
            limits if limit is None else replace(limits, videos=limit),
            as_of,
            held=held,
            next_tick=schedules.next_tick(settings, datetime.now(UTC)),
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
    given: Mapping[str, object],
    *,
    remember: bool,
    watch: Watch,
    say: Say,
) -> Iterator[Checked]:
    """Check videos again, as `chosen_videos` gives them, one after the other.

    Each has the knobs of its last check, but for those that are `given` by name. With `remember`,
    the plan is to know of them as launched by it, if nobody stops them.

    Raises FactibleError: A run was stopped.
    """
    store = Warehouse(settings.warehouse)
    for row in rows:
        with open_instance(settings) as instance:
            last = schedules.last_knobs(store, instance, row.video_id)
        if remember:
            remember_launch(store, row, row.planned_for)
        try:
            yield check_video(
                row.video_id,
                settings=settings,
                config=schedules.recheck_config(last, given, say=say),
                watch=watch,
                claims=store.read_current(Claim, row.video_id),
                assets=schedules.RECHECK_ASSETS if row.with_queries else schedules.RENEWED,
                job_name=schedules.RECHECK_JOB,
                tags=schedules.run_tags(row.video_id, row.corpus, "factible recheck"),
                remedy="What was complete is stored; run the same command to go on.",
            )
        except (FactibleError, KeyboardInterrupt) as error:
            if not isinstance(error, FactibleError) or error.code is ExitCode.INTERRUPTED:
                forget_launch(store, row, row.planned_for)
            raise
