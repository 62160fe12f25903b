"""Charts: small bars for the Dagster UI, and the plots of an evaluation.

What belongs here: pictures of figures that were computed elsewhere. What does not: computing them,
where the pictures are shown, the drawings that are part of a page (report/, experiments/page.py).

Colours of plots are those of Okabe and Ito (2008), which people with any kind of colour vision tell
apart; no meaning is carried by colour alone. What is undefined is said to be undefined, and never
drawn as zero. Nothing is drawn on a screen and no global state is touched: threads may draw.

The UI shows Markdown of less than a thousand characters where it stands, and folds the rest away
behind a click. So a chart there is an SVG of few words; see `INLINE_CHARACTERS`.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from factible_assets.records import METHOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from factible_assets.evaluation.scoring import DepthPoint, Evaluation

# --- Pictures in Markdown -----------------------------------------------------------------------

INLINE_CHARACTERS = 1_000
"""Longer Markdown is folded away (MetadataEntry.tsx in Dagster's UI, 1.13)."""

_ROW = 16
_LABEL = 170
_BAR = 130
_PLOT = 100
_MOST_POINTS = 8
_PALETTE = {
    "supports": "#287d3c",
    "supported": "#287d3c",
    "refutes": "#b3261e",
    "refuted": "#b3261e",
    "mixed": "#b26a00",
}
_LINES = ("#0072b2", "#d55e00", "#009e73")
_INK, _OTHER, _MEASURED = "#777", "#999", "#36c"


def bars(title: str, values: Mapping[str, float], unit: str = "") -> str:
    """Draw a bar for each value, as a picture in Markdown; empty if there is nothing to draw.

    Values are not negative and drawn in their order, the unit behind each.
    """
    highest = max(values.values(), default=0)
    if highest <= 0:
        return ""
    words, paths = "", dict[str, str]()
    for row, (label, value) in enumerate(values.items()):
        said, length = label.replace("_", " "), max(1, round(_BAR * value / highest))
        colour = _PALETTE.get(label.removeprefix("leaning "), _MEASURED if unit else _OTHER)
        words += f'<text y="{row * _ROW + 12}">{html.escape(said)} {value:g}{unit}</text>'
        # One path for all bars of a colour, as every character counts.
        bar = f"M{_LABEL} {row * _ROW + 3}h{length}v11h-{length}"
        paths[colour] = paths.get(colour, "") + bar
    drawn = "".join(f'<path fill="{colour}" d="{path}"/>' for colour, path in paths.items())
    return _picture(title, _LABEL + _BAR, _ROW * len(values) + 2, words + drawn)


def curves(title: str, across: Sequence[int], lines: Mapping[str, Sequence[float | None]]) -> str:
    """Draw at most three lines of shares, from 0 to 1, as a picture in Markdown.

    `across` ascends, and is drawn at some places; unknown shares are left out. Empty if all are.
    """
    if not across:
        return ""
    last = len(across) - 1
    steps = min(last, _MOST_POINTS - 1) or 1
    chosen = sorted({round(step * last / steps) for step in range(steps + 1)})
    drawn = ""
    for row, ((label, values), colour) in enumerate(zip(lines.items(), _LINES, strict=False)):
        places = " ".join(
            f"{round(2 * _PLOT * place / (last or 1))},{round(_PLOT * (1 - value))}"
            for place in chosen
            if (value := values[place]) is not None
        )
        if places:
            drawn += f'<polyline fill="none" stroke="{colour}" points="{places}"/>'
            drawn += f'<text x="210" y="{row * _ROW + 12}" fill="{colour}">{label}</text>'
    if not drawn:
        return ""
    ends = f'<text y="{_PLOT + 14}">{across[0]} to {across[-1]}; 0 to 1</text>'
    return _picture(title, _LABEL + _BAR, _PLOT + _ROW + 2, drawn + ends)


def _picture(title: str, width: int, height: int, drawn: str) -> str:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">{drawn}</svg>'
    )
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def inline_charts(evaluation: Evaluation) -> dict[str, str]:
    """Return the plots of an evaluation as small pictures in Markdown; none of what is undefined.

    The stances are no picture: see `confusion` of the evaluation.
    """
    points, bins = evaluation.precision_recall, evaluation.reliability
    seconds = {asset: evaluation.figure(f"seconds of {asset}") for asset in METHOD}
    depth, right = "precision and recall by max_claims", "share that is right, by confidence"
    time, cost = "seconds by stage", "cost by stage and model"
    shares = {
        f"{each.low:.0%} to {each.high:.0%}, n={each.n}": round(each.accuracy, 2)
        for each in bins
        if each.accuracy is not None
    }
    took = {
        asset: round(figure.value, 1)
        for asset, figure in seconds.items()
        if figure is not None and figure.value is not None
    }
    costs = {f"{each.stage}, {each.model}": round(each.cost_usd, 4) for each in evaluation.usage}
    drawn = {
        depth: curves(depth, [point.max_claims for point in points], _lines(points)),
        right: bars(right, shares),
        time: bars(time, took, " s"),
        cost: bars(cost, costs, " $"),
    }
    return {title: picture for title, picture in drawn.items() if picture}


