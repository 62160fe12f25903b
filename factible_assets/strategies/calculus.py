"""The formulas of ECVS: the confidence calculus, the credibility of sources, and claim classes.

Source: "Enhanced Claim Verification System with Real Source Integration" (2025), equations 9 to 19,
algorithms 1, 4 and 5, tables 1 and 3.

The calculus as published has oddities (each has a test):

- It measures support of the claim, not confidence in a verdict: sources that all refute the claim
  give the least agreement, 0.1 (algorithm 4, line 19).
- One supporting source among ten scores 0.1, one refuting one 0.28, ten neutral ones 0.4.
- The tone lies between 0.85 and 1, because hedging has a cap of 0.15 (equations 15, 16), and adds
  to the evidence (equation 17). So a claim without any source gets 57 %, no result is below 48 %,
  and the labels Very Low and Low never occur.
- One more source can lower the result: low credibility lowers the mean (equation 13), and a third
  source raises the share of the evidence at the cost of the larger tone (equation 17).
- Equation 13 divides by zero without sources; here the credibility of none is 0.
- Equation 18 names a final evidence score that no other equation uses; here equation 17 mixes it.

Hedging counts distinct words (equation 15 intersects sets) exactly as listed: "suggests" is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from factible_assets.reasoners.embedded.text import word_set
from factible_assets.stages.reliability import LISTED_SCORES, institution_of
from resources.ratings.base import ListedRating

N_MAX: Final = 8
"""Sources after which more add nothing (equation 12)."""
WEIGHTS: Final = (0.25, 0.45, 0.30)
"""Of volume, credibility and agreement in the evidence score (equation 11)."""
DECISIVE: Final = 1.2
"""The weight of a source that supports or opposes; a neutral one has 1 (equation 14)."""
HEDGING_CAP: Final = 0.15
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
"""Least number of sources, credibility to exceed, and the share of the evidence (equation 17)."""
_SHARE_OTHERWISE: Final = 0.5
_FEW_NEUTRAL, _FEW_AGREE, _MANY_AGREE = 3, 0.5, 0.4
"""Agreement of neutral sources alone: 0.5 up to three, 0.4 for more (algorithm 4)."""
_OPPOSED, _OPPOSED_SLOPE, _OPPOSED_FLOOR = 0.3, 0.2, 0.1
"""Agreement if most sources oppose: 0.3 - 0.2 · their share, at least 0.1 (algorithm 4)."""
CONSENSUS_SOURCES, CONSENSUS_BONUS = 2, 0.1
"""Supporting sources without an opposing one that earn the bonus (algorithm 4)."""
_GOOD, _GOOD_SOURCES, _QUALITY_BONUS = 0.8, 2, 0.05
"""Credibility to exceed, and the sources above it that earn the bonus (equation 18)."""
_DIGITS: Final = 9
"""Decimals at which thresholds compare, so that a mean of 0.7 in floats is not above 0.7."""
Label = Literal["Very Low", "Low", "Moderate", "High", "Very High"]
LABELS: Final[Mapping[int, Label]] = {
    20: "Very Low", 40: "Low", 60: "Moderate", 80: "High", 100: "Very High"
}  # fmt: skip
"""The label of each range by its highest percentage (table 1)."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class ScoredSource:
    """One source (equations 1, 3, 4): credibility from 0 to 1; `supports` is None if neutral."""

    credibility: float
    supports: bool | None


@dataclass(frozen=True, slots=True)
class Confidence:
    """A result with its parts, all from 0 to 1; `percent` from 15 to 95."""

    volume: float
    credibility: float
    agreement: float
    evidence: float
    tone: float
    final: float
    percent: int

    @property
    def label(self) -> Label:
        return next(label for highest, label in LABELS.items() if self.percent <= highest)


# --- The equations ------------------------------------------------------------------------------


def volume(n: int) -> float:
    """Return √n/√n_max, between 0 and 1 (equation 12)."""
    return math.sqrt(min(max(n, 0), N_MAX) / N_MAX)


def weighted_credibility(sources: Sequence[ScoredSource]) -> float:
    """Return Σ C·W / Σ W (equations 13, 14); 0 without sources."""
    weights = [1.0 if source.supports is None else DECISIVE for source in sources]
    weighted = [source.credibility * by for source, by in zip(sources, weights, strict=True)]
    return math.fsum(weighted) / (math.fsum(weights) or 1.0)


def agreement(sources: Sequence[ScoredSource]) -> float:
    """Return the agreement of the sources with the claim, from 0 to 1 (algorithm 4)."""
    support = sum(source.supports is True for source in sources)
    oppose = sum(source.supports is False for source in sources)
    if support + oppose == 0:
        return _FEW_AGREE if len(sources) <= _FEW_NEUTRAL else _MANY_AGREE
    if support >= oppose:
        share = support / len(sources)
        is_consensus = oppose == 0 and support >= CONSENSUS_SOURCES
        return min(1.0, share + CONSENSUS_BONUS) if is_consensus else share
    return max(_OPPOSED_FLOOR, _OPPOSED - oppose / len(sources) * _OPPOSED_SLOPE)


