from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.evaluation.judging.summary import (
    ScorePair,
    agreement,
    commonest_share,
    exact_agreement,
    rounded,
    weighted_kappa,
)
from factible_assets.evaluation.metrics.claims import spearman

PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), st.integers(0, 2)))
SEVEN: list[ScorePair] = [(0, 0), (0, 1), (1, 1), (1, 1), (2, 1), (2, 2), (2, 0)]


def test_the_three_measures_equal_values_computed_by_hand() -> None:
    # Judge: 2, 2, 3 of the scores 0, 1, 2; people: 2, 4, 1.
    # Observed squared differences: 0+1+0+0+1+0+4 = 6.
    # Expected: [1*(2*4 + 2*2 + 2*1 + 3*4) + 4*(2*1 + 3*2)] / 7 = (26 + 32) / 7 = 58/7.
    assert exact_agreement(SEVEN) == pytest.approx(4 / 7)
    assert weighted_kappa(SEVEN) == pytest.approx(1 - 6 / (58 / 7))
    # Ranks: judge 1.5, 1.5, 3.5, 3.5, 6, 6, 6; people 1.5, 4.5, 4.5, 4.5, 4.5, 7, 1.5; mean 4.
    # Covariances 6.25 - 1.25 - 0.25 - 0.25 + 1 + 6 - 5 = 6.5; squares 25 and 22.5.
    assert spearman(SEVEN) == pytest.approx(6.5 / math.sqrt(25.0 * 22.5))


def test_perfect_and_opposite_judges_reach_the_ends() -> None:
    same: list[ScorePair] = [(0, 0), (1, 1), (2, 2)]
    opposite: list[ScorePair] = [(0, 2), (1, 1), (2, 0)]
    assert [f(same) for f in (exact_agreement, weighted_kappa, spearman)] == [1.0, 1.0, 1.0]
    assert [f(opposite) for f in (weighted_kappa, spearman)] == [-1.0, -1.0]


def test_undefined_agreement_is_none() -> None:
    assert [f([]) for f in (exact_agreement, weighted_kappa, spearman, commonest_share)] == [
        None
    ] * 4
    constant: list[ScorePair] = [(2, 2), (2, 2), (2, 2)]
    assert exact_agreement(constant) == 1.0
    assert weighted_kappa(constant) is None
    assert spearman(constant) is None
    assert spearman([(1, 1)]) is None


def test_a_mean_of_several_scores_is_rounded_half_up() -> None:
    assert [rounded(each) for each in (0.0, 0.49, 0.5, 1.5, 2.0)] == [0, 0, 1, 2, 2]


def test_every_measure_has_n_an_interval_and_a_baseline() -> None:
    exact, kappa, ranks = agreement({"a": SEVEN[:3], "b": SEVEN[3:], "c": []})
    assert (exact.n, kappa.n, ranks.n) == (7, 7, 7)
    assert exact.interval is not None
    assert exact.interval.low <= 4 / 7 <= exact.interval.high
    assert exact.baseline == pytest.approx(4 / 7)
    assert kappa.baseline is None


def test_one_video_has_no_interval_of_agreement() -> None:
    assert all(each.interval is None for each in agreement({"a": SEVEN}))


@given(PAIRS)
def test_no_measure_leaves_its_range_or_depends_on_the_order(pairs: list[ScorePair]) -> None:
    for measure, low in ((exact_agreement, 0.0), (weighted_kappa, -1.0), (spearman, -1.0)):
        value = measure(pairs)
        assert measure(pairs[::-1]) == pytest.approx(value)
        assert value is None or low <= value <= 1.0


@given(PAIRS)
def test_kappa_equals_its_definition_by_matrices(pairs: list[ScorePair]) -> None:
    counts = np.zeros((3, 3))
    for judge, person in pairs:
        counts[rounded(judge), person] += 1
    weights = np.array([[(i - j) ** 2 for j in range(3)] for i in range(3)])
    expected = np.outer(counts.sum(1), counts.sum(0)) / max(1, len(pairs))
    spread = (weights * expected).sum()
    value = weighted_kappa(pairs)
    if spread:
        assert value == pytest.approx(1 - (weights * counts).sum() / spread)
    else:
        assert value is None
