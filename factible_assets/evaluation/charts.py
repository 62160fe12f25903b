"""Draws small charts of metrics.

Each is a short SVG in a `data:` address, because Dagster's UI folds Markdown of more than a
thousand characters. The lines have the colours of Okabe and Ito (2008), which people with any
colour vision can tell apart. Undefined values are not drawn.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from factible_assets.records.stances import STANCES
from factible_assets.records.tables import METHOD

if TYPE_CHECKING:  # bars need no metrics
    from factible_assets.evaluation.scoring import Evaluation

_ROW = 16
_LABEL = 170
_BAR = 130
_PLOT = 100
_MOST_POINTS = 8
_PALETTE = {
    label: stance.light for stance in STANCES.values() for label in (stance.name, stance.word)
}
_LINES = ("#0072b2", "#d55e00", "#009e73")
_INK, _OTHER, _MEASURED = "#777", "#999", "#36c"


def bars(values: Mapping[str, float], unit: str = "") -> str:
    """Draw a bar for each value (none negative), in order; empty if all are 0."""
    highest = max(values.values(), default=0)
    if highest <= 0:
        return ""
    words = ""
    paths: dict[str, str] = {}  # By colour: one path for all bars of a colour is shorter.
    for row, (label, value) in enumerate(values.items()):
        name = html.escape(label.replace("_", " "))
        words += f'<text y="{row * _ROW + 12}">{name} {value:g}{unit}</text>'
        length = max(1, round(_BAR * value / highest))
        colour = _PALETTE.get(label.removeprefix("leaning "), _MEASURED if unit else _OTHER)
        bar = f"M{_LABEL} {row * _ROW + 3}h{length}v11h-{length}"
        paths[colour] = paths.get(colour, "") + bar
    drawn = "".join(f'<path fill="{colour}" d="{path}"/>' for colour, path in paths.items())
    return _picture(_ROW * len(values) + 2, words + drawn)


def curves(across: Sequence[int], lines: Mapping[str, Sequence[float | None]]) -> str:
    """Draw at most three lines of shares (0 to 1), at some of the ascending places `across`.

    Empty if no share is known.
    """
    if not across:
        return ""
    last = len(across) - 1
    steps = min(last, _MOST_POINTS - 1) or 1
    places = sorted({round(step * last / steps) for step in range(steps + 1)})
    drawn = ""
    for row, ((label, values), colour) in enumerate(zip(lines.items(), _LINES, strict=False)):
        points = " ".join(
            f"{round(2 * _PLOT * place / (last or 1))},{round(_PLOT * (1 - value))}"
            for place in places
            if (value := values[place]) is not None
        )
        if points:
            drawn += f'<polyline fill="none" stroke="{colour}" points="{points}"/>'
            drawn += f'<text x="210" y="{row * _ROW + 12}" fill="{colour}">{label}</text>'
    if not drawn:
        return ""
    ends = f'<text y="{_PLOT + 14}">{across[0]} to {across[-1]}; 0 to 1</text>'
    return _picture(_PLOT + _ROW + 2, drawn + ends)


def dots(points: Mapping[str, tuple[float, float]]) -> str:
    """Draw labelled points (across, up; none negative) from zero on; empty with fewer than two."""
    if len(points) < 2:  # noqa: PLR2004 - a comparison needs two
        return ""
    right, top = (max(point[axis] for point in points.values()) or 1.0 for axis in (0, 1))
    drawn = f'<path fill="none" stroke="{_OTHER}" d="M0 0v{_PLOT}h{2 * _PLOT}"/>'
    for label, (across, up) in points.items():
        x, y = round(2 * _PLOT * across / right), round(_PLOT * (1 - up / top))
        drawn += f'<circle cx="{x}" cy="{y}" r="4" fill="{_MEASURED}"/>'
        drawn += f'<text x="{x + 6}" y="{max(y, 12)}">{html.escape(label)}</text>'
    drawn += f'<text y="{_PLOT + 14}">0 to {right:.3g}; 0 to {top:.3g}</text>'
    return _picture(_PLOT + _ROW + 2, drawn)


def _picture(height: int, drawn: str) -> str:
    width = _LABEL + _BAR
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">{drawn}</svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def inline_charts(evaluation: Evaluation) -> dict[str, str]:
    """Return the charts of an evaluation by title, without empty ones."""
    points = evaluation.precision_recall
    lines = {
        "precision": [point.precision for point in points],
        "recall": [point.recall for point in points],
        "F1": [point.f1 for point in points],
    }
    shares = {
        f"{bucket.low:.0%} to {bucket.high:.0%}, n={bucket.n}": round(bucket.accuracy, 2)
        for bucket in evaluation.reliability
        if bucket.accuracy is not None
    }
    took = ((asset, evaluation.figure(f"seconds of {asset}")) for asset in METHOD)
    seconds = {
        name: round(figure.value, 1) for name, figure in took if figure and figure.value is not None
    }
    costs = {name: round(usd, 4) for name, usd in evaluation.costs.items()}
    drawn = {
        "precision and recall by max_claims": curves([point.max_claims for point in points], lines),
        "share that is right, by confidence": bars(shares),
        "seconds by stage": bars(seconds, " s"),
        "cost by stage and model": bars(costs, " $"),
    }
    return {title: picture for title, picture in drawn.items() if picture}


def counts_in_order(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """Count the values that occur, in the given order."""
    return {word.replace("_", " "): values.count(word) for word in order if word in values}
