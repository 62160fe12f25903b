"""ECVS: its confidence calculus, corrected, where credibility comes from, and claim classes.

What belongs here: equations 9, 11, 12 and 15 to 19, algorithms 1 and 5, table 1, the parameters of
table 3. What does not: the calculus as it is written, with its oddities, beside which figures are
shown (benchmarks/ecvs.py); which domains are in which tier (corpora/credibility_tiers.yaml); the
engine's own ratings (stages/reliability.py); asking models and reading what they answer, as
algorithm 6 does (reasoners/llm); scales (scales.py).

Hedging counts distinct words of distinct words (equation 15 intersects sets), and words as they are
listed: "suggests" hedges nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from factible_assets.reasoners.embedded.text import word_set
from factible_assets.stages.reliability import institution_of
from resources.ratings.base import ListedRating

N_MAX: Final = 8
"""Sources after which more add nothing (equation 12)."""
WEIGHTS: Final = (0.25, 0.45, 0.30)
"""Of volume, credibility and agreement in the evidence score (equation 11)."""
HEDGING_CAP: Final = 0.15
"""The most that hedging takes away (equation 15)."""
HEDGES: Final = word_set(
    """
    may might could possibly likely suggest appear indicate perhaps probably potentially seems
    unclear uncertain ambiguous debatable
    """
)
"""W_h (section 5.5)."""
FLOOR, CEILING = 15, 95
"""Bounds of the result in per cent (equation 19)."""
MIXES: Final = ((3, 0.7, 0.8), (1, 0.5, 0.7))
"""From so many sources of more than this credibility on, the share of the evidence (eq. 17)."""
_SHARE_OTHERWISE: Final = 0.5
CONSENSUS_SOURCES, CONSENSUS_BONUS = 2, 0.1
_GOOD, _GOOD_SOURCES, _QUALITY_BONUS = 0.8, 2, 0.05
Label = Literal["Very Low", "Low", "Moderate", "High", "Very High"]
LABELS: Final[Mapping[int, Label]] = {
    20: "Very Low", 40: "Low", 60: "Moderate", 80: "High", 100: "Very High"
}  # fmt: skip
"""Up to which percentage each word is used (table 1)."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class ScoredSource:
    """One piece of evidence (equations 1, 3, 4): from 0 to 1; `supports` is None if neutral."""

    credibility: float
    supports: bool | None


@dataclass(frozen=True, slots=True)
class Confidence:
    """A result with its parts: all from 0 to 1, `percent` from 15 to 95."""

    volume: float
    credibility: float
    agreement: float
    evidence: float
    tone: float
    final: float
    percent: int

    @property
    def label(self) -> Label:
        """Return the word for the percentage (table 1)."""
        return next(label for highest, label in LABELS.items() if self.percent <= highest)


def volume(n: int) -> float:
    """Map a number of sources to 0..1 (equation 12): √n/√n_max between 0 and n_max."""
    return math.sqrt(min(max(n, 0), N_MAX) / N_MAX)


def hedging_density(text: str) -> float:
    """Return min(|W_h ∩ W_t| / |W_t|, 0.15) over distinct words (equation 15); 0 without words."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return min(len(words & HEDGES) / len(words), HEDGING_CAP) if words else 0.0


def evidence_share(n: int, credibility: float) -> float:
    """Return what the evidence weighs against the tone (equation 17)."""
    met = (share for least, above, share in MIXES if n >= least and credibility > above)
    return next(met, _SHARE_OTHERWISE)


def with_quality_bonus(score: float, sources: Sequence[ScoredSource]) -> float:
    """Add 0.05 where two sources are above 0.8, up to 1 (equation 18)."""
    good = sum(each.credibility > _GOOD for each in sources)
    return min(1.0, score + _QUALITY_BONUS) if good >= _GOOD_SOURCES else score


def percentage(final: float) -> int:
    """Return max(15, min(95, ⌊100·final⌋)) (equation 19)."""
    # A product such as 0.29 · 100 lies a hair below the whole number that it stands for.
    return max(FLOOR, min(CEILING, math.floor(round(final * 100, 9))))


def evidence_score(parts: tuple[float, float, float], sources: Sequence[ScoredSource]) -> float:
    """Return the evidence score of volume, credibility and agreement (equations 11, 18)."""
    score = math.fsum(by * part for by, part in zip(WEIGHTS, parts, strict=True))
    return with_quality_bonus(score, sources)


def corrected(sources: Sequence[ScoredSource], text: str) -> Confidence:
    """Return how sure the side is that most sources take: the calculus without its oddities.

    Parameters and shape are those of ECVS. What differs:

    1. It is about the side that more decisive sources take, for the claim or against it.
    2. Agreement is that side's share of the decisive sources (with the consensus bonus), 0 without.
    3. Volume counts the sources of that side, not those that say nothing.
    4. Credibility is the mean of that side's two best (the number of equation 18), a missing one
       counting 0: another source never lowers it.
    5. Tone takes away and adds nothing: final = E·(s + (1 - s)·T).
    6. Hedging is stretched over its cap, so that T is 0 to 1 and not 0.85 to 1.

    It rises with every source that is added to the leading side and falls with each against it, up
    to the floor and the ceiling.
    """
    support = [each for each in sources if each.supports is True]
    oppose = [each for each in sources if each.supports is False]
    side, other = (support, oppose) if len(support) >= len(oppose) else (oppose, support)
    best = sorted((each.credibility for each in side), reverse=True)[:_GOOD_SOURCES]
    agreed = len(side) / (len(side) + len(other)) if side else 0.0
    if len(side) >= CONSENSUS_SOURCES and not other:
        agreed = min(1.0, agreed + CONSENSUS_BONUS)
    parts = (volume(len(side)), math.fsum(best) / _GOOD_SOURCES, agreed)
    evidence, share = evidence_score(parts, side), evidence_share(len(side), parts[1])
    toned = 1.0 - hedging_density(text) / HEDGING_CAP
    final = evidence * (share + (1 - share) * toned)
    return Confidence(*parts, evidence, toned, final, percentage(final))


# --- Where credibility comes from ---------------------------------------------------------------

INSTITUTIONAL: Final = 0.75
"""Of .gov and .edu (equation 9). The engine's own rule says 0.90."""
UNKNOWN: Final = 0.50
PAPER: Final = 0.85
CITATION_BONUSES: Final = ((100, 0.05, 0.95), (50, 0.03, 0.90))
"""Above so many citations a paper gains this much, up to that, which is never reached (algorithm
1, lines 7 to 10)."""


