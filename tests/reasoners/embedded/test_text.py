"""Words, stems and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.text import (
    content_stems,
    find_numbers,
    fold,
    stem,
    tokenise,
)


@given(st.text(max_size=200))
def test_every_word_is_found_at_its_own_offsets(text: str) -> None:
    for word in tokenise(text):
        assert fold(text[word.start : word.end]) == word.norm


def test_abbreviations_figures_and_contractions_are_one_word_each() -> None:
    words = [word.norm for word in tokenise("In the U.S. 3.5% don’t pay $1,000 for long-term care")]
    assert " ".join(words) == "in the u.s. 3.5% don't pay $1,000 for long-term care"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("vaccines", "vaccine"),
        ("warming", "warmed"),
        ("cities", "city"),
        ("studies", "study"),
        ("mammals", "mammal"),
        ("families", "family"),
        ("businesses", "business"),
        ("hundreds", "hundred"),
        ("lays", "lay"),
        ("agreed", "agrees"),
    ],
)
def test_inflections_share_a_stem(left: str, right: str) -> None:
    assert stem(left) == stem(right)


def test_a_billion_is_no_bill() -> None:
    assert stem("billion") != stem("bill")


def test_content_stems_leave_function_words_out_and_keep_repetitions() -> None:
    assert content_stems("the cat and the cats") == ["cat", "cat"]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("two hundred and fifty thousand people", 250_000, "plain"),
        ("7.1 billion people", 7.1e9, "plain"),
        ("45 per cent of them", 45, "percent"),
        ("about 45% of them", 45, "percent"),
        ("it cost $3.99", 3.99, "money"),
        ("forty-five dollars", 45, "money"),
        ("in 2021", 2021, "year"),
        ("the 21st century", 21, "ordinal"),
    ],
)
def test_numbers_are_read_in_figures_and_in_words(text: str, value: float, kind: str) -> None:
    (number,) = find_numbers(text)
    assert number.value == pytest.approx(value)
    assert number.kind == kind


def test_a_number_knows_the_word_that_it_counts_unless_a_clause_ends_first() -> None:
    assert find_numbers("at least 70 countries")[0].unit == stem("countries")
    assert find_numbers("it fell in 1999, voters said")[0].unit is None


def test_one_is_a_number_only_before_a_unit_of_per_cent() -> None:
    assert find_numbers("one of them") == []
    assert find_numbers("one percent of them")[0].value == 1


def test_separate_number_words_are_not_added_up() -> None:
    assert [number.value for number in find_numbers("two three people")] == [2, 3]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("fifteen twenty minutes", [15, 20]),
        ("between one million and two million people", [1e6, 2e6]),
        ("five million and two dogs", [5e6, 2]),
    ],
)
def test_two_numbers_beside_each_other_stay_two(text: str, values: list[float]) -> None:
    assert [number.value for number in find_numbers(text)] == values