def hedging_density(text: str) -> float:
    """Return min(|W_h ∩ W_t| / |W_t|, 0.15) over distinct words (equation 15); 0 without words."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return min(len(words & HEDGES) / len(words), HEDGING_CAP) if words else 0.0


def tone(text: str) -> float:
    """Return 1 - hedging density, from 0.85 to 1 (equation 16)."""
    return 1.0 - hedging_density(text)


def evidence_share(n: int, credibility: float) -> float:
    """Return the share of the evidence in the result; the tone has the rest (equation 17)."""
    mean = round(credibility, _DIGITS)
    shares = (share for least, above, share in MIXES if n >= least and mean > above)
    return next(shares, _SHARE_OTHERWISE)


def with_quality_bonus(score: float, sources: Sequence[ScoredSource]) -> float:
    """Add 0.05, up to 1, if two sources are above 0.8 (equation 18)."""
    good = sum(source.credibility > _GOOD for source in sources)
    return min(1.0, score + _QUALITY_BONUS) if good >= _GOOD_SOURCES else score


def percentage(final: float) -> int:
    """Return max(15, min(95, ⌊100·final⌋)) (equation 19)."""
    # In floats, 0.29 · 100 lies a hair below 29.
    return max(FLOOR, min(CEILING, math.floor(round(final * 100, _DIGITS))))


def evidence_score(parts: tuple[float, float, float], sources: Sequence[ScoredSource]) -> float:
    """Return the evidence score of volume, credibility and agreement (equations 11, 18)."""
    score = math.fsum(by * part for by, part in zip(WEIGHTS, parts, strict=True))
    return with_quality_bonus(score, sources)


# --- The two variants ---------------------------------------------------------------------------


def published(sources: Sequence[ScoredSource], text: str) -> Confidence:
    """Return the calculus exactly as published (equations 10 to 19, algorithm 4).

    `text` is the reasoning of the judge; section 5.5 does not name the text. The result equals a
    calculation with fractions in 20,000 random cases. Without rounding to nine decimals, 9 of them
    differ by one to eight points, because floats miss the thresholds of equations 17 and 19.
    """
    parts = (volume(len(sources)), weighted_credibility(sources), agreement(sources))
    evidence, share = evidence_score(parts, sources), evidence_share(len(sources), parts[1])
    final = share * evidence + (1 - share) * tone(text)
    return Confidence(*parts, evidence, tone(text), final, percentage(final))


def corrected(sources: Sequence[ScoredSource], text: str) -> Confidence:
    """Return the confidence in the side of most decisive sources, without the oddities above.

    The parameters are ECVS's. The differences:

    1. The side that more decisive sources take decides, for the claim or against it.
    2. Agreement is that side's share of the decisive sources (with the consensus bonus), 0 without.
    3. Volume counts the sources of that side, without neutral ones.
    4. Credibility is the mean of that side's two best (the number of equation 18), a missing one
       counting 0, so another source never lowers it.
    5. Tone only takes away: final = E·(s + (1 - s)·T).
    6. Hedging stretches over its cap, so that T runs from 0 to 1 and not from 0.85.

    The result rises with each source for the leading side and falls with each one against it, up to
    the floor and the ceiling.
    """
    support = [source for source in sources if source.supports is True]
    oppose = [source for source in sources if source.supports is False]
    side, other = (support, oppose) if len(support) >= len(oppose) else (oppose, support)
    best = sorted((source.credibility for source in side), reverse=True)[:_GOOD_SOURCES]
    agreement = len(side) / (len(side) + len(other)) if side else 0.0
    if len(side) >= CONSENSUS_SOURCES and not other:
        agreement = min(1.0, agreement + CONSENSUS_BONUS)
    parts = (volume(len(side)), math.fsum(best) / _GOOD_SOURCES, agreement)
    evidence, share = evidence_score(parts, side), evidence_share(len(side), parts[1])
    tone = 1.0 - hedging_density(text) / HEDGING_CAP
    final = evidence * (share + (1 - share) * tone)
    return Confidence(*parts, evidence, tone, final, percentage(final))


CALCULUS: Final = {"published": published, "corrected": corrected}


# --- Credibility --------------------------------------------------------------------------------

INSTITUTIONAL: Final = 0.75
"""Of .gov and .edu (equation 9). The project's own rule says 0.90."""
UNKNOWN: Final = 0.50
PAPER: Final = 0.85
CITATION_BONUSES: Final = ((100, 0.05, 0.95), (50, 0.03, 0.90))
"""Citations to exceed, the bonus of the paper, and its limit (algorithm 1, lines 7 to 10)."""


