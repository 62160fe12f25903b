"""The published label scales, with the meaning of each label as one of the stances.

Every scale judges the claim by the evidence. To convert between two scales, go through the stance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal, cast, get_args

from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Stance, Veracity


def _labels(data_set: Literal["averitec", "fever"]) -> Mapping[str, Stance]:
    """Return the stance of each label of a data set; of a shared label, the first stance."""
    labels: dict[str, Stance] = {}
    for stance in STANCES.values():
        labels.setdefault(getattr(stance, data_set), stance.name)
    return labels


AVERITEC: Final = _labels("averitec")
"""AVeriTeC (Schlichtkrull et al. 2023, arXiv:2305.13117, section 3). A cherry-picked claim is true
in its words and misleads by omission, which is `mixed` here."""
FEVER: Final = _labels("fever")
"""FEVER (Thorne et al. 2018, arXiv:1803.05355, section 3); DISPUTED, for claims with passages on
both sides, is Climate-FEVER's (Diggelmann et al. 2020, arXiv:2012.00614, section 3)."""

VERACITY: Final[Mapping[str, Stance]] = {
    "pants-fire": "refutes",
    "false": "refutes",
    "barely-true": "refutes",
    "half-true": "mixed",
    "mostly-true": "supports",
    "true": "supports",
}
"""Six levels from worst to best (Raw Evidence, section 3.5; PolitiFact's names). "Barely true",
today "mostly false", has an element of truth but ignores facts that would give another impression,
so it refutes. The scale has no label for unsettled claims."""
_BOTH: Final[Mapping[str, Stance]] = {"TRUE": "supports", "FALSE": "refutes"}
THREE_WAY: Final[Mapping[str, Stance]] = {**_BOTH, "CAN'T SAY": "unclear"}
"""ECVS (see strategies/calculus.py), section 7.1. Mixed evidence is CAN'T SAY there, so `mixed` has
no label."""
UNPROVEN: Final[Mapping[str, Stance]] = {**_BOTH, "UNPROVEN": "unclear"}
"""RW-Post and AgentFact (Xu et al.), the agent's labels."""
LEVELS: Final[tuple[Veracity, ...]] = get_args(Veracity)
"""The six levels, from worst to best."""
_OTHER_NAMES: Final = {"pants on fire": "pants-fire", "mostly false": "barely-true"}

_WORDS: Final[Mapping[Stance, str]] = {
    "mixed": (
        r"mixed|mixture|half|partly|partially|in part|some truth|a bit of both|both true and false"
        r"|both(?=\Z)"
        r"|(?:lacks?|missing|needs?|out of) (?:\w+ )?context"
    ),
    "unclear": (
        r"unproven|unproved|unverified|unclear|inconclusive|undetermined|unsubstantiated"
        r"|no verdict|(?:insufficient|not enough)(?: evidence)?|not (?:yet|proven|verified)"
        r"|research in progress"
        r"|unknown|cannot be"
    ),
    "refutes": (
        r"(?:(?:mostly|largely|completely|totally|entirely|clearly|demonstrably|simply|pants|a|an) "
        r"){0,3}(?:false|fake|untrue|incorrect|wrong|inaccurate|misleading|myth|hoax|debunked|fabricated"
        r"|baseless|unfounded|fiction|scam|misinformation|not true|not correct|not accurate|refuted"
        r"|on fire|no (?:\w+ )?(?:evidence|basis|truth)|no)"
    ),
    "supports": (
        r"(?:(?:mostly|largely|completely|entirely|basically|essentially) ){0,3}"
        r"(?:true|correct|accurate|yes|confirmed|verified|supported|fact(?! check)|legit)"
    ),
}
"""The words of ratings by their stance."""
_LEAD: Final = "(?:rated |is |was |it is |this is |as )?"
_RATING: Final = re.compile(
    rf"\b(?:{'|'.join(f'(?P<{stance}>{words})' for stance, words in _WORDS.items())})\b"
)
_BETWEEN_PARTS: Final = re.compile(r"[:;,.()\u2013\u2014]|\bthat\b")
_EVERY_LABEL: Final[Mapping[str, Stance]] = {
    **{stance: stance for stance in STANCES},
    **AVERITEC,
    **FEVER,
    **VERACITY,
    **THREE_WAY,
    **UNPROVEN,
}
"""All labels and the stances' names; a label means the same on every scale."""
_LOWEST_SUPPORT: Final = 0.75
_HIGHEST_REFUTATION: Final = 0.25
_SURE: Final = 0.7
"""The score of high confidence; for the embedded engine the probability that the side is right."""


