"""The plan of re-checks, as the warehouse holds it: reading it, and remembering what was launched.

What belongs here: asking `recheck_plan_at`, the limits that it keeps to, the launches of a night.
What does not: the rule itself (views/40_rechecks.sql), launching
(factible_assets/pipeline/schedules.py).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import duckdb

from resources.statements import statements
from warehouse.rows import aware, to_utc
from warehouse.sets import enter
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RecheckLimits:
    """What one night may do: so many videos, at an expected cost of so much (None: no limit).

    Complete checks younger than `minimum_age_days` are not repeated.
    """

    videos: int = 20
    cost_usd: float | None = 1.0
    minimum_age_days: float = 7.0


@dataclass(frozen=True, slots=True)
class PlannedVideo:
    """One row of the plan; the columns of the view `recheck_plan`, where they are described."""

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
        """Whether the video is on the night's list."""
        return self.decision == "planned"


@dataclass(frozen=True, slots=True)
class Launch:
    """A re-check that a night asked for."""

    video_id: str
    planned_at: datetime
    position: int
    reason: str
    with_queries: bool
    estimated_cost_usd: float
    corpus: str | None = None


_ASK = statements("warehouse", "rechecks.sql")
_TABLE = "recheck_launches"


def read_plan(
    warehouse: Warehouse,
    limits: RecheckLimits,
    as_of: datetime,
    *,
    held: Collection[str] = (),
    next_tick: datetime | None = None,
    keep_limits: bool = True,
) -> list[PlannedVideo]:
    """Return the plan for a moment: the night's list first, then who has to wait, and why.

    Videos that are `held` must not be launched now: a run of theirs is in flight. With
    `keep_limits` the limits are stored, so that the view `recheck_plan` shows the same plan.
    """

    def plan(connection: duckdb.DuckDBPyConnection) -> list[PlannedVideo]:
        rows = _plan(connection, limits, as_of, held, next_tick)
        if not keep_limits:
            _leave_as_it_was(connection)
        return rows

    return warehouse.write(plan, alone=[_TABLE])


def plan_night(
    warehouse: Warehouse,
    limits: RecheckLimits,
    tick: datetime,
    *,
    held: Collection[str] = (),
    next_tick: datetime | None = None,
    remember: bool = True,
) -> list[Launch]:
    """Decide what a night launches, and remember it unless it is but a preview, in one transaction.

    A night that was decided before is not decided again: whoever repeats a tick, because the first
    was interrupted, gets the same launches, whatever has become of them meanwhile.
    """

    def plan(connection: duckdb.DuckDBPyConnection) -> list[Launch]:
        planned = _plan(connection, limits, tick, held, next_tick)
        if not connection.execute(_ASK["launched"], [to_utc(tick)]).fetchall():
            launches = [_launch(each, tick) for each in planned if each.is_planned]
            enter(connection, _TABLE, launches)
        rows = connection.execute(_ASK["launched"], [to_utc(tick)]).fetchall()
        if not remember:
            _leave_as_it_was(connection)
        return [Launch(*map(aware, row)) for row in rows]

    return warehouse.write(plan, alone=[_TABLE])


def _leave_as_it_was(connection: duckdb.DuckDBPyConnection) -> None:
    connection.rollback()
    connection.begin()


def remember_launch(warehouse: Warehouse, planned: PlannedVideo, at: datetime) -> None:
    """Remember that a video is launched now; if its run fails, that counts as an attempt."""
    rows = [_launch(planned, at)]
    warehouse.write(lambda opened: enter(opened, _TABLE, rows, again="keep"), alone=[_TABLE])


def forget_launch(warehouse: Warehouse, planned: PlannedVideo, at: datetime) -> None:
    """Forget a launch that somebody stopped: it was no attempt that failed."""
    place = [planned.video_id, to_utc(at)]
    warehouse.write(lambda opened: opened.execute(_ASK["forget"], place), alone=[_TABLE])


def _launch(planned: PlannedVideo, tick: datetime) -> dict[str, object]:
    taken = ("video_id", "position", "reason", "with_queries", "estimated_cost_usd")
    return {name: getattr(planned, name) for name in taken} | {"planned_at": tick}


def _plan(
    connection: duckdb.DuckDBPyConnection,
    limits: RecheckLimits,
    as_of: datetime,
    held: Collection[str],
    next_tick: datetime | None,
) -> list[PlannedVideo]:
    kept = {"videos": limits.videos, "cost": limits.cost_usd, "age": limits.minimum_age_days}
    following = to_utc(next_tick) if next_tick else None
    connection.execute(_ASK["store_limits"], kept | {"next": following})
    sql = _ASK["plan"].format(columns=", ".join(PlannedVideo.__slots__))
    rows = connection.execute(sql, [to_utc(as_of), sorted(held)]).fetchall()
    return [PlannedVideo(*map(aware, row)) for row in rows]
