"""What people say about checks, as the warehouse holds it, and what runs made of it.

What belongs here: writing and reading the acts of reviewers, which run applied them, and which
claims a run took over unchecked. What does not: what is in force and what follows from it
(factible_assets/stages/reviews.py), the views for analysts (views/60_reviews.sql).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from factible_assets.records import ReviewAction
from warehouse.rows import Stamp, columns_of, from_row, to_utc
from warehouse.store import Warehouse

_COLUMNS = tuple(column.name for column in columns_of(ReviewAction))
_ADD = (
    f"INSERT INTO review_actions ({', '.join(_COLUMNS)}) "  # noqa: S608 - names of the record class
    f"VALUES ({', '.join('?' for _ in _COLUMNS)})"
)
_READ = (
    f"SELECT {', '.join(_COLUMNS)} FROM review_actions WHERE video_id = ? "  # noqa: S608
    "ORDER BY acted_at, position, action_id"
)
_CARRIED = """
    SELECT claim_id, source_run_id, last_checked_at
    FROM carried_claims
    WHERE video_id = ? AND run_id = ?
"""


@dataclass(frozen=True, slots=True)
class CarriedClaim:
    """A claim that a run took over: who checked it last, and when (timezone-aware)."""

    claim_id: str
    source_run_id: str
    last_checked_at: datetime


def add_actions(warehouse: Warehouse, actions: Sequence[ReviewAction]) -> None:
    """Write what a reviewer did, all of it or nothing. Nothing that is there changes.

    Raises:
        duckdb.ConstraintException: An action is there already, or breaks a rule of the table.
    """
    rows = [
        [
            to_utc(value) if isinstance(value, datetime) else value
            for value in (getattr(action, name) for name in _COLUMNS)
        ]
        for action in actions
    ]
    with warehouse.connection() as connection:
        connection.begin()
        for row in rows:
            connection.execute(_ADD, row)
        connection.commit()


def read_actions(warehouse: Warehouse, video_id: str) -> list[ReviewAction]:
    """Return everything that reviewers did to the claims of a video, in order."""
    with warehouse.connection(read_only=True) as connection:
        rows = connection.execute(_READ, [video_id]).fetchall()
    return [from_row(ReviewAction, row) for row in rows]


def read_carried(warehouse: Warehouse, video_id: str, run_id: str) -> dict[str, CarriedClaim]:
    """Return the claims that a run took over, by claim id."""
    with warehouse.connection(read_only=True) as connection:
        rows = connection.execute(_CARRIED, [video_id, run_id]).fetchall()
    return {
        claim_id: CarriedClaim(claim_id, source, moment.replace(tzinfo=UTC))
        for claim_id, source, moment in rows
    }


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
    for action_id in applied:
        connection.execute(
            "INSERT INTO review_applications (action_id, run_id, applied_at) VALUES (?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [action_id, stamp.run_id, to_utc(stamp.checked_at)],
        )
    connection.execute(
        "DELETE FROM carried_claims WHERE video_id = ? AND run_id = ?", [video_id, stamp.run_id]
    )
    for claim in carried:
        connection.execute(
            "INSERT INTO carried_claims "
            "(video_id, run_id, claim_id, source_run_id, last_checked_at) VALUES (?, ?, ?, ?, ?)",
            [
                video_id,
                stamp.run_id,
                claim.claim_id,
                claim.source_run_id,
                to_utc(claim.last_checked_at),
            ],
        )
