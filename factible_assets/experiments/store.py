"""The warehouses of experiments: a file for the rows of each.

What belongs here: which variant holds which work, reading and writing it. What does not: deciding
what is computed (runner.py), figures (results.py), the tables of rows, which are those of every run
(warehouse/).

In the file of an experiment the name of a variant is the run_id, so that variants stand side by
side, complete, in the same tables that a production warehouse has; the production rows are in
another file and stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from factible_assets.experiments.plan import STAGES, ExperimentError
from factible_assets.records import Evidence, Query, Record, Search, Verdict
from factible_assets.rows import VideoRows
from factible_assets.settings import Settings
from resources.statements import statements
from warehouse.entries import enter
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

SetStatus = Literal["ok", "incomplete", "failed"]

_ASK = statements("factible_assets.experiments", "experiments.sql")


def experiment_file(settings: Settings, name: str) -> Path:
    """Return where the rows of an experiment are kept."""
    return settings.home / "experiments" / f"{name}.duckdb"


@dataclass(frozen=True, slots=True)
class StageSet:
    """What is known of one stage of one variant and video; a row of `experiment_sets`."""

    experiment: str
    variant: str
    video_id: str
    asset: str
    stage_key: str
    source: str
    status: SetStatus = "ok"
    reason: str | None = None
    duration_seconds: float | None = None
    first_verdict_seconds: float | None = None


class Ledger:
    """The file of one experiment, and which work of it can be taken as it is.

    Work is taken by its key. What an earlier process left with an incomplete verdict is asked
    again, from the first stage where a service failed; within one process an outage is shared like
    any other answer, for variants are compared over the same world.

    A set of rows carries its key as its code version, and is written in one transaction with what
    is known of it, so that no kill can leave rows under a key that is not theirs.
    """

    def __init__(self, experiment: str, path: Path) -> None:
        self._experiment = experiment
        self._warehouse = Warehouse(path)
        self._sets: dict[tuple[str, str, str], StageSet] = {}
        self._holders: dict[tuple[str, str, str], dict[str, None]] = {}
        if path.exists():
            self._load()

    @property
    def path(self) -> Path:
        """The file."""
        return self._warehouse.path

    def holder(self, video_id: str, stage: str, key: str, *, preferred: str) -> str | None:
        """Return a variant that holds this work, itself if it does; None if it is to be done."""
        holders = self._holders.get((video_id, stage, key), {})
        return preferred if preferred in holders else next(iter(holders), None)

    def known(self, variant: str, video_id: str, stage: str) -> StageSet | None:
        """Return what is known of one stage of a variant and video."""
        return self._sets.get((variant, video_id, stage))

    def all_known(self) -> list[StageSet]:
        """Return everything that is known, also of variants that are no longer asked for."""
        return list(self._sets.values())

    def read(self, video_id: str, holders: Mapping[str, str]) -> VideoRows:
        """Return the rows of some stages, each as the variant that is named for it holds them.

        Raises:
            ExperimentError: Some are gone.
        """
        held = self._warehouse.read_sets(video_id, holders)
        if gone := holders.keys() - held.sets.keys():
            raise ExperimentError(
                f"{self.path} has lost the {', '.join(sorted(gone))} of {video_id}. Run the "
                "experiment again with --fresh."
            )
        return held

    def write(
        self, variant: str, video_id: str, sets: Mapping[str, AssetRows], known: Iterable[StageSet]
    ) -> None:
        """Store rows and what is known of them, in one transaction."""
        entries = list(known)
        self._warehouse.write_assets(
            video_id,
            sets,
            stamp=Stamp(run_id=variant, checked_at=datetime.now(UTC)),
            also=lambda opened: enter(opened, "experiment_sets", entries, again="replace"),
        )
        for entry in entries:
            self._take(entry)

    def _take(self, entry: StageSet) -> None:
        place = (entry.variant, entry.video_id, entry.asset)
        earlier = self._sets.get(place)
        if earlier is not None:
            self._holders.get((*place[1:], earlier.stage_key), {}).pop(entry.variant, None)
        self._sets[place] = entry
        if entry.status != "failed":
            self._offer(entry)

    def _offer(self, entry: StageSet) -> None:
        work = (entry.video_id, entry.asset, entry.stage_key)
        self._holders.setdefault(work, {})[entry.variant] = None

    def _load(self) -> None:
        """Offer what an earlier process left: all of it, or all before the first outage."""
        columns = ", ".join(f"sets.{each.name}" for each in fields(StageSet))
        sql = _ASK["known_sets"].format(columns=columns)
        rows = self._warehouse.query(sql, [self._experiment]).rows()
        entries = [StageSet(*row) for row in rows]
        self._sets = {(each.variant, each.video_id, each.asset): each for each in entries}
        for place in dict.fromkeys((each.variant, each.video_id) for each in entries):
            verdicts = self.known(*place, "verdicts")
            settled = verdicts is not None and verdicts.status == "ok"
            for stage in STAGES:
                entry = self.known(*place, stage)
                if entry is None or (entry.status != "ok" and not settled):
                    break
                self._offer(entry)


def status_of(rows: Sequence[Record]) -> tuple[SetStatus, str | None]:
    """Tell whether services failed for a part of a set, and how."""
    for row in rows:
        if isinstance(row, Query | Search | Evidence) and row.status == "infra_error":
            return "incomplete", row.reason or "a service failed"
        if isinstance(row, Verdict) and row.status == "incomplete":
            return "incomplete", row.reason or "services failed"
    return "ok", None
