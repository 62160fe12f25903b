"""What people say about checks, as the warehouse holds it, and what runs made of it.

What belongs here: writing and reading the acts of reviewers, which run applied them, and which
claims a run took over unchecked. What does not: what is in force and what follows from it
(factible_assets/stages/reviews.py), the views for analysts (views/60_reviews.sql).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

import duckdb

from factible_assets.records import Claim, ReviewAction
from resources.statements import statements
from warehouse.entries import enter
from warehouse.rows import AnyRecord, Stamp, aware, columns_of, from_row
from warehouse.store import Warehouse

_ASK = statements("warehouse", "reviews.sql")


@dataclass(frozen=True, slots=True)
class CarriedClaim:
    """A claim that a run took over: who checked it last, and when (timezone-aware)."""

    claim_id: str
    source_run_id: str
    last_checked_at: datetime


def read_actions(warehouse: Warehouse, video_id: str) -> list[ReviewAction]:
    """Return everything that reviewers did to the claims of a video, in order."""
    return _rows(warehouse, "actions", ReviewAction, video_id)


def known_claims(warehouse: Warehouse, video_id: str) -> dict[str, Claim]:
    """Return every claim that a video was ever found to make, by its id, as it was found last."""
    return {claim.claim_id: claim for claim in _rows(warehouse, "known", Claim, video_id)}


def _rows(
    warehouse: Warehouse, question: str, record: type[AnyRecord], video_id: str
) -> list[AnyRecord]:
    columns = ", ".join(column.name for column in columns_of(record))
    rows = warehouse.query(_ASK[question].format(columns=columns), {"video_id": video_id})
    return [from_row(record, row) for row in rows.rows()]


def read_carried(warehouse: Warehouse, video_id: str, run_id: str) -> dict[str, CarriedClaim]:
    """Return the claims that a run took over, by claim id."""
    rows = warehouse.query(_ASK["carried"], {"video_id": video_id, "run_id": run_id})
    return {row[0]: CarriedClaim(*map(aware, row)) for row in rows.rows()}


def remember(
    connection: duckdb.DuckDBPyConnection,
    video_id: str,
    stamp: Stamp,
    *,
    applied: Iterable[str],
    carried: Iterable[CarriedClaim],
) -> None:
    """Note which acts a run keeps to, and which claims it took over, in the caller's transaction.

    Only the first run that kept to an act is noted. A run that is repeated notes the same again.
    """
    run = {"video_id": video_id, "run_id": stamp.run_id}
    enter(
        connection,
        "review_applications",
        [
            {"action_id": each, "run_id": stamp.run_id, "applied_at": stamp.checked_at}
            for each in applied
        ],
        again="keep",
    )
    connection.execute(_ASK["forget_carried"], run)
    enter(connection, "carried_claims", [run | asdict(each) for each in carried])
