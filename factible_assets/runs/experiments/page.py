"""The page that compares the variants of an experiment: one self-contained HTML document.

What belongs here: what the page shows, the geometry of its drawings (so that the template only
writes places down). What does not: figures and tests (comparison.py), how a page is made of a
template, and under which policy (report/render.py), where it is written (cli/).
"""

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

_GAINS = ("F1", "stance accuracy")
_FAMILIES = (
    ("claims", "Claims"),
    ("stances", "Stances"),
    ("evidence", "Evidence"),
    ("operations", "Time, cost and failures"),
)


def render_page(comparison: Comparison, evaluations: Mapping[str, Evaluation] | None = None) -> str:
    """Return the comparison as an HTML document, encodable as UTF-8.

    `evaluations`, by variant, are those of which pictures are shown, variant by variant.
    """
    known = [each for each in comparison.metrics if each.is_known]
    html, _ = document(
        _environment(),
        "comparison.html.jinja",
        ("comparison.css",),
        pictures=True,
        comparison=comparison,
        varied=_varied(comparison),
        families=[
            (title, [each for each in known if each.family == family])
            for family, title in _FAMILIES
        ],
        undefined=[each.name for each in comparison.metrics if not each.is_known],
        headlines={each.name for each in comparison.headlines},
        strips=lambda metric: strips(metric, comparison.baseline),
        scatters=_scatters(comparison),
        drawn={
            name: (inline_charts(each), each.confusion)
            for name, each in (evaluations or {}).items()
            if each.videos
        },
    )
    return html


def _varied(comparison: Comparison) -> dict[str, str]:
    """Say of each variant what sets it apart: knobs that all share say nothing."""
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
    """Draw what is gained against money, where some was paid, and against time.

    A stage that variants share counts what it took whoever computed it.
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
    gains = [metric for metric in map(comparison.metric, _GAINS) if metric is not None]
    drawn = (
        scatter(
            name,
            gain.name,
            [
                (number, each.name, effort[each.name], gain.cell(each.name).value)
                for number, each in enumerate(comparison.variants, start=1)
            ],
        )
        for gain in gains
        for name, effort in efforts.items()
    )
    return [each for each in drawn if each is not None]


@cache
def _environment() -> jinja2.Environment:
    engine = environment("factible_assets.runs.experiments")
    engine.filters.update(number=number, signed=signed, p=p_value)
    return engine


def signed(value: float | None) -> str:
    """Return a difference with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """Return a p-value; small ones as a bound."""
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004


# --- Geometry -----------------------------------------------------------------------------------

_STRIP_WIDTH, _PADDING = 180, 8.0
_TICKS = 5
"""Steps of an axis, about."""


def _placed(value: float, low: float, high: float, start: float, end: float) -> float:
    """Return the coordinate, to a tenth, of a value on a straight scale."""
    share = (value - low) / (high - low) if high - low else 0.5
    return round(start + share * (end - start), 1)


def strips(metric: MetricComparison, baseline: str) -> dict[str, dict[str, float | None]]:
    """Return where the dot of each variant that has a value stands, its interval and a guide.

    All have one scale, and the guide is the baseline's value.
    """
    stated = [each for cell in metric.cells for each in (cell.value, cell.low, cell.high)]
    values = [each for each in stated if each is not None]
    guide = metric.cell(baseline).value
    ends = (min(values, default=0), max(values, default=0), _PADDING, _STRIP_WIDTH - _PADDING)
    return {
        cell.variant: {
            name: None if each is None else _placed(each, *ends)
            for name, each in (
                ("dot", cell.value),
                ("low", cell.low),
                ("high", cell.high),
                ("guide", guide),
            )
        }
        for cell in metric.cells
        if cell.value is not None
    }


class Point(NamedTuple):
    """One variant: its number in the table, and where it stands."""

    number: int
    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """What is gained against what it takes; a tick is its place and its label."""

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
    """Draw variants by effort (x) and gain (y); None with fewer than two to compare.

    `values` has the number, variant, x and y of each; those without both are left out.
    """
    known = [(n, name, x, y) for n, name, x, y in values if x is not None and y is not None]
    if len(known) < 2:  # noqa: PLR2004 - one alone compares with nothing
        return None
    across, x_ticks = _axis([x for _, _, x, _ in known], Scatter.left, Scatter.right)
    up, y_ticks = _axis([y for _, _, _, y in known], Scatter.bottom, Scatter.top)
    points = (
        Point(number, across(x), up(y), f"{name}: {y_name} {y:.3g}, {x_name} {x:.3g}")
        for number, name, x, y in known
    )
    return Scatter(x_name, y_name, tuple(points), x_ticks, y_ticks)


def _axis(
    values: Sequence[float], start: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Return a scale from zero over all values, with ticks at round numbers.

    Steps are 1, 2 or 5 times a power of ten.
    """
    top = max(*values, 0.0) or 1.0
    power = 10.0 ** math.floor(math.log10(top / _TICKS))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= top / _TICKS * 0.999)
    count = math.ceil(top / step - 1e-9)
    first = min(0, math.floor(min(values) / step))
    scale = partial(_placed, low=first * step, high=count * step, start=start, end=end)
    places = (place * step for place in range(first, count + 1))
    return scale, [(scale(place), f"{place:.6g}") for place in places]
