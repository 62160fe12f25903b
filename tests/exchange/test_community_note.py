"""Signed rulings as notes for X."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.errors import FactibleError
from factible_assets.exchange.community_note import LINK_CHARACTERS, MOST_CHARACTERS, community_note
from tests.report import samples


def note(reason: str) -> tuple[str, str]:
    """Return the words and the link of the note for a ruling with this reason."""
    ruling = samples.ruling(0, stance="supports", reason=reason)
    data = samples.report_data(reviews=(ruling,))
    words, _, link = community_note(data, ruling.claim_id).rpartition("\n")
    return words, link


def test_a_note_has_the_signed_reason_and_the_best_source_for_the_ruling() -> None:
    words, link = note("Honey keeps.\nSealed jars were tested.")
    assert words == "Honey keeps. Sealed jars were tested."
    assert "a.example" in link, "its rating is the highest of those that agree"


def test_a_long_reason_ends_with_a_whole_sentence_if_one_fits() -> None:
    words, _ = note(f"The first sentence. {'word ' * 100}")
    assert words == "The first sentence."
    words, _ = note("word " * 100)
    assert words.endswith("word…")


@given(st.text(min_size=1, max_size=400))
def test_no_note_is_longer_than_x_allows(reason: str) -> None:
    words, link = note(reason)
    assert len(words) + 1 + LINK_CHARACTERS <= MOST_CHARACTERS
    assert "\n" not in words
    assert link.startswith("http")


def test_only_a_signed_ruling_with_a_source_becomes_a_note() -> None:
    unsigned = samples.report_data(reviews=())
    with pytest.raises(FactibleError, match="Nobody has signed"):
        community_note(unsigned, samples.claim(0).claim_id)
    ruling = samples.ruling(0, stance="mixed")
    alone = samples.report_data(reviews=(ruling,))
    with pytest.raises(FactibleError, match="address of a source"):
        community_note(alone, ruling.claim_id)
