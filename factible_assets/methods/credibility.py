"""How credible ECVS holds a source to be: its domain's tier, or a paper with its citations.

What belongs here: equation 9, the citation bonus of algorithm 1. What does not: which domains are
in which tier (corpora/credibility_tiers.yaml), the engine's own ratings (stages/reliability.py).

Equation 9 gives each tier a range and no rule for a place in it; the rating set states the middle
of each range as its score. Its .gov and .edu are taken as what registries keep for institutions,
which includes .gov.uk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from factible_assets.stages.reliability import institution_of
from resources.reliability.base import ListedRating

TIERS: Final = {1: (0.90, 1.00), 2: (0.75, 0.89), 3: (0.55, 0.74), 4: (0.35, 0.54)}
"""Ranges of credibility of the tiers T1 to T4 (equation 9)."""

INSTITUTIONAL: Final = 0.75
"""Of .gov and .edu (equation 9). The engine's own rule says 0.90."""

UNKNOWN: Final = 0.50

PAPER: Final = 0.85
CITATION_BONUSES: Final = ((100, 0.05, 0.95), (50, 0.03, 0.90))
"""Above so many citations a paper gains this much, up to that (algorithm 1, lines 7 to 10).

The bounds never hold: 0.85 and 0.05 make 0.90.
"""


def domain_credibility(host: str, listed: Iterable[ListedRating]) -> float:
    """Return the credibility of a domain, from 0 to 1 (equation 9).

    Args:
        host: The host name.
        listed: What rating sets say of it; the first that states a score is its tier.
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