def domain_credibility(host: str, listed: Iterable[ListedRating]) -> float:
    """Return the credibility of a domain, from 0 to 1 (equation 9): the first score that is listed.

    The equation gives each tier a range and no place in it: the rating set states its middle.
    """
    tier = next((each.score for each in listed if each.score is not None), None)
    if tier is not None:
        return tier
    return INSTITUTIONAL if institution_of(host) else UNKNOWN


def academic_credibility(citations: int | None) -> float:
    """Return the credibility of a paper by how often it is cited (algorithm 1, lines 6 to 11)."""
    for above, bonus, most in CITATION_BONUSES:
        if (citations or 0) > above:
            return min(most, PAPER + bonus)
    return PAPER


# --- Claim classes (section 6, algorithm 5) -----------------------------------------------------

ClaimClass = Literal["scientific", "quote", "historical", "health", "predictive", "general"]

_CLASSES: Final[Mapping[ClaimClass, str]] = {
    "quote": r"said|stated|according to|quot(?:e[ds]?|ing)|claim(?:s|ed)|told|tweeted",
    "predictive": r"predict(?:s|ed|ions?)?|forecasts?|in the future|by 2(?:0[3-9]|1)\d\d?"
    r"|(?:will|going to)(?!\w).*(?<!\w)(?:(?:next|coming) (?:\w+ )?(?:week|month|year|decade)s?"
    r"|(?:weeks|months|years|decades|centuries) (?:time|from now)|tomorrow|soon|one day"
    r"|this century)",
    "health": r"health(?:y|ier)?|medic(?:al|ines?)|diseases?|treatments?|treat(?:s|ed)?|cure[sd]?"
    r"|cancers?|diabetes|vaccin(?:es?|ated|ation)|virus(?:es)?|infections?|symptoms?|drugs?"
    r"|diets?|vitamins?|blood|doses?|patients?|obesity|calori(?:e|es)|autism",
    "scientific": r"stud(?:y|ies)|research(?:ers?)?|scientists?|percent(?:age)?|data shows?"
    r"|statistics|on average|experiments?|\d[\d.,]* ?%",
    "historical": r"happened|occurred|when|dates?|years?|during|in 1\d{3}|in 20[0-2]\d",
}
# A quotation mark is no letter, so that no word boundary stands around it.
_QUOTATION = re.compile(r"[\"“„«][^\"”“»]{8,}[\"”“»]")

SEARCH: Final[Mapping[ClaimClass, str]] = {
    "scientific": "peer-reviewed study results",
    "health": "systematic review clinical trial",
    "quote": "full transcript original speech",
    "historical": "archive record",
}
"""Added to a claim's own words in a query of type `source`: papers for science and health, primary
sources for quotes. Section 6 says that classes are there for "optimized processing" and not how;
this is our reading, and so is `PREDICTION`."""
PREDICTION: Final = (
    "This is a prediction. No source that is published today can show whether it will come true, "
    "so it gets a note and no verdict."
)
"""Said of the class `predictive` in place of a verdict, and nothing is searched."""


def claim_class(claim: str) -> ClaimClass:
    """Return the class of a claim by whole words, quotations and predictions first (algorithm 5).

    The algorithm looks for letters, so that "Williams" predicts and "update" is historical. And it
    takes every "will" for a prediction: "exercise will improve your mood", as talks have it, is
    none where no time to come is named (8 of 12 such claims among 293 that annotators made).
    """
    if _QUOTATION.search(claim):
        return "quote"
    found = (
        name
        for name, words in _CLASSES.items()
        if re.search(rf"(?<!\w)(?:{words})(?!\w)", claim, re.IGNORECASE)
    )
    return next(found, "general")
