"""Every scale in use meets the four stances, and by them every other scale."""

from __future__ import annotations

from typing import get_args

import pytest

from factible_assets.records.scales import (
    AVERITEC,
    FEVER,
    LEVELS,
    THREE_WAY,
    UNPROVEN,
    VERACITY,
    names_a_verdict,
    stance_of,
    stance_of_claim_review,
    veracity_of,
)
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Stance, Veracity, Verdict


def test_every_stance_has_a_label_and_a_column_of_the_verdict() -> None:
    assert tuple(STANCES) == get_args(Stance)
    assert {each.column for each in STANCES.values()} <= Verdict.model_fields.keys()


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2), from 0 to 1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * float(red) + 0.7152 * float(green) + 0.0722 * float(blue)


@pytest.mark.parametrize("stance", STANCES)
def test_the_colours_of_a_stance_are_readable_on_light_and_on_dark_pages(stance: Stance) -> None:
    label = STANCES[stance]
    for colour, paper in ((label.light, "#eef0ef"), (label.dark, "#1b1f23")):
        darker, lighter = sorted(map(luminance, (colour, paper)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_the_six_levels_rise_from_refuting_to_supporting() -> None:
    assert tuple(VERACITY) == LEVELS == get_args(Veracity)
    assert [VERACITY[level] for level in LEVELS] == [*["refutes"] * 3, "mixed", *["supports"] * 2]


@pytest.mark.parametrize("scale", [AVERITEC, FEVER, VERACITY, THREE_WAY, UNPROVEN])
def test_a_label_of_a_stance_reads_as_that_stance(scale: dict[str, Stance]) -> None:
    for label, stance in scale.items():
        assert stance_of(label, scale) == stance
        assert stance_of_claim_review(label) == stance
        assert stance_of_claim_review(label.replace(" ", "_").lower()) == stance


@pytest.mark.parametrize("level", LEVELS)
def test_the_words_of_a_level_read_alike_as_a_published_rating(level: str) -> None:
    assert stance_of_claim_review(level.replace("-", " ")) in {VERACITY[level], None}


@pytest.mark.parametrize(
    ("label", "stance"),
    [
        ("Pants on Fire!", "refutes"),
        ("Mostly False", "refutes"),
        ("pants-fire", "refutes"),
        ("can\u2019t say", "unclear"),
        ("supports", "supports"),
        ("Half True", "mixed"),
        ("Fact check: False", "refutes"),
        ("FALSE: true photo, wrong year", "refutes"),
        ("Partly false", "mixed"),
        ("No evidence that it is true", "refutes"),
        ("Verified false", None),
        ("True but misleading", None),
        ("Yes and no", None),
        ("Both claims are false", None),
        ("purple", None),
    ],
)
def test_labels_are_read_however_they_are_written(label: str, stance: str | None) -> None:
    assert stance_of_claim_review(label) == stance


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("FALSE: Photo shows a shark in the street", True),
        ("Shark in the street | Fact Check", False),
        ("A shark – mostly false", True),
        ("Shark photographed in a flooded street in 2011", False),
        ("True crime: the case of the fake sharks", False),
        pytest.param("a " * 100_000, False, id="long"),
    ],
)
def test_a_title_names_a_verdict_if_a_part_of_it_is_a_rating(title: str, names: bool) -> None:
    assert names_a_verdict(title) is names


def test_a_verdicts_level_has_its_stance() -> None:
    for stance in ("supports", "refutes", "mixed"):
        for score in (0.0, 0.5, 0.77, 1.0):
            level = veracity_of(stance, score)
            assert level is not None
            assert VERACITY[level] == stance
    assert veracity_of("unclear", 0.2) is None
    assert veracity_of(None, None) is None


def test_a_probable_side_is_true_or_false_and_a_doubtful_one_mostly_true_or_barely_true() -> None:
    assert [veracity_of("supports", score) for score in (0.77, 0.61)] == ["true", "mostly-true"]
    assert [veracity_of("refutes", score) for score in (0.77, 0.61)] == ["false", "barely-true"]