def stance_of(label: str, labels: Mapping[str, Stance]) -> Stance:
    """Return the stance of a label, ignoring case and spaces.

    Raises ValueError: The label is unknown; the sentence lists them all.
    """
    stance = {_folded(known): stance for known, stance in labels.items()}.get(_folded(label))
    if stance is None:
        raise ValueError(f"it is none of {', '.join(labels)}. Correct it, or take the item out.")
    return stance


def veracity_of(stance: Stance | None, score: float | None) -> Veracity | None:
    """Return the veracity level of a verdict on the stances, None if it is unclear.

    A side with a confidence score of at least _SURE is true or false, otherwise mostly true or
    barely true. Mixed is half true. Pants on fire adds ridicule to false, which only a model or a
    person can judge, so it never results.
    """
    sure = score is not None and score >= _SURE
    levels: Mapping[Stance | None, Veracity] = {
        "mixed": "half-true",
        "supports": "true" if sure else "mostly-true",
        "refutes": "false" if sure else "barely-true",
    }
    return levels.get(stance)


def stance_of_exact_rating(text: str) -> Stance | None:
    """Return the stance of a text that is exactly a published rating, otherwise None.

    Labels that only data sets use, such as NOT ENOUGH INFO, do not count.
    """
    words = _words(text)
    with suppress(ValueError):
        return stance_of(_OTHER_NAMES.get(words, words), VERACITY)
    rating = re.sub(f"^{_LEAD}", "", words)
    return None if _RATING.sub("", rating).strip() else _only_stance(rating)


def names_a_verdict(title: str) -> bool:
    """Whether a part of a title, between punctuation marks, is a rating of a fact-checker."""
    parts = re.split(r"[^\w\s'\u2019-]+|\s-\s", title)
    return any(stance_of_exact_rating(part) is not None for part in parts if part.strip())


def stance_of_claim_review(
    words: str | None,
    value: float | None = None,
    worst: float | None = None,
    best: float | None = None,
) -> Stance | None:
    """Return the stance of a ClaimReview rating, None if it is unknown.

    Known words decide (a label of any scale, or the first part of the text that begins with the
    words of a rating), because publishers' scales differ. Words of several stances, as in "verified
    false", decide nothing. Otherwise the number decides, from `worst` (false) to `best` (true), by
    default 1 to 5: it refutes up to a quarter of the way, and supports from three quarters on. That
    agrees with Google's scale, where "Mostly false" is 2 and "Mostly true" 4
    (developers.google.com, fact check structured data).
    """
    label = _folded(words or "")
    with suppress(ValueError):
        return stance_of(_OTHER_NAMES.get(label, label), _EVERY_LABEL)
    parts = (re.sub(f"^{_LEAD}", "", _words(part)) for part in _BETWEEN_PARTS.split(label))
    rating = next(filter(_RATING.match, parts), None)
    if rating is not None or value is None:
        return None if rating is None else _only_stance(rating)
    low, high = 1.0 if worst is None else worst, 5.0 if best is None else best
    if not low < high or not low <= value <= high:
        return None
    share = (value - low) / (high - low)
    if share <= _HIGHEST_REFUTATION:
        return "refutes"
    return "supports" if share >= _LOWEST_SUPPORT else "mixed"


def veracity_of_annotation(label: str | None, stance: Stance | None) -> Veracity | None:
    """Return the veracity level of an annotation: its own, or that of its stance.

    An annotated stance counts as certain: supports is true, refutes is false.
    """
    name = _folded(_OTHER_NAMES.get(_folded(label or ""), label or ""))
    return next((level for level in LEVELS if _folded(level) == name), veracity_of(stance, 1.0))


def _words(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", _folded(text)))


def _only_stance(text: str) -> Stance | None:
    """Return the stance of the rating words in a text, None for none or several.

    "Partly true" and "partly false" are mixed.
    """
    stances = {str(found.lastgroup) for found in _RATING.finditer(text)}
    if "mixed" in stances:
        return "mixed"
    return cast("Stance", stances.pop()) if len(stances) == 1 else None


def _folded(label: str) -> str:
    return re.sub(r"[\s_-]+", " ", label.strip().replace("\u2019", "'")).casefold()
