"""The page that compares the variants of an experiment: one self-contained HTML document.

What belongs here: what the page shows, the template engine, the content security policy. What does
not: figures and tests (comparison.py), geometry (charts.py), where it is written (cli/).

Names and descriptions come from files that anybody may have written. They are escaped by the
engine; and the document's policy allows no script, no request, no style sheet but the one whose
hash it names, and no image but those that it carries itself.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

import factible_assets
from factible_assets.experiments.charts import Scatter, scatter, strips
from factible_assets.experiments.comparison import Comparison, MetricComparison, VariantInfo
from factible_assets.experiments.plan import shown

_TEMPLATE = "comparison.html.jinja"
_STYLE = "comparison.css"
# Not characters of a document (HTML standard, section 13.1.4).
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_GAINS = ("F1", "stance accuracy")
_FAMILIES = (
    ("claims", "Claims"),
    ("stances", "Stances"),
    ("evidence", "Evidence"),
    ("operations", "Time, cost and failures"),
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of one variant: what it shows, and the picture as PNG."""

    title: str
    png: bytes

    @property
    def source(self) -> str:
        """The picture as an address that carries it."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


def render_page(
    comparison: Comparison, drawings: Mapping[str, Sequence[Drawing]] | None = None
) -> str:
    """Return the comparison as an HTML document, encodable as UTF-8.

    Args:
        comparison: What is compared.
        drawings: Pictures of single variants, by name.
    """
    style = files(__package__).joinpath(_STYLE).read_text("utf-8")
    html = (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            comparison=comparison,
            varied=_varied(comparison.variants),
            families=[
                (
                    title,
                    [
                        each
                        for each in comparison.metrics
                        if each.family == family and each.is_known
                    ],
                )
                for family, title in _FAMILIES
            ],
            undefined=[each.name for each in comparison.metrics if not each.is_known],
            headlines={each.name for each in comparison.headlines},
            strips=lambda metric: strips(metric, comparison.baseline),
            scatters=_scatters(comparison),
            drawings={name: list(each) for name, each in (drawings or {}).items() if each},
            # A file of this package, not text from outside.
            style=Markup(style),  # noqa: S704
            policy=_policy(style),
            version=factible_assets.__version__,
        )
    )
    return _UNPRINTABLE.sub("\ufffd", html.lstrip()) + "\n"


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _varied(variants: Sequence[VariantInfo]) -> dict[str, str]:
    """Say of each variant what sets it apart: knobs that all share say nothing."""
    names = list(dict.fromkeys(name for each in variants for name in each.settings))
    differing = [
        name
        for name in names
        if len({shown(each.settings[name]) if name in each.settings else "" for each in variants})
        > 1
    ]
    return {
        each.name: ", ".join(
            f"{name} = {shown(each.settings[name])}" for name in differing if name in each.settings
        )
        or "the settings around which the others vary"
        for each in variants
    }


def _scatters(comparison: Comparison) -> list[Scatter]:
    cost = comparison.metric("cost in USD")
    paid = cost is not None and any(cell.value for cell in cost.cells)
    drawn = []
    for gain in _GAINS:
        metric = comparison.metric(gain)
        if metric is None:
            continue
        if paid and cost is not None:
            drawn.append(_scatter(comparison, "USD per video", _values(cost), metric))
        drawn.append(_scatter(comparison, "seconds per video", _seconds(comparison), metric))
    return [each for each in drawn if each is not None]


def _scatter(
    comparison: Comparison, name: str, effort: Mapping[str, float | None], gain: MetricComparison
) -> Scatter | None:
    gained = _values(gain)
    return scatter(
        name,
        gain.name,
        [
            (number, each.name, effort.get(each.name), gained.get(each.name))
            for number, each in enumerate(comparison.variants, start=1)
        ],
    )


def _values(metric: MetricComparison) -> dict[str, float | None]:
    return {cell.variant: cell.value for cell in metric.cells}


def _seconds(comparison: Comparison) -> dict[str, float | None]:
    """Add up what the stages took; a shared stage counts what it took whoever computed it."""
    stages = [each for each in comparison.metrics if each.name.startswith("seconds of ")]
    return {
        variant.name: math.fsum(stage.cell(variant.name).value or 0.0 for stage in stages) or None
        for variant in comparison.variants
    }


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("factible_assets.experiments", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, signed=signed, p=p_value, moment=_moment)
    return environment


def number(value: float | None) -> str:
    """Return a figure in words: three decimals, thousands whole, a dash where undefined."""
    if value is None:
        return "–"
    thousands = 1_000
    return f"{value:,.0f}" if abs(value) >= thousands else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Return a difference with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """Return a p-value; small ones as a bound."""
    smallest = 0.001
    if value is None:
        return "–"
    return "< 0.001" if value < smallest else f"{value:.3f}"


def _moment(value: datetime) -> str:
    return f"{value.day} {value:%B %Y, %H:%M} UTC"
