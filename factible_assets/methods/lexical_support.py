"""Whether a text supports a claim, by counting indicator words (ECVS, section 4).

What belongs here: algorithm 3 with its three indicator sets. What does not: reading that looks at
what the words say (reasoners).

A baseline, and known to be one: an indicator counts wherever it stands, so "nobody confirms it"
supports, "unsupported" supports, and "no evidence supports it" counts on both sides and says
nothing. Cue words like these are at chance on real pages; the benchmark `methods` shows how far
this gets beside the engine.
"""

from __future__ import annotations

from typing import Final

from factible_assets.reasoners.embedded.text import STOP_WORDS, tokenise

LEAST_RELEVANCE: Final = 0.3
"""Share of the claim's key words below which a text says nothing (algorithm 3, line 5)."""

SUPPORT: Final = (
    "confirm",
    "support",
    "evidence shows",
    "research indicates",
    "proven",
    "demonstrated",
    "validates",
)
OPPOSITION: Final = (
    "disprove",
    "refute",
    "contradict",
    "false",
    "debunked",
    "no evidence",
    "lacks evidence",
)
UNCERTAINTY: Final = (
    "unclear",
    "mixed evidence",
    "conflicting",
    "debate",
    "controversial",
    "inconclusive",
)
"""The indicator sets (section 4.2)."""


def relevance(text: str, claim: str) -> float:
    """Return the share of a claim's key words that a text holds (algorithm 3, line 4).

    Key words are the distinct words without stop words; one is held wherever its letters stand, as
    the algorithm has it. 0 for a claim of stop words alone, which the algorithm divides by.
    """
    words = {word.norm for word in tokenise(claim)} - STOP_WORDS
    folded = text.casefold()
    return sum(word in folded for word in words) / len(words) if words else 0.0


def lexical_support(text: str, claim: str) -> bool | None:
    """Tell whether a text supports a claim, opposes it (False) or neither (None; algorithm 3).

    An indicator that occurs counts once. The side with strictly the most decides.
    """
    if relevance(text, claim) < LEAST_RELEVANCE:
        return None
    folded = text.casefold()
    support, oppose, uncertain = (
        sum(indicator in folded for indicator in indicators)
        for indicators in (SUPPORT, OPPOSITION, UNCERTAINTY)
    )
    if support > max(oppose, uncertain):
        return True
    return False if oppose > max(support, uncertain) else None
