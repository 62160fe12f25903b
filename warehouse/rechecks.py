"""The plan of re-checks, as the warehouse holds it: reading it, and remembering what was launched.

What belongs here: asking `recheck_plan_at`, the limits that it keeps to, the launches of a night.
What does not: the rule itself (views/40_rechecks.sql), launching
(factible_assets.automation.rechecks).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from warehouse.rows import to_utc
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RecheckLimits:
    """What one night may do.

    Attributes:
        videos: The most videos.
        cost_usd: The most that they may be expected to cost, in US dollars; None for no limit.
        minimum_age_days: Complete checks younger than this are not repeated.
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


_COLUMNS = ", ".join(PlannedVideo.__slots__)
_PLAN = f"SELECT {_COLUMNS} FROM recheck_plan_at(?::TIMESTAMP, ?::VARCHAR[])"  # noqa: S608

_STORE_LIMITS = """
    UPDATE recheck_settings
    SET videos_per_night = $videos, cost_per_night_usd = $cost, minimum_age_days = $age,
        next_tick_at = coalesce($next, next_tick_at)
    WHERE (videos_per_night, cost_per_night_usd, minimum_age_days, next_tick_at)
        IS DISTINCT FROM ($videos, $cost, $age, coalesce($next, next_tick_at))
"""

_LAUNCHED = """
    SELECT launches.video_id, planned_at, position, reason, with_queries, estimated_cost_usd,
        videos.corpus
    FROM recheck_launches AS launches
    LEFT JOIN current_videos AS videos USING (video_id)
    WHERE planned_at = ?
    ORDER BY position
"""

_REMEMBER = """
    INSERT INTO recheck_launches
        (video_id, planned_at, position, reason, with_queries, estimated_cost_usd)
    VALUES (?, ?, ?, ?, ?, ?)
"""


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

    Args:
        warehouse: Where the checks are.
        limits: What the night may do.
        as_of: The moment, timezone-aware.
        held: Videos that must not be launched now: a run of theirs is in flight.
        next_tick: When the schedule ticks next, if that is known.
        keep_limits: Store the limits, so that the view `recheck_plan` shows the same plan.
    """
    with warehouse.connection() as connection:
        connection.begin()
        _store_limits(connection, limits, next_tick)
        rows = _plan(connection, as_of, held)
        if keep_limits:
            connection.commit()
        else:
            connection.rollback()
    return rows


def plan_night(
    warehouse: Warehouse,
    limits: RecheckLimits,
    tick: datetime,
    *,
    held: Collection[str] = (),
    next_tick: datetime | None = None,
) -> list[Launch]:
    """Decide what a night launches, and remember it, in one transaction.

    A night that was decided before is not decided again: whoever repeats a tick, because the first
    was interrupted, gets the same launches, whatever has become of them meanwhile.
    """
    with warehouse.connection() as connection:
        connection.begin()
        _store_limits(connection, limits, next_tick)
        launches = launches_of(connection, tick)
        if not launches:
            planned = [each for each in _plan(connection, tick, held) if each.is_planned]
            for each in planned:
                connection.execute(_REMEMBER, _launch_row(each, tick))
            launches = launches_of(connection, tick)
        connection.commit()
    return launches


def remember_launch(warehouse: Warehouse, planned: PlannedVideo, at: datetime) -> None:
    """Remember that a video is launched now; if its run fails, that counts as an attempt."""
    with warehouse.connection() as connection:
        connection.execute(f"{_REMEMBER} ON CONFLICT DO NOTHING", _launch_row(planned, at))


def launches_of(connection: duckdb.DuckDBPyConnection, tick: datetime) -> list[Launch]:
    """Return what a night launched, in order."""
    rows = connection.execute(_LAUNCHED, [to_utc(tick)]).fetchall()
    return [
        Launch(video_id, planned_at.replace(tzinfo=UTC), position, reason, queries, cost, corpus)
        for video_id, planned_at, position, reason, queries, cost, corpus in rows
    ]


def _launch_row(planned: PlannedVideo, tick: datetime) -> Sequence[object]:
    return [
        planned.video_id,
        to_utc(tick),
        planned.position,
        planned.reason,
        planned.with_queries,
        planned.estimated_cost_usd,
    ]


def _plan(
    connection: duckdb.DuckDBPyConnection, as_of: datetime, held: Collection[str]
) -> list[PlannedVideo]:
    rows = connection.execute(_PLAN, [to_utc(as_of), sorted(held)]).fetchall()
    return [PlannedVideo(*(_aware(value) for value in row)) for row in rows]


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _store_limits(
    connection: duckdb.DuckDBPyConnection, limits: RecheckLimits, next_tick: datetime | None
) -> None:
    connection.execute(
        _STORE_LIMITS,
        {
            "videos": limits.videos,
            "cost": limits.cost_usd,
            "age": limits.minimum_age_days,
            "next": to_utc(next_tick) if next_tick else None,
        },
    )
