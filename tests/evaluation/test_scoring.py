"""Scoring of outcomes: every metric, and undefined ones."""

from __future__ import annotations

import pytest

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.evaluation.outcomes import UNLISTED, VideoOutcome, group_by_corpus
from factible_assets.evaluation.scoring import Evaluation, score
from factible_assets.evaluation.tables import UNDEFINED, document, figures_markdown
from factible_assets.wording import number
from tests.evaluation.outcomes import call, made, outcome

MATCHER = default_matcher()
MOON = ("The moon is made of rock", 0.9, "supports")
CHEESE = ("Cheese is made of sugar", 0.8, "refutes")
BEES = ("Bees never sleep at night", 0.3, "refutes")
CARS = ("Cars were invented by ancient Romans", 0.2, "refutes")


def evaluate(*outcomes: VideoOutcome) -> Evaluation:
    return score(outcomes, matcher=MATCHER, bootstrap=200)


def figure(evaluation: Evaluation, name: str, averaging: str = "macro") -> Figure:
    found = evaluation.figure(name, averaging)
    assert found is not None, name
    return found


def two_videos() -> Evaluation:
    return evaluate(
        outcome("one", [MOON, CARS], [MOON, CHEESE]),
        outcome("two", [(*BEES[:2], "supports"), MOON], [BEES, MOON, CHEESE]),
    )


def test_claims_are_scored_macro_and_micro_with_n() -> None:
    evaluation = two_videos()
    assert figure(evaluation, "precision").value == pytest.approx((1 / 2 + 2 / 2) / 2)
    assert figure(evaluation, "precision").n == 2
    micro = figure(evaluation, "precision", "micro")
    assert micro.value == pytest.approx(3 / 4)
    assert (micro.n, micro.unit) == (4, "extracted claims")
    assert figure(evaluation, "recall", "micro").value == pytest.approx(3 / 5)
    assert figure(evaluation, "F1", "micro").value == pytest.approx(2 * 3 / (4 + 5))
    assert figure(evaluation, "MAP over hits").value == pytest.approx(1.0)
    assert figure(evaluation, "recall@important", "micro").value == pytest.approx(2 / 4)


def test_a_figure_over_videos_has_an_interval_and_claims_have_a_trivial_baseline() -> None:
    precision = figure(two_videos(), "precision")
    assert precision.interval is not None
    assert precision.interval.low <= 0.75 <= precision.interval.high
    assert precision.baseline is not None


def test_stances_are_scored_on_matched_claims_against_the_majority() -> None:
    evaluation = two_videos()
    accuracy = figure(evaluation, "stance accuracy", "micro")
    assert accuracy.value == pytest.approx(2 / 3)
    assert accuracy.n == 3
    assert accuracy.baseline == pytest.approx(2 / 3)
    assert evaluation.confusion.counts[1][0] == 1
    own = {each.name: each.value for each in evaluation.per_video["two"]}
    assert own["stance accuracy"] == pytest.approx(1 / 2)
    assert sum(each.n for each in evaluation.reliability) == 3


def test_a_claim_that_failed_counts_as_a_failure_and_in_no_metric_of_quality() -> None:
    evaluation = evaluate(outcome("one", [(*MOON[:2], None)], [MOON]))
    assert figure(evaluation, "stance accuracy", "micro").value is None
    assert evaluation.confusion.unanswered == 1
    assert figure(evaluation, "complete verdicts").value == 0.0


def test_without_annotations_only_metrics_without_annotation_are_defined() -> None:
    evaluation = evaluate(outcome("one", [MOON], None), outcome("two", [CARS], None))
    for name, info in CATALOGUE.items():
        for found in evaluation.figures:
            if found.name == name and info.family in {"claims", "stances"}:
                assert found.value is None, found
                assert found.n == 0
                assert found.interval is None
    assert figure(evaluation, "retrieval success rate").value == 1.0
    assert figure(evaluation, "quote grounding rate", "micro").value == 1.0
    assert figure(evaluation, "seconds of claims").value == 1.5
    assert evaluation.annotated == 0
    assert evaluation.precision_recall == ()


