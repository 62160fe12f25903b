"""Checking one video from the command line: run, watch, report, say how it ended.

What belongs here: what `check` and `demo` share once the video is known. What does not: finding out
which video is meant (targets.py), the run itself (launch.py).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import complain, note, print_json, print_verdicts
from factible_assets.errors import ExitCode
from factible_assets.wording import counted, dollars, plain

if TYPE_CHECKING:
    from factible_assets.config import FactCheckConfig
    from factible_assets.records import Claim, Verdict
    from factible_assets.report.data import ReportData
    from factible_assets.running.launch import CheckOutcome
    from factible_assets.running.standing import Standing
    from factible_assets.services.reasoning import Spent
    from factible_assets.settings import Settings


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked video as it stands in the warehouse, and where its report lies."""

    data: ReportData
    report: Path
    run_id: str | None
    failures: tuple[str, ...] = ()
    cost_ever: float = 0.0
    """What the models of all checks of the video have cost, in US dollars."""

    @property
    def cost(self) -> float:
        """What the model calls behind the stored rows cost, in US dollars."""
        return sum(call.cost_usd for call in self.data.llm_calls)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by claim."""
        return {verdict.claim_id: verdict for verdict in self.data.verdicts}

    @property
    def claims(self) -> list[Claim]:
        """The claims in order of time."""
        return sorted(
            self.data.claims,
            key=lambda c: (c.start_seconds is None, c.start_seconds or 0.0, c.rank),
        )

    @property
    def is_finished(self) -> bool:
        """Whether every claim has a complete verdict, and no re-check of one failed since."""
        verdicts = self.verdicts
        if self.data.checked_at is None or self.data.outlived:
            return False
        return all(
            claim.claim_id in verdicts and verdicts[claim.claim_id].status == "complete"
            for claim in self.data.claims
        )

    @property
    def code(self) -> ExitCode:
        """How the check ended."""
        if self.failures:
            return ExitCode.FAILED
        is_open = any(verdict.status == "incomplete" for verdict in self.data.verdicts)
        if is_open or self.data.outlived:
            return ExitCode.INCOMPLETE
        return ExitCode.DONE


def check_and_report(
    video_id: str,
    *,
    settings: Settings,
    config: FactCheckConfig,
    fresh: bool = True,
    takes_over: bool = False,
) -> Checked:
    """Fact-check a video, say on stderr what happens meanwhile, and write its report.

    One process checks a video at a time; the others wait.

    Args:
        video_id: The video.
        settings: The data folder and the services.
        config: The run's knobs.
        fresh: Find the transcript and the claims anew, even if the stored ones still stand.
        takes_over: Whether what another process found while this one waited for it will do.

    Raises:
        CliError: If the run failed and left nothing to show, or was stopped.
        KeyboardInterrupt: If it was to stop, did not at once, and was left.
    """
    settings.ensure_home()
    note(f"Checking {plain(video_id)} …")
    # After the note, for loading Dagster takes seconds.
    from dagster import BetaWarning, PreviewWarning

    with warnings.catch_warnings():
        # Dagster's remarks to whoever writes pipelines are none for whoever checks a video.
        for kind in (BetaWarning, PreviewWarning):
            warnings.simplefilter("ignore", kind)
        from factible_assets.cli.progress import WAITING
        from factible_assets.running.alive import turn
        from factible_assets.running.launch import open_instance

        with (
            open_instance(settings) as instance,
            turn(instance, video_id, lambda: note(WAITING)) as has_waited,
        ):
            if has_waited and takes_over:
                stored = stored_result(video_id, settings=settings)
                if stored is not None and stored.is_finished:
                    return stored
            outcome = _run(video_id, settings, config, fresh=fresh)
    failures = () if outcome.success else outcome.failures or ("The run failed.",)
    for failure in failures:
        complain(failure)
    checked = stored_result(video_id, settings=settings, run_id=outcome.run_id, failures=failures)
    if checked is None:
        raise CliError(
            f"The check of {video_id} failed: {' '.join(failures) or 'it stored nothing'}",
            code=ExitCode.FAILED,
        )
    return checked


def note_defaults(video_id: str, *, settings: Settings, config: FactCheckConfig) -> None:
    """Say in one line which defaults take the place of services that nobody set up or refused."""
    from factible_assets.cli.targets import read_corpora
    from factible_assets.services.remarks import reasoner_remark, search_remark

    listed = read_corpora(settings).find(video_id)
    remarks = (
        reasoner_remark(settings, config.reasoner),
        search_remark(settings, config.search.web, listed.web if listed else None),
    )
    words = " ".join(remark for remark in remarks if remark is not None)
    if words:
        note(words)


def _run(
    video_id: str, settings: Settings, config: FactCheckConfig, *, fresh: bool
) -> CheckOutcome:
    from factible_assets.cli.progress import watching
    from factible_assets.running.launch import check_video, new_run_id, still_standing
    from factible_assets.services.resource import spent

    run_id = new_run_id()
    still = None if fresh else still_standing(video_id, settings=settings, config=config)
    claims = _standing_claims(video_id, still, settings) if still else []
    with watching(lambda: spent(run_id)) as watcher:
        if claims:
            watcher.claims_found(claims)
        outcome = check_video(
            video_id,
            settings=settings,
            config=config,
            observer=watcher,
            assets=still.assets if still else None,
            run_id=run_id,
            listener=watcher,
        )
    if outcome.canceled:
        raise CliError(*_stopped_words(outcome.run_id, spent(run_id)), ExitCode.INTERRUPTED)
    return outcome


def _standing_claims(video_id: str, still: Standing, settings: Settings) -> list[Claim]:
    """Return the claims that are taken over, after saying what is."""
    from factible_assets.records import Claim
    from warehouse.store import Warehouse

    if still.stored_at is None:
        return []
    when = f"{still.stored_at:%Y-%m-%d %H:%M} UTC"
    if still.claims_run is None:
        note(f"Going on with the transcript of {when}; --force asks for it again.")
        return []
    claims = Warehouse(settings.warehouse).read_current(Claim, video_id)
    note(
        f"Going on with the transcript and the {counted(len(claims), 'claim')} of {when}: nothing "
        "that they come from has changed. --force finds them anew."
    )
    return claims


def _stopped_words(run_id: str, spent: Spent) -> tuple[str, str]:
    paid = ""
    if spent.calls:
        calls = counted(spent.calls, "model call")
        paid = f" Answers are kept and not paid again ({calls}, {dollars(spent.usd)} so far)."
    return (
        f"Stopped: the run {run_id[:8]} is canceled, and nothing is half-written.{paid}",
        "The same command goes on from there.",
    )


def stored_result(
    video_id: str,
    *,
    settings: Settings,
    run_id: str | None = None,
    failures: tuple[str, ...] = (),
) -> Checked | None:
    """Write the report of what the warehouse holds on a video; None if it holds nothing."""
    from factible_assets.cli.files import write_report

    data = stored_data(video_id, settings)
    if data is None:
        return None
    ever = _cost_ever(video_id, settings)
    return Checked(data, write_report(data, settings), run_id or data.run_id, failures, ever)


def _cost_ever(video_id: str, settings: Settings) -> float:
    from warehouse.store import Warehouse

    question = "SELECT coalesce(sum(cost_usd), 0) FROM costs_by_stage WHERE video_id = $video"
    return float(Warehouse(settings.warehouse).query(question, {"video": video_id}).item())


def stored_data(video_id: str, settings: Settings) -> ReportData | None:
    """Return what the warehouse holds on a video; None if it holds nothing."""
    from factible_assets.report.reader import read_report_data
    from warehouse.store import Warehouse

    if not settings.warehouse.exists():
        return None
    return read_report_data(Warehouse(settings.warehouse), video_id)


def show(checked: Checked, *, as_json: bool) -> None:
    """Print the verdicts and where the report lies."""
    if as_json:
        print_json(as_document(checked))
        return
    print_verdicts(checked.data.video.title, checked.claims, checked.verdicts)
    if any(verdict.basis == "embedded" for verdict in checked.data.verdicts):
        note("These are automatic leanings of the embedded engine; the report shows the quotes.")
    if checked.code is ExitCode.INCOMPLETE:
        note("Some verdicts are incomplete because services failed; check the video again.")
    print(f"cost: {_cost_words(checked)}")
    print(f"report: {checked.report}")


def _cost_words(checked: Checked) -> str:
    calls = checked.data.llm_calls
    ever = f"; all checks of this video: {dollars(checked.cost_ever)}" if checked.cost_ever else ""
    if not calls:
        return f"nothing, no model was asked{ever}"
    kept = sum(call.cache_hit for call in calls)
    unpriced = sum(not call.price_known for call in calls)
    parts = [
        counted(len(calls), "model call"),
        *([f"{kept:,} answered from the cache"] if kept else []),
        *([f"{unpriced:,} without a listed price"] if unpriced else []),
    ]
    return f"{dollars(checked.cost)} for {', '.join(parts)}{ever}"


def as_document(checked: Checked) -> dict[str, Any]:
    """Return a check as a JSON document."""
    verdicts = checked.verdicts
    return {
        "video_id": checked.data.video.video_id,
        "title": checked.data.video.title,
        "run_id": checked.run_id,
        "checked_at": checked.data.checked_at,
        "success": not checked.failures,
        "failures": list(checked.failures),
        "exit_code": int(checked.code),
        "report": str(checked.report),
        "cost_usd": checked.cost,
        "cost_usd_all_runs": checked.cost_ever,
        "model_calls": len(checked.data.llm_calls),
        "claims": [
            {
                **claim.model_dump(mode="json", exclude={"video_id"}),
                "verdict": verdict.model_dump(mode="json", exclude={"video_id", "claim_id"})
                if (verdict := verdicts.get(claim.claim_id))
                else None,
            }
            for claim in checked.claims
        ],
    }
