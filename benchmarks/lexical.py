"""Lexical support analysis (ECVS, section 4): a baseline that figures are shown beside.

What belongs here: algorithm 3 and its indicators. What does not: what checks claims by it: nothing.
"""

from __future__ import annotations

from typing import Final

from factible_assets.reasoners.embedded.text import STOP_WORDS, tokenise

LEAST_RELEVANCE: Final = 0.3
"""Share of the claim's key words below which a text says nothing (algorithm 3, line 5)."""
INDICATORS: Final = (
    "confirm|support|evidence shows|research indicates|proven|demonstrated|validates",
    "disprove|refute|contradict|false|debunked|no evidence|lacks evidence",
    "unclear|mixed evidence|conflicting|debate|controversial|inconclusive",
)
"""The indicators of support, opposition and uncertainty (section 4.2)."""


def relevance(text: str, claim: str) -> float:
    """Return the share of a claim's key words that a text holds (algorithm 3, line 4).

    Key words are distinct and no stop words; one is held wherever its letters stand. 0 without any.
    """
    words = {word.norm for word in tokenise(claim)} - STOP_WORDS
    folded = text.casefold()
    return sum(word in folded for word in words) / len(words) if words else 0.0


def lexical_support(text: str, claim: str) -> bool | None:
    """Tell whether a text supports a claim, opposes it (False) or neither (None; algorithm 3).

    An indicator that occurs counts once. The side with strictly the most decides. It is a baseline:
    "nobody confirms it" and "unsupported" support, "no evidence supports it" says nothing.
    """
    if relevance(text, claim) < LEAST_RELEVANCE:
        return None
    folded = text.casefold()
    support, oppose, uncertain = (
        sum(indicator in folded for indicator in indicators.split("|")) for indicators in INDICATORS
    )
    if support > max(oppose, uncertain):
        return True
    return False if oppose > max(support, uncertain) else None
