"""The matcher behind the published results."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.greedy import GreedyMatcher, greedy_matches
from factible_assets.evaluation.matching import Matrix, match_matrix
from factible_assets.reasoners.embedded.embedder import minilm
from tests.evaluation.test_matching import MATRICES, TRAP, matrix, total


def test_greedy_matching_lets_the_first_claim_choose_and_the_second_go_without() -> None:
    assert greedy_matches(TRAP, 0.7) == ((0, 0),)


def test_of_equal_annotations_greedy_takes_the_first() -> None:
    assert greedy_matches(matrix((0.8, 0.8)), 0.5) == ((0, 0),)


def test_a_pair_at_the_threshold_is_no_match() -> None:
    assert greedy_matches(matrix((0.7,)), 0.7) == greedy_matches(np.zeros((0, 3)), 0.7) == ()


def test_the_matcher_states_its_rule() -> None:
    rule = GreedyMatcher(minilm()).rule
    assert str(rule) == "greedy, cosine of all-MiniLM-L6-v2-int8 above 0.70"


@given(MATRICES, st.floats(0, 1))
def test_optimal_matching_is_never_worse_than_greedy(values: Matrix, threshold: float) -> None:
    optimal = total(values, match_matrix(values, threshold))
    assert optimal >= total(values, greedy_matches(values, threshold)) - 1e-9
