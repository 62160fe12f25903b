"""Checking one video, or a list of claims: what still stands is taken over, the rest is run.

What belongs here: what everybody does who starts a check and waits for its end; how many of a list
go on at once, and what came of each. What does not: which video is meant (targets.py), the run
itself (launch.py), reading a list (exchange/claims.py), showing what happens (cli/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import dagster as dg

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.methods.scales import veracity_of
from factible_assets.records import Claim
from factible_assets.running.launch import (
    CheckOutcome,
    check_video,
    new_run_id,
    open_instance,
    still_standing,
)
from factible_assets.running.result import Checked, stored_result
from factible_assets.running.supervision import Watcher
from factible_assets.services.alive import turn
from factible_assets.services.reasoning import Spent
from factible_assets.services.resource import spent
from factible_assets.settings import Settings
from factible_assets.wording import WAITING, counted, dollars
from warehouse.store import Warehouse

Say: TypeAlias = Callable[[str], None]
"""Told a sentence for the person who waits, beside the result."""

Watch: TypeAlias = Callable[[Callable[[], Spent]], AbstractContextManager[Watcher]]
"""Opens a watcher of one run, which can ask what its models have cost so far."""


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

    Raises:
        FactibleError: The run failed and left nothing to show, or was stopped.
        KeyboardInterrupt: It was to stop, did not at once, and was left.
    """
    with (
        open_instance(settings) as instance,
        turn(instance, video_id, lambda: say(WAITING)) as has_waited,
    ):
        if has_waited and takes_over:
            stored = stored_result(video_id, settings=settings)
            if stored is not None and stored.is_finished:
                return stored
        still = None if fresh else still_standing(video_id, settings=settings, config=config)
        claims: list[Claim] = []
        if still is not None and still.stored_at is not None:
            when = f"{still.stored_at:%Y-%m-%d %H:%M} UTC"
            if still.claims_run is None:
                say(f"Going on with the transcript of {when}; --force asks for it again.")
            else:
                claims = Warehouse(settings.warehouse).read_current(Claim, video_id)
                say(
                    f"Going on with the transcript and the {counted(len(claims), 'claim')} of "
                    f"{when}: nothing that they come from has changed. --force finds them anew."
                )
        outcome = watched_run(
            video_id,
            settings=settings,
            config=config,
            watch=watch,
            claims=claims,
            assets=still.assets if still else None,
        )
    checked = stored_result(
        video_id, settings=settings, run_id=outcome.run_id, failures=outcome.failures
    )
    if checked is None:
        raise FactibleError(
            f"The check of {video_id} failed: {' '.join(outcome.failures) or 'it stored nothing'}",
            code=ExitCode.FAILED,
        )
    return checked


def watched_run(
    video_id: str,
    *,
    settings: Settings,
    config: FactCheckConfig,
    watch: Watch,
    claims: Sequence[Claim] = (),
    assets: Sequence[str] | None = None,
    job_name: str = "fact_check",
    tags: dict[str, str] | None = None,
    run_id: str | None = None,
    remedy: str = "The same command goes on from there.",
) -> CheckOutcome:
    """Run a check that somebody watches; see `check_video`.

    `claims` are those that are known before the run begins, and `remedy` says how to go on with a
    run that was stopped.

    Raises:
        FactibleError: The run was stopped.
        KeyboardInterrupt: It was to stop, did not at once, and was left.
    """
    run_id = run_id or new_run_id()
    with watch(lambda: spent(run_id)) as watcher:
        if claims:
            watcher.claims_found(claims)
        outcome = check_video(
            video_id,
            settings=settings,
            config=config,
            observer=watcher,
            assets=assets,
            job_name=job_name,
            run_id=run_id,
            tags=tags,
            listener=watcher,
        )
    if outcome.canceled:
        cost, paid = spent(run_id), ""
        if cost.calls:
            calls = counted(cost.calls, "model call")
            paid = f" Answers are kept and not paid again ({calls}, {dollars(cost.usd)} so far)."
        raise FactibleError(
            f"Stopped: the run {run_id[:8]} is canceled, and nothing is half-written.{paid}",
            remedy,
            ExitCode.INTERRUPTED,
        )
    return outcome


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

    A claim that cannot be checked is its own failure and stops no other. Each entry of `video_ids`
    is a claim; `watch` opens a watcher of each run, several of them in threads of their own; with
    `fresh`, what is complete is checked again.

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