def _lines(points: Sequence[DepthPoint]) -> dict[str, list[float | None]]:
    return {
        "precision": [point.precision for point in points],
        "recall": [point.recall for point in points],
        "F1": [point.f1 for point in points],
    }


def counted(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """Count the values that occur, in a given order."""
    return {word.replace("_", " "): values.count(word) for word in order if word in values}


# --- Plots of an evaluation ----------------------------------------------------------------------

Form = Literal["png", "svg"]

STAGES_PLOT: Final = "latency and cost by stage"
"""The title of the one plot that needs no annotation."""

_BLUE, _VERMILION, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
_SIZE, _WIDE, _DPI = (6.4, 4.4), (9.6, 4.4), 100
_DARK: Final = 0.55


def all_plots(evaluation: Evaluation, *, form: Form = "png") -> dict[str, bytes]:
    """Draw every plot of an evaluation, by title."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure as NewCanvas  # noqa: PLC0415 - slow to import

    drawn = {}
    for title, size, draw in (
        ("precision and recall", _SIZE, _precision_recall),
        ("confusion of stances", _SIZE, _confusion),
        ("reliability of confidence", _SIZE, _reliability),
        (STAGES_PLOT, _WIDE, _stages),
    ):
        canvas, out = NewCanvas(figsize=size, dpi=_DPI, layout="constrained"), io.BytesIO()
        draw(canvas, evaluation)
        # Without a date and a random salt, the same figures give the same bytes.
        with rc_context({"svg.hashsalt": "factible"}):
            canvas.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
        drawn[title] = out.getvalue()
    return drawn


def _precision_recall(canvas: Canvas, evaluation: Evaluation) -> None:
    """Draw macro precision, recall and F1 over the number of claims that are kept."""
    axes, points = canvas.subplots(), evaluation.precision_recall
    _name(axes, "Claims: precision and recall over max_claims", "max_claims: claims kept per video")
    axes.set_ylabel("mean over videos")
    axes.set_ylim(-0.02, 1.02)
    drawn = False
    looks = ((_BLUE, "o"), (_VERMILION, "s"), (_GREEN, "^"))
    for (name, values), (colour, marker) in zip(_lines(points).items(), looks, strict=True):
        kept = [point.max_claims for point in points]
        known = [each for each in zip(kept, values, strict=True) if each[1] is not None]
        if known:
            across, up = zip(*known, strict=True)
            axes.plot(across, up, label=name, color=colour, marker=marker, linewidth=1.8)
            drawn = True
    if not drawn:
        _undefined(axes, "no annotated claims")
        return
    axes.locator_params(axis="x", integer=True)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="best")


def _confusion(canvas: Canvas, evaluation: Evaluation) -> None:
    """Draw how often each annotated stance was answered as each; rows are the annotation."""
    axes, confusion = canvas.subplots(), evaluation.confusion
    unseen = confusion.unanswered
    answered = f"answered ({unseen} without an answer are not shown)" if unseen else "answered"
    _name(axes, "Stances: annotated against answered", answered)
    axes.set_ylabel("annotated")
    most = max((count for row in confusion.counts for count in row), default=0)
    if not most:
        _undefined(axes, "no annotated claim has a verdict")
        return
    places = range(len(confusion.labels))
    axes.imshow(confusion.counts, cmap="Blues", vmin=0, vmax=most)
    axes.set_xticks(places, confusion.labels)
    axes.set_yticks(places, confusion.labels)
    for row, counts in enumerate(confusion.counts):
        for column, count in enumerate(counts):
            # The one hue runs from light to dark, so that words on dark cells are light.
            colour = "white" if count > _DARK * most else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=colour)


def _reliability(canvas: Canvas, evaluation: Evaluation) -> None:
    """Draw how often answers of like confidence were right; n stands above each bar."""
    axes = canvas.subplots()
    _name(axes, "Verdicts: confidence against accuracy", "confidence of the verdict")
    axes.set_ylabel("share that is right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.08)
    for each in evaluation.reliability:
        if each.accuracy is not None:
            middle, width = (each.low + each.high) / 2, 0.9 * (each.high - each.low)
            axes.bar(middle, each.accuracy, width=width, color=_BLUE, alpha=0.85)
            above = each.accuracy + 0.02
            axes.text(middle, above, f"n={each.n}", ha="center", va="bottom", fontsize=8)
    if not axes.patches:
        _undefined(axes, "no annotated verdict has a confidence")
        return
    axes.plot([0, 1], [0, 1], color=_VERMILION, linestyle="--", label="perfectly calibrated")
    axes.legend(loc="upper left")


def _stages(canvas: Canvas, evaluation: Evaluation) -> None:
    """Draw seconds by stage with their interval, and cost by stage and model."""
    left, right = canvas.subplots(1, 2)
    _name(left, "Seconds by stage, mean over videos", "seconds (stages overlap)")
    _name(right, "Cost by stage and model, all videos", "US dollars")
    figures = ((asset, evaluation.figure(f"seconds of {asset}")) for asset in METHOD)
    timed = [(asset, each) for asset, each in figures if each and each.value is not None]
    for place, (asset, figure) in enumerate(timed):
        value = figure.value or 0.0
        low, high = (figure.interval.low, figure.interval.high) if figure.interval else (value,) * 2
        around = [[max(0.0, value - low)], [max(0.0, high - value)]]
        left.barh([asset], [value], color=_BLUE, xerr=around, ecolor=_GREY)
        left.text(max(value, high), place, f" {value:.2f}", va="center", fontsize=8)
    if timed:
        left.margins(x=0.18)
        left.invert_yaxis()
    else:
        _undefined(left, "nothing was timed")
    for place, used in enumerate(evaluation.usage):
        right.barh([f"{used.stage}, {used.model}"], [used.cost_usd], color=_GREEN)
        tokens = f" ${used.cost_usd:.4f}, {used.input_tokens + used.output_tokens} tokens"
        right.text(used.cost_usd, place, tokens, va="center", fontsize=8)
    if evaluation.usage:
        right.margins(x=0.45)
        right.invert_yaxis()
    else:
        _undefined(right, "no model was asked", word="none")


def _name(axes: Axes, title: str, across: str) -> None:
    axes.set_title(title)
    axes.set_xlabel(across)


def _undefined(axes: Axes, why: str, *, word: str = "undefined") -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5, 0.5, f"{word}: {why}", ha="center", va="center", color=_GREY, transform=axes.transAxes
    )
