"""Checks a list of claims, several at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records.scales import veracity_of
from factible_assets.runs.instance import open_instance
from factible_assets.runs.launch import Watch, run_video
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.reusable import Reuse
from factible_assets.settings import Settings

_TICK_SECONDS = 0.5
"""The delay between two looks for runs to stop."""


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
            is_setup = error.code is ExitCode.ENVIRONMENT
            code = ExitCode.ENVIRONMENT if is_setup else ExitCode.FAILED
            return result_row(video_id, None, str(error)), code
        return result_row(video_id, checked, " ".join(checked.failures)), checked.code

    with ThreadPoolExecutor(jobs, thread_name_prefix="claim") as pool:
        futures = [pool.submit(check_claim, video_id) for video_id in video_ids]
        try:
            for future in as_completed(futures):
                yield future.result()
        except KeyboardInterrupt as interrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            running = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
            with open_instance(settings) as instance:
                # Some of the runs may start only now.
                while not all(future.done() for future in futures):
                    for run in instance.get_runs(filters=running):
                        if run.tags.get("video") in video_ids:
                            # The supervisor of the run sees this mark.
                            instance.report_run_canceling(run)
                    time.sleep(_TICK_SECONDS)
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
        "failure": failure or None,
    }
