"""Renders the comparison of an experiment's variants as one self-contained HTML document."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import jinja2

from factible_assets.evaluation.charts import dots, inline_charts
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


def _scatters(comparison: Comparison) -> dict[str, str]:
    """Draw benefit against time, and against cost if there was any, by title.

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
    pictures = {}
    for benefit in filter(None, map(comparison.metric, _BENEFITS)):
        for name, effort in efforts.items():
            points = {
                str(place): (across, up)
                for place, each in enumerate(comparison.variants, start=1)
                if (across := effort[each.name]) is not None
                and (up := benefit.cell(each.name).value) is not None
            }
            pictures[f"{benefit.name} against {name}"] = dots(points)
    return {title: picture for title, picture in pictures.items() if picture}


_STRIP_WIDTH, _PADDING = 180, 8.0


def strip_scale(metric: MetricComparison) -> Callable[[float], float]:
    """Return the scale of all variants' values and intervals, in pixels."""
    stated = (each for cell in metric.cells for each in (cell.value, cell.low, cell.high))
    values = [each for each in stated if each is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)

    def position(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_PADDING + share * (_STRIP_WIDTH - 2 * _PADDING), 1)

    return position
