"""Checks several videos: a list of claims at once, or checked videos again one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError, code_of
from factible_assets.pipeline import schedules
from factible_assets.pipeline.partitions import run_tags
from factible_assets.pipeline.run_records import in_flight, refuse_busy
from factible_assets.records.scales import veracity_of
from factible_assets.runs.check import Say
from factible_assets.runs.instance import open_instance
from factible_assets.runs.launch import Watch, run_video
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.reusable import Reuse
from factible_assets.settings import Settings
from warehouse.rechecks import PlannedVideo, forget_launch, read_plan, remember_launch
from warehouse.store import Warehouse

# --- A list of claims ---------------------------------------------------------------------------


def check_claim_list(
    video_ids: Sequence[str],
    *,
    settings: Settings,
    config: FactCheckConfig,
    watch: Watch,
    jobs: int,
    fresh: bool,
) -> Iterator[tuple[dict[str, Any], ExitCode]]:
    """Check claims, `jobs` at once; yield the result of each as a table row when it has ended.

    Each id names a video with one claim. The failure of one claim does not stop the others.
    Unless `fresh`, a claim with the same text, date and options keeps its finished check. Several
    threads call `watch`.

    Raises FactibleError: The user interrupted it; finished checks stay.
    """
    reuse: Reuse = "nothing" if fresh else "same"

    def check_claim(video_id: str) -> tuple[dict[str, Any], ExitCode]:
        video = StoredVideo(video_id, settings)
        try:
            checked = run_video(video, config=config, watch=watch, reuse=reuse)
        except FactibleError as error:
            return result_row(video_id, None, str(error)), code_of([str(error)])
        return result_row(video_id, checked, " ".join(checked.failures)), checked.code

    with ThreadPoolExecutor(jobs, thread_name_prefix="claim") as pool:
        waiting = [pool.submit(check_claim, video_id) for video_id in video_ids]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except KeyboardInterrupt as interrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            # The supervisor of each run sees this mark.
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


def result_row(video_id: str, checked: Checked | None, failure: str) -> dict[str, Any]:
    """Return the result of a claim as a table row; without a verdict, its summary is `failure`."""
    verdict = next(iter(checked.data.verdicts), None) if checked else None
    level = verdict and (verdict.veracity or veracity_of(verdict.stance, verdict.confidence_score))
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


# --- Checking again -----------------------------------------------------------------------------


def next_plan(settings: Settings, limit: int | None, named: Sequence[str]) -> list[PlannedVideo]:
    """Return the plan of the next night, for all videos or for the `named` ones.

    Raises FactibleError: A named video has no claims.
    """
    by_id = _plan(settings, limit, schedules.next_tick(settings, datetime.now(UTC)), named)
    return [row for row in by_id.values() if not named or row.video_id in named]


def chosen_videos(
    settings: Settings, named: Sequence[str], limit: int | None
) -> list[PlannedVideo]:
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
    held: Collection[str] = (),
) -> dict[str, PlannedVideo]:
    by_id: dict[str, PlannedVideo] = {}
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
        by_id = {row.video_id: row for row in rows}
    if unknown := sorted({*named} - by_id.keys()):
        raise FactibleError(
            f"There are no claims of {', '.join(unknown)} to check again.",
            f"Check it first: factible check -- {unknown[0]}",
        )
    return by_id


def recheck_videos(
    settings: Settings,
    rows: Sequence[PlannedVideo],
    given: Mapping[str, object],
    *,
    remember: bool,
    watch: Watch,
    say: Say,
) -> Iterator[Checked]:
    """Check videos again, one after the other.

    Each run has the options of the video's last check, except those `given` by name. With
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
                config=schedules.recheck_config(last, given, say=say),
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
