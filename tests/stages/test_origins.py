"""Which sources tell one story, and the weight of several sources together."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages.ids import content_hash
from factible_assets.stages.origins import (
    StoryIndex,
    claim_probability,
    greatest_independent_weight,
    independent_weight,
    label_origins,
    shingles,
)
from tests.stages.test_verdict import a_source
from tests.stages.world import own_words

WIRE = own_words("wire")
COPY = f"From our correspondents: {WIRE} All rights reserved."
OTHER = own_words("other")
BOTH = f"{WIRE} {OTHER}"
STORIES = StoryIndex({content_hash(text): text for text in (WIRE, COPY, OTHER, BOTH)})


def test_a_copy_with_another_frame_shares_the_origin_and_another_story_does_not() -> None:
    wire, copy, other = (
        a_source(name, text=text) for name, text in (("a", WIRE), ("b", COPY), ("c", OTHER))
    )
    assert STORIES.share_origin(wire, copy)
    assert not STORIES.share_origin(wire, other)


def test_two_pages_of_one_domain_share_the_origin() -> None:
    one, two = (
        a_source(name, text=text, domain="d.example") for name, text in (("a", WIRE), ("b", OTHER))
    )
    assert STORIES.share_origin(one, two)


def test_files_are_told_apart_by_their_texts() -> None:
    rows = [
        a_source(name, text=text, domain="local-files.invalid")
        for name, text in (("a", WIRE), ("b", COPY), ("c", OTHER))
    ]
    assert STORIES.share_origin(rows[0], rows[1])
    assert not STORIES.share_origin(rows[0], rows[2])
    labels = [row.origin for row in label_origins(rows, STORIES)]
    assert labels[0] == labels[1] != labels[2]


def test_sources_without_texts_are_told_apart_by_their_domains() -> None:
    assert not STORIES.share_origin(a_source("a"), a_source("b"))


def test_a_page_that_quotes_two_stories_does_not_make_them_one() -> None:
    rows = [a_source("a", text=WIRE), a_source("b", text=OTHER), a_source("c", text=BOTH)]
    assert independent_weight(rows, lambda _: 1, STORIES) == 2


def test_labels_name_the_first_source_of_a_story() -> None:
    rows = [a_source("a", text=WIRE), a_source("b", text=COPY), a_source("c", text=OTHER)]
    labelled = label_origins([*rows, a_source("d", None)], STORIES)
    assert [row.origin for row in labelled] == ["a.example", "a.example", "c.example", None]


def test_a_short_text_is_one_shingle_and_no_text_is_none() -> None:
    assert len(shingles("three short words")) == 1
    assert shingles("...") == frozenset()
    assert shingles("Three SHORT words!") == shingles("three short words")


graphs = st.integers(1, 9).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 9), min_size=size, max_size=size),
        st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=16),
    )
)


def linked_by(size: int, edges: set[tuple[int, int]]) -> dict[int, frozenset[int]]:
    both_ways = edges | {(other, node) for node, other in edges}
    return {
        node: frozenset(
            other for other in range(size) if other != node and (node, other) in both_ways
        )
        for node in range(size)
    }


@given(graphs)
def test_the_heaviest_independent_set_is_the_heaviest_of_all_subsets(
    graph: tuple[list[int], set[tuple[int, int]]],
) -> None:
    weights, edges = graph
    linked = linked_by(len(weights), edges)
    best = max(
        sum(weights[node] for node in subset)
        for size in range(len(weights) + 1)
        for subset in combinations(range(len(weights)), size)
        if not any(other in linked[node] for node, other in combinations(subset, 2))
    )
    assert greatest_independent_weight(linked, dict(enumerate(weights))) == best


@given(graphs)
def test_one_source_more_adds_at_most_its_weight_and_takes_nothing_away(
    graph: tuple[list[int], set[tuple[int, int]]],
) -> None:
    weights, edges = graph
    size = len(weights)
    whole = greatest_independent_weight(linked_by(size, edges), dict(enumerate(weights)))
    fewer = {edge for edge in edges if size - 1 not in edge}
    part = greatest_independent_weight(linked_by(size - 1, fewer), dict(enumerate(weights[:-1])))
    assert part <= whole <= part + weights[-1]


def test_a_hundred_copies_are_weighed_at_once() -> None:
    rows = [a_source(f"s{number}", text=WIRE if number % 2 else COPY) for number in range(100)]
    assert independent_weight(rows, lambda _: 1, STORIES) == 1


# --- Correlated readings ------------------------------------------------------------------------

leans = st.floats(-1, 1)
pages = st.tuples(leans, st.floats(0, 1))
correlations = st.floats(0, 1)


def test_without_pages_the_probability_is_one_half() -> None:
    assert claim_probability([]) == 0.5


def test_one_reliable_page_gives_its_own_probability() -> None:
    assert claim_probability([(0.7, 1.0)]) == pytest.approx(0.85)


def test_pages_that_agree_are_surer_than_one_and_less_sure_than_independent_ones() -> None:
    six = [(0.4, 1.0)] * 6
    one, independent = claim_probability(six[:1]), claim_probability(six, shared=0.0)
    assert one < claim_probability(six, shared=0.5) < independent
    assert independent > 0.99
    assert claim_probability(six, shared=1.0) == pytest.approx(0.7)


def test_pages_of_both_sides_cancel() -> None:
    assert claim_probability([(0.85, 1.0), (-0.85, 1.0)]) == pytest.approx(0.5)


def test_a_page_of_little_weight_moves_little() -> None:
    assert claim_probability([(0.9, 0.1)]) < 0.6


@given(st.lists(pages, max_size=8), pages, leans, correlations)
def test_a_chance_is_a_probability_that_grows_with_each_pages_support(
    read: list[tuple[float, float]], page: tuple[float, float], other: float, shared: float
) -> None:
    found = claim_probability([*read, page], shared)
    more = (max(page[0], other), page[1])
    assert 0 <= found <= claim_probability([*read, more], shared) + 1e-12 <= 1 + 1e-12
