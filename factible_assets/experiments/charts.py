"""The geometry of the comparison's drawings: figures in, coordinates out.

What belongs here: scales and places, so that the template only writes them down. What does not:
markup (comparison.html.jinja), which figures are drawn (page.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from factible_assets.experiments.comparison import MetricComparison

STRIP_WIDTH = 180
_PADDING = 8.0

SCATTER_WIDTH, SCATTER_HEIGHT = 460.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 20.0, 16.0, 44.0
_TICKS = 5
"""Steps of an axis, about."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight scale from values to coordinates."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the coordinate of a value, to a tenth."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True, slots=True)
class Strip:
    """One value on the scale of its metric: a dot, its interval, and the baseline's value."""

    dot: float
    low: float | None
    high: float | None
    guide: float | None


def strips(metric: MetricComparison, baseline: str) -> dict[str, Strip]:
    """Return the strip of each variant that has a value; all have one scale."""
    values = [
        each
        for cell in metric.cells
        for each in (cell.value, cell.low, cell.high)
        if each is not None
    ]
    if not values:
        return {}
    scale = Scale(min(values), max(values), _PADDING, STRIP_WIDTH - _PADDING)
    guide = metric.cell(baseline).value
    return {
        cell.variant: Strip(
            scale.at(cell.value),
            None if cell.low is None else scale.at(cell.low),
            None if cell.high is None else scale.at(cell.high),
            None if guide is None else scale.at(guide),
        )
        for cell in metric.cells
        if cell.value is not None
    }


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Point:
    """One variant: its number in the table, and where it stands."""

    number: int
    variant: str
    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """What is gained against what it takes."""

    x_name: str
    y_name: str
    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    width: float = SCATTER_WIDTH
    height: float = SCATTER_HEIGHT
    left: float = _LEFT
    right: float = SCATTER_WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = SCATTER_HEIGHT - _BOTTOM


def scatter(
    x_name: str,
    y_name: str,
    values: Sequence[tuple[int, str, float | None, float | None]],
) -> Scatter | None:
    """Draw variants by effort and gain.

    Args:
        x_name: What it takes.
        y_name: What is gained.
        values: Number, variant, x and y of each; those without both are left out.

    Returns:
        None with fewer than two variants to compare.
    """
    known = [(n, name, x, y) for n, name, x, y in values if x is not None and y is not None]
    if len(known) < 2:  # noqa: PLR2004 - one alone compares with nothing
        return None
    xs, ys = [x for _, _, x, _ in known], [y for _, _, _, y in known]
    across, x_ticks = _axis(xs, _LEFT, SCATTER_WIDTH - _RIGHT)
    up, y_ticks = _axis(ys, SCATTER_HEIGHT - _BOTTOM, _TOP)
    return Scatter(
        x_name,
        y_name,
        tuple(
            Point(
                number, name, across.at(x), up.at(y), f"{name}: {y_name} {y:.3g}, {x_name} {x:.3g}"
            )
            for number, name, x, y in known
        ),
        x_ticks,
        y_ticks,
    )


def _axis(values: Sequence[float], start: float, end: float) -> tuple[Scale, tuple[Tick, ...]]:
    """Return a scale from zero over all values, with ticks at round numbers."""
    top = max(*values, 0.0) or 1.0
    step = _round_step(top / _TICKS)
    count = math.ceil(top / step - 1e-9)
    low = min(0.0, math.floor(min(values) / step) * step)
    scale = Scale(low, count * step, start, end)
    first = round(low / step)
    return scale, tuple(
        Tick(scale.at(place * step), f"{place * step:.6g}") for place in range(first, count + 1)
    )


def _round_step(step: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten that is not smaller."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)
