"""The records in which every figure travels: its value, what it rests on, and how sure it is.

What belongs here: ratios, intervals, figures. What does not: how they are computed (metrics,
intervals).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric of one video as the fraction that it is, so that videos can be pooled.

    A denominator of 0 means that the metric is undefined there, which is not zero.
    """

    numerator: float
    denominator: float

    def __post_init__(self) -> None:
        """Refuse what no fraction of counts or scores can be."""
        if not (math.isfinite(self.numerator) and math.isfinite(self.denominator)):
            raise ValueError("a ratio's parts are finite numbers")
        if self.denominator < 0:
            raise ValueError("a ratio's denominator is not negative")

    @property
    def value(self) -> float | None:
        """The quotient; None if it is undefined."""
        return self.numerator / self.denominator if self.denominator else None

    @classmethod
    def pooled(cls, ratios: Iterable[Self]) -> Ratio:
        """Add numerators and denominators: the ratio over all items of all videos."""
        listed = list(ratios)
        return Ratio(
            math.fsum(each.numerator for each in listed),
            math.fsum(each.denominator for each in listed),
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, by default of 95 %."""

    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """One reported number.

    Attributes:
        name: The metric.
        value: None where the metric is undefined, which is never shown as zero.
        n: How many items of `unit` the value rests on.
        unit: What is counted by n.
        interval: Of the bootstrap over videos; None with fewer than two videos.
        baseline: What the trivial answer scores on the same items, such as the majority class.
        averaging: `macro` is the mean over videos, `micro` pools the items of all videos, `video`
            is one video's own.
    """

    name: str
    value: float | None
    n: int
    unit: str
    interval: Interval | None = None
    baseline: float | None = None
    averaging: str = "video"
