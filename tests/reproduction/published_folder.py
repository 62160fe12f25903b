"""Writes a small folder in the published layout, whose values can be checked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VIDEO = "aB3-_5xYz01"
RUN = f"20251214_010203_{VIDEO}"

GOLD = [
    ("The Great Wall cannot be seen from the Moon.", 0.9, "SUPPORTS"),
    ("Goldfish remember for months.", 0.8, "SUPPORTS"),
    ("Bulls charge at red because of its colour.", 0.4, "REFUTES"),
    ("Lightning strikes some towers every year.", 0.3, "SUPPORTS"),
]
SYSTEM = [
    ("Goldfish remember for months.", 0.9),
    ("Toads give people warts.", 0.6),
    ("Bulls charge at red because of its colour.", 0.5),
]
PAIRS = [(0, 1), (2, 2)]
"""Positions of what is the same claim in both lists."""

SOURCES = [["high", "high"], [], ["medium", "high"]]
"""The ratings of each report's sources."""

STANCES = ["supports", "unclear", "supports"]


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def evaluation() -> dict[str, Any]:
    """The evaluator's values: two of three claims are among four annotated ones."""
    return {
        "video_id": VIDEO,
        "timestamp": "2025-12-14T16:12:07",
        "evaluated_run_dir": "runs/somewhere",
        "ground_truth_dir": "ground_truth",
        "claim_extraction": {
            "precision": 2 / 3,
            "recall": 2 / 4,
            "f1_score": 4 / 7,
            "true_positives": 2,
            "false_positives": 1,
            "false_negatives": 2,
            "mean_average_precision": (1 / 1 + 2 / 3) / 2,
            "recall_at_important": 1 / 2,
            "importance_weighted_coverage": 1.2 / 2.4,
            "matched_claims": [
                {
                    "sys_text": SYSTEM[row][0],
                    "gt_text": GOLD[column][0],
                    "sys_importance": SYSTEM[row][1],
                    "gt_importance": GOLD[column][1],
                    "importance_error": 0.1,
                }
                for row, column in PAIRS
            ],
            "missed_claims": [GOLD[0][0], GOLD[3][0]],
            "extra_claims": [SYSTEM[1][0]],
            "importance_mae": 0.1,
            "claim_quality_avg": 0.8,
        },
        "verdict_accuracy": {
            "overall_accuracy": 1 / 2,
            "stance_accuracy": 1 / 2,
            "correct_verdicts": 1,
            "total_verdicts": 2,
            "per_class_f1": {},
            "confusion_matrix": [],
            "verdict_errors": [
                {"claim": GOLD[2][0], "gt_verdict": "REFUTES", "sys_verdict": "SUPPORTS"}
            ],
            "explanation_quality_avg": 0.0,
        },
        "end_to_end": {
            "claim_coverage": 2 / 4,
            "verdict_accuracy": 1 / 2,
            "evidence_quality_avg": 2 / 3,
            "total_cost_usd": 0.25,
            "total_time_seconds": 61.5,
            "claim_quality_avg": None,
        },
        "query_generation": {
            "query_claim_relevance_avg": 0.9,
            "evidence_retrieval_success_rate": 2 / 3,
            "avg_sources_per_query": 4 / 6,
        },
        "evidence_search": {
            "evidence_relevance_avg": 0.9,
            "source_reliability_distribution": {"high": 3, "medium": 1},
            "avg_evidence_per_claim": 4 / 3,
        },
        "ground_truth_claims_count": 4,
        "system_claims_count": 3,
    }


def outputs() -> dict[str, Any]:
    claims = [{"text": text, "importance": value, "confidence": 0.9} for text, value in SYSTEM]
    reports = [
        {
            "claim_text": text,
            "overall_stance": stance,
            "evidence_by_stance": {
                stance: [{"reliability": {"rating": rating, "score": 0.8}} for rating in ratings]
            },
            "total_sources": len(ratings),
        }
        for (text, _), stance, ratings in zip(SYSTEM, STANCES, SOURCES, strict=True)
    ]
    return {
        "extracted_claims": {"claims": claims, "total_count": len(claims)},
        # Reports stand in another order than claims, as in the real ones.
        "final_output": {"claim_reports": reports[::-1]},
    }


def truth() -> str:
    lines = [f"video_id: {VIDEO}", "video_title: Beliefs", "claims:"]
    for text, importance, stance in GOLD:
        lines += [
            f"- claim_text: {json.dumps(text)}",
            "  is_checkable: true",
            f"  importance: {importance}",
            "  verdict:",
            f"    overall_stance: {stance}",
            "    reasoning: Known.",
        ]
    return "\n".join(lines) + "\n"


def write_published(folder: Path, *, with_run: bool = True) -> Path:
    """Write one video at one setting, with or without the run that was evaluated."""
    write_json(folder / "eval_results" / "max_claims_3" / f"{VIDEO}.json", evaluation())
    place = folder / "ground_truth"
    place.mkdir(exist_ok=True)
    (place / f"{VIDEO}.yaml").write_text(truth(), encoding="utf-8")
    if with_run:
        run = folder / "runs" / "max_claims_3" / RUN
        write_json(run / "outputs.json", outputs())
        metrics = {"timing": {"total_seconds": 61.5}, "llm": {"total_cost_usd": 0.25}}
        write_json(run / "metrics.json", metrics)
        write_json(run / "config.json", {"max_queries_per_claim": 2})
    return folder
