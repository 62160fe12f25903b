"""Checking a list of claims: several at once, each as a run of its own.

What belongs here: how many go on at once, and what came of each. What does not: reading the list
(exchange/claim_list.py), one check (check.py), options and tables (cli/claims.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.methods.scales import veracity_of
from factible_assets.running.check import Say, Watch, check_and_report
from factible_assets.running.launch import open_instance
from factible_assets.running.result import Checked, stored_result
from factible_assets.settings import Settings


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """What came of one claim of a list. `failure` is a sentence; None if there is a verdict."""

    video_id: str
    checked: Checked | None
    failure: str | None = None

    @property
    def code(self) -> ExitCode:
        """How the check ended."""
        return self.checked.code if self.checked is not None else ExitCode.FAILED

    def as_row(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return it as a row of a table, after what was given of the claim."""
        verdict = next(iter(self.checked.data.verdicts), None) if self.checked else None
        level = verdict and (verdict.veracity or veracity_of(verdict.stance, verdict.confidence))
        return {
            **given,
            "status": verdict.status if verdict else "failed",
            "stance": verdict.stance if verdict else None,
            "veracity": level or None,
            "confidence": verdict.confidence if verdict else None,
            "confidence_score": verdict.confidence_score if verdict else None,
            "supporting": verdict.supporting if verdict else None,
            "refuting": verdict.refuting if verdict else None,
            "summary": verdict.summary if verdict else self.failure,
            "video_id": self.video_id,
            "report": str(self.checked.report) if self.checked else None,
        }


def check_claim_list(
    video_ids: Sequence[str],
    *,
    settings: Settings,
    config: FactCheckConfig,
    watch: Watch,
    say: Say,
    jobs: int,
    fresh: bool,
) -> Iterator[CheckedClaim]:
    """Check claims, `jobs` at once, and yield what came of each as soon as it has ended.

    A claim that cannot be checked is its own failure and stops no other.

    Args:
        video_ids: The entries, one a claim.
        settings: The data folder and the services.
        config: The knobs of every run.
        watch: Opens a watcher of each run; several are open at once, in threads of their own.
        say: Told what is waited for.
        jobs: Claims checked at once.
        fresh: Check again what is complete already.

    Raises:
        FactibleError: It was interrupted. What was complete by then is stored.
    """

    def one(video_id: str) -> CheckedClaim:
        try:
            stored = None if fresh else stored_result(video_id, settings=settings)
            if stored is None or not stored.is_finished:
                stored = check_and_report(
                    video_id, settings=settings, config=config, watch=watch, say=say
                )
        except FactibleError as error:
            return CheckedClaim(video_id, None, str(error))
        return CheckedClaim(video_id, stored, " ".join(stored.failures) or None)

    with ThreadPoolExecutor(jobs, thread_name_prefix="claim") as pool:
        waiting = [pool.submit(one, video_id) for video_id in video_ids]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except KeyboardInterrupt as interrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            _stop(settings, video_ids)
            raise FactibleError(
                "Stopped: the claims that were complete are stored.",
                "The same command goes on from there.",
                ExitCode.INTERRUPTED,
            ) from interrupt


def _stop(settings: Settings, video_ids: Sequence[str]) -> None:
    """Mark the runs as canceling, which whoever supervises each of them sees."""
    running = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    with open_instance(settings) as instance:
        for run in instance.get_runs(filters=running):
            if run.tags.get("video") in video_ids:
                instance.report_run_canceling(run)
