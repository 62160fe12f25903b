"""One probability from what one reader says of several pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.origins import PageOdds, chance

probabilities = st.floats(0, 1)
weights = st.floats(0, 1)
correlations = st.floats(0, 1)


@st.composite
def pages(draw: st.DrawFn) -> PageOdds:
    bearing, share = draw(probabilities), draw(probabilities)
    return PageOdds(bearing * share, bearing * (1 - share), draw(weights))


def test_without_pages_nothing_is_known() -> None:
    assert chance([]) == 0.5


def test_one_reliable_page_is_believed_as_far_as_it_says() -> None:
    assert chance([PageOdds(0.8, 0.1)]) == pytest.approx(0.85)


def test_pages_that_agree_are_surer_than_one_and_less_sure_than_independent_ones() -> None:
    six = [PageOdds(0.7, 0.3)] * 6
    one, independent = chance(six[:1]), chance(six, shared=0.0)
    assert one < chance(six, shared=0.5) < independent
    assert independent > 0.99
    assert chance(six, shared=1.0) == pytest.approx(0.7)


def test_pages_of_both_sides_cancel() -> None:
    assert chance([PageOdds(0.9, 0.05), PageOdds(0.05, 0.9)]) == pytest.approx(0.5)


def test_a_page_of_little_weight_moves_little() -> None:
    assert chance([PageOdds(0.9, 0.0, 0.1)]) < 0.6


@given(st.lists(pages(), max_size=8), pages(), correlations)
def test_a_chance_is_a_probability_that_grows_with_each_pages_support(
    read: list[PageOdds], page: PageOdds, shared: float
) -> None:
    found = chance([*read, page], shared)
    more = PageOdds(page.supports + page.refutes, 0.0, page.weight)
    assert 0 <= found <= chance([*read, more], shared) + 1e-12 <= 1 + 1e-12
