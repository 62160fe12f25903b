from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared import grouped
from factible_assets.evaluation.measures import STANCE_MEASURES
from factible_assets.evaluation.metrics.stances import (
    Judgement,
    accuracy,
    as_majority,
    brier,
    confusion_matrix,
    expected_calibration_error,
    f1_by_class,
    macro_f1,
    majority_brier,
    majority_class,
    reliability_diagram,
)
from factible_assets.records.stances import STANCES


def judged(
    gold: str, predicted: str | None, sure: float | None = None, video: str = "v"
) -> Judgement:
    return Judgement(video, gold, predicted, sure)


SAMPLE = [
    judged("supports", "supports", 0.9, "a"),
    judged("supports", "supports", 0.8, "a"),
    judged("supports", "refutes", 0.6, "b"),
    judged("refutes", "refutes", 0.7, "b"),
    judged("mixed", "supports", 0.4, "c"),
    judged("refutes", None, None, "c"),
]

STANCE = st.sampled_from(list(STANCES))
JUDGEMENTS = st.lists(
    st.builds(
        Judgement,
        st.sampled_from("abc"),
        STANCE,
        st.one_of(st.none(), STANCE),
        st.one_of(st.none(), st.floats(0, 1)),
    ),
    max_size=20,
)


def test_an_outage_is_no_wrong_answer() -> None:
    assert accuracy(SAMPLE).value == 3 / 5
    assert confusion_matrix(SAMPLE).unanswered == 1


def test_the_majority_baseline_uses_the_same_judgements() -> None:
    assert majority_class(SAMPLE) == "supports"
    assert accuracy(as_majority(SAMPLE)).value == 3 / 5


def test_macro_f1_is_the_mean_over_classes_that_occur() -> None:
    # supports: 2 right, 3 said, 3 gold; refutes: 1 right, 2 said, 1 gold; mixed: never said.
    expected = {"mixed": 0.0, "refutes": 2 / 3, "supports": 2 / 3}
    assert f1_by_class(SAMPLE) == pytest.approx(expected)
    assert macro_f1(SAMPLE) == pytest.approx(4 / 9)
    # Always "supports": F1 of 6/8 for it, 0 for the other two.
    assert macro_f1(as_majority(SAMPLE)) == pytest.approx(0.25)


def test_the_confusion_matrix_has_a_row_for_each_annotated_stance() -> None:
    found = confusion_matrix(SAMPLE)
    assert found.labels == tuple(STANCES)
    assert found.counts == ((2, 1, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0))


def test_the_brier_score_squares_the_error_of_the_confidence() -> None:
    expected = (0.1**2 + 0.2**2 + 0.6**2 + 0.3**2 + 0.4**2) / 5
    assert brier(SAMPLE).value == pytest.approx(expected)
    assert majority_brier(SAMPLE) == pytest.approx(0.6 * 0.4)


def test_the_reliability_diagram_compares_confidence_with_accuracy() -> None:
    sure = [judged("supports", said, at) for said, at in (("supports", 0.91), ("refutes", 0.93))]
    unsure = judged("mixed", "supports", 0.44)
    filled = {each.low: each for each in reliability_diagram([*sure, unsure]) if each.n}
    assert [*filled] == [0.4, 0.9]
    assert (filled[0.4].n, filled[0.4].confidence, filled[0.4].accuracy) == (1, 0.44, 0.0)
    assert (filled[0.9].n, filled[0.9].accuracy) == (2, 0.5)
    assert filled[0.9].confidence == pytest.approx(0.92)
    # One of three answers is off by 0.44, the other two by 0.42 on average.
    expected = (0.44 + 2 * 0.42) / 3
    assert expected_calibration_error([*sure, unsure]).value == pytest.approx(expected)


def test_full_confidence_falls_into_the_last_bin() -> None:
    diagram = reliability_diagram([judged("mixed", "mixed", 1.0)])
    assert [each.n for each in diagram] == [0] * 9 + [1]


def test_without_answers_nothing_is_defined() -> None:
    silent = [judged("supports", None)]
    assert accuracy(silent).value is None
    assert macro_f1(silent) is None
    assert majority_class(silent) is None
    assert brier(silent).value is None
    assert majority_brier(silent) is None
    assert expected_calibration_error(silent).value is None


@given(JUDGEMENTS)
def test_every_metric_lies_between_zero_and_one(judgements: list[Judgement]) -> None:
    for value in (
        accuracy(judgements).value,
        macro_f1(judgements),
        brier(judgements).value,
        expected_calibration_error(judgements).value,
    ):
        assert value is None or 0 <= value <= 1


@given(JUDGEMENTS)
def test_the_confusion_matrix_counts_every_judgement(judgements: list[Judgement]) -> None:
    found = confusion_matrix(judgements)
    assert sum(map(sum, found.counts)) + found.unanswered == len(judgements)
    right = sum(found.counts[index][index] for index in range(len(STANCES)))
    assert accuracy(judgements).numerator == right


@given(JUDGEMENTS)
def test_the_majority_class_is_at_least_as_accurate_as_any_constant(
    judgements: list[Judgement],
) -> None:
    best = accuracy(as_majority(judgements)).value
    for stance in STANCES:
        constant = [judged(each.gold, stance) for each in judgements if each.predicted]
        value = accuracy(constant).value
        assert value is None or (best is not None and value <= best)


def test_corpus_figures_carry_their_baseline_and_interval() -> None:
    figures = {
        (figure.name, figure.averaging): figure
        for measure in STANCE_MEASURES
        for figure in measure.of_groups(grouped(SAMPLE))
    }
    pooled = figures["stance accuracy", "micro"]
    assert (pooled.value, pooled.n, pooled.baseline) == (0.6, 5, 0.6)
    assert pooled.interval is not None
    over_videos = figures["stance accuracy", "macro"]
    assert over_videos.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert over_videos.n == 3
    assert figures["Brier score", "micro"].baseline == pytest.approx(0.24)
    assert figures["macro-F1", "micro"].baseline == pytest.approx(0.25)
