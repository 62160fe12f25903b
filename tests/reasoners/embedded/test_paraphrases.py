"""Support in other words, where there are sentence embeddings, and what is not taken for it."""

from __future__ import annotations

import pytest

from factible_assets.reasoners.embedded.embedder import (
    Embedder,
    OnnxEmbedder,
    TfidfEmbedder,
)
from factible_assets.reasoners.embedded.evidence import read_page
from factible_assets.reasoners.embedded.paraphrases import ParaphraseRules
from factible_assets.reasoners.embedded.scoped_rules import ScopedRules
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt

CLAIM = "Levels of carbon dioxide in the air have increased since the industrial revolution."
SAME = "Atmospheric concentrations of carbon dioxide have risen since industrialisation began."
AROUND = "Many gases are found in air. Scientists have measured them for a long time."


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return OnnxEmbedder()


def read(claim: str, text: str, embedder: Embedder, title: str = "A page") -> EvidenceDraft | None:
    page = PageExcerpt("https://a.example/", title, "", text)
    return read_page(claim, page, embedder, ParaphraseRules(embedder))


def test_the_same_in_other_words_supports_and_is_quoted(minilm: Embedder) -> None:
    page = PageExcerpt("https://a.example/", "A page", "", f"{AROUND} {SAME}")
    alone = read_page(CLAIM, page, minilm, ScopedRules())
    assert alone is None or alone.stance == "unclear"
    draft = read(CLAIM, f"{AROUND} {SAME}", minilm)
    assert draft is not None
    assert (draft.stance, draft.quotes) == ("supports", (SAME,))
    assert 0.5 <= draft.stance_confidence <= 0.8
    assert "in other words" in draft.summary


@pytest.mark.parametrize(
    "sentence",
    [
        "Atmospheric levels of carbon dioxide have not risen since the industrial revolution.",
        "Atmospheric concentrations of carbon dioxide have fallen since the industrial revolution.",
        "Have atmospheric concentrations of carbon dioxide risen since the industrial revolution?",
        "“Atmospheric levels of carbon dioxide have risen since the industrial revolution.”",
        "It is a myth that atmospheric carbon dioxide has risen since the industrial revolution.",
        "Some say that atmospheric carbon dioxide may have risen since the industrial revolution.",
        "Atmospheric concentrations of carbon dioxide since the industrial revolution",
    ],
    ids=["denied", "turned", "asked", "quoted", "called a myth", "hedged", "named"],
)
def test_what_is_not_plainly_stated_is_not_support(sentence: str, minilm: Embedder) -> None:
    draft = read(CLAIM, f"{AROUND} {sentence}", minilm)
    assert draft is None or draft.stance != "supports"


@pytest.mark.parametrize(
    ("answer", "stance"), [("Yes.", "supports"), ("No, that is wrong.", "refutes")]
)
def test_an_answered_question_in_other_words_takes_a_side(
    answer: str, stance: str, minilm: Embedder
) -> None:
    asked = "Have atmospheric levels of carbon dioxide risen since the industrial revolution?"
    draft = read(CLAIM, f"{AROUND} {asked} {answer}", minilm)
    assert draft is not None
    assert (draft.stance, draft.quotes) == (stance, (f"{asked} {answer}",))


def test_a_page_on_which_the_rules_hear_a_side_keeps_it(minilm: Embedder) -> None:
    denied = f"It is false that {CLAIM[0].lower()}{CLAIM[1:]}"
    draft = read(CLAIM, f"{SAME} {AROUND} {denied}", minilm)
    assert draft is not None
    assert draft.stance == "refutes"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("About 40% of adults drink coffee daily.", "Roughly 75% of adults have coffee each day."),
        ("Portugal raised its tax on petrol.", "Spain increased the levy on gasoline."),
    ],
    ids=["another number", "another name"],
)
def test_other_numbers_and_names_are_not_the_same(
    claim: str, sentence: str, minilm: Embedder
) -> None:
    draft = read(claim, sentence, minilm)
    assert draft is None or draft.stance != "supports"


def test_word_counts_hear_no_other_words() -> None:
    draft = read(CLAIM, f"{AROUND} {SAME}", TfidfEmbedder())
    assert draft is None or draft.stance == "unclear"


def test_pages_without_sentences_are_silent(minilm: Embedder) -> None:
    assert ParaphraseRules(minilm).read(CLAIM, (), title="") == []
    assert "paraphrases" in ParaphraseRules(minilm).name
