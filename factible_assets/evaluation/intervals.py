"""How sure a figure is, and whether two runs differ: bootstrap over videos, signed ranks.

What belongs here: bootstrap intervals, paired comparisons. What does not: metrics.

Videos are resampled, not claims: the claims of one video share its transcript, its topic and its
sources, so they are no independent observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from factible_assets.evaluation.figures import Interval, Ratio

RESAMPLES = 2000
SEED = 20251214

Values = npt.NDArray[np.float64]

Item = TypeVar("Item")


def mean_interval(
    values: Sequence[float], *, seed: int = SEED, resamples: int = RESAMPLES, level: float = 0.95
) -> Interval | None:
    """Return the percentile bootstrap interval of a mean (Efron and Tibshirani, 1993, ch. 13).

    Args:
        values: One per video, where the metric is defined.
        seed: The same seed gives the same interval.
        resamples: How often videos are drawn with replacement.
        level: The interval's coverage.

    Returns:
        None with fewer than two values: one video says nothing of the spread between videos.
    """
    if len(values) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    data = np.asarray(values, dtype=np.float64)
    return _percentiles(data[_draws(len(data), seed, resamples)].mean(axis=1), level)


def pooled_interval(
    ratios: Sequence[Ratio], *, seed: int = SEED, resamples: int = RESAMPLES, level: float = 0.95
) -> Interval | None:
    """Return the percentile bootstrap interval of a pooled ratio, resampling videos.

    Videos without items say nothing and are not drawn. None with fewer than two that have some.
    """
    counted = [ratio for ratio in ratios if ratio.denominator]
    if len(counted) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    draws = _draws(len(counted), seed, resamples)
    numerators = np.array([ratio.numerator for ratio in counted])[draws].sum(axis=1)
    denominators = np.array([ratio.denominator for ratio in counted])[draws].sum(axis=1)
    return _percentiles(numerators / denominators, level)


def statistic_interval(
    videos: Sequence[Sequence[Item]],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval of any statistic of the items of all videos.

    Args:
        videos: The items of each video; videos are resampled whole.
        statistic: None where it is undefined; such resamples are left out.
        seed: The same seed gives the same interval.
        resamples: How often videos are drawn with replacement.
        level: The interval's coverage.

    Returns:
        None with fewer than two videos, or if the statistic is undefined in half the resamples.
    """
    if len(videos) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    drawn = (
        statistic([item for index in draw for item in videos[index]])
        for draw in _draws(len(videos), seed, resamples)
    )
    values = [value for value in drawn if value is not None]
    if 2 * len(values) <= resamples:
        return None
    return _percentiles(np.asarray(values, dtype=np.float64), level)


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """What separates two runs over the same videos: second minus first.

    Attributes:
        difference: The mean over videos.
        interval: Its bootstrap interval; None with fewer than two videos.
        p_value: Two-sided: twice the share of resamples on the rarer side of zero, at most 1; None
            with fewer than two videos.
        n: Videos where both runs have a value.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    n: int


def paired_bootstrap(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> PairedBootstrap | None:
    """Compare two runs video by video (Efron and Tibshirani, 1993, ch. 16; Koehn, 2004).

    Args:
        first: One value per video, None where undefined.
        second: Of the same videos in the same order.
        seed: The same seed gives the same answer.
        resamples: How often videos are drawn with replacement.
        level: The interval's coverage.

    Returns:
        None if no video has both values.
    """
    differences = _differences(first, second)
    if not differences.size:
        return None
    mean = float(differences.mean())
    if differences.size == 1:
        return PairedBootstrap(mean, None, None, 1)
    means = differences[_draws(len(differences), seed, resamples)].mean(axis=1)
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    # A resampled p-value cannot be 0: the observed sample is itself one of the resamples.
    p_value = min(1.0, 2 * max(tail, 1 / (resamples + 1)))
    return PairedBootstrap(mean, _percentiles(means, level), p_value, len(differences))


@dataclass(frozen=True, slots=True)
class SignedRank:
    """The Wilcoxon signed-rank test of two runs.

    Attributes:
        statistic: The smaller of the two sums of ranks.
        p_value: Two-sided.
        n: Videos whose values differ; ties say nothing of the direction and are left out.
    """

    statistic: float
    p_value: float
    n: int


def wilcoxon_signed_rank(
    first: Sequence[float | None], second: Sequence[float | None]
) -> SignedRank | None:
    """Test whether the differences of two runs lie symmetrically around zero (Wilcoxon, 1945).

    Exact for few videos without tied ranks, else by the normal approximation.

    Returns:
        None if no video has both values, or all are equal.
    """
    from scipy.stats import wilcoxon  # noqa: PLC0415 - slow to import

    differences = _differences(first, second)
    differing = differences[differences != 0]
    if not differing.size:
        return None
    outcome = wilcoxon(differing)
    return SignedRank(float(outcome.statistic), float(outcome.pvalue), len(differing))


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> Values:
    if len(first) != len(second):
        raise ValueError("two runs are compared over the same videos, in the same order")
    pairs = zip(first, second, strict=True)
    return np.array([b - a for a, b in pairs if a is not None and b is not None], dtype=np.float64)


def _draws(size: int, seed: int, resamples: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, size, size=(resamples, size))


def _percentiles(values: Values, level: float) -> Interval:
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high), level)
