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
    known = [metric for metric in comparison.metrics if metric.is_known]
    html, _ = document(
        _environment(),
        "comparison.html.jinja",
        ("comparison.css",),
        pictures=True,
        comparison=comparison,
        varied=_differing_settings(comparison),
        families=[
            (title, [metric for metric in known if metric.family == family])
            for family, title in _FAMILIES
        ],
        undefined=[metric.name for metric in comparison.metrics if not metric.is_known],
        headlines={metric.name for metric in comparison.headlines},
        strip_scale=strip_scale,
        scatters=_scatters(comparison),
        drawn={
            name: (inline_charts(evaluation), evaluation.confusion)
            for name, evaluation in (evaluations or {}).items()
            if evaluation.videos
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
    settings = {variant.name: variant.settings for variant in comparison.variants}
    names = dict.fromkeys(name for options in settings.values() for name in options)
    differing = [
        name
        for name in names
        if len({shown(options[name]) if name in options else "" for options in settings.values()})
        > 1
    ]
    return {
        variant: ", ".join(
            f"{name} = {shown(options[name])}" for name in differing if name in options
        )
        or "the settings around which the others vary"
        for variant, options in settings.items()
    }


def _scatters(comparison: Comparison) -> dict[str, str]:
    """Draw benefit against time, and against cost if there was any, by title.

    A shared stage counts its time in full for every variant.
    """
    stages = [metric for metric in comparison.metrics if metric.name.startswith("seconds of ")]
    cost = comparison.metric("cost in USD")
    efforts: dict[str, dict[str, float | None]] = {}
    if cost is not None and any(cell.value for cell in cost.cells):
        efforts["USD per video"] = {cell.variant: cell.value for cell in cost.cells}
    efforts["seconds per video"] = {
        variant.name: math.fsum(stage.cell(variant.name).value or 0.0 for stage in stages) or None
        for variant in comparison.variants
    }
    pictures = {}
    for benefit in filter(None, map(comparison.metric, _BENEFITS)):
        for name, effort in efforts.items():
            points = {
                str(place): (across, up)
                for place, variant in enumerate(comparison.variants, start=1)
                if (across := effort[variant.name]) is not None
                and (up := benefit.cell(variant.name).value) is not None
            }
            pictures[f"{benefit.name} against {name}"] = dots(points)
    return {title: picture for title, picture in pictures.items() if picture}


_STRIP_WIDTH, _PADDING = 180, 8.0


def strip_scale(metric: MetricComparison) -> Callable[[float], float]:
    """Return the scale of all variants' values and intervals, in pixels."""
    stated = (value for cell in metric.cells for value in (cell.value, cell.low, cell.high))
    values = [value for value in stated if value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)

    def position(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_PADDING + share * (_STRIP_WIDTH - 2 * _PADDING), 1)

    return position
