"""The confidence calculus of ECVS to the letter: a baseline that figures are shown beside.

What belongs here: equations 10 to 17 and algorithm 4 as they are written. What does not: what a
strategy uses, which is the calculus without these oddities (strategies/calculus.py).

What the formulas of section 5 say when they are taken at their word (each a test):

- It is no confidence in a verdict but support of the claim: sources that all refute it give the
  least agreement, 0.1 (algorithm 4, line 19).
- One supporting source among ten scores 0.1, one refuting one 0.28, ten that say nothing 0.4.
- The tone is 0.85 to 1 whatever a text says, because hedging is capped at 0.15 (equations 15, 16),
  and it is added to the evidence (equation 17). So a claim without any source gets 57 %, no result
  is below 48 %, and neither the floor of 15 % nor the labels Very Low and Low ever occur.
- Another source can lower the result: one of little credibility lowers the mean (equation 13), and
  a third one raises the share of the evidence at the cost of the larger tone (equation 17).
- Equation 13 divides by zero without sources. Here the credibility of none is 0.
- Equation 18 names a final evidence score that no other equation uses. Here equation 17 mixes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from factible_assets.strategies.calculus import (
    CONSENSUS_BONUS,
    CONSENSUS_SOURCES,
    Confidence,
    ScoredSource,
    evidence_score,
    evidence_share,
    hedging_density,
    percentage,
    volume,
)

DECISIVE: Final = 1.2
"""What a source that supports or opposes weighs against a neutral one (equation 14)."""
_MANY_NEUTRAL, _COMPLEX, _OPEN = 3, 0.4, 0.5
_OPPOSED, _OPPOSED_SLOPE, _OPPOSED_FLOOR = 0.3, 0.2, 0.1


def weighted_credibility(sources: Sequence[ScoredSource]) -> float:
    """Return Σ C·W / Σ W, decisive sources weighing 1.2 (equations 13, 14); 0 without sources."""
    weights = [1.0 if each.supports is None else DECISIVE for each in sources]
    weighed = zip(sources, weights, strict=True)
    return math.fsum(each.credibility * by for each, by in weighed) / (math.fsum(weights) or 1.0)


def agreement(sources: Sequence[ScoredSource]) -> float:
    """Return how much the sources agree with the claim, from 0 to 1 (algorithm 4)."""
    support = sum(each.supports is True for each in sources)
    oppose = sum(each.supports is False for each in sources)
    if support + oppose == 0:
        return _COMPLEX if len(sources) > _MANY_NEUTRAL else _OPEN
    if support >= oppose:
        share = support / len(sources)
        is_consensus = oppose == 0 and support >= CONSENSUS_SOURCES
        return min(1.0, share + CONSENSUS_BONUS) if is_consensus else share
    return max(_OPPOSED_FLOOR, _OPPOSED - oppose / len(sources) * _OPPOSED_SLOPE)


def tone(text: str) -> float:
    """Return 1 - hedging density, from 0.85 to 1 (equation 16)."""
    return 1.0 - hedging_density(text)


def as_written(sources: Sequence[ScoredSource], text: str) -> Confidence:
    """Return the calculus of ECVS (equations 10 to 19) over sources and a text that explains them.

    The text is the reasoning of whoever judged (section 5.5 does not say which is meant).
    """
    parts = (volume(len(sources)), weighted_credibility(sources), agreement(sources))
    evidence, share = evidence_score(parts, sources), evidence_share(len(sources), parts[1])
    final = share * evidence + (1 - share) * tone(text)
    return Confidence(*parts, evidence, tone(text), final, percentage(final))
