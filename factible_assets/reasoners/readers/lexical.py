"""Lexical support analysis (ECVS, section 4, algorithm 3): a weak baseline reader."""

from __future__ import annotations

from typing import Final

from factible_assets.reasoners.embedded.text import tokenise
from factible_assets.reasoners.readers.base import PageReading
from factible_assets.reasoners.readers.passages import Selection
from resources.words import STOP_WORDS

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
    """Return whether a text supports a claim (True), opposes it (False) or neither (None).

    Each indicator counts once, and the strict majority decides. "Nobody confirms it" and
    "unsupported" count as support, and "no evidence supports it" is neutral.
    """
    if relevance(text, claim) < LEAST_RELEVANCE:
        return None
    support, oppose, uncertain = (_count_indicators(text, side) for side in INDICATORS)
    if support > max(oppose, uncertain):
        return True
    return False if oppose > max(support, uncertain) else None


def _count_indicators(text: str, indicators: str) -> int:
    folded = text.casefold()
    return sum(indicator in folded for indicator in indicators.split("|"))


class LexicalReader:
    """Reads a page by indicator words, and quotes the sentences that hold them."""

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Read the whole page and its title; algorithm 3 states no confidence, so it is 1."""
        text = " ".join([title, *(sentence.text for sentence in selection.sentences)])
        supports, bearing = lexical_support(text, claim), relevance(text, claim)
        if supports is None:
            return PageReading(bearing=bearing if bearing >= LEAST_RELEVANCE else 0.0)
        side = INDICATORS[0 if supports else 1]
        quotes = tuple(
            (sentence.start, sentence.end)
            for sentence in selection.sentences
            if _count_indicators(sentence.text, side)
        )
        return PageReading(
            "supports" if supports else "refutes", 1.0, quotes=quotes, bearing=bearing
        )
