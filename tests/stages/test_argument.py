"""An argument has the best source of the deciding side first, then the other side."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.config import VerdictsConfig
from factible_assets.records.tables import Basis, Evidence, Stance
from factible_assets.stages.argument import argue, in_sentences
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.verdict import decide, tally
from tests.report import samples


def row(host: str, stance: Stance, **fields: Any) -> Evidence:
    given = {"stance": stance, "basis": "llm", "relevance": 0.5, "stance_confidence": 0.8}
    return samples.evidence(0, host, **(given | fields))


def sentences(outcome: str, *rows: Evidence) -> list[str]:
    argument = argue(outcome, rows)
    said = [
        f"{each.lead} {each.evidence.domain} {each.says}".strip() for each in argument.key_sources
    ]
    return [*said, *([argument.balance] if argument.balance else [])]


@pytest.mark.parametrize(
    ("outcome", "rows", "expected"),
    [
        (
            "refutes",
            [
                row("a.example", "refutes"),
                row("b.example", "refutes"),
                row("c.example", "supports"),
            ],
            [
                "a.example contradicts the claim",
                "Against that, c.example bears the claim out",
                (
                    "In all, 2 independent sources contradict it, "
                    "and 1 independent source bears it out."
                ),
            ],
        ),
        (
            "supports",
            [row("a.example", "supports", basis="embedded")],
            ["a.example seems to bear the claim out", "No other independent source takes a side."],
        ),
        (
            "mixed",
            [row("a.example", "supports"), row("b.example", "refutes"), row("c.example", "mixed")],
            [
                "On the one hand, a.example bears the claim out",
                "On the other hand, b.example contradicts the claim",
            ],
        ),
        (
            "unclear",
            [row("a.example", "unclear", relevance=0.2), row("b.example", "unclear")],
            [
                "Of what was read, b.example comes closest",
                "None of the 2 sources on its subject was read as taking a side.",
            ],
        ),
        (
            "unclear",
            [row("far.example", "unclear", relevance=0.3)],
            ["The one source on its subject was not read as taking a side."],
        ),
        (
            "unclear",
            [row("a.example", "supports", rating="low"), row("b.example", "unclear")],
            ["a.example bears the claim out", "That weighs too little to settle it."],
        ),
        ("incomplete", [row("a.example", "supports")], []),
        ("unclear", [], []),
    ],
)
def test_an_argument_in_sentences(outcome: str, rows: list[Evidence], expected: list[str]) -> None:
    assert sentences(outcome, *rows) == expected


def test_among_equal_weights_the_most_relevant_source_speaks() -> None:
    remote = row("remote.example", "supports", rating="high", relevance=0.4)
    near = row("near.example", "supports", rating="medium", relevance=0.7)
    assert sentences("supports", remote, near)[0] == "near.example bears the claim out"
    # Relevance does not make up for a low rating.
    low = row("low.example", "supports", rating="low", relevance=0.9)
    assert sentences("supports", remote, low)[0] == "remote.example bears the claim out"


def test_a_published_fact_check_speaks_first() -> None:
    strong = row("strong.example", "refutes", rating="high", relevance=0.9)
    check = row("checkers.example", "refutes", rating="medium", source_class="fact_checker")
    assert sentences("refutes", strong, check)[0] == "checkers.example contradicts the claim"


def test_a_source_read_by_its_snippet_says_so() -> None:
    voice = argue("supports", [row("a.example", "supports", via="snippet")]).key_sources[0]
    assert voice.sentence(quoted=False).startswith("a.example (high reliability")
    assert "search snippet only) bears the claim out" in voice.sentence(quoted=False)


def test_footnote_numbers_are_left_out() -> None:
    voice = argue("supports", [row("a.example", "supports", quote="It is so.[19][2]")]).key_sources[
        0
    ]
    assert voice.words == "It is so."


def test_an_overruled_source_does_not_seem() -> None:
    mine = row("a.example", "refutes", basis="embedded", machine_stance="supports")
    assert sentences("refutes", mine)[0] == "a.example contradicts the claim"


def test_a_verdict_without_a_side_says_so_once_and_calls_itself_automatic() -> None:
    lone = row("a.example", "unclear", basis="embedded", rating="high", quote="So it goes.")
    assert in_sentences("unclear", [lone]) == (
        "Of what was read, a.example (high reliability, encyclopedia) comes closest: “So it goes.” "
        "The one source on its subject was not read as taking a side. "
        "Judged automatically, by the wording of the sources."
    )


def test_a_quote_with_markup_is_not_cited() -> None:
    quote = "<script>alert(1)</script> **Wine** [x](http://y)\u202e"
    words = in_sentences("supports", [row("a.example", "supports", quote=quote)])
    assert not set("<>*[]`\u202e") & set(words)
    assert "bears the claim out." in words


@given(
    st.lists(
        st.builds(
            row,
            st.sampled_from([f"{each}.example" for each in "abcdef"]),
            st.sampled_from(["supports", "refutes", "mixed", "unclear"]),
            rating=st.sampled_from(["high", "medium", "low", "very_low", "unknown"]),
            stance_confidence=st.floats(0, 1),
        ),
        max_size=6,
        unique_by=lambda each: each.domain,
    ),
    st.sampled_from(["llm", "embedded"]),
)
def test_the_first_voice_is_of_the_side_that_the_vote_takes(
    rows: list[Evidence], basis: Basis
) -> None:
    vote = decide(tally(rows, StoryIndex({})), VerdictsConfig(), basis)
    argument = argue(vote.stance, rows)
    if vote.stance in {"supports", "refutes"}:
        assert argument.key_sources[0].side == vote.stance
    assert len({voice.side for voice in argument.key_sources}) == len(argument.key_sources)
    for voice in argument.key_sources:
        assert voice.evidence in rows
        assert voice.words in " ".join((voice.evidence.quote or "").split())
