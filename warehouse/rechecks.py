"""Makes the plan of re-checks by views/40_rechecks.sql, and stores its limits and launches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import duckdb

from resources.statements import statements
from warehouse.rows import aware, to_utc
from warehouse.sets import insert_rows
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RecheckLimits:
    """Limits of one night: the number of videos, and their expected cost (None: no limit).

    The plan does not repeat complete checks younger than `minimum_age_days`.
    """

    videos: int = 20
    cost_usd: float | None = 1.0
    minimum_age_days: float = 7.0


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A video and the plan's decision about it, in the columns of the view `recheck_plan`.

    Only a planned video has a `position`; the `reason` explains the decision.
    """

    position: int | None
    video_id: str
    title: str | None
    decision: str
    reason: str
    priority: int
    claims: int
    incomplete_claims: int
    low_confidence_claims: int
    last_checked_at: datetime | None
    age_days: float | None
    failed_attempts: int
    with_queries: bool
    estimated_cost_usd: float
    cost_so_far_usd: float | None
    corpus: str | None
    planned_for: datetime

    @property
    def is_planned(self) -> bool:
        return self.decision == "planned"


@dataclass(frozen=True, slots=True)
class Launch:
    """A re-check that a night launches."""

    video_id: str
    planned_at: datetime
    reason: str
    with_queries: bool
    corpus: str | None = None


_SQL = statements("warehouse", "rechecks.sql")
_TABLE = "recheck_launches"


def make_plan(
    warehouse: Warehouse,
    limits: RecheckLimits,
    as_of: datetime,
    *,
    held: Collection[str] = (),
    next_tick: datetime | None = None,
    preview: bool = False,
) -> list[PlanEntry]:
    """Return the plan for a moment: the night's videos first, then the others with the reason.

    Videos in `held` must wait, for instance for a run in progress. Unless it is a `preview`, it
    stores for the view `recheck_plan` the limits, and `next_tick`, the schedule's next moment.
    """

    def plan(connection: duckdb.DuckDBPyConnection) -> list[PlanEntry]:
        rows = _plan(connection, limits, as_of, held, next_tick)
        if preview:
            _undo(connection)
        return rows

    return warehouse.write(plan, locks=[_TABLE])


def plan_night(
    warehouse: Warehouse,
    limits: RecheckLimits,
    tick: datetime,
    *,
    held: Collection[str] = (),
    next_tick: datetime | None = None,
    preview: bool = False,
) -> list[Launch]:
    """Choose and store a night's launches, in one transaction. A `preview` stores nothing.

    If Dagster repeats an interrupted tick, it gets the same launches again.
    """

    def plan(connection: duckdb.DuckDBPyConnection) -> list[Launch]:
        planned = _plan(connection, limits, tick, held, next_tick)
        if not connection.execute(_SQL["launched"], [to_utc(tick)]).fetchall():
            launches = [_launch_row(entry, tick) for entry in planned if entry.is_planned]
            insert_rows(connection, _TABLE, launches)
        rows = connection.execute(_SQL["launched"], [to_utc(tick)]).fetchall()
        names = [column for column, *_ in connection.description or ()]
        if preview:
            _undo(connection)
        return [Launch(**dict(zip(names, map(aware, row), strict=True))) for row in rows]

    return warehouse.write(plan, locks=[_TABLE])


def _undo(connection: duckdb.DuckDBPyConnection) -> None:
    """Take back all changes of a transaction; its caller then commits an empty one."""
    connection.rollback()
    connection.begin()


def remember_launch(warehouse: Warehouse, planned: PlanEntry, at: datetime) -> None:
    """Store a launch, unless it is stored. If its run fails, that counts as an attempt."""
    rows = [_launch_row(planned, at)]
    warehouse.write(lambda opened: insert_rows(opened, _TABLE, rows, again="keep"), locks=[_TABLE])


def forget_launch(warehouse: Warehouse, planned: PlanEntry, at: datetime) -> None:
    """Delete a cancelled launch: it does not count as a failed attempt."""
    key = [planned.video_id, to_utc(at)]
    warehouse.write(lambda opened: opened.execute(_SQL["forget"], key), locks=[_TABLE])


def _launch_row(planned: PlanEntry, tick: datetime) -> dict[str, object]:
    copied = ("video_id", "position", "reason", "with_queries", "estimated_cost_usd")
    return {name: getattr(planned, name) for name in copied} | {"planned_at": tick}


def _plan(
    connection: duckdb.DuckDBPyConnection,
    limits: RecheckLimits,
    as_of: datetime,
    held: Collection[str],
    next_tick: datetime | None,
) -> list[PlanEntry]:
    values = {"videos": limits.videos, "cost": limits.cost_usd, "age": limits.minimum_age_days}
    following = to_utc(next_tick) if next_tick else None
    connection.execute(_SQL["store_limits"], values | {"next": following})
    sql = _SQL["plan"].format(columns=", ".join(PlanEntry.__slots__))
    rows = connection.execute(sql, [to_utc(as_of), sorted(held)]).fetchall()
    return [PlanEntry(*map(aware, row)) for row in rows]
