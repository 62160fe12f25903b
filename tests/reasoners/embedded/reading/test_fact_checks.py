"""Quoted claims and the ratings beside them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.page_text import page_sentences
from factible_assets.reasoners.embedded.reading.fact_checks import find_fact_checks, read_rating
from factible_assets.reasoners.embedded.reading.passages import windows


def test_a_box_is_a_window_of_its_own_and_its_neighbours_keep_their_words() -> None:
    text = "An introduction.\n- Claim\n- Bats are blind\n- Rating\n- False\nBats see quite well."
    found = windows(page_sentences(text))
    assert [window.check is not None for window in found] == [False, True, False]
    check = found[1].check
    assert check is not None
    assert (check.claimed, check.rating) == ("Bats are blind", "false")


def test_a_quoted_claim_without_a_rating_is_found_but_not_rated() -> None:
    (check,) = find_fact_checks(page_sentences("Claim: Bats are blind\nA bat is a mammal."))
    assert check.rating is None


def test_a_myth_needs_no_rating() -> None:
    (check,) = find_fact_checks(page_sentences("Myth: Bats are blind.\nThey see quite well."))
    assert check.rating == "false"


@pytest.mark.parametrize(
    "text", ["Claims fell last year.", "The claim was paid.", "Statement of work"]
)
def test_other_uses_of_the_words_are_no_quoted_claim(text: str) -> None:
    assert find_fact_checks(page_sentences(text)) == []


def test_an_unknown_rating_is_none() -> None:
    assert read_rating("Four llamas") is None


@given(
    st.lists(st.sampled_from(["Claim", "Claim: a b", "Rating", "False.", "Verdict: true", "x y"]))
)
def test_boxes_are_in_order_and_never_overlap(lines: list[str]) -> None:
    sentences = page_sentences("\n".join(lines))
    checks = find_fact_checks(sentences)
    assert all(a.last < b.first for a, b in pairwise(checks))
    kept = [sentence for window in windows(sentences) for sentence in window.sentences]
    assert kept == sentences
