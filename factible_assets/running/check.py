"""Checking one video: its turn is waited for, what still stands is taken over, the rest is run.

What belongs here: what everybody does who starts a check and waits for its end. What does not:
which video is meant (targets.py), the run itself (launch.py), showing what happens (cli/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError
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
    """Fact-check a video and write its report.

    One process checks a video at a time; the others wait.

    Args:
        video_id: The video.
        settings: The data folder and the services.
        config: The run's knobs.
        watch: Hears what happens meanwhile.
        say: Told what is waited for and what is taken over.
        fresh: Find the transcript and the claims anew, even if the stored ones still stand.
        takes_over: Whether what another process found while this one waited for it will do.

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

    Args:
        video_id: The video.
        settings: The data folder and the services.
        config: The run's knobs.
        watch: Hears what happens meanwhile.
        claims: The claims that are known before the run begins.
        assets: The assets to materialize; all seven if not given.
        job_name: The job that materializes them.
        tags: Tags of the run, besides its own.
        run_id: The id of the run, for a caller who knows it before.
        remedy: How to go on with a run that was stopped.

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
