from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.greedy import GreedyMatcher
from benchmarks.reproduction import Value, printed_rows, values_of
from factible_assets.reasoners.embedded.embedder import minilm
from tests.shared_data import shared_data

SETTINGS = (1, 3, 5, 7, 10, 15)
WALL, FISH, BULL = "The wall is long.", "Goldfish remember.", "Bulls hate red."
TRUTH = f"""claims:
- {{claim_text: {WALL}, is_checkable: true, importance: 0.9, verdict: {{overall_stance: SUPPORTS}}}}
- {{claim_text: {BULL}, is_checkable: true, importance: 0.4, verdict: {{overall_stance: REFUTES}}}}
"""
EVALUATION: dict[str, Any] = {
    "claim_extraction": {
        "precision": 0.5,
        "recall": 0.4,
        "f1_score": 0.5,
        "mean_average_precision": 0.5,
        "recall_at_important": 0.0,
        "importance_weighted_coverage": 0.4 / 1.3,
        "importance_mae": 0.1,
        "matched_claims": [{"sys_text": BULL, "gt_text": BULL, "sys_importance": 0.5}],
        "extra_claims": [FISH],
    },
    "verdict_accuracy": {
        "stance_accuracy": 0.0,
        "verdict_errors": [{"claim": BULL, "gt_verdict": "REFUTES", "sys_verdict": "UNCLEAR"}],
    },
    "query_generation": {"evidence_retrieval_success_rate": 0.5, "avg_sources_per_query": 0.5},
    "evidence_search": {
        "avg_evidence_per_claim": 1.0,
        "source_reliability_distribution": {"high": 2},
    },
    "end_to_end": {"total_time_seconds": 61.5, "total_cost_usd": None},
}
OUTPUTS = {
    "extracted_claims": {
        "claims": [{"text": FISH, "importance": 0.9}, {"text": BULL, "importance": 0.5}]
    },
    "final_output": {
        "claim_reports": [
            {"claim_text": FISH, "overall_stance": "unclear", "evidence_by_stance": {}},
            {
                "claim_text": BULL,
                "overall_stance": "unclear",
                "evidence_by_stance": {"unclear": [{"reliability": {"rating": "high"}}] * 2},
            },
        ]
    },
}


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One video at two claims: one of two annotated claims is found, and its stance is wrong."""
    write(tmp_path / "ground_truth" / "v.yaml", TRUTH)
    write(tmp_path / "eval_results" / "max_claims_2" / "v.json", EVALUATION)
    run = tmp_path / "runs" / "max_claims_2" / "20250101_000000_v"
    write(run / "outputs.json", OUTPUTS)
    write(run / "metrics.json", {"timing": {"total_seconds": 61.5}})
    write(run / "config.json", {"max_queries_per_claim": 2})
    return tmp_path


def differing(values: dict[str, list[Value]]) -> set[str]:
    return {name for name, listed in values.items() if any(not each.is_same for each in listed)}


@pytest.mark.parametrize("matcher", [None, GreedyMatcher(minilm())])
def test_values_are_recomputed_from_a_run_and_a_wrong_one_is_found(
    folder: Path, matcher: GreedyMatcher | None
) -> None:
    values = values_of(folder, 2, matcher)
    assert differing(values) == {"recall"}
    assert values["recall"] == [Value(0.4, 0.5)]
    assert values["cost in USD"] == []


def test_without_the_run_the_recorded_matches_give_claims_and_stances(folder: Path) -> None:
    (folder / "runs" / "max_claims_2" / "20250101_000000_v" / "outputs.json").unlink()
    values = values_of(folder, 2, None)
    assert values["precision"] == [Value(0.5, 0.5)]
    assert values["stance accuracy"] == [Value(0.0, 0.0)]
    for name in ("MAP over hits", "evidence per claim", "seconds"):
        assert values[name][0].recomputed is None


def test_printed_figures_are_compared_only_with_all_videos() -> None:
    videos = {"precision": [Value(0.822, None)] * 30, "recall": [Value(0.2, None)] * 29}
    assert list(printed_rows({3: videos})) == [
        ("12", "3", "precision", "mean", "0.822", "0.822", "yes")
    ]


def test_the_published_evaluation_is_reproduced_from_the_recorded_matches() -> None:
    values = [values_of(shared_data("factible"), setting, None) for setting in SETTINGS]
    every = [value for each in values for listed in each.values() for value in listed]
    assert sum(value.is_same for value in every) == 1656
    assert all(value.is_same or value.recomputed is None for value in every)
