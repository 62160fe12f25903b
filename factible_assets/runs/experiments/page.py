"""Renders the comparison of an experiment's variants as one self-contained HTML document."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import jinja2

from factible_assets.evaluation.charts import inline_charts
from factible_assets.evaluation.scoring import Evaluation
from factible_assets.report.render import document, environment
from factible_assets.runs.experiments.comparison import Comparison, MetricComparison
from factible_assets.runs.experiments.plan import shown
from factible_assets.wording import number

_BENEFITS = ("F1", "stance accuracy")
_FAMILIES = (
    ("claims", "Claims"),
    ("stances", "Stances"),
    ("evidence", "Evidence"),
    ("operations", "Time, cost and failures"),
)


def render_page(comparison: Comparison, evaluations: Mapping[str, Evaluation] | None = None) -> str:
    """Return the HTML document, encodable as UTF-8.

    `evaluations`, by variant, provide the charts of single variants.
    """
    known = [each for each in comparison.metrics if each.is_known]
    html, _ = document(
        _environment(),
        "comparison.html.jinja",
        ("comparison.css",),
        pictures=True,
        comparison=comparison,
        varied=_differing_settings(comparison),
        families=[
            (title, [each for each in known if each.family == family])
            for family, title in _FAMILIES
        ],
        undefined=[each.name for each in comparison.metrics if not each.is_known],
        headlines={each.name for each in comparison.headlines},
        strip_scale=strip_scale,
        scatters=_scatters(comparison),
        drawn={
            name: (inline_charts(each), each.confusion)
            for name, each in (evaluations or {}).items()
            if each.videos
        },
    )
    return html


@cache
def _environment() -> jinja2.Environment:
    engine = environment("factible_assets.runs.experiments")
    engine.filters.update(number=number, signed=signed, p=p_value)
    return engine


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def p_value(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004


def _differing_settings(comparison: Comparison) -> dict[str, str]:
    """Describe each variant by the settings that not all variants share."""
    settings = {each.name: each.settings for each in comparison.variants}
    names = dict.fromkeys(name for each in settings.values() for name in each)
    differing = [
        name
        for name in names
        if len({shown(each[name]) if name in each else "" for each in settings.values()}) > 1
    ]
    return {
        variant: ", ".join(f"{name} = {shown(each[name])}" for name in differing if name in each)
        or "the settings around which the others vary"
        for variant, each in settings.items()
    }


def _scatters(comparison: Comparison) -> list[Scatter]:
    """Draw benefit against time, and against cost if there was any.

    A shared stage counts its time in full for every variant.
    """
    stages = [each for each in comparison.metrics if each.name.startswith("seconds of ")]
    cost = comparison.metric("cost in USD")
    efforts: dict[str, dict[str, float | None]] = {}
    if cost is not None and any(cell.value for cell in cost.cells):
        efforts["USD per video"] = {each.variant: each.value for each in cost.cells}
    efforts["seconds per video"] = {
        variant.name: math.fsum(stage.cell(variant.name).value or 0.0 for stage in stages) or None
        for variant in comparison.variants
    }
    drawn = (
        scatter(
            name,
            benefit.name,
            [
                (place, each.name, effort[each.name], benefit.cell(each.name).value)
                for place, each in enumerate(comparison.variants, start=1)
            ],
        )
        for benefit in map(comparison.metric, _BENEFITS)
        if benefit is not None
        for name, effort in efforts.items()
    )
    return [each for each in drawn if each is not None]


# --- Geometry -----------------------------------------------------------------------------------

_STRIP_WIDTH, _PADDING = 180, 8.0
_TICKS = 5
"""The approximate number of steps of an axis."""


def _placed(value: float, low: float, high: float, start: float, end: float) -> float:
    """Return the coordinate of a value on a linear scale, rounded to a tenth."""
    share = (value - low) / (high - low) if high - low else 0.5
    return round(start + share * (end - start), 1)


def strip_scale(metric: MetricComparison) -> Callable[[float], float]:
    """Return the scale of all variants' values and intervals."""
    stated = [each for cell in metric.cells for each in (cell.value, cell.low, cell.high)]
    values = [each for each in stated if each is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return partial(_placed, low=low, high=high, start=_PADDING, end=_STRIP_WIDTH - _PADDING)


class Point(NamedTuple):
    """One variant: its number in the table, and its coordinates."""

    number: int
    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Benefit against effort. A tick is its coordinate and its label."""

    width, height = 460.0, 300.0
    left, right, top, bottom = 56.0, 440.0, 16.0, 256.0
    x_name: str
    y_name: str
    points: tuple[Point, ...]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]


def scatter(
    x_name: str, y_name: str, values: Sequence[tuple[int, str, float | None, float | None]]
) -> Scatter | None:
    """Draw variants by effort (x) and benefit (y); None with fewer than two.

    `values` has the number, variant, x and y of each.
    """
    known = [(n, name, x, y) for n, name, x, y in values if x is not None and y is not None]
    if len(known) < 2:  # noqa: PLR2004 - a comparison needs two
        return None
    across, x_ticks = _axis([x for _, _, x, _ in known], Scatter.left, Scatter.right)
    up, y_ticks = _axis([y for _, _, _, y in known], Scatter.bottom, Scatter.top)
    points = (
        Point(place, across(x), up(y), f"{name}: {y_name} {y:.3g}, {x_name} {x:.3g}")
        for place, name, x, y in known
    )
    return Scatter(x_name, y_name, tuple(points), x_ticks, y_ticks)


def _axis(
    values: Sequence[float], start: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Return a scale that begins at zero, and ticks at 1, 2 or 5 times a power of ten."""
    top = max(*values, 0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(top / _TICKS))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= top / _TICKS * 0.999)
    count = math.ceil(top / step - 1e-9)
    first = min(0, math.floor(min(values) / step))
    scale = partial(_placed, low=first * step, high=count * step, start=start, end=end)
    places = (place * step for place in range(first, count + 1))
    return scale, [(scale(place), f"{place:.6g}") for place in places]
