"""The formulas of ECVS against calculations by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.readers.lexical import lexical_support, relevance
from factible_assets.services.ratings import rating_directory
from factible_assets.strategies.calculus import (
    HEDGING_CAP,
    LABELS,
    PREDICTION,
    SEARCH,
    ClaimClass,
    Confidence,
    ScoredSource,
    academic_credibility,
    agreement,
    claim_class,
    corrected,
    domain_credibility,
    evidence_share,
    hedging_density,
    percentage,
    published,
    tone,
    volume,
    weighted_credibility,
    with_quality_bonus,
)
from resources.ratings.base import ListedRating

TIERS = {1: (0.90, 1.00), 2: (0.75, 0.89), 3: (0.55, 0.74), 4: (0.35, 0.54)}
"""Ranges of credibility of the tiers T1 to T4 (equation 9)."""


def sources(
    supporting: int = 0, opposing: int = 0, neutral: int = 0, c: float = 0.5
) -> list[ScoredSource]:
    sides = [True] * supporting + [False] * opposing + [None] * neutral
    return [ScoredSource(c, side) for side in sides]


any_sources = st.lists(
    st.builds(ScoredSource, st.floats(0, 1), st.sampled_from([True, False, None])), max_size=20
)
any_text = st.lists(st.sampled_from(["honey", "may", "keeps", "possibly", "for", "seems"])).map(
    " ".join
)


@pytest.mark.parametrize(
    ("n", "mapped"),
    [(-1, 0.0), (0, 0.0), (1, 0.35355), (2, 0.5), (4, 0.70711), (8, 1.0), (50, 1.0)],
)
def test_volume_is_the_square_root_up_to_eight_sources(n: int, mapped: float) -> None:
    assert volume(n) == pytest.approx(mapped, abs=1e-5)


def test_decisive_sources_weigh_a_fifth_more_in_the_credibility() -> None:
    # The weighted sum is 1.58, the weights 2.2.
    mixed = [ScoredSource(0.9, True), ScoredSource(0.5, None)]
    assert weighted_credibility(mixed) == pytest.approx(0.71818, abs=1e-5)
    assert weighted_credibility([]) == 0.0


@pytest.mark.parametrize(
    ("given_sources", "expected"),
    [
        (sources(), 0.5),
        (sources(neutral=3), 0.5),
        (sources(neutral=4), 0.4),
        (sources(supporting=1), 1.0),
        (sources(supporting=1, neutral=1), 0.5),
        (sources(supporting=2, neutral=2), 0.6),
        (sources(supporting=3), 1.0),
        (sources(supporting=2, opposing=2), 0.5),
        (sources(supporting=1, opposing=3), 0.15),
        (sources(opposing=1), 0.1),
        (sources(opposing=1, neutral=9), 0.28),
        (sources(supporting=1, neutral=9), 0.1),
    ],
)
def test_agreement_follows_its_special_cases(
    given_sources: list[ScoredSource], expected: float
) -> None:
    assert agreement(given_sources) == pytest.approx(expected)


def test_hedging_is_counted_over_distinct_words_and_capped() -> None:
    ten_words = "it may be that old honey keeps for many years"
    assert hedging_density(ten_words) == pytest.approx(0.1)
    assert hedging_density(f"{ten_words} may may") == pytest.approx(0.1)
    assert hedging_density("May possibly") == HEDGING_CAP
    assert hedging_density("It suggests") == 0.0
    assert hedging_density("") == 0.0
    assert tone(ten_words) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("n", "credibility", "share"),
    [(3, 0.71, 0.8), (3, 0.7, 0.7), (2, 0.9, 0.7), (1, 0.51, 0.7), (1, 0.5, 0.5), (0, 0.0, 0.5)],
)
def test_the_share_of_the_evidence_adapts_to_it(n: int, credibility: float, share: float) -> None:
    assert evidence_share(n, credibility) == share


def test_two_sources_above_four_fifths_earn_the_quality_bonus() -> None:
    good = [ScoredSource(0.81, None), ScoredSource(0.9, None)]
    assert with_quality_bonus(0.5, good) == pytest.approx(0.55)
    assert with_quality_bonus(0.98, good) == 1.0
    assert with_quality_bonus(0.5, [*good[:1], ScoredSource(0.8, True)]) == 0.5


@pytest.mark.parametrize(
    ("final", "percent"), [(0.0, 15), (0.1499, 15), (0.29, 29), (0.569, 56), (0.951, 95), (1.0, 95)]
)
def test_the_percentage_is_cut_to_its_bounds(final: float, percent: int) -> None:
    assert percentage(final) == percent


def test_a_whole_case_is_worked_through_by_hand() -> None:
    case = [ScoredSource(0.95, True), ScoredSource(0.82, True), ScoredSource(0.5, None)]
    found = published(case, "Honey keeps for years, which tests of old jars may show.")
    # Volume: the root of 3/8. Credibility: 2.624 over 3.4. Agreement: 2/3 and the bonus.
    assert found.volume == pytest.approx(0.612372, abs=1e-6)
    assert found.credibility == pytest.approx(0.771765, abs=1e-6)
    assert found.agreement == pytest.approx(0.766667, abs=1e-6)
    # E = .25 N + .45 C + .30 A = 0.730387, and 0.05 for two sources above 0.8
    assert found.evidence == pytest.approx(0.780387, abs=1e-6)
    assert found.tone == pytest.approx(1 - 1 / 11)
    # 0.8 E + 0.2 T
    assert found.final == pytest.approx(0.806128, abs=1e-6)
    assert (found.percent, found.label) == (80, "High")


@given(
    st.lists(st.tuples(st.integers(0, 100), st.sampled_from([True, False, None])), max_size=9),
    st.lists(st.sampled_from(["honey", "may", "keeps", "possibly", "for", "seems"]), max_size=9),
)
def test_the_published_calculus_equals_a_calculation_with_fractions(
    found: list[tuple[int, bool | None]], words: list[str]
) -> None:
    n, support = len(found), sum(side is True for _, side in found)
    oppose = sum(side is False for _, side in found)
    weights = [Fraction(1) if side is None else Fraction(6, 5) for _, side in found]
    weighed = [Fraction(c, 100) * by for (c, _), by in zip(found, weights, strict=True)]
    believed = sum(weighed) / sum(weights) if found else Fraction(0)
    if support + oppose == 0:
        agreed = Fraction(2, 5) if n > 3 else Fraction(1, 2)
    elif support >= oppose:
        agreed = Fraction(support, n)
        if oppose == 0 and support >= 2:
            agreed = min(Fraction(1), agreed + Fraction(1, 10))
    else:
        agreed = max(Fraction(1, 10), Fraction(3, 10) - Fraction(oppose, n) * Fraction(1, 5))
    root = Fraction(math.sqrt(min(n, 8) / 8)).limit_denominator(10**15)
    score = Fraction(1, 4) * root + Fraction(45, 100) * believed + Fraction(3, 10) * agreed
    if sum(c > 80 for c, _ in found) >= 2:
        score = min(Fraction(1), score + Fraction(1, 20))
    hedges = Fraction(len({*words} - {"honey", "keeps", "for"}), max(1, len({*words})))
    share = Fraction(4, 5) if n >= 3 and believed > Fraction(7, 10) else Fraction(1, 2)
    if n >= 1 and believed > Fraction(1, 2) and share < Fraction(4, 5):
        share = Fraction(7, 10)
    final = share * score + (1 - share) * (1 - min(hedges, Fraction(15, 100)))
    sources = [ScoredSource(c / 100, side) for c, side in found]
    assert published(sources, " ".join(words)).percent == max(15, min(95, math.floor(final * 100)))


@pytest.mark.parametrize(
    ("percent", "label"),
    [
        (15, "Very Low"),
        (20, "Very Low"),
        (21, "Low"),
        (60, "Moderate"),
        (61, "High"),
        (95, "Very High"),
    ],
)
def test_five_words_name_the_percentages(percent: int, label: str) -> None:
    assert Confidence(0, 0, 0, 0, 0, 0, percent).label == label
    assert len(LABELS) == 5


def test_oddity_no_source_at_all_is_moderate_confidence() -> None:
    assert (published([], "").percent, published([], "").label) == (57, "Moderate")
    assert corrected([], "").percent == 15


@given(any_sources, any_text)
def test_oddity_the_lower_half_of_the_scale_is_never_reached(
    found: list[ScoredSource], text: str
) -> None:
    assert 48 <= published(found, text).percent <= 95


def test_oddity_another_good_supporting_source_can_lower_the_result() -> None:
    two = [ScoredSource(0.75, True), ScoredSource(0.75, True)]
    three = [*two, ScoredSource(0.72, True)]
    hedged = ""
    assert published(three, hedged).final < published(two, hedged).final


def test_oddity_a_source_for_the_claim_scores_below_one_against_it() -> None:
    assert agreement(sources(supporting=1, neutral=9)) < agreement(sources(opposing=1, neutral=9))


@given(any_sources, any_text)
def test_both_variants_stay_within_their_bounds(found: list[ScoredSource], text: str) -> None:
    for each in (published(found, text), corrected(found, text)):
        assert 15 <= each.percent <= 95
        parts = (
            each.volume,
            each.credibility,
            each.agreement,
            each.evidence,
            each.tone,
            each.final,
        )
        assert all(0 <= part <= 1 + 1e-12 for part in parts)


@given(any_sources, any_text, st.floats(0, 1))
def test_the_corrected_variant_rises_with_a_source_for_the_leading_side_and_falls_with_one_against(
    found: list[ScoredSource], text: str, credibility: float
) -> None:
    support, oppose = (sum(each.supports is side for each in found) for side in (True, False))
    before, leads = corrected(found, text).final, support >= oppose
    assert corrected([*found, ScoredSource(credibility, leads)], text).final >= before - 1e-12
    if abs(support - oppose) > 1:
        assert (
            corrected([*found, ScoredSource(credibility, not leads)], text).final <= before + 1e-12
        )


@given(any_sources, st.permutations(range(6)))
def test_the_order_of_sources_does_not_matter(found: list[ScoredSource], order: list[int]) -> None:
    few = (found + sources(neutral=6))[:6]
    turned = [few[place] for place in order]
    assert published(few, "").final == pytest.approx(published(turned, "").final)
    assert corrected(few, "").final == pytest.approx(corrected(turned, "").final)


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
def test_indicators_decide_if_the_text_is_relevant(text: str, supports: bool | None) -> None:
    assert lexical_support(text, CLAIM) is supports


def test_relevance_is_the_share_of_the_claims_key_words() -> None:
    # honey, prevents, cough, children
    assert relevance("Honey for CHILDREN", CLAIM) == 0.5
    assert relevance("Honey", "It is so") == 0.0


def test_oddity_a_denied_indicator_still_counts() -> None:
    assert lexical_support("No trial could confirm that honey prevents cough.", CLAIM) is True


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("A study found that honey keeps.", "scientific"),
        ("Einstein said 'Imagination is more important'", "quote"),
        ("The wall fell during the war", "historical"),
        ("The cure works", "health"),
        ("Prices are going to double within the next five years", "predictive"),
        ("A workout will lift your mood", "general"),
        ("Honey keeps", "general"),
        ("Vaccines cause autism", "health"),
        ("Williams won", "general"),
        ("Einstein said that studies bore him", "quote"),
        ("An update came out", "general"),
        ("Sea level rises one metre by 2100", "predictive"),
        ("The lake will be dry in ten years' time", "predictive"),
        ("Sales rose by 215 percent", "scientific"),
    ],
)
def test_claims_are_classed_by_whole_words(claim: str, found: str) -> None:
    assert claim_class(claim) == found


def test_predictions_get_a_note_and_every_other_class_is_searched() -> None:
    assert set(SEARCH) == {*get_args(ClaimClass)} - {"predictive", "general"}
    assert "study" in SEARCH["scientific"]
    assert "no verdict" in PREDICTION


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("A study found that honey keeps.", "scientific"),
        ("Williams won", "predictive"),
        ("An update came out", "historical"),
        ("Einstein said that studies bore him", "quote"),
        ("Vaccines cause autism", "general"),
    ],
)
def test_published_classes_follow_the_algorithms_letters_and_order(claim: str, found: str) -> None:
    assert claim_class(claim, "published") == found


def test_a_set_without_scores_gives_the_usual_score_of_its_rating() -> None:
    listed = ListedRating("mine", "some-site.example", "low")
    assert domain_credibility("some-site.example", [listed]) == 0.30
    assert domain_credibility("cdc.gov", [ListedRating("mine", "cdc.gov", "high")]) == 0.75


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
