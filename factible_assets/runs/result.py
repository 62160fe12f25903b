"""What the warehouse holds of a video that was checked, and how that check ended.

What belongs here: one video's rows with its report written, whoever asks for them. What does not:
checking it (check.py), the report (report/), how it is shown (cli/, http_service/).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factible_assets.errors import ExitCode, code_of
from factible_assets.report.data import ReportData, read_report_data
from factible_assets.report.writing import publish_data, read_index_data
from factible_assets.rows import VerdictChange
from factible_assets.settings import Settings
from resources.statements import statements
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "questions.sql")


@dataclass(frozen=True, slots=True)
class Checked:
    """A video as it stands in the warehouse after a check, and where its report lies.

    `failures` has a sentence for each step of the check that failed.
    """

    data: ReportData
    report: Path
    run_id: str | None
    failures: tuple[str, ...] = ()
    cost_ever: float = 0.0
    """What the models of all checks of the video have cost, in US dollars."""

    @property
    def incomplete(self) -> set[str]:
        """The claims whose newest verdict is incomplete, by id."""
        still = (row.claim_id for row in self.data.verdicts if row.status == "incomplete")
        return {*still, *self.data.outlived}

    @property
    def flips(self) -> tuple[VerdictChange, ...]:
        """The verdicts that the check turned."""
        made = (each for each in self.data.changes if each.run_id == self.run_id)
        return tuple(each for each in made if each.change == "flip")

    @property
    def code(self) -> ExitCode:
        """How the check ended."""
        if self.failures:
            return code_of(self.failures)
        return ExitCode.INCOMPLETE if self.incomplete else ExitCode.DONE


def stored_data(video_id: str, settings: Settings) -> ReportData | None:
    """Return what the warehouse holds on a video; None if it holds nothing."""
    if not settings.warehouse.exists():
        return None
    return read_report_data(Warehouse(settings.warehouse), video_id)


def is_behind(video_id: str, settings: Settings) -> bool:
    """Tell whether the copy for readers lacks what the warehouse has of a video.

    So it is after a run that could not publish it, for want of room, say.
    """
    live, copy = settings.warehouse, settings.published
    if not (isinstance(live, Path) and isinstance(copy, Path) and live.exists() and copy.exists()):
        return False
    try:
        return Warehouse(live).current_sets(video_id) != Warehouse(copy).current_sets(video_id)
    except WarehouseError:  # what cannot be read lacks everything
        return True


def stored_result(
    video_id: str,
    *,
    settings: Settings,
    run_id: str | None = None,
    failures: tuple[str, ...] = (),
    publishes: bool = False,
) -> Checked | None:
    """Write the report of what the warehouse holds on a video; None if it holds nothing.

    With `publishes`, the copy for readers is made of the same moment.
    """
    if not settings.warehouse.exists():
        return None
    store = Warehouse(settings.warehouse)
    with store.published(settings.published) if publishes else store.snapshot() as now:
        data = read_report_data(now, video_id)
        if data is None:
            return None
        index = read_index_data(now)
        (ever,) = now.rows(_SQL["cost_of_all_checks"], {"video": video_id})
    report = publish_data(data, index, settings.reports)
    return Checked(data, report, run_id or data.run_id, failures, float(ever["usd"]))
