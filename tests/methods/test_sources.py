"""Claim classes, lexical support, credibility and three-way verdicts say what ECVS says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.methods.confidence import (
    TIERS,
    academic_credibility,
    domain_credibility,
)
from factible_assets.methods.words import (
    KEYWORDS,
    PREDICTION,
    SEARCH,
    claim_class,
    class_as_written,
    lexical_support,
    read_verdict,
    relevance,
    verdict_as_written,
)
from factible_assets.services.ratings import rating_directory

ROOT = Path(__file__).resolve().parents[2]
CLAIM = "Honey prevents cough in children"


@pytest.mark.parametrize(
    ("text", "supports"),
    [
        ("Trials confirm that honey soothes a cough of children.", True),
        ("That honey prevents cough is false and was debunked.", False),
        ("Trials on honey and cough confirm it, while others contradict it.", None),
        (
            "Whether honey helps against cough is unclear, and a debate goes on: some confirm it.",
            None,
        ),
        ("Trials confirm that tea soothes.", None),
        ("Honey and a cough.", None),
    ],
)
def test_indicators_decide_where_enough_of_the_claim_is_spoken_of(
    text: str, supports: bool | None
) -> None:
    assert lexical_support(text, CLAIM) is supports


def test_relevance_is_the_share_of_the_claims_key_words() -> None:
    # honey, prevents, cough, children
    assert relevance("Honey for CHILDREN", CLAIM) == 0.5
    assert relevance("Honey", "It is so") == 0.0


def test_oddity_a_denied_indicator_still_counts() -> None:
    assert lexical_support("No trial could confirm that honey prevents cough.", CLAIM) is True


@pytest.mark.parametrize(
    ("claim", "written", "whole_words"),
    [
        ("A study found that honey keeps.", "scientific", "scientific"),
        ("Einstein said 'Imagination is more important'", "quote", "quote"),
        ("The wall fell during the war", "historical", "historical"),
        ("The cure works", "health", "health"),
        ("Prices are going to double", "predictive", "predictive"),
        ("Honey keeps", "general", "general"),
        ("Vaccines cause autism", "general", "health"),
        ("Williams won", "predictive", "general"),
        ("Einstein said that studies bore him", "quote", "quote"),
        ("An update came out", "historical", "general"),
        ("Sea level rises one metre by 2100", "general", "predictive"),
    ],
)
def test_claims_are_classed_as_the_algorithm_says_and_by_whole_words(
    claim: str, written: str, whole_words: str
) -> None:
    assert class_as_written(claim) == written
    assert claim_class(claim) == whole_words


def test_predictions_get_a_note_and_every_other_class_is_searched() -> None:
    assert set(SEARCH) == {*KEYWORDS} - {"predictive"}
    assert "study" in SEARCH["scientific"]
    assert "no verdict" in PREDICTION


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.nature.com", 0.95),
        ("reuters.com", 0.82),
        ("wikipedia.org", 0.645),
        ("medium.com", 0.445),
        ("cdc.gov", 0.75),
        ("mit.edu", 0.75),
        ("some-site.example", 0.5),
    ],
)
def test_a_domain_has_the_middle_of_its_tier(host: str, expected: float) -> None:
    directory = rating_directory([ROOT / "corpora" / "credibility_tiers.yaml"])
    assert domain_credibility(host, directory.lookup(host)) == expected


def test_every_listed_domain_lies_in_the_range_of_a_tier() -> None:
    (tiers,) = rating_directory([ROOT / "corpora" / "credibility_tiers.yaml"]).sets
    for listed in tiers.ratings.values():
        assert listed.score is not None
        assert any(low <= listed.score <= high for low, high in TIERS.values())


@pytest.mark.parametrize(
    ("citations", "expected"),
    [(None, 0.85), (0, 0.85), (50, 0.85), (51, 0.88), (100, 0.88), (101, 0.90), (10_000, 0.90)],
)
def test_papers_gain_by_citations(citations: int | None, expected: float) -> None:
    assert academic_credibility(citations) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "written", "tolerant"),
    [
        ("VERDICT: TRUE\nREASONING: because", "TRUE", "TRUE"),
        ("Reasons first.\nVERDICT: [FALSE]", "FALSE", "FALSE"),
        ("VERDICT: CAN'T SAY", "CAN'T SAY", "CAN'T SAY"),
        ("no label at all", "CAN'T SAY", "CAN'T SAY"),
        ("**Verdict:** true.", "CAN'T SAY", "TRUE"),
        ("VERDICT: NOT TRUE", "TRUE", "FALSE"),
        ("VERDICT: UNTRUE", "TRUE", "FALSE"),
        ("VERDICT: NOT FALSE", "FALSE", "TRUE"),
        ("VERDICT: TRUE or FALSE, I cannot tell", "FALSE", "CAN'T SAY"),
        ("Verdict: Can\u2019t say", "CAN'T SAY", "CAN'T SAY"),
        ("My verdict is false", "CAN'T SAY", "FALSE"),
        ("VERDICT: TRUE\nOn reflection.\nVERDICT: FALSE", "TRUE", "FALSE"),
        ("Long thoughts on what is true.\n\nFALSE", "CAN'T SAY", "FALSE"),
        ('{"verdict": "TRUE"}', "CAN'T SAY", "TRUE"),
        ("VERDICT: This is inaccurate", "CAN'T SAY", "FALSE"),
        ("VERDICT:", "CAN'T SAY", "CAN'T SAY"),
    ],
)
def test_a_models_verdict_is_read_to_the_letter_and_with_tolerance(
    answer: str, written: str, tolerant: str
) -> None:
    assert verdict_as_written(answer) == written
    assert read_verdict(answer) == tolerant


@given(st.text())
def test_any_answer_at_all_is_one_of_three(answer: str) -> None:
    assert read_verdict(answer) in {"TRUE", "FALSE", "CAN'T SAY"}
