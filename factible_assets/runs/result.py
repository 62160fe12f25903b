"""The result of a check: the rows that the warehouse holds on a video, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factible_assets.corpora.reading import CorpusVideo, load_corpora
from factible_assets.errors import ExitCode, code_of
from factible_assets.records.rows import VerdictChange
from factible_assets.report.data import ReportData, read_report_data
from factible_assets.report.writing import read_index_data, write_index, write_report
from factible_assets.settings import Settings
from resources.files import report_name
from resources.statements import statements
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "questions.sql")


@dataclass(frozen=True, slots=True)
class Checked:
    """A video's rows after a check, and the path of its report.

    `failures` has a sentence for each step that failed. `cost_ever` is the cost of the model calls
    of all checks of the video, in US dollars. `is_new` tells whether a run has just produced it.
    """

    data: ReportData
    report: Path
    run_id: str | None
    failures: tuple[str, ...] = ()
    cost_ever: float = 0.0
    is_new: bool = False

    @property
    def incomplete(self) -> set[str]:
        """The ids of the claims whose newest verdict is incomplete."""
        current = (row.claim_id for row in self.data.verdicts if row.status == "incomplete")
        return {*current, *self.data.failed_rechecks}

    @property
    def flips(self) -> tuple[VerdictChange, ...]:
        """The verdicts that this run flipped."""
        changes = (change for change in self.data.changes if change.run_id == self.run_id)
        return tuple(change for change in changes if change.change == "flip")

    @property
    def code(self) -> ExitCode:
        if self.failures:
            return code_of(self.failures)
        return ExitCode.INCOMPLETE if self.incomplete else ExitCode.DONE


@dataclass(frozen=True, slots=True)
class StoredVideo:
    """A video, as a data folder holds it. A method that reads rows takes one snapshot."""

    video_id: str
    settings: Settings

    def listed(self) -> CorpusVideo | None:
        """Return its entry in a corpus, if it has one."""
        return load_corpora(self.settings.corpus_folders).find(self.video_id)

    def data(self) -> ReportData | None:
        """Return its rows; None if the warehouse has none."""
        if not self.settings.warehouse.exists():
            return None
        return read_report_data(Warehouse(self.settings.warehouse), self.video_id)

    def result(self, *, publish: bool = False, finished: bool = False) -> Checked | None:
        """Write its report from the stored rows; None if the warehouse has none.

        `publish` also renews the copy for readers, from the same snapshot. With `finished`, the
        result of an unfinished check is None too.
        """
        settings = self.settings
        if not settings.warehouse.exists():
            return None
        store = Warehouse(settings.warehouse)
        with store.published(settings.published) if publish else store.snapshot() as snapshot:
            data = read_report_data(snapshot, self.video_id)
            if data is None or (finished and not data.is_finished):
                return None
            index = read_index_data(snapshot)
            (ever,) = snapshot.rows(_SQL["cost_of_all_checks"], {"video": self.video_id})
        report = write_report(data, settings.reports / report_name(self.video_id))
        write_index(index, settings.reports)
        return Checked(data, report, data.run_id, cost_ever=float(ever["usd"]))

    def finished_check(self) -> Checked | None:
        """Return the stored check if it is finished, else None.

        If an earlier run could not publish its result, for lack of room say, this publishes it.
        """
        checked = self.result(finished=True)
        live, copy = self.settings.warehouse, self.settings.published
        if checked and not live.is_shared and copy.exists():
            try:
                is_behind = Warehouse(copy).current_sets(self.video_id) != checked.data.sets
            except WarehouseError:  # the copy is damaged
                is_behind = True
            if is_behind:
                Warehouse(live).publish(copy)
        return checked
