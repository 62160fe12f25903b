"""The stable views: their names, and a comment on every column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warehouse.samples import (
    asset_rows,
    claim,
    fact_check,
    llm_call,
    media_finding,
    prior_fact_check,
    rating,
    stamp,
    write_asset,
)
from warehouse.store import Warehouse

STABLE = {
    "current_verdicts",
    "evidence_chain",
    "verdicts",
    "source_scoreboard",
    "verdict_changes",
    "recheck_plan",
    "costs",
    "runs",
    "outages",
    "latency_by_stage",
    "model_usage",
    "failures",
    "corpus_quality",
    "retrieval_stability",
}


def test_the_stable_views_exist_and_explain_themselves(empty_file: Path) -> None:
    found = Warehouse(empty_file).query(
        "SELECT view_name, comment, column_count FROM duckdb_views() WHERE NOT internal"
    )
    told = {view: (comment or "", columns) for view, comment, columns in found.rows()}
    assert STABLE - told.keys() == set()
    assert [view for view in STABLE if len(told[view][0]) <= 20 or told[view][1] < 5] == []


def test_no_view_at_all_has_a_column_without_a_comment(empty_file: Path) -> None:
    silent = Warehouse(empty_file).query(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND comment IS NULL"
    )
    assert silent.rows() == []


def test_latency_has_a_row_per_stage_over_all_its_runs(in_memory: Warehouse) -> None:
    for run, seconds in ((1, 2.0), (2, 4.0), (3, 9.0)):
        write_asset(
            in_memory,
            "claims",
            "v",
            [claim("v")],
            stamp=stamp(run),
            code_version="1",
            duration_seconds=seconds,
        )
    (row,) = in_memory.query("SELECT * FROM latency_by_stage").iter_rows(named=True)
    assert (row["stage"], row["videos"], row["runs"]) == ("claims", 1, 3)
    assert (row["median_seconds"], row["longest_seconds"], row["total_seconds"]) == (4.0, 9.0, 15.0)
    assert row["latest_seconds"] == 9.0
    assert (row["answers"], row["median_answer_seconds"]) == (0, None)


def test_latency_counts_the_services_that_a_stage_waited_for(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    waited = dict(
        in_memory.query("SELECT stage, answers FROM latency_by_stage ORDER BY stage").iter_rows()
    )
    assert waited["search_hits"] == in_memory.query("SELECT count(*) FROM searches").item() > 0
    assert waited["evidence"] >= in_memory.query("SELECT count(*) FROM pages").item() > 0


def test_model_usage_tells_paid_tokens_from_kept_answers(in_memory: Warehouse) -> None:
    paid = llm_call("v", "claims")
    kept = paid.model_copy(update={"call_id": "kept", "cache_hit": True, "cost_usd": 0.0})
    again = paid.model_copy(update={"call_id": "again", "attempt": 2, "outcome": "invalid"})
    calls = asset_rows(claim("v"), paid, kept, again)
    in_memory.write_assets("v", {paid.stage: calls}, stamp=stamp(1))
    (row,) = in_memory.query("SELECT * FROM model_usage").iter_rows(named=True)
    assert (row["calls"], row["cache_hits"], row["repetitions"], row["invalid"]) == (3, 1, 1, 1)
    assert row["input_tokens"] == 2 * paid.input_tokens
    assert row["cost_usd"] == pytest.approx(2 * paid.cost_usd)
    # If no row has the cost of the first answer, the cached one has it.
    elsewhere = {"stage": "queries", "cache_hit": True, "request_id": "r"}
    in_memory.write_assets(
        "v", {"queries": asset_rows(paid.model_copy(update=elsewhere))}, stamp=stamp(2)
    )
    bought = "SELECT input_tokens, cost_usd FROM model_usage WHERE stage = 'queries'"
    assert in_memory.query(bought).rows() == [(paid.input_tokens, paid.cost_usd)]
    assert (row["runs"], row["videos"], row["price_known"]) == (1, 1, paid.price_known)


def test_a_run_has_its_verdicts_and_costs(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    (row,) = in_memory.query("SELECT * FROM runs").iter_rows(named=True)
    assert row["run_id"] == stamp(1).run_id
    assert row["verdicts"] == in_memory.query("SELECT count(*) FROM verdict_history").item() == 2
    assert row["cost_usd"] == in_memory.query("SELECT coalesce(sum(cost_usd), 0) FROM costs").item()
    assert {"claims", "verdicts"} <= set(row["assets"])
    worded = in_memory.query("SELECT claim, video_title FROM current_verdicts ORDER BY claim")
    told = "SELECT text, title FROM current_claims JOIN current_videos USING (video_id) ORDER BY 1"
    assert worded.rows() == in_memory.query(told).rows()


def test_outages_are_counted_by_service_and_day(in_memory: Warehouse) -> None:
    call = llm_call("v", "claims")
    lost = call.model_copy(
        update={"call_id": "lost", "outcome": "infra_error", "reason": "it is down"}
    )
    for run in (1, 2):
        rows = asset_rows(claim("v"), call, lost)
        in_memory.write_assets("v", {call.stage: rows}, stamp=stamp(run))
    # One look-up with two reviews.
    reviews = [
        prior_fact_check("v", rank).model_copy(update={"rank": rank, "claim_id": "claim-v-1"})
        for rank in (1, 2)
    ]
    gone = {"status": "infra_error", "reason": "it is down"}
    lost_look_up = prior_fact_check("v", 3).model_copy(
        update=gone | dict.fromkeys(["url", "canonical_url", "similarity"])
    )
    # The registry told no age, because the domain is listed.
    lost_age = rating("v").model_copy(update={"domain": "new.example", "status": "infra_error"})
    sets = {
        "search_hits": asset_rows(*reviews, lost_look_up),
        "reliability_ratings": asset_rows(rating("v"), lost_age),
        "media": asset_rows(media_finding("v", 1).model_copy(update=gone), media_finding("v", 2)),
    }
    in_memory.write_assets("v", sets, stamp=stamp(1))
    others = "SELECT kind, failures, attempts FROM outages WHERE kind <> 'model' ORDER BY kind"
    assert in_memory.query(others).rows() == [
        ("fact checks", 1, 2),
        ("picture", 1, 1),
        ("ratings", 1, 1),
    ]
    found = in_memory.query(
        "SELECT kind, service, failures, attempts, share, videos, reason FROM outages "
        "WHERE kind = 'model'"
    ).rows()
    days = in_memory.query("SELECT count(DISTINCT checked_at::DATE) FROM llm_calls").item()
    service = f"{call.provider}/{call.model}"
    each = 2 // days
    assert found == [("model", service, each, 2 * each, 0.5, 1, "it is down")] * days
