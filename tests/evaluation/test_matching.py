from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from factible_assets.evaluation.matching import (
    Matcher,
    MatchingRule,
    Matrix,
    Pair,
    default_matcher,
    match_matrix,
)
from factible_assets.reasoners.embedded.embedder import Vectors

MATRICES = st.tuples(st.integers(0, 7), st.integers(0, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-1, 1, allow_nan=False))
)


def matrix(*rows: tuple[float, ...]) -> Matrix:
    return np.array(rows, dtype=np.float64)


def total(values: Matrix, pairs: Sequence[Pair]) -> float:
    return sum(float(values[pair]) for pair in pairs)


TRAP = matrix((0.9, 0.8), (0.85, 0.1))


def test_optimal_matching_gives_up_a_better_pair_for_two_good_ones() -> None:
    found = match_matrix(TRAP, threshold=0.7)
    assert found == ((0, 1), (1, 0))
    assert total(TRAP, found) == pytest.approx(1.65)


def test_a_pair_at_the_threshold_is_no_match() -> None:
    assert match_matrix(matrix((0.7,)), threshold=0.7) == ()


def test_a_matcher_states_its_rule() -> None:
    found = default_matcher().rule
    assert found == MatchingRule("optimal", "cosine of all-MiniLM-L6-v2-int8", 0.7)
    assert str(found) == "optimal, cosine of all-MiniLM-L6-v2-int8 above 0.70"


@given(MATRICES, st.floats(0, 1))
def test_every_matched_pair_is_above_the_threshold(values: Matrix, threshold: float) -> None:
    found = match_matrix(values, threshold)
    assert len(found) <= min(values.shape)
    for pair in found:
        assert values[pair] > threshold


@given(MATRICES, st.integers(0, 2**32 - 1))
def test_the_order_of_claims_does_not_change_the_optimum(values: Matrix, seed: int) -> None:
    random = np.random.default_rng(seed)
    shuffled = values[random.permutation(values.shape[0])][:, random.permutation(values.shape[1])]
    one = match_matrix(values, threshold=0.2)
    other = match_matrix(shuffled, threshold=0.2)
    assert total(values, one) == pytest.approx(total(shuffled, other))


def test_a_reworded_claim_matches_and_no_other() -> None:
    system = ["The Earth orbits the Sun once a year.", "Coffee contains caffeine."]
    gold = ["Bats are blind.", "Once a year, the Earth goes around the Sun."]
    matcher = default_matcher()
    assert matcher.match(system, gold) == ((0, 1),)
    assert matcher.match([], gold) == matcher.match(system, []) == ()


def test_each_text_is_embedded_once() -> None:
    seen: list[str] = []

    class Counting:
        name = "counting"

        def embed(self, texts: Sequence[str]) -> Vectors:
            seen.extend(texts)
            return np.eye(3, dtype=np.float32)[: len(texts)]

    matcher = Matcher(Counting())
    matcher.matrix(["a"], ["b", "a"])
    assert matcher.matrix(["a"], ["b", "a"]).tolist() == [[0.0, 1.0]]
    assert sorted(seen) == ["a", "b"]
