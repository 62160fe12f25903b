"""The scales on which claims are judged, and the one mapping between them: the four stances.

What belongs here: every scale's labels with their source, and what each means as a stance. What
does not: reading files, how a verdict is reached.

Each scale asks what the evidence says of the claim, as this project does, so no label changes its
meaning; what differs is how finely the middle is divided. Whoever compares two scales goes by way
of the stances.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, get_args

from factible_assets.records import Confidence, Stance, Veracity
from factible_assets.stances import STANCES

AVERITEC: Final[Mapping[str, Stance]] = {
    "Supported": "supports",
    "Refuted": "refutes",
    "Conflicting Evidence/Cherrypicking": "mixed",
    "Not Enough Evidence": "unclear",
}
"""AVeriTeC (Schlichtkrull et al. 2023, arXiv:2305.13117, section 3). Cherry-picking is a claim
that is true in its words and misleads by what it leaves out, which is `mixed` here."""
FEVER: Final[Mapping[str, Stance]] = {
    "SUPPORTS": "supports", "REFUTES": "refutes", "NOT ENOUGH INFO": "unclear", "DISPUTED": "mixed"
}  # fmt: skip
"""FEVER (Thorne et al. 2018, arXiv:1803.05355, section 3); DISPUTED, for claims with passages on
both sides, is Climate-FEVER's (Diggelmann et al. 2020, arXiv:2012.00614, section 3)."""
CLIMATE_FEVER_UNKNOWN: Final = "NOT_ENOUGH_INFO"
"""How Climate-FEVER writes FEVER's NOT ENOUGH INFO."""

VERACITY: Final[Mapping[str, Stance]] = {
    "pants-fire": "refutes",
    "false": "refutes",
    "barely-true": "refutes",
    "half-true": "mixed",
    "mostly-true": "supports",
    "true": "supports",
}
"""Six levels from worst to best (Raw Evidence, section 3.5; PolitiFact's names). "Barely true",
today "mostly false", holds an element of truth and ignores what would give another impression: it
refutes, as "mostly false" does below. There is no level for what the evidence does not settle."""
_BOTH: Final[Mapping[str, Stance]] = {"TRUE": "supports", "FALSE": "refutes"}
THREE_WAY: Final[Mapping[str, Stance]] = {**_BOTH, "CAN'T SAY": "unclear"}
"""ECVS, section 7.1. Mixed evidence is CAN'T SAY there, and `mixed` has no label on this scale."""
UNPROVEN: Final[Mapping[str, Stance]] = {**_BOTH, "UNPROVEN": "unclear"}
"""RW-Post and AgentFact (Xu et al.), the agent's labels."""
LEVELS: Final[tuple[Veracity, ...]] = get_args(Veracity)
"""The six levels, from worst to best."""
_OTHER_NAMES: Final = {"pants on fire": "pants-fire", "mostly false": "barely-true"}

_WORDS: Final[Mapping[Stance, str]] = {
    "mixed": (
        r"mixed|mixture|half|partly|partially|in part|some truth|a bit of both|both"
        r"|(?:lacks?|missing|needs?|out of) (?:\w+ )?context"
    ),
    "unclear": (
        r"unproven|unproved|unverified|unclear|inconclusive|undetermined|unsubstantiated"
        r"|no verdict|insufficient|not (?:enough|yet|proven|verified)|research in progress"
        r"|unknown|cannot be"
    ),
    "refutes": (
        r"(?:(?:mostly|largely|completely|totally|entirely|clearly|demonstrably|simply|pants|a|an) "
        r")*(?:false|fake|untrue|incorrect|wrong|inaccurate|misleading|myth|hoax|debunked|fabricated"
        r"|baseless|unfounded|fiction|scam|misinformation|not true|not correct|not accurate|no"
        r"|no (?:\w+ )?(?:evidence|basis|truth)"
        r"|refuted|on fire)"
    ),
    "supports": (
        r"(?:(?:mostly|largely|completely|entirely|basically|essentially) )*"
        r"(?:true|correct|accurate|yes|confirmed|verified|supported|fact|legit)"
    ),
}
"""How a rating in words begins, in the order in which they are tried: "partly true" is mixed."""
_LEAD: Final = "(?:rated |is |was |it is |this is |as )?"
_EVERY_LABEL: Final[Mapping[str, Stance]] = {
    **{each: each for each in STANCES},
    **AVERITEC,
    **FEVER,
    **VERACITY,
    **THREE_WAY,
    **UNPROVEN,
}
"""All labels and the stances' own names; where two scales share one, it means the same."""
_LOWEST_SUPPORT: Final = 0.75
_HIGHEST_REFUTATION: Final = 0.25


