"""What a claim from speech asserts, apart from who says it and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.propositions import read_propositions


def parts(claim: str) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in read_propositions(claim)]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("Bats are blind.", [("main", "Bats are blind")]),
        (
            "Knuckle cracking causes arthritis, she would say.",
            [("main", "Knuckle cracking causes arthritis")],
        ),
        ("People say that bats are blind at night.", [("main", "bats are blind at night")]),
        (
            "Sealed honey can keep for years, because it contains little water.",
            [
                ("main", "Sealed honey can keep for years"),
                ("reason", "Sealed honey contains little water"),
            ],
        ),
        (
            "Lightning can strike twice: the tower in the harbour is hit ten times a year.",
            [
                ("main", "Lightning can strike twice"),
                ("beside", "the tower in the harbour is hit ten times a year"),
            ],
        ),
        (
            "Salt lowers the freezing point of water; roads are salted for it. Or take ice.",
            [
                ("main", "Salt lowers the freezing point of water"),
                ("beside", "roads are salted for it"),
            ],
        ),
        (
            "And look how it ended. Everybody knows why: sugar causes tooth decay.",
            [("main", "sugar causes tooth decay")],
        ),
        (
            "Mount Etna is 3,400 metres high, measured from sea level.",
            [("main", "Mount Etna is 3,400 metres high"), ("reason", "measured from sea level")],
        ),
        ("Do bats see at night? Bats see at night.", [("main", "Bats see at night")]),
    ],
)
def test_a_claim_is_taken_apart_at_its_clauses(claim: str, expected: list[tuple[str, str]]) -> None:
    assert parts(claim) == expected


@pytest.mark.parametrize(
    "claim",
    [
        "France, Spain, and the United Kingdom are members of the alliance",
        "A paper by an economist, a professor of law, and others concludes that half is lost",
        "Conflicts may become a reality, and have the potential to spread",
    ],
)
def test_lists_and_appositions_are_not_cut(claim: str) -> None:
    assert parts(claim) == [("main", claim)]


def test_an_aside_is_left_out_of_the_sentence_that_it_interrupts() -> None:
    claim = "The panel, which speaks for many scientists, reports a rise of the sea level."
    (proposition,) = read_propositions(claim)
    assert "scientists" not in proposition.text
    assert "rise of the sea level" in proposition.text


@given(st.text(max_size=200))
def test_there_is_always_exactly_one_main_proposition_and_it_comes_first(claim: str) -> None:
    roles = [role for role, _ in parts(claim)]
    assert roles[0] == "main"
    assert roles.count("main") == 1
