"""Sentences, windows and relevance of a page."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.text import tokenise
from factible_assets.reasoners.readers.page_text import page_sentences
from factible_assets.reasoners.readers.passages import (
    LONGEST_WINDOW,
    SHORTEST_WINDOW,
    bm25_scores,
    select_passages,
    windows,
)

ARTICLE = """Tides and the Moon
The Moon pulls on the water of the oceans and raises a bulge on the side that faces it. A second
bulge forms on the far side. As Dr. Smith of the U.S. survey explains, a coast passes through both
in the course of a day.
We use cookies to improve your experience on our website.
Tides are highest at full and new Moon, when the Sun pulls along the same line. Sailors call them
spring tides, although they have nothing to do with the season. Neap tides fall in between."""

PROSE = " ".join(
    ["The harbour was busy in the morning and the boats came in one after another."] * 15
)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_every_sentence_is_the_raw_text_between_its_offsets(text: str) -> None:
    sentences = page_sentences(text)
    assert all(text[s.start : s.end] == s.text == s.text.strip() for s in sentences)
    assert all(a.end <= b.start for a, b in pairwise(sentences))


@given(st.lists(st.sampled_from(["Rain falls.", "Why?", "e.g.", "word", "\n", "a,"]), max_size=200))
def test_no_word_of_a_page_is_lost_between_its_sentences(parts: list[str]) -> None:
    text = " ".join(parts)
    kept = [word.norm for s in page_sentences(text) for word in tokenise(s.text)]
    assert kept == [word.norm for word in tokenise(text)]


def test_abbreviations_do_not_end_a_sentence_and_line_breaks_do() -> None:
    texts = [
        s.text
        for s in page_sentences(
            "On tides\nDr. Smith of the U.S. Navy agreed. So did J. Doe. Take vitamin C. Rest."
        )
    ]
    assert texts == [
        "On tides",
        "Dr. Smith of the U.S. Navy agreed.",
        "So did J. Doe.",
        "Take vitamin C.",
        "Rest.",
    ]


def test_windows_hold_25_to_60_words_on_sentence_boundaries() -> None:
    text = ARTICLE + "\n" + PROSE
    found = windows(page_sentences(text))
    lengths = [len(tokenise(text[w.start : w.end])) for w in found]
    assert all(SHORTEST_WINDOW <= length <= LONGEST_WINDOW for length in lengths[:-1])


def test_a_menu_without_a_full_stop_is_cut_into_windows() -> None:
    found = windows(page_sentences("menu item " * 500))
    assert max(len(tokenise(w.text)) for w in found) <= LONGEST_WINDOW


def test_bm25_prefers_the_rarer_term_and_the_shorter_document() -> None:
    documents = [["tide", "moon"], ["tide", "sea"], ["tide", "moon", "sun", "sea", "sand", "salt"]]
    scores = bm25_scores(["moon", "tide"], documents)
    assert scores[0] > scores[2] > scores[1] > 0
    assert bm25_scores(["moon"], []) == []
    assert bm25_scores(["absent"], documents) == [0.0, 0.0, 0.0]


def test_passages_about_the_claim_come_first_and_the_snippet_stands_apart() -> None:
    chosen = select_passages(
        "Spring tides occur at full and new Moon",
        PROSE + "\n" + ARTICLE,
        minilm(),
        snippet="A tide table.",
    )
    assert "highest at full and new Moon" in chosen.passages[0].text
    assert len(chosen.passages) <= 3
    assert [each.text for each in chosen.snippet] == ["A tide table."]


def test_an_unrelated_page_has_no_relevance() -> None:
    chosen = select_passages("Vitamin C prevents colds", PROSE, minilm())
    assert chosen.passages == ()
    assert chosen.relevance == 0.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_relevance_stays_between_zero_and_one(claim: str, text: str) -> None:
    chosen = select_passages(claim, text, minilm(), title=text, snippet=text)
    assert 0.0 <= chosen.relevance <= 1.0
