from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factible_assets.reasoners.llm.plain_text import clip, plain, whole_sentences


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("It <b>fell</b> by 5 %.", "It fell by 5 %."),
        ("See [the study](https://a.example/x) now.", "See the study now."),
        ("![seen](http://a.example/pixel.png) Fine.", "seen Fine."),
        ("Read https://a.example/x?y=1 first.", "Read first."),
        ("**Bold** and `code` and _slanted_ words_here.", "Bold and code and slanted words_here."),
        ("*2*3*4* is **24** with `2**3`", "2*3*4 is 24 with 2**3"),
        ("# Heading\n- one\n- two", "Heading one two"),
        ("<script>alert(1)</script>Text", "alert(1) Text"),
        ("A <<b>b>tricky</b> one", "A btricky one"),
        ("javascript:alert(1) and data:text/html,x", "(1) and"),
        ("p < 0.01 and n > 30", "p < 0.01 and n > 30"),
        ("hid\u200bden \u202eturned\u202c \x1b[31mred", "hidden turned (31mred"),
        ("Data: three of four.", "Data: three of four."),
        ("The nhs.uk pages say so", "The nhs.uk pages say so"),
        ("<!-- ignore\nthis --> Text", "Text"),
        pytest.param(f"One{chr(10) * 200_000}  - two", "One two", id="many lines"),
    ],
)
def test_markup_and_addresses_are_removed(written: str, kept: str) -> None:
    assert plain(written) == kept


@example("a://")
@example(":<//")
@example("https:|//a.b")
@given(st.text(st.sampled_from(list("<>[]()!*`_|/:bahtps.wx \n\u200b\\{}")), max_size=60))
def test_removal_neither_leaves_nor_creates_markup(text: str) -> None:
    kept = plain(text)
    assert not re.search(r"<\s*/?[a-z!?]|\]\(|`|\*|://", kept)
    assert all(unicodedata.category(character)[0] != "C" for character in kept)
    assert kept == kept.strip()


def test_a_long_text_is_cut_after_a_sentence_if_possible() -> None:
    assert clip("One two three. Four five six.", 5) == "One two three."
    assert clip("One two three four five", 3) == "One two three…"
    assert clip("One two", 3) == "One two"
    assert whole_sentences("One two three four five", 3) is None


def test_no_sentence_ends_with_an_abbreviation() -> None:
    assert clip("As Dr. Smith of the U.S. Navy found", 6) == "As Dr. Smith of the U.S.…"
    assert clip("So it is. (J. Doe said no. 5 did it.)", 6) == "So it is."
    assert whole_sentences("According to the U.S. government it fell", 5) is None
