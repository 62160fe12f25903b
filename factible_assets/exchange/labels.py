"""The labels of fact-checking data sets and the four stances of this project.

What belongs here: the mappings, with their sources. What does not: reading files.

Each data set asks what the evidence says of the claim, as this project does, so no label changes
its meaning; what differs is how finely the middle is divided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from factible_assets.reasoners.embedded.reading.fact_checks import read_rating
from factible_assets.records import Stance

AVERITEC: Final[Mapping[str, Stance]] = {
    "Supported": "supports",
    "Refuted": "refutes",
    "Conflicting Evidence/Cherrypicking": "mixed",
    "Not Enough Evidence": "unclear",
}
"""AVeriTeC (Schlichtkrull et al. 2023, arXiv:2305.13117, section 3). Cherry-picking is a claim
that is true in its words and misleads by what it leaves out, which is `mixed` here."""

FEVER: Final[Mapping[str, Stance]] = {
    "SUPPORTS": "supports",
    "REFUTES": "refutes",
    "NOT ENOUGH INFO": "unclear",
    "DISPUTED": "mixed",
}
"""FEVER (Thorne et al. 2018, arXiv:1803.05355, section 3); DISPUTED, for claims with passages on
both sides, is Climate-FEVER's (Diggelmann et al. 2020, arXiv:2012.00614, section 3)."""

CLIMATE_FEVER_UNKNOWN: Final = "NOT_ENOUGH_INFO"
"""How Climate-FEVER writes FEVER's NOT ENOUGH INFO."""

_WORDS: Final[Mapping[str, Stance]] = {
    "true": "supports",
    "false": "refutes",
    "mixed": "mixed",
    "unproven": "unclear",
}
_LOWEST_SUPPORT: Final = 0.75
_HIGHEST_REFUTATION: Final = 0.25


def stance_of(label: str, labels: Mapping[str, Stance]) -> Stance:
    """Read a label, whatever its case and whether words are joined by spaces or underscores.

    Raises:
        ValueError: it is none of the labels, which the message lists.
    """
    known = {_folded(each): stance for each, stance in labels.items()}
    stance = known.get(_folded(label))
    if stance is None:
        raise ValueError(f"it is none of {', '.join(labels)}. Correct it, or take the item out.")
    return stance


def label_of(stance: Stance, labels: Mapping[str, Stance]) -> str:
    """Return a data set's label for a stance."""
    return next(label for label, each in labels.items() if each == stance)


def stance_of_rating(
    words: str | None, value: float | None, worst: float | None, best: float | None
) -> Stance | None:
    """Read the rating of a ClaimReview; None where it says neither yes nor no nor between.

    The words decide where they are known ("Mostly false", "Half true"), because they are what a
    reader is shown and publishers' scales differ; else the number, from `worst` (false) to `best`
    (true), 1 to 5 unless stated: up to a quarter of the way it refutes, from three quarters on it
    supports. On Google's scale of five, "Mostly false" is 2, which is a quarter, and "Mostly true"
    is 4 (developers.google.com, fact check structured data). "Mostly" true or false thus counts
    as true or false, as in the words.
    """
    stance = _WORDS.get(read_rating(words) or "") if words else None
    if stance is not None or value is None:
        return stance
    low, high = 1.0 if worst is None else worst, 5.0 if best is None else best
    if not low < high or not low <= value <= high:
        return None
    share = (value - low) / (high - low)
    if share <= _HIGHEST_REFUTATION:
        return "refutes"
    return "supports" if share >= _LOWEST_SUPPORT else "mixed"


def _folded(label: str) -> str:
    return re.sub(r"[\s_]+", " ", label.strip()).casefold()
