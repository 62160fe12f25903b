"""Finding the words of a claim in raw text."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from factible_assets.stages.localisation import MIN_SCORE, Localiser, TextMatch, fold, similarity

TALK = (
    "So today we look at sugar. Many parents believe that sugar makes their children hyperactive, "
    "and yet a dozen blinded trials found nothing of the sort. Bats, you see, are not blind."
)

words = st.text(
    st.sampled_from("abcdeéßﬁŁ漢字のe\u0301🙂\u00a0\u200d.,!-'\n \t"), min_size=1, max_size=8
)
texts = st.lists(words, min_size=1, max_size=40).map(" ".join)


def locate(text: str, claim: str) -> TextMatch | None:
    return Localiser(text).locate(claim)


def test_a_reworded_claim_is_placed_on_the_words_that_were_said() -> None:
    place = locate(TALK, "Sugar makes children hyperactive")
    assert place is not None
    assert TALK[place.char_start : place.char_end] == "sugar makes their children hyperactive"
    assert place.score == pytest.approx(
        similarity("Sugar makes children hyperactive", "sugar makes their children hyperactive")
    )


def test_an_absent_claim_has_no_place() -> None:
    assert locate(TALK, "Quarterly GDP rose 4.5% by volume") is None
    assert locate(TALK, " ") is None
    assert locate("", "anything") is None
    assert locate("... --- ...", "anything") is None


def test_a_claim_longer_than_the_text_is_compared_with_all_of_it() -> None:
    place = locate("bats are not blind", "It is said that bats are not blind")
    assert place is not None
    assert (place.char_start, place.char_end) == (0, 18)


@pytest.mark.parametrize(
    ("text", "claim", "said"),
    [
        (
            "Nobody \ufb01nds the \u201cde\ufb01nite\u201d proof here.",
            "finds the definite proof",
            "\ufb01nds the \u201cde\ufb01nite\u201d proof",
        ),
        ("Das Cafe\u0301 war\u00a0gut besucht.", "Café WAR gut", "Cafe\u0301 war\u00a0gut"),
        (
            "🙂 Water boils — always — at 100°C 🙂",
            "water boils always at 100°c",
            "Water boils — always — at 100°C",
        ),
        ("全ての犬は吠える動物です。", "犬は吠える", "犬は吠える"),
    ],
)
def test_offsets_index_the_raw_text_whatever_its_characters(
    text: str, claim: str, said: str
) -> None:
    place = locate(text, claim)
    assert place is not None
    assert text[place.char_start : place.char_end].strip("🙂 .") == said


@given(texts, st.data())
def test_a_claim_cut_from_the_text_is_found_where_its_words_stand(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    claim = text[start:end]
    assume(claim.strip())
    place = locate(text, claim)
    assert place is not None
    assert place.score == 1.0
    assert text[place.char_start : place.char_end] == claim.strip()
    assert place.char_start <= start + len(claim) - len(claim.lstrip())


@given(texts, texts)
def test_every_place_lies_in_the_text_and_has_the_score_it_states(text: str, claim: str) -> None:
    place = locate(text, claim)
    if place is None:
        return
    assert 0 <= place.char_start < place.char_end <= len(text)
    found = text[place.char_start : place.char_end]
    assert place.score >= MIN_SCORE
    assert found == claim.strip() or similarity(found, claim) == pytest.approx(place.score)


plain_words = st.lists(
    st.sampled_from(
        ["sugar", "salt", "makes", "made", "children", "happy", "the", "of", "never", "always"]
    ),
    min_size=1,
    max_size=25,
)


@given(plain_words, plain_words)
def test_no_window_of_the_text_is_more_similar_than_the_one_found(
    said: list[str], claimed: list[str]
) -> None:
    text, claim = " ".join(said), " ".join(claimed)
    assume(claim not in text)
    length = len(claimed)
    sizes = [size for size in range(max(1, length - 2), length + 3) if size <= len(said)]
    best = max(
        SequenceMatcher(None, " ".join(said[first : first + size]), claim, autojunk=False).ratio()
        for size in sizes or [len(said)]
        for first in range(len(said) - size + 1)
    )
    place = locate(text, claim)
    assert (place.score if place else 0.0) == pytest.approx(best if best >= MIN_SCORE else 0.0)


def test_one_text_serves_any_number_of_claims() -> None:
    localiser = Localiser(TALK)
    assert localiser.locate("bats are not blind") == locate(TALK, "bats are not blind")
    assert localiser.locate("a dozen blinded trials") == locate(TALK, "a dozen blinded trials")


def test_folding_keeps_letters_and_digits_only() -> None:
    assert fold("“Ｃａｆé-42!”") == "café42"
    assert fold("ﬁnal") == "final"
    assert fold("—") == ""
