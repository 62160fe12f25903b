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
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from factible_assets.records import METHOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from factible_assets.evaluation.figures import Figure
    from factible_assets.evaluation.metrics.operations import Usage
    from factible_assets.evaluation.metrics.stances import Confusion, ReliabilityBin
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

    Args:
        title: What the picture shows, for those who do not see it.
        values: Non-negative numbers by label, in the order in which they are drawn.
        unit: Written behind each number.
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

    Args:
        title: What the picture shows, for those who do not see it.
        across: What the shares depend on, ascending; long ones are drawn at some places.
        lines: As many shares each, by label; unknown ones are left out. Empty if all are.
    """
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
    drawn = {
        "precision and recall by max_claims": curves(
            "precision and recall by max_claims",
            [point.max_claims for point in points],
            {
                "precision": [point.precision for point in points],
                "recall": [point.recall for point in points],
                "F1": [point.f1 for point in points],
            },
        )
        if points
        else "",
        "share that is right, by confidence": bars(
            "share that is right, by confidence",
            {
                f"{each.low:.0%} to {each.high:.0%}, n={each.n}": round(each.accuracy, 2)
                for each in bins
                if each.accuracy is not None
            },
        ),
        "seconds by stage": bars(
            "seconds by stage",
            {
                asset: round(figure.value, 1)
                for asset, figure in seconds.items()
                if figure is not None and figure.value is not None
            },
            " s",
        ),
        "cost by stage and model": bars(
            "cost by stage and model",
            {f"{each.stage}, {each.model}": round(each.cost_usd, 4) for each in evaluation.usage},
            " $",
        ),
    }
    return {title: picture for title, picture in drawn.items() if picture}


def counted(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """Count the values that occur, in a given order."""
    return {word.replace("_", " "): values.count(word) for word in order if word in values}


# --- Plots of an evaluation ----------------------------------------------------------------------

Form = Literal["png", "svg"]

STAGES_PLOT: Final = "latency and cost by stage"
"""The title of the one plot that needs no annotation."""

_BLUE: Final = "#0072B2"
_VERMILION: Final = "#D55E00"
_GREEN: Final = "#009E73"
_GREY: Final = "#6E6E6E"
_SIZE: Final = (6.4, 4.4)
_WIDE: Final = (9.6, 4.4)
_DPI: Final = 100
_DARK: Final = 0.55


def precision_recall_plot(points: Sequence[DepthPoint], *, form: Form = "png") -> bytes:
    """Draw macro precision, recall and F1 over the number of claims that are kept."""
    canvas, axes = _canvas(
        "Claims: precision and recall over max_claims",
        "max_claims: claims kept per video",
        "mean over videos",
    )
    axes.set_ylim(-0.02, 1.02)
    lines = (
        ("precision", _BLUE, "o", [point.precision for point in points]),
        ("recall", _VERMILION, "s", [point.recall for point in points]),
        ("F1", _GREEN, "^", [point.f1 for point in points]),
    )
    drawn = False
    for name, colour, marker, values in lines:
        known = [
            (point.max_claims, value)
            for point, value in zip(points, values, strict=True)
            if value is not None
        ]
        if known:
            across, up = zip(*known, strict=True)
            axes.plot(across, up, label=name, color=colour, marker=marker, linewidth=1.8)
            drawn = True
    if drawn:
        axes.locator_params(axis="x", integer=True)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(loc="best")
    else:
        _undefined(axes, "no annotated claims")
    return _saved(canvas, form)


def confusion_plot(confusion: Confusion, *, form: Form = "png") -> bytes:
    """Draw how often each annotated stance was answered as each; rows are the annotation."""
    canvas, axes = _canvas("Stances: annotated against answered", "answered", "annotated")
    most = max((count for row in confusion.counts for count in row), default=0)
    if not most:
        _undefined(axes, "no annotated claim has a verdict")
        return _saved(canvas, form)
    places = range(len(confusion.labels))
    axes.imshow(confusion.counts, cmap="Blues", vmin=0, vmax=most)
    axes.set_xticks(places, confusion.labels)
    axes.set_yticks(places, confusion.labels)
    for row in places:
        for column in places:
            count = confusion.counts[row][column]
            # The one hue runs from light to dark, so that words on dark cells are light.
            colour = "white" if count > _DARK * most else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=colour)
    if confusion.unanswered:
        axes.set_xlabel(f"answered ({confusion.unanswered} without an answer are not shown)")
    return _saved(canvas, form)


def reliability_plot(bins: Sequence[ReliabilityBin], *, form: Form = "png") -> bytes:
    """Draw how often answers of like confidence were right; n stands above each bar."""
    canvas, axes = _canvas(
        "Verdicts: confidence against accuracy", "confidence of the verdict", "share that is right"
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.08)
    filled = [
        (each.low, each.high, each.n, each.accuracy) for each in bins if each.accuracy is not None
    ]
    if not filled:
        _undefined(axes, "no annotated verdict has a confidence")
        return _saved(canvas, form)
    for low, high, n, accuracy in filled:
        middle = (low + high) / 2
        axes.bar(middle, accuracy, width=0.9 * (high - low), color=_BLUE, alpha=0.85)
        axes.text(middle, accuracy + 0.02, f"n={n}", ha="center", va="bottom", fontsize=8)
    axes.plot([0, 1], [0, 1], color=_VERMILION, linestyle="--", label="perfectly calibrated")
    axes.legend(loc="upper left")
    return _saved(canvas, form)


def stages_plot(
    figures: Iterable[Figure], usage: Sequence[Usage] = (), *, form: Form = "png"
) -> bytes:
    """Draw seconds and cost by stage.

    Args:
        figures: Those named `seconds of <asset>` are drawn, with their interval.
        usage: Tokens and cost by stage and model, added up over all videos.
        form: The picture's format.
    """
    canvas = _empty(_WIDE)
    left, right = canvas.subplots(1, 2)
    by_name = {figure.name: figure for figure in figures}
    timed = [(asset, by_name.get(f"seconds of {asset}")) for asset in METHOD]
    left.set_title("Seconds by stage, mean over videos")
    left.set_xlabel("seconds (stages overlap)")
    _bars(left, [(asset, figure) for asset, figure in timed if figure is not None])
    right.set_title("Cost by stage and model, all videos")
    right.set_xlabel("US dollars")
    if usage:
        names = [f"{each.stage}, {each.model}" for each in usage]
        right.barh(names, [each.cost_usd for each in usage], color=_GREEN)
        for place, each in enumerate(usage):
            tokens = f" ${each.cost_usd:.4f}, {each.input_tokens + each.output_tokens} tokens"
            right.text(each.cost_usd, place, tokens, va="center", fontsize=8)
        right.margins(x=0.45)
        right.invert_yaxis()
    else:
        _undefined(right, "no model was asked", word="none")
    return _saved(canvas, form)


def all_plots(evaluation: Evaluation, *, form: Form = "png") -> dict[str, bytes]:
    """Draw every plot of an evaluation, by title."""
    return {
        "precision and recall": precision_recall_plot(evaluation.precision_recall, form=form),
        "confusion of stances": confusion_plot(evaluation.confusion, form=form),
        "reliability of confidence": reliability_plot(evaluation.reliability, form=form),
        STAGES_PLOT: stages_plot(
            [figure for figure in evaluation.figures if figure.averaging == "macro"],
            evaluation.usage,
            form=form,
        ),
    }


def _bars(axes: Axes, figures: Sequence[tuple[str, Figure]]) -> None:
    known = [(name, figure) for name, figure in figures if figure.value is not None]
    if not known:
        _undefined(axes, "nothing was timed")
        return
    values = [figure.value or 0.0 for _, figure in known]
    ends = [
        (figure.interval.low, figure.interval.high) if figure.interval else (value, value)
        for (_, figure), value in zip(known, values, strict=True)
    ]
    below = [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)]
    above = [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)]
    axes.barh([name for name, _ in known], values, color=_BLUE, xerr=[below, above], ecolor=_GREY)
    for place, value in enumerate(values):
        axes.text(value + above[place], place, f" {value:.2f}", va="center", fontsize=8)
    axes.margins(x=0.18)
    axes.invert_yaxis()


def _canvas(title: str, across: str, up: str) -> tuple[Canvas, Axes]:
    canvas = _empty(_SIZE)
    axes = canvas.subplots()
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return canvas, axes


def _empty(size: tuple[float, float]) -> Canvas:
    from matplotlib.figure import Figure as NewCanvas  # noqa: PLC0415 - slow to import

    return NewCanvas(figsize=size, dpi=_DPI, layout="constrained")


def _undefined(axes: Axes, why: str, *, word: str = "undefined") -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5, 0.5, f"{word}: {why}", ha="center", va="center", color=_GREY, transform=axes.transAxes
    )


def _saved(canvas: Canvas, form: Form) -> bytes:
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import

    out = io.BytesIO()
    # Without a date and a random salt, the same figures give the same bytes.
    with rc_context({"svg.hashsalt": "factible"}):
        canvas.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
