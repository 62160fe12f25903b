"""The acts of reviewers in the warehouse: kept as they are, and folded by SQL as by the flow."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from factible_assets.records.tables import ReviewAction
from factible_assets.stages.reviews import corrections_by_claim
from tests.stages.test_reviews import SUBJECTS, act, name
from tests.warehouse.samples import asset_rows, fact_check, stamp, verdict
from warehouse.bookkeeping import CarriedClaim, read_actions, read_carried, record_run
from warehouse.errors import WarehouseIntegrityError
from warehouse.store import Warehouse

HISTORY = (
    act(1, "add_query", value="alpha", seeks_opposite=True, query_type="context"),
    act(2, "edit_query", target=name("alpha"), value="beta", reason="'; DROP TABLE claims; --"),
    act(3, "remove_query", target=name("gamma")),
    act(4, "edit_query", target=name("beta"), value="gamma"),
    act(5, "block_source", target="a.example", reviewer="<b>Ben</b>"),
    act(6, "add_source", target=SUBJECTS[0], value=f"{SUBJECTS[0]}?utm_source=x"),
    act(7, "block_source", target=SUBJECTS[3]),
    act(8, "unblock_source", target=SUBJECTS[3]),
    act(9, "assess", value="mixed"),
    act(10, "note", value="Second thoughts.\u202e"),
)


def test_actions_are_read_back_as_they_were_written_and_in_order(in_memory: Warehouse) -> None:
    in_memory.write_rows({"review_actions": [*HISTORY[5:], *HISTORY[:5]]})
    assert read_actions(in_memory, HISTORY[0].video_id) == list(HISTORY)
    assert read_actions(in_memory, "another") == []


def test_actions_are_added_all_or_none_and_never_replaced(in_memory: Warehouse) -> None:
    in_memory.write_rows({"review_actions": HISTORY[:1]})
    with pytest.raises(WarehouseIntegrityError):
        in_memory.write_rows({"review_actions": [HISTORY[1], HISTORY[0]]})
    assert read_actions(in_memory, HISTORY[0].video_id) == [HISTORY[0]]


@pytest.mark.parametrize("count", range(len(HISTORY) + 1))
def test_the_view_agrees_with_the_domain_code(in_memory: Warehouse, count: int) -> None:
    actions: tuple[ReviewAction, ...] = HISTORY[:count]
    in_memory.write_rows({"review_actions": actions})
    rows = in_memory.query("SELECT kind, subject, effect FROM standing_reviews").rows()
    found = corrections_by_claim(actions).get(HISTORY[0].claim_id)
    expected: set[tuple[str, str, str]] = set()
    if found is not None:
        expected |= {("query", query.query_id, "asked") for query in found.queries}
        expected |= {("query", each, "not asked") for each in found.removed}
        effects = {"block_source": "blocked", "add_source": "added"}
        expected |= {("source", key, effects[act.action]) for key, act in found.sources.items()}
        expected |= {
            ("assessment", action.claim_id, str(action.value))
            for action in actions
            if action.action == "assess"
        }
    assert set(rows) == expected
    assert len(rows) == len(expected)


def test_a_withdrawn_ruling_is_not_in_force(in_memory: Warehouse) -> None:
    signed = act(1, "sign", value="Refuted", stance="refutes", target="factible", reason="No.")
    rulings = "SELECT ruling, stands FROM signed_rulings"
    in_memory.write_rows({"review_actions": [signed]})
    assert in_memory.query(rulings).rows() == [("Refuted", True)]
    in_memory.write_rows({"review_actions": [act(2, "sign")]})
    assert in_memory.query(rulings).rows() == [("Refuted", False)]


def test_the_first_run_that_applies_an_action_is_recorded(in_memory: Warehouse) -> None:
    in_memory.write_rows({"review_actions": HISTORY})
    video_id = HISTORY[0].video_id
    held = CarriedClaim("claim-v-2", "run-1", datetime(2026, 1, 1, tzinfo=UTC))
    for run in (1, 2):
        in_memory.write_assets(
            video_id,
            {},
            stamp=stamp(run),
            also=lambda connection, run=run: record_run(  # type: ignore[misc]
                connection, video_id, stamp(run), applied=["a1", "a2"][:run], carried=[held]
            ),
        )
    rows = in_memory.query("SELECT action_id, run_id FROM review_history ORDER BY acted_at").rows()
    assert rows[:3] == [("a1", "run-1"), ("a2", "run-2"), ("a3", None)]
    assert read_carried(in_memory, video_id, "run-2") == {"claim-v-2": held}


def check_one_claim_again(warehouse: Warehouse) -> None:
    """Store a second run of the video, which copies the rows of its first claim."""
    held = CarriedClaim("claim-v-1", "run-1", stamp(1).checked_at)
    warehouse.write_assets(
        "v",
        fact_check("v"),
        stamp=stamp(2),
        also=lambda connection: record_run(connection, "v", stamp(2), applied=[], carried=[held]),
    )


def test_a_run_for_one_claim_does_not_renew_the_video(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    before = in_memory.query("SELECT last_checked_at FROM recheck_plan").item()
    check_one_claim_again(in_memory)
    assert in_memory.query("SELECT last_checked_at FROM recheck_plan").item() == before
    checks = in_memory.query("SELECT run_id FROM evidence_checks WHERE claim_id = 'claim-v-1'")
    assert checks["run_id"].to_list() == ["run-1"]
    assert in_memory.query("SELECT count(*) FROM verdict_changes").item() == 0


def test_copied_rows_of_a_claim_count_once(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    check_one_claim_again(in_memory)
    times = "SELECT checked_at, latest_checked_at FROM verdicts ORDER BY claim_rank"
    assert in_memory.query(times).rows() == [(stamp(run).checked_at,) * 2 for run in (1, 2)]
    refuted = verdict("v", 1).model_copy(update={"stance": "refutes"})
    in_memory.write_assets("v", {"verdicts": asset_rows(refuted)}, stamp=stamp(3))
    changes = in_memory.query("SELECT previous_run_id, run_id FROM verdict_changes")
    assert changes.rows() == [("run-1", "run-3")]
    verdicts = in_memory.query("SELECT verdicts FROM runs ORDER BY run_id")
    assert verdicts["verdicts"].to_list() == [2, 1, 1]
    answers = "SELECT answers FROM latency_by_stage WHERE stage = $stage"
    # Three searches. One page, retrieved once for both runs, and two model calls.
    assert in_memory.query(answers, {"stage": "search_hits"}).item() == 3
    assert in_memory.query(answers, {"stage": "evidence"}).item() == 3
    searched = in_memory.query("SELECT claim_id FROM retrieval_stability")
    assert searched["claim_id"].to_list() == ["claim-v-2"]


def test_the_next_night_applies_waiting_actions_on_queries(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    plan = "SELECT with_queries FROM recheck_plan"
    assert in_memory.query(plan).item() is False
    mine = act(1, "add_query", value="alpha").model_copy(
        update={"video_id": "v", "claim_id": "claim-v-1"}
    )
    in_memory.write_rows({"review_actions": [mine]})
    assert in_memory.query(plan).item() is True
