"""The history of metrics: one row per corpus, video, metric and averaging of an evaluation.

What belongs here: writing and reading those rows. What does not: what they mean (they are made by
the evaluation), sets of a video's rows (sets.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC

import duckdb

from warehouse.errors import WarehouseIntegrityError
from warehouse.rows import Stamp, to_utc
from warehouse.store import Warehouse


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


_COLUMNS = ", ".join(field.name for field in fields(MetricRow))
_PLACES = ", ".join("?" for _ in fields(MetricRow))


def write_metrics(store: Warehouse, rows: Sequence[MetricRow], *, stamp: Stamp) -> None:
    """Add the figures of one evaluation, all or none.

    Those that the same run wrote before for the same corpora are replaced, so that a step may be
    repeated. Those of other runs stay.

    Raises:
        WarehouseIntegrityError: A row breaks a rule of the table. The warehouse is as it was.
    """
    corpora = sorted({row.corpus for row in rows})
    evaluated_at = to_utc(stamp.checked_at.astimezone(UTC))
    values = [[*astuple(row), stamp.run_id, evaluated_at] for row in rows]
    with store.connection() as connection:
        # No rollback here: closing the connection discards what was not committed.
        connection.begin()
        connection.execute(
            "DELETE FROM metrics WHERE run_id = ? AND corpus IN (SELECT unnest(?))",
            [stamp.run_id, corpora],
        )
        try:
            if values:
                connection.executemany(
                    f"INSERT INTO metrics ({_COLUMNS}, run_id, evaluated_at) "  # noqa: S608
                    f"VALUES ({_PLACES}, ?, ?)",
                    values,
                )
        except duckdb.ConstraintException as failure:
            raise WarehouseIntegrityError(
                "The metrics break a rule of the warehouse: "
                f"{str(failure).splitlines()[0].rstrip('.')}. Nothing was written."
            ) from failure
        connection.commit()