def stance_of(label: str, labels: Mapping[str, Stance]) -> Stance:
    """Read a label, whatever its case and spaces; ValueError lists them all if it is none."""
    known = {_folded(each): stance for each, stance in labels.items()}
    stance = known.get(_folded(label))
    if stance is None:
        raise ValueError(f"it is none of {', '.join(labels)}. Correct it, or take the item out.")
    return stance


def label_of(stance: Stance, labels: Mapping[str, Stance]) -> str:
    """Return a scale's first label for a stance; StopIteration if it has none (see the scales)."""
    return next(label for label, each in labels.items() if each == stance)


def stance_of_any(label: str) -> Stance | None:
    """Read a label of whatever scale, a stance's own name or the words of a rating."""
    return stance_of_rating(label, None, None, None)


def veracity_of(stance: Stance | None, confidence: Confidence | None) -> Veracity | None:
    """Return the level of a verdict that was reached on the four stances; None where it is unclear.

    With high confidence a side is true or false, else mostly true or barely true; mixed is half
    true. Pants on fire is an opinion on top of false, and never follows.
    """
    sure = confidence == "high"
    levels: Mapping[Stance | None, Veracity] = {
        "mixed": "half-true",
        "supports": "true" if sure else "mostly-true",
        "refutes": "false" if sure else "barely-true",
    }
    return levels.get(stance)


def stance_of_label(text: str) -> Stance | None:
    """Read a text that is a published rating and nothing else; None if it is anything else.

    Labels of data sets and names of stances are no ratings: no fact-checker prints them.
    """
    told = " ".join(re.findall(r"[\w']+", _folded(text)))
    with suppress(ValueError):
        return stance_of(_OTHER_NAMES.get(told, told), VERACITY)
    matches = (each for each, words in _WORDS.items() if re.fullmatch(f"{_LEAD}(?:{words})", told))
    return next(matches, None)


def stance_of_rating(
    words: str | None, value: float | None, worst: float | None, best: float | None
) -> Stance | None:
    """Read the rating of a ClaimReview; None where it says neither yes nor no nor between.

    The words decide where they are known (a label of any scale, or the beginning of a rating),
    because publishers' scales differ; else the number, from `worst` (false) to `best` (true), 1 to
    5 unless stated: up to a quarter of the way it refutes, from three quarters on it supports. On
    Google's scale of five "Mostly false" is 2 and "Mostly true" 4 (developers.google.com, fact
    check structured data), as in the words.
    """
    label = _folded(words or "")
    with suppress(ValueError):
        return stance_of(_OTHER_NAMES.get(label, label), _EVERY_LABEL)
    told = " ".join(re.findall(r"[\w']+", label))
    stance = next(
        (each for each, opening in _WORDS.items() if re.match(rf"{_LEAD}(?:{opening})\b", told)),
        None,
    )
    if stance is not None or value is None:
        return stance
    low, high = 1.0 if worst is None else worst, 5.0 if best is None else best
    if not low < high or not low <= value <= high:
        return None
    share = (value - low) / (high - low)
    if share <= _HIGHEST_REFUTATION:
        return "refutes"
    return "supports" if share >= _LOWEST_SUPPORT else "mixed"


def level_of(label: str | None, stance: Stance | None) -> Veracity | None:
    """Return the level of an annotation: its own if it is on that scale, else its stance's.

    Who annotates on four stances leaves no doubt: what supports is true, what refutes is false.
    """
    named = _OTHER_NAMES.get(_folded(label or ""), label or "")
    return next(
        (level for level in LEVELS if _folded(level) == _folded(named)), veracity_of(stance, "high")
    )


def _folded(label: str) -> str:
    return re.sub(r"[\s_-]+", " ", label.strip().replace("\u2019", "'")).casefold()
