"""The plan of re-checks: its rule, held against the same rule in plain Python, and its edges."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.warehouse.samples import (
    FIRST_CHECK,
    asset_rows,
    claim,
    incomplete_verdict,
    llm_call,
    query,
    verdict,
    video,
)
from warehouse.rechecks import RecheckLimits, make_plan, plan_night, remember_launch
from warehouse.rows import Stamp
from warehouse.store import Warehouse

NOW = FIRST_CHECK + timedelta(days=60)
NO_LIMITS = RecheckLimits(videos=1_000, cost_usd=None, minimum_age_days=7)
SLACK = timedelta(hours=6)


@dataclass
class Past:
    """The history of one video: the time, the outcome and the cost of each check."""

    video_id: str
    checks: list[tuple[datetime, str, float]] = field(default_factory=list)
    """Each with an outcome: high, low, or incomplete."""
    queries: bool = True

    def write(self, store: Warehouse) -> None:
        start = Stamp("start", FIRST_CHECK - timedelta(days=1))
        sets = {
            "transcripts": asset_rows(video(self.video_id)),
            "claims": asset_rows(claim(self.video_id)),
        }
        if self.queries:
            sets["queries"] = asset_rows(query(self.video_id))
        store.write_assets(self.video_id, sets, stamp=start)
        for number, (at, outcome, cost) in enumerate(self.checks):
            row = verdict(self.video_id)
            if outcome == "incomplete":
                row = incomplete_verdict(self.video_id)
            else:
                row = row.model_copy(update={"confidence": outcome})
            calls = [llm_call(self.video_id, "verdicts", number, cost=cost)] if cost else []
            store.write_assets(
                self.video_id,
                {"verdicts": asset_rows(row, *calls)},
                stamp=Stamp(f"{self.video_id}-{number}", at),
            )

    def fails(self) -> int:
        count = 0
        for _, outcome, _ in reversed(self.checks):
            if outcome != "incomplete":
                break
            count += 1
        return count

    def cost(self) -> float:
        return max((cost for _, _, cost in self.checks[-3:]), default=0.0)


def expected(pasts: Collection[Past], limits: RecheckLimits, held: Collection[str]) -> list[str]:
    """The rule as the documentation words it."""
    due = []
    for past in pasts:
        last = past.checks[-1] if past.checks else None
        fails = past.fails()
        wait = timedelta(days=min(2 ** (fails - 2), 16)) - SLACK if fails >= 2 else None
        if past.video_id in held or (last and wait and last[0] + wait > NOW):
            continue
        is_open = last is None or last[1] == "incomplete"
        # A verdict that outlived a failed re-check keeps its confidence.
        good = next((o for _, o, _ in reversed(past.checks) if o != "incomplete"), None)
        fresh_until = timedelta(days=limits.minimum_age_days) - SLACK
        if not is_open and last and last[0] + fresh_until > NOW:
            continue
        if limits.cost_usd is not None and past.cost() > limits.cost_usd:
            continue
        priority = 3 if fails >= 6 else 1 if is_open else 2 if good == "low" else 3
        due.append((priority, last[0] if last else FIRST_CHECK, past))
    due.sort(key=lambda each: (each[0], each[1], each[2].video_id))
    planned, spent = [], 0.0
    for _, _, past in due[: limits.videos]:
        spent += past.cost()
        if limits.cost_usd is not None and spent > limits.cost_usd:
            break
        planned.append(past.video_id)
    return planned


def test_the_plan_is_the_rule_for_any_history(in_memory: Warehouse) -> None:
    dice = random.Random(0)
    pasts = []
    for number in range(9):
        days = sorted(dice.sample(range(60), dice.randint(0, 8)))
        checks = [
            (
                FIRST_CHECK + timedelta(days=day, hours=dice.randint(0, 5)),
                dice.choice(["high", "low", *["incomplete"] * 6]),
                dice.choice([0.125, 0.25, 0.5]),
            )
            for day in days
        ]
        pasts.append(Past(f"v{number:02}", checks))
        # Without a cost of its own a video is expected to cost what others do.
        if not checks:
            pasts.pop()
    for past in pasts:
        past.write(in_memory)
    for _ in range(8):
        limits = RecheckLimits(
            videos=dice.randint(0, 12),
            cost_usd=dice.choice([None, 0.25, 1.0, 2.0]),
            minimum_age_days=dice.choice([0, 3, 7, 30]),
        )
        held = set(dice.sample([past.video_id for past in pasts], 2))
        planned = [row for row in make_plan(in_memory, limits, NOW, held=held) if row.is_planned]
        assert [row.video_id for row in planned] == expected(pasts, limits, held)
        assert [row.position for row in planned] == list(range(1, len(planned) + 1))


def test_a_video_without_claims_is_not_in_the_plan(in_memory: Warehouse) -> None:
    sets = {"transcripts": asset_rows(video("v")), "claims": asset_rows()}
    in_memory.write_assets("v", sets, stamp=Stamp("start", FIRST_CHECK))
    assert make_plan(in_memory, NO_LIMITS, NOW) == []


def test_claims_that_were_never_judged_come_first_with_their_queries(in_memory: Warehouse) -> None:
    Past("judged", [(FIRST_CHECK, "low", 0.0)]).write(in_memory)
    Past("unjudged", queries=False).write(in_memory)
    first, second = make_plan(in_memory, NO_LIMITS, NOW)
    assert (first.video_id, first.priority, first.with_queries) == ("unjudged", 1, True)
    assert "never judged" in first.reason
    assert (second.video_id, second.priority, second.with_queries) == ("judged", 2, False)


def test_runs_that_failed_as_a_whole_are_repeated_ever_more_rarely(in_memory: Warehouse) -> None:
    Past("v", [(FIRST_CHECK, "high", 0.0)]).write(in_memory)
    tried = []
    # Every day on which it is tried, and the last before each that comes after a pause.
    for day in (8, 9, 10, 11, 12, 15, 16, 23, 24, 39, 40):
        tick = FIRST_CHECK + timedelta(days=day)
        (row,) = make_plan(in_memory, NO_LIMITS, tick)
        if row.is_planned:
            remember_launch(in_memory, row, tick)
            tried.append(day)
    assert [after - before for before, after in itertools.pairwise(tried)] == [1, 1, 2, 4, 8, 16]
    (row,) = make_plan(in_memory, NO_LIMITS, FIRST_CHECK + timedelta(days=tried[-1] + 1))
    assert row.decision == "backing_off"
    assert "tried again from" in row.reason


def test_a_video_that_alone_costs_more_than_a_night_blocks_nobody(in_memory: Warehouse) -> None:
    Past("dear", [(FIRST_CHECK, "incomplete", 9.0)]).write(in_memory)
    Past("cheap", [(FIRST_CHECK, "high", 0.5)]).write(in_memory)
    limits = RecheckLimits(cost_usd=1.0)
    decisions = {row.video_id: row.decision for row in make_plan(in_memory, limits, NOW)}
    assert decisions == {"cheap": "planned", "dear": "too_expensive"}


def test_an_unknown_cost_is_expected_to_be_that_of_others(in_memory: Warehouse) -> None:
    Past("known", [(FIRST_CHECK, "high", 0.5)]).write(in_memory)
    Past("new", [(FIRST_CHECK, "high", 0.0)]).write(in_memory)
    costs = {row.video_id: row.estimated_cost_usd for row in make_plan(in_memory, NO_LIMITS, NOW)}
    assert costs == {"known": 0.5, "new": 0.5}


def test_a_repeated_tick_has_the_same_launches(in_memory: Warehouse) -> None:
    for number in range(4):
        Past(f"v{number}", [(FIRST_CHECK + timedelta(hours=number), "high", 0.0)]).write(in_memory)
    limits = RecheckLimits(videos=2, cost_usd=None)
    first = plan_night(in_memory, limits, NOW)
    assert [launch.video_id for launch in first] == ["v0", "v1"]
    # Its runs are in flight by now; others must not take their places.
    assert plan_night(in_memory, limits, NOW, held={"v0", "v1"}) == first


def test_the_view_shows_the_plan_of_the_next_tick_within_the_stored_limits(
    in_memory: Warehouse,
) -> None:
    Past("v", [(FIRST_CHECK, "high", 0.0)]).write(in_memory)
    tick = datetime(2100, 1, 1, 2, tzinfo=FIRST_CHECK.tzinfo)
    make_plan(in_memory, RecheckLimits(videos=0), NOW, next_tick=tick)
    (row,) = in_memory.query("SELECT decision, planned_for FROM recheck_plan").rows()
    assert row == ("over_limit", tick)
    make_plan(in_memory, RecheckLimits(videos=3), NOW, preview=True)
    assert in_memory.query("SELECT decision FROM recheck_plan").item() == "over_limit"


def test_the_plan_is_the_same_for_a_reader_in_any_time_zone(in_memory: Warehouse) -> None:
    Past("v", [(datetime.now(UTC) - timedelta(days=30), "high", 0.1)]).write(in_memory)
    ages = []
    with in_memory.connection() as connection:
        for zone in ("America/New_York", "Asia/Tokyo", "UTC"):
            connection.execute(f"SET TimeZone = '{zone}'")
            ages += connection.execute("SELECT round(age_days, 2) FROM recheck_plan").fetchall()
    assert ages == [(30.0,)] * 3
