from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from factible_assets.evaluation.matching import (
    Assignment,
    ClaimMatcher,
    EmbeddingSimilarity,
    Matcher,
    Matching,
    Matrix,
    Similarity,
    TfidfSimilarity,
    match_matrix,
)
from factible_assets.reasoners.embedded.embedder import TfidfEmbedder, Vectors

MATRICES = st.tuples(st.integers(0, 7), st.integers(0, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-1, 1, allow_nan=False))
)
ASSIGNMENTS: tuple[Assignment, ...] = ("greedy", "optimal")
LEXICAL: list[Similarity] = [TfidfSimilarity()]


def pairs(matching: Matching) -> list[tuple[int, int]]:
    return [(pair.system, pair.gold) for pair in matching.pairs]


def matrix(*rows: tuple[float, ...]) -> Matrix:
    return np.array(rows, dtype=np.float64)


def total(matching: Matching) -> float:
    return sum(pair.similarity or 0.0 for pair in matching.pairs)


TRAP = matrix((0.9, 0.8), (0.85, 0.1))


def test_greedy_matching_lets_the_first_claim_choose_and_the_second_go_without() -> None:
    assert pairs(match_matrix(TRAP, name="m", threshold=0.7, assignment="greedy")) == [(0, 0)]


def test_optimal_matching_gives_up_a_better_pair_for_two_good_ones() -> None:
    matching = match_matrix(TRAP, name="m", threshold=0.7)
    assert pairs(matching) == [(0, 1), (1, 0)]
    assert total(matching) == pytest.approx(1.65)


def test_a_pair_at_the_threshold_is_no_match() -> None:
    for assignment in ASSIGNMENTS:
        found = match_matrix(matrix((0.7,)), name="m", threshold=0.7, assignment=assignment)
        assert pairs(found) == []


def test_of_equal_annotations_greedy_takes_the_first() -> None:
    found = match_matrix(matrix((0.8, 0.8)), name="m", threshold=0.5, assignment="greedy")
    assert pairs(found) == [(0, 0)]


def test_a_matching_says_by_which_rule_it_was_made() -> None:
    found = match_matrix(TRAP, name="measure", threshold=0.7, assignment="greedy")
    assert found.matcher == Matcher("greedy", "measure", 0.7)
    assert str(found.matcher) == "greedy, measure above 0.70"


@given(MATRICES, st.floats(-1, 1))
def test_optimal_matching_is_never_worse_than_greedy(values: Matrix, threshold: float) -> None:
    greedy = match_matrix(values, name="m", threshold=threshold, assignment="greedy")
    optimal = match_matrix(values, name="m", threshold=threshold)
    shift = min(threshold, 0.0)

    def gain(matching: Matching) -> float:
        return total(matching) - shift * len(matching.pairs)

    assert gain(optimal) >= gain(greedy) - 1e-9


@given(MATRICES, st.floats(-1, 1), st.sampled_from(ASSIGNMENTS))
def test_every_matched_pair_is_above_the_threshold(
    values: Matrix, threshold: float, assignment: Assignment
) -> None:
    found = match_matrix(values, name="m", threshold=threshold, assignment=assignment)
    assert len(found.pairs) <= min(values.shape)
    for pair in found.pairs:
        assert pair.similarity == values[pair.system, pair.gold] > threshold


@given(MATRICES, st.integers(0, 2**32 - 1))
def test_the_order_of_claims_does_not_change_the_optimum(values: Matrix, seed: int) -> None:
    random = np.random.default_rng(seed)
    shuffled = values[random.permutation(values.shape[0])][:, random.permutation(values.shape[1])]
    one = match_matrix(values, name="m", threshold=0.2)
    other = match_matrix(shuffled, name="m", threshold=0.2)
    assert total(one) == pytest.approx(total(other))


@pytest.mark.parametrize("similarity", LEXICAL, ids=lambda each: each.name)
def test_a_lexical_measure_matches_a_reworded_claim_and_no_other(similarity: Similarity) -> None:
    system = ["The Earth orbits the Sun once a year.", "Coffee contains caffeine."]
    gold = ["Bats are blind.", "Once a year, the Earth goes around the Sun."]
    assert pairs(ClaimMatcher(similarity).match(system, gold)) == [(0, 1)]


@pytest.mark.parametrize(
    "similarity", [*LEXICAL, EmbeddingSimilarity(TfidfEmbedder())], ids=lambda each: each.name
)
def test_without_claims_there_is_nothing_to_match(similarity: Similarity) -> None:
    assert ClaimMatcher(similarity).match([], ["Bats are blind."]).pairs == ()
    assert ClaimMatcher(similarity).match(["Bats are blind."], []).pairs == ()


@given(st.lists(st.text(max_size=12), max_size=4), st.lists(st.text(max_size=12), max_size=4))
def test_lexical_similarities_lie_between_zero_and_one(system: list[str], gold: list[str]) -> None:
    for similarity in LEXICAL:
        found = similarity.matrix(system, gold)
        assert found.shape == (len(system), len(gold))
        assert ((found >= 0) & (found <= 1 + 1e-6)).all()


def test_each_text_is_embedded_once() -> None:
    seen: list[str] = []

    class Counting:
        name = "counting"

        def embed(self, texts: Sequence[str]) -> Vectors:
            seen.extend(texts)
            return np.eye(3, dtype=np.float32)[: len(texts)]

    similarity = EmbeddingSimilarity(Counting())
    similarity.matrix(["a"], ["b", "a"])
    assert similarity.matrix(["a"], ["b", "a"]).tolist() == [[0.0, 1.0]]
    assert sorted(seen) == ["a", "b"]
