"""Figures with their bootstrap intervals, and paired tests between two runs.

The bootstrap resamples videos, not claims, because claims of one video are not independent: they
share its transcript, its topic and its sources. Intervals are 95 % percentile intervals (Efron and
Tibshirani, 1993, chapter 13), None with fewer than two videos. The draws are seeded, so that the
same values give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

if TYPE_CHECKING:  # Dagster's definitions load this module and need no numpy
    import numpy as np
    import numpy.typing as npt

RESAMPLES = 2000
SEED = 20251214

Values: TypeAlias = "npt.NDArray[np.float64]"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric of one video as a fraction, so that videos can be pooled.

    With a denominator of 0 the metric is undefined. `items` counts its items if the denominator
    does not.
    """

    numerator: float
    denominator: float
    items: int | None = None

    @property
    def n(self) -> int:
        return round(self.denominator) if self.items is None else self.items

    @property
    def value(self) -> float | None:
        return self.numerator / self.denominator if self.denominator else None

    @classmethod
    def pooled(cls, ratios: Iterable[Self]) -> Ratio:
        """Return the ratio over all items of all videos."""
        listed = list(ratios)
        return Ratio(
            math.fsum(ratio.numerator for ratio in listed),
            math.fsum(ratio.denominator for ratio in listed),
        )


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """One reported number: a `value` computed from `n` items of `unit`, None if undefined.

    `baseline` is the score of a trivial answer on the same items. `averaging` is `macro` for the
    mean over videos, `micro` for the items of all videos, and `video` for one video.
    """

    name: str
    value: float | None
    n: int
    unit: str
    interval: Interval | None = None
    baseline: float | None = None
    averaging: str = "video"


def pooled_interval(ratios: Sequence[Ratio], *, resamples: int = RESAMPLES) -> Interval | None:
    """Return the interval of a pooled ratio; with denominators of 1, that of a mean over videos.

    Videos without items are left out.
    """
    counted = [ratio for ratio in ratios if ratio.denominator]
    if len(counted) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    import numpy as np  # noqa: PLC0415 - see above

    draws = _draws(len(counted), resamples)
    numerators = np.array([ratio.numerator for ratio in counted])[draws].sum(axis=1)
    denominators = np.array([ratio.denominator for ratio in counted])[draws].sum(axis=1)
    return _percentiles(numerators / denominators)


def statistic_interval(
    videos: Sequence[Sequence[Item]],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Return the interval of any statistic of the items of all videos.

    Resamples with an undefined statistic are left out; None if that is half of them.
    """
    if len(videos) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    drawn = (
        statistic([item for index in draw for item in videos[index]])
        for draw in _draws(len(videos), resamples)
    )
    values = [value for value in drawn if value is not None]
    if 2 * len(values) <= resamples:
        return None
    return _percentiles(values)


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """The mean difference of two runs (second minus first) over the `n` videos that both have.

    `p_value` is two-sided: twice the share of resamples on the rarer side of zero, at most 1.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    n: int


def paired_bootstrap(
    first: Sequence[float | None], second: Sequence[float | None]
) -> PairedBootstrap | None:
    """Compare two runs over the same videos in the same order, None where undefined.

    Source: Efron and Tibshirani (1993), chapter 16; Koehn (2004). None if no video has both values.
    """
    differences = _differences(first, second)
    if not differences.size:
        return None
    mean = float(differences.mean())
    if differences.size == 1:
        return PairedBootstrap(mean, None, None, 1)
    means = differences[_draws(len(differences), RESAMPLES)].mean(axis=1)
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    # A resampled p-value cannot be 0, because the observed sample is one of the resamples.
    p_value = min(1.0, 2 * max(tail, 1 / (RESAMPLES + 1)))
    return PairedBootstrap(mean, _percentiles(means), p_value, len(differences))


@dataclass(frozen=True, slots=True)
class SignedRank:
    """A two-sided signed-rank test: the smaller sum of ranks, of n videos whose values differ."""

    statistic: float
    p_value: float
    n: int


def wilcoxon_signed_rank(
    first: Sequence[float | None], second: Sequence[float | None]
) -> SignedRank | None:
    """Test whether the differences of two runs are symmetric around zero (Wilcoxon, 1945).

    Exact for few videos without tied ranks, else by the normal approximation. None if no video has
    both values, or all are equal.
    """
    from scipy.stats import wilcoxon  # noqa: PLC0415 - slow to import

    differences = _differences(first, second)
    differing = differences[differences != 0]
    if not differing.size:
        return None
    outcome = wilcoxon(differing)
    return SignedRank(float(outcome.statistic), float(outcome.pvalue), len(differing))


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> Values:
    import numpy as np  # noqa: PLC0415 - see above

    pairs = zip(first, second, strict=True)
    return np.array([b - a for a, b in pairs if a is not None and b is not None], dtype=np.float64)


def _draws(size: int, resamples: int) -> npt.NDArray[np.int64]:
    import numpy as np  # noqa: PLC0415 - see above

    return np.random.default_rng(SEED).integers(0, size, size=(resamples, size))


def _percentiles(values: Values | Sequence[float]) -> Interval:
    import numpy as np  # noqa: PLC0415 - see above

    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(float(low), float(high))
