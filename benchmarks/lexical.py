"""Lexical support analysis (ECVS, section 4, algorithm 3), a baseline that no check uses."""

from __future__ import annotations

from typing import Final

from factible_assets.reasoners.embedded.text import STOP_WORDS, tokenise

LEAST_RELEVANCE: Final = 0.3
"""The share of key words below which a text is irrelevant (algorithm 3, line 5)."""
INDICATORS: Final = (
    "confirm|support|evidence shows|research indicates|proven|demonstrated|validates",
    "disprove|refute|contradict|false|debunked|no evidence|lacks evidence",
    "unclear|mixed evidence|conflicting|debate|controversial|inconclusive",
)
"""Indicators of support, opposition and uncertainty (section 4.2)."""


def relevance(text: str, claim: str) -> float:
    """Return the share of a claim's key words in a text (algorithm 3, line 4), 0 without key words.

    Key words are distinct and no stop words; any occurrence of their letters counts.
    """
    words = {word.norm for word in tokenise(claim)} - STOP_WORDS
    folded = text.casefold()
    return sum(word in folded for word in words) / len(words) if words else 0.0


def lexical_support(text: str, claim: str) -> bool | None:
    """Tell whether a text supports a claim (True), opposes it (False) or neither (None).

    Each indicator counts once, and the strict majority decides. It is a weak baseline: "nobody
    confirms it" and "unsupported" support, "no evidence supports it" is neutral.
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
