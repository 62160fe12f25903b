from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.judging.judge import rubrics
from factible_assets.evaluation.judging.summary import figures, human_scores
from factible_assets.evaluation.matching import default_matcher
from factible_assets.records.tables import JudgementRow
from tests.evaluation import outcomes

MATCHER = default_matcher()


def row(video_id: str, claim_id: str, criterion: str, score: int | None) -> JudgementRow:
    told: dict[str, Any] = {"criterion": criterion, "score": score}
    return JudgementRow.model_construct(video_id=video_id, claim_id=claim_id, **told)


def test_means_are_normalised_and_failures_counted() -> None:
    rows = [
        row("a", "c1", "label_justification", 0),
        row("a", "c2", "label_justification", 1),
        row("b", "c3", "label_justification", 2),
        row("b", "c4", "label_justification", None),
    ]
    label, quality = figures(rows, rubrics(["label_justification", "claim_quality"])[::-1], {})
    assert (label.n, label.without_score, [*label.counts.values()]) == (3, 1, [1, 1, 1])
    assert label.mean_score == pytest.approx(1.0)
    assert label.mean_normalised == pytest.approx(0.5)
    assert label.interval is not None
    assert label.agreement == ()
    assert (quality.n, quality.mean_normalised, quality.interval) == (0, None, None)


def test_scores_of_people_belong_to_the_matched_system_claim() -> None:
    said = [("The moon is made of rock", 0.9, "supports"), ("Tea cures a cough", 0.5, "refutes")]
    scored = ClaimEntry(
        text="The moon is made of rock.",
        human_scores={"claim_quality": 2, "label_justification": 0},
    )
    outcome = replace(
        outcomes.outcome("v", said, None), truth=(ClaimEntry(text="Tea cures a cough"), scored)
    )
    first = outcome.claims[0].claim_id
    assert human_scores(outcome, MATCHER) == {
        (first, "claim_quality"): 2,
        (first, "label_justification"): 0,
    }
    assert human_scores(outcomes.outcome("v", said, None), MATCHER) == {}


def test_a_score_for_all_queries_of_a_claim_is_compared_with_the_judges_mean() -> None:
    rows = [
        row("a", "c1", "query_relevance", 2),
        row("a", "c1", "query_relevance", 1),
        row("a", "c2", "query_relevance", 0),
        row("a", "c3", "query_relevance", 0),
    ]
    people = {"a": {("c1", "query_relevance"): 2, ("c2", "query_relevance"): 1}}
    (found,) = figures(rows, rubrics(["query_relevance"]), people)
    exact, kappa, ranks = found.agreement
    assert (exact.value, exact.n, exact.baseline) == (0.5, 2, 0.5)
    assert kappa.value == pytest.approx(1 - 1 / 3)
    assert ranks.value == pytest.approx(1.0)
