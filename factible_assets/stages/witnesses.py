"""From what one reader says of several pages to one probability that a claim holds.

The combination of calibrated page probabilities belongs here. The readings themselves do not
(reasoners/readers), nor does the word for the probability (verdict.py).

Pages that one reader reads are correlated witnesses: it errs on all of them for the same reason.
As independent witnesses their log-odds would add up, and six pages that lean by .7 would make .99.
As one witness they would make their mean. `SHARED` stands between the two: it is the correlation of
equally good witnesses, for which the sum of n log-odds is divided by 1 + SHARED · (n - 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

SHARED = 0.3
"""Correlation of the errors of one reader on pages about one claim. Of claims with two to five
sources in three data sets, 0 to 0.3 give the same Brier scores, larger ones worse scores, and each
set left out in turn changes that little (benchmarks/labels.py): so it is the most cautious of them.
"""
_MOST = 0.97
"""Probability up to which one page is believed: a few hundred pairs cannot show more."""


@dataclass(frozen=True, slots=True)
class Witness:
    """One page: the probabilities that it supports and that it refutes a claim.

    What is left of 1 is the probability that it does not settle the claim. `weight`, in [0, 1],
    says how much the page's word counts: 1 for a source that is rated high.
    """

    supports: float
    refutes: float
    weight: float = 1.0

    @property
    def log_odds(self) -> float:
        """Return how far the page speaks for the claim. A silent page speaks for neither side."""
        silent = max(0.0, 1.0 - self.supports - self.refutes) / 2
        odds = min(_MOST, max(1 - _MOST, self.supports + silent))
        return math.log(odds / (1 - odds))


def chance(witnesses: Iterable[Witness], shared: float = SHARED) -> float:
    """Return the probability, in [0, 1], that a claim holds by the pages that were read.

    It grows with each page's support, and is 0.5 without pages. `shared` is in [0, 1]: 0 for
    independent witnesses, 1 for one and the same.
    """
    total = weights = 0.0
    for each in witnesses:
        total += each.weight * each.log_odds
        weights += each.weight
    return 1 / (1 + math.exp(-total / (1 + shared * max(0.0, weights - 1))))
