"""Checking one video from the command line: run, watch, report, say how it ended.

What belongs here: what `check` and `demo` share once the video is known. What does not: finding out
which video is meant (targets.py), the run itself (launch.py).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factible_assets.cli.errors import CliError, ExitCode
from factible_assets.cli.output import note, plain, print_json, print_verdicts

if TYPE_CHECKING:
    from factible_assets.config import FactCheckConfig
    from factible_assets.records import Claim, Verdict
    from factible_assets.report.data import ReportData
    from factible_assets.settings import Settings


_INTERRUPTION = "DagsterExecutionInterruptedError"
"""How a run that Ctrl-C ended names its failure: Dagster records it and goes on to the end."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked video as it stands in the warehouse, and where its report lies."""

    data: ReportData
    report: Path
    run_id: str | None
    failures: tuple[str, ...] = ()

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


def check_and_report(video_id: str, *, settings: Settings, config: FactCheckConfig) -> Checked:
    """Fact-check a video, say on stderr what happens meanwhile, and write its report.

    Raises:
        CliError: If the run failed and left nothing to show.
        KeyboardInterrupt: If the run was interrupted; Dagster has recorded that by then.
    """
    settings.ensure_home()
    note(f"Checking {plain(video_id)} …")
    # After the note, for loading Dagster takes seconds.
    from dagster import BetaWarning, PreviewWarning

    from factible_assets.cli.progress import watching

    with warnings.catch_warnings():
        # Dagster's remarks to whoever writes pipelines are none for whoever checks a video.
        for kind in (BetaWarning, PreviewWarning):
            warnings.simplefilter("ignore", kind)
        from factible_assets.launch import check_video

        with watching() as observer:
            outcome = check_video(video_id, settings=settings, config=config, observer=observer)
    if any(_INTERRUPTION in failure for failure in outcome.failures):
        raise KeyboardInterrupt
    failures = () if outcome.success else outcome.failures or ("The run failed.",)
    for failure in failures:
        note(f"factible: {failure}")
    checked = stored_result(video_id, settings=settings, run_id=outcome.run_id, failures=failures)
    if checked is None:
        raise CliError(
            f"The check of {video_id} failed: {' '.join(failures) or 'it stored nothing'}",
            code=ExitCode.FAILED,
        )
    return checked


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
    return Checked(data, write_report(data, settings), run_id or data.run_id, failures)


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
    print(f"report: {checked.report}")


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