def test_a_video_without_annotation_changes_no_figure_that_needs_one() -> None:
    annotated = outcome("one", [MOON, CARS], [MOON, CHEESE])
    alone, beside = evaluate(annotated), evaluate(annotated, outcome("two", [BEES], None))
    assert figure(alone, "precision").value == figure(beside, "precision").value
    assert (figure(beside, "precision").n, figure(beside, "evidence per claim").n) == (1, 2)


def test_an_asset_that_did_not_run_leaves_its_metrics_undefined_and_not_zero() -> None:
    only_claims = outcome(
        "one", [MOON], [MOON], sets=made({"transcripts": 1.0, "claims": 2.0}),
        queries=(), evidence=(), page_texts=(), verdicts=(),
    )  # fmt: skip
    evaluation = evaluate(only_claims)
    assert figure(evaluation, "precision").value == 1.0
    for name in (
        "retrieval success rate",
        "evidence per claim",
        "quote grounding rate",
        "complete verdicts",
        "seconds of verdicts",
        "infrastructure failure rate",
    ):
        assert figure(evaluation, name).value is None, name
    assert figure(evaluation, "stance accuracy").value is None


def test_a_video_that_makes_no_claims_has_undefined_recall_and_wrong_extractions() -> None:
    evaluation = evaluate(outcome("one", [MOON], []))
    assert figure(evaluation, "precision").value == 0.0
    assert figure(evaluation, "recall").value is None


def test_precision_and_recall_are_given_over_max_claims() -> None:
    points = two_videos().precision_recall
    assert [point.max_claims for point in points] == [1, 2]
    assert points[0].precision == pytest.approx(1.0)
    assert points[1].precision == pytest.approx(3 / 4)
    assert points[1].recall == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert points[1].videos == 2


def test_costs_add_up_by_stage_and_model_and_are_undefined_without_a_price() -> None:
    paid = [call("one", cost=0.03), call("one", cost=0.02)]
    other = call("two", cost=0.01).model_copy(update={"stage": "verdicts"})
    evaluation = evaluate(
        outcome("one", [MOON], None, llm_calls=tuple(paid)),
        outcome("two", [MOON], None, llm_calls=(other,)),
    )
    assert evaluation.costs == pytest.approx({"claims, small": 0.05, "verdicts, small": 0.01})
    assert figure(evaluation, "cost in USD").value == pytest.approx(0.03)
    assert figure(evaluation, "input tokens").value == pytest.approx(150)
    unpriced = evaluate(outcome("one", [MOON], None, llm_calls=(call("one", known=False),)))
    assert figure(unpriced, "cost in USD").value is None
    assert figure(unpriced, "input tokens").value == 100


def test_the_matcher_and_the_bootstrap_are_part_of_the_result() -> None:
    evaluation = two_videos()
    assert str(evaluation.matcher) == "optimal, cosine of all-MiniLM-L6-v2-int8 above 0.70"
    assert evaluation.resamples == 200
    assert evaluation == two_videos()


def test_every_metric_of_the_catalogue_is_reported_for_the_corpus_and_each_video() -> None:
    evaluation = two_videos()
    assert {each.name for each in evaluation.figures} == set(CATALOGUE)
    for figures in evaluation.per_video.values():
        assert [each.name for each in figures] == list(CATALOGUE)


def test_nothing_to_score_is_undefined_throughout() -> None:
    assert all(each.value is None for each in evaluate().figures)


def test_undefined_is_written_as_undefined_and_never_as_zero() -> None:
    assert number(None, UNDEFINED) == UNDEFINED
    assert number(0.0) == "0.000"
    table = figures_markdown(evaluate(outcome("one", [MOON], None)))
    assert "| precision | macro | undefined | – | – | 0 | videos |" in table
    figures = document(evaluate(outcome("one", [MOON], None)))["figures"]
    assert figures[0]["value"] is None


def test_videos_that_no_corpus_lists_are_a_group_of_their_own() -> None:
    listed = outcome("one", [MOON], None)
    named = listed.video.model_copy(update={"corpus": "beliefs"})
    groups = group_by_corpus(
        [outcome("two", [MOON], None), VideoOutcome(videos=[named])], CorporaReading()
    )
    assert {name: len(group) for name, group in groups.items()} == {"beliefs": 1, UNLISTED: 1}
