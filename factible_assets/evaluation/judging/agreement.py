"""How far a judge agrees with people: on the same scale, with n, and with an interval.

What belongs here: the three measures and what they are computed over. What does not: which claims
are the same (matching.py), resampling (intervals.py).

A measure that is undefined is None, which is not zero: two people who both give the same score to
everything agree on each item, and nothing can be said of their agreement beyond chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from factible_assets.evaluation.figures import Interval
from factible_assets.evaluation.intervals import RESAMPLES, SEED, statistic_interval
from factible_assets.evaluation.judging.criteria import HIGHEST

Pair = tuple[float, int]
"""What the judge and a person gave to the same thing. The judge's may be a mean of several."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """One measure of agreement; `value` is None where it is undefined."""

    name: str
    value: float | None
    n: int
    interval: Interval | None
    baseline: float | None = None
    """What always giving the people's commonest score has; None where nothing is trivial."""


def agreement(
    videos: Mapping[str, Sequence[Pair]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Agreed, ...]:
    """Return exact agreement, quadratic-weighted kappa and Spearman's rank correlation.

    Args:
        videos: The pairs of each video; videos are resampled whole for the intervals.
        resamples: How often videos are drawn with replacement.
        seed: Of the draws.
    """
    groups = [pairs for pairs in videos.values() if pairs]
    pairs = [pair for group in groups for pair in group]

    def measured(
        name: str, measure: Callable[[Sequence[Pair]], float | None], baseline: float | None = None
    ) -> Agreed:
        interval = statistic_interval(groups, measure, resamples=resamples, seed=seed)
        return Agreed(name, measure(pairs), len(pairs), interval, baseline)

    return (
        measured("exact agreement", exact_agreement, commonest_share(pairs)),
        measured("weighted kappa", weighted_kappa),
        measured("Spearman", spearman),
    )


def rounded(score: float) -> int:
    """Return the score of the scale next to a mean; a half is rounded up."""
    return min(HIGHEST, max(0, math.floor(score + 0.5)))


def exact_agreement(pairs: Sequence[Pair]) -> float | None:
    """Return the share of pairs with the same score; None if there are none."""
    if not pairs:
        return None
    return sum(rounded(judge) == person for judge, person in pairs) / len(pairs)


def commonest_share(pairs: Sequence[Pair]) -> float | None:
    """Return how often people gave their commonest score; None if there are none."""
    counts = Counter(person for _, person in pairs)
    return counts.most_common(1)[0][1] / len(pairs) if pairs else None


def weighted_kappa(pairs: Sequence[Pair]) -> float | None:
    """Return Cohen's kappa with quadratic weights (Cohen, 1968).

    `1 - sum(w * observed) / sum(w * expected)` with `w = (i - j)^2`, over all pairs of levels, and
    the expected counts from the margins. None where no disagreement is expected: no pairs, or one
    score alone on both sides.
    """
    n = len(pairs)
    observed = math.fsum((rounded(judge) - person) ** 2 for judge, person in pairs)
    judges = Counter(rounded(judge) for judge, _ in pairs)
    people = Counter(person for _, person in pairs)
    expected = math.fsum(
        (i - j) ** 2 * judges[i] * people[j] / n for i in judges for j in people if n
    )
    return 1 - observed / expected if expected else None


def spearman(pairs: Sequence[Pair]) -> float | None:
    """Return the rank correlation, ties sharing the mean of their ranks (Spearman, 1904).

    None with fewer than two pairs, or where one side gives the same score to everything.
    """
    if len(pairs) < 2:  # noqa: PLR2004 - an order needs two
        return None
    first = _ranks([judge for judge, _ in pairs])
    second = _ranks([person for _, person in pairs])
    middle = (len(pairs) + 1) / 2
    spread = math.sqrt(
        math.fsum((rank - middle) ** 2 for rank in first)
        * math.fsum((rank - middle) ** 2 for rank in second)
    )
    if not spread:
        return None
    both = zip(first, second, strict=True)
    shared = math.fsum((one - middle) * (other - middle) for one, other in both)
    return min(1.0, max(-1.0, shared / spread))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    counts = Counter(values)
    firsts = {value: order.index(value) for value in counts}
    return [firsts[value] + (counts[value] + 1) / 2 for value in values]
