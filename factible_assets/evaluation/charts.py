"""Small bar charts for the Dagster UI: pictures in Markdown, without a plotting library.

What belongs here: bars made of labels and numbers. What does not: the plots of an evaluation
(evaluation/plots.py), the report's own pictures (report/).

The UI shows Markdown of less than a thousand characters where it stands, and folds the rest away
behind a click. So a chart is an SVG of few words; see `INLINE_CHARACTERS`.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

INLINE_CHARACTERS = 1_000
"""Longer Markdown is folded away (MetadataEntry.tsx in Dagster's UI, 1.13)."""

_ROW = 16
_LABEL = 108
_BAR = 130
_PALETTE = {
    "supports": "#287d3c",
    "supported": "#287d3c",
    "refutes": "#b3261e",
    "refuted": "#b3261e",
    "mixed": "#b26a00",
}
_INK, _GREY, _BLUE = "#777", "#999", "#36c"


def bars(title: str, values: Mapping[str, float], unit: str = "") -> str:
    """Draw a bar for each value, as a picture in Markdown; empty if there is nothing to draw.

    Args:
        title: What the picture shows, for those who do not see it.
        values: Non-negative numbers by label, in the order in which they are drawn.
        unit: Written behind each number.
    """
    highest = max(values.values(), default=0)
    if highest <= 0:
        return ""
    drawn = "".join(
        _bar(row, label, value, highest, unit) for row, (label, value) in enumerate(values.items())
    )
    width, height = _LABEL + _BAR + 60, _ROW * len(values) + 2
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">{drawn}</svg>'
    )
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def counted(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """Count the values that occur, in a given order."""
    return {word.replace("_", " "): values.count(word) for word in order if word in values}


def _bar(row: int, label: str, value: float, highest: float, unit: str) -> str:
    y, length = row * _ROW + 12, max(1, round(_BAR * value / highest))
    colour = _PALETTE.get(label.removeprefix("leaning "), _GREY if not unit else _BLUE)
    return (
        f'<text x="0" y="{y}">{html.escape(label.replace("_", " "))}</text>'
        f'<path fill="{colour}" d="M{_LABEL} {y - 9}h{length}v11h-{length}"/>'
        f'<text x="{_LABEL + length + 5}" y="{y}">{value:g}{html.escape(unit)}</text>'
    )