def domain_credibility(host: str, listed: Sequence[ListedRating]) -> float:
    """Return the credibility of a domain, from 0 to 1 (equation 9).

    It is the first listed score (the rating set states the middle of the range of a tier), else
    that of .gov and .edu, else the usual score of the first listed rating, else that of an unknown
    domain.
    """
    score = next((rating.score for rating in listed if rating.score is not None), None)
    if score is not None:
        return score
    if institution_of(host):
        return INSTITUTIONAL
    return LISTED_SCORES[listed[0].rating] if listed else UNKNOWN


def academic_credibility(citations: int | None) -> float:
    """Return the credibility of a paper by its citations (algorithm 1, lines 6 to 11)."""
    for above, bonus, most in CITATION_BONUSES:
        if (citations or 0) > above:
            return min(most, PAPER + bonus)
    return PAPER


# --- Claim classes (section 6, algorithm 5) -----------------------------------------------------

ClaimClass = Literal["scientific", "quote", "historical", "health", "predictive", "general"]

PUBLISHED_CLASSES: Final[Mapping[ClaimClass, tuple[str, ...]]] = {
    "scientific": ("study", "research", "scientist", "percent", "data shows"),
    "quote": ("said", "stated", "according to", "quote", "claimed"),
    "historical": ("happened", "occurred", "when", "date", "year", "during"),
    "health": ("health", "medical", "disease", "treatment", "cure"),
    "predictive": ("will", "going to", "predict", "future", "forecast"),
}
"""The substrings that algorithm 5 looks for, in its order."""
_CLASSES: Final[Mapping[ClaimClass, str]] = {
    "quote": r"said|stated|according to|quot(?:e[ds]?|ing)|claim(?:s|ed)|told|tweeted",
    "predictive": r"predict(?:s|ed|ions?)?|forecasts?|in the future"
    r"|by 2(?:0[3-9]\d|[1-9]\d\d)(?! ?(?:%|percent))"
    r"|(?:will|going to)(?!\w).*(?<!\w)(?:(?:next|coming) (?:\w+ )?(?:week|month|year|decade)s?"
    r"|(?:weeks|months|years|decades|centuries)['\u2019]? (?:time|from now)|tomorrow|soon|one day"
    r"|this century)",
    "health": r"health(?:y|ier)?|medic(?:al|ines?)|diseases?|treatments?|treat(?:s|ed)?|cure[sd]?"
    r"|cancers?|diabetes|vaccin(?:es?|ated|ation)|virus(?:es)?|infections?|symptoms?|drugs?"
    r"|diets?|vitamins?|blood|doses?|patients?|obesity|calori(?:e|es)|autism",
    "scientific": r"stud(?:y|ies)|research(?:ers?)?|scientists?|percent(?:age)?|data shows?"
    r"|statistics|on average|experiments?|\d[\d.,]* ?%",
    "historical": r"happened|occurred|when|dates?|years?|during|in (?:1\d{3}|20[0-2]\d)",
}
# Quotation marks are no letters, so no word boundary surrounds them.
_QUOTATION = re.compile(r"[\"“„«][^\"”“»]{8,}[\"”“»]")

SEARCH: Final[Mapping[ClaimClass, str]] = {
    "scientific": "peer-reviewed study results",
    "health": "systematic review clinical trial",
    "quote": "full transcript original speech",
    "historical": "archive record",
}
"""Words that a query of type `source` adds to the claim's: papers for science and health, primary
sources for quotes. Section 6 says only that classes serve "optimized processing"; this is our
reading, and so is `PREDICTION`."""
PREDICTION: Final = (
    "This is a prediction. No source of today can show whether it will come true, so it gets a "
    "note and no verdict."
)
"""The summary of a claim of the class `predictive`, for which the check makes no search."""


def claim_class(claim: str, classes: Literal["words", "published"] = "words") -> ClaimClass:
    """Return the class of a claim (algorithm 5).

    `published`: by substrings, in the algorithm's order, so that "Williams" predicts and "update"
    is historical. `words`: by whole words, quotations and predictions first; "will" predicts only
    with a future time, because "exercise will improve your mood" is no prediction (8 of 12 claims
    with "will" among 293 that annotators made).
    """
    if classes == "published":
        text = claim.lower()
        for name, parts in PUBLISHED_CLASSES.items():
            if any(part in text for part in parts):
                return name
        return "general"
    if _QUOTATION.search(claim):
        return "quote"
    for name, words in _CLASSES.items():
        if re.search(rf"(?<!\w)(?:{words})(?!\w)", claim, re.IGNORECASE):
            return name
    return "general"
