"""The history of metrics: one row per corpus, video, metric and averaging of an evaluation.

What belongs here: writing and reading those rows. What does not: what they mean (they are made by
the evaluation), sets of a video's rows (sets.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from warehouse.entries import enter
from warehouse.rows import Stamp
from warehouse.statements import statements
from warehouse.store import Warehouse

_FORGET = statements("warehouse", "metrics.sql")["forget"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One figure, as the table `metrics` keeps it; its comments say what the columns mean."""

    corpus: str
    video_id: str | None
    position: int
    family: str
    metric: str
    averaging: str
    value: float | None
    n: int
    unit: str
    better: str | None
    interval_low: float | None
    interval_high: float | None
    interval_level: float | None
    baseline: float | None
    matcher: str
    threshold: float | None
    videos: int
    annotated: int


def write_metrics(store: Warehouse, rows: Sequence[MetricRow], *, stamp: Stamp) -> None:
    """Add the figures of one evaluation, all or none.

    Those that the same run wrote before for the same corpora are replaced, so that a step may be
    repeated. Those of other runs stay.

    Raises:
        WarehouseIntegrityError: A row breaks a rule of the table. The warehouse is as it was.
    """
    written = {"run_id": stamp.run_id, "evaluated_at": stamp.checked_at}
    with store.connection() as connection:
        connection.begin()
        for corpus in {row.corpus for row in rows}:
            connection.execute(_FORGET, [stamp.run_id, corpus])
        enter(connection, "metrics", [asdict(row) | written for row in rows])
        connection.commit()
