"""Spans, questions and summaries follow Raw Evidence, with its parameters."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.strategies import excerpts
from factible_assets.strategies.excerpts import (
    answerability,
    check_summary,
    distinct_questions,
    merged,
    select,
    spans,
)

FILLER = "lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod "


def test_spans_have_thirty_words_at_half_stride() -> None:
    assert spans(75) == [(0, 30), (15, 45), (30, 60), (45, 75)]
    assert spans(70) == [(0, 30), (15, 45), (30, 60), (45, 70)]
    assert spans(20) == [(0, 20)]
    assert spans(0) == []


@given(st.integers(0, 500), st.integers(2, 60))
def test_spans_leave_no_word_out_and_none_lies_in_another(words: int, size: int) -> None:
    found = spans(words, size)
    assert {place for start, end in found for place in range(start, end)} == {*range(words)}
    ends = [end for _, end in found]
    assert ends == sorted({*ends})


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda it: (it[0], it[0] + it[1]))
    )
)
def test_merged_ranges_are_apart_and_hold_the_same(ranges: list[tuple[int, int]]) -> None:
    found = merged(ranges)
    assert all(one[1] < two[0] for one, two in pairwise(found))
    held = {place for start, end in ranges for place in range(start, end)}
    assert {place for start, end in found for place in range(start, end)} == held


def test_the_best_span_is_widened_by_a_hundred_and_fifty_words_on_either_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (excerpts.KEPT_SPANS, excerpts.KEPT_DOCUMENTS) == (10, 4)
    monkeypatch.setattr(excerpts, "KEPT_SPANS", 1)
    text = FILLER * 40 + "Plastic bags were banned in San Francisco in 2007. " + FILLER * 40
    (found,) = select(["Did San Francisco ban plastic bags?"], {"a": text})
    assert found.text in text
    assert "banned in San Francisco" in found.text
    assert len(found.text.split()) == 30 + 2 * 150


def test_overlapping_spans_of_a_document_are_one_part_and_distant_ones_two() -> None:
    hit = "Plastic bags were banned in San Francisco. "
    near = select(["San Francisco plastic bags"], {"a": hit + FILLER * 5 + hit})
    assert excerpts.GAP not in near[0].text
    far = select(["San Francisco plastic bags"], {"a": hit + FILLER * 60 + hit})
    assert far[0].text.count(excerpts.GAP) == 1


def test_at_most_four_documents_are_kept_by_their_best_span_and_none_without_a_shared_word() -> (
    None
):
    documents = {
        str(number): FILLER * 5 + "plastic " * number + "bags banned" for number in range(1, 7)
    }
    found = select(["Were plastic bags banned?"], {**documents, "other": FILLER * 20})
    assert len(found) == 4
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert select(["Were plastic bags banned?"], {"other": FILLER}) == ()
    assert select(["anything"], {}) == ()


def test_scripts_without_spaces_are_compared_by_pairs_of_letters() -> None:
    honey, snow = (
        "\u8702\u871c\u53ef\u4ee5\u4fdd\u5b58",
        "\u5c71\u4e0a\u7684\u96ea\u5f88\u591a\u3002",
    )
    text = snow * 200 + f"{honey}\u5f88\u591a\u5e74\u3002" + snow * 200
    (found,) = select([f"{honey}\u5417\uff1f"], {"a": text, "b": "Honey keeps for years."})
    assert found.key == "a"
    assert honey in found.text
    assert len(found.text) < len(text) / 2


def test_questions_are_yes_or_no_and_distinct() -> None:
    asked = [
        "Did San Francisco ban plastic bags?",
        "Did  San Francisco ban plastic bags?",
        "Did San Francisco ban a plastic bag?",
        "Why did San Francisco ban plastic bags?",
        "San Francisco banned plastic bags.",
        "Did San Francisco ban plastic bags in 2007?",
        "Did San Francisco ban plastic bags in 2012?",
        "Did San Francisco not ban plastic bags?",
        "",
    ]
    assert distinct_questions(asked) == (asked[0], asked[5], asked[6], asked[7])


def test_at_most_ten_questions_are_kept() -> None:
    numbered = [f"Did {number} people fall ill?" for number in range(30)]
    assert len(distinct_questions(numbered)) == 10


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([], None),
        (["answered", "answered"], "answered"),
        (["answered", "partly"], "partly"),
        (["answered", "not"], "partly not"),
        (["partly", "not"], "partly not"),
        (["not", "not"], "not"),
    ],
)
def test_a_claim_is_answered_as_far_as_its_questions_are(
    questions: list[object], expected: str | None
) -> None:
    assert answerability(questions) == expected  # type: ignore[arg-type]


PASSAGE = (
    "A paper by Jonathan Klick found that emergency admissions rose by a quarter after the ban. "
    'The city said: "We do not see such a rise in our own data." Some 2,000,000 people live near.'
)


def test_a_summary_loses_the_sentences_whose_numbers_names_or_quotes_stand_nowhere() -> None:
    summary = (
        "Jonathan Klick found that admissions rose after the ban. They rose by 46 percent. "
        "The paper of Joshua Wright agrees. About two million people live there. "
        'The city answered "we do not see such a rise". It said "this is all wrong".'
    )
    found = check_summary(summary, PASSAGE)
    assert found is not None
    assert found[0] == (
        "Jonathan Klick found that admissions rose after the ban. About two million people live "
        'there. The city answered "we do not see such a rise".'
    )
    assert set(found[1]) >= {"46 percent", "Joshua", "Wright", "this is all wrong"}


def test_a_summary_that_judges_the_claim_loses_its_judgement() -> None:
    found = check_summary(
        "Admissions rose after the ban. Therefore the claim is supported by the paper.", PASSAGE
    )
    assert found == ("Admissions rose after the ban.", [])
    # A small model called a denial consistent with the claim.
    agreed = "Admissions rose after the ban. This is consistent with the claim that all went well."
    assert check_summary(agreed, PASSAGE) == ("Admissions rose after the ban.", [])
    reported = f"{PASSAGE} Officials reject the claim."
    found = check_summary("Officials reject the claim.", reported)
    assert found == ("Officials reject the claim.", [])


def test_an_empty_summary_is_no_evidence() -> None:
    assert check_summary(" ", PASSAGE) is None


def test_capital_letters_are_names_only_in_english() -> None:
    passage = "In 2007 San Francisco banned plastic bags in large supermarkets."
    german = "San Francisco verbot 2007 den Märkten die Ausgabe von Tüten aus Plastik."
    assert check_summary(german, passage) == (german, [])
    assert check_summary(german.replace("2007", "2012"), passage) == ("", ["2012"])
