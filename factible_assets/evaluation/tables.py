"""Turns evaluations into rows for the terminal, for Markdown, for JSON and for the warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.measures import CATALOGUE, HEADLINES
from factible_assets.evaluation.scoring import Evaluation
from factible_assets.wording import cell, counted, number, table

UNDEFINED: Final = "undefined"
HEADINGS: Final = ("metric", "averaging", "value", "95 % interval", "baseline", "n", "unit")


def figure_row(figure: Figure) -> tuple[str, ...]:
    """Return the cells of one figure, in order of HEADINGS."""
    interval = figure.interval
    return (
        figure.name,
        figure.averaging,
        number(figure.value, UNDEFINED),
        "–" if interval is None else f"{number(interval.low)} to {number(interval.high)}",
        number(figure.baseline),
        str(figure.n),
        figure.unit,
    )


def headlines(evaluation: Evaluation) -> tuple[Figure, ...]:
    """Return the main figures: over all items if there is such a figure, else over videos."""
    figures = (evaluation.figure(name, "micro") or evaluation.figure(name) for name in HEADLINES)
    return tuple(figure for figure in figures if figure is not None)


def columns_of(figure: Figure) -> dict[str, Any]:
    """Return a figure as columns of the warehouse, without its baseline, whose column varies."""
    interval = figure.interval
    return {
        "metric": figure.name,
        "averaging": figure.averaging,
        "value": figure.value,
        "n": figure.n,
        "unit": figure.unit,
        "interval_low": interval.low if interval else None,
        "interval_high": interval.high if interval else None,
        "interval_level": interval.level if interval else None,
    }


def basis(evaluation: Evaluation) -> str:
    """Describe the data and the methods behind the figures."""
    videos = counted(evaluation.videos, "video")
    return (
        f"{videos}, {evaluation.annotated} of them annotated; matcher: "
        f"{evaluation.matcher}; {evaluation.resamples} resamples over videos. The baseline of "
        "claim metrics is as many evenly spaced sentences of the transcript, that of stances "
        "the most frequent annotated stance."
    )


def figures_markdown(evaluation: Evaluation) -> str:
    """Return all figures of a corpus as a table in Markdown."""
    rows = ([*map(cell, figure_row(figure))] for figure in evaluation.figures)
    return f"{basis(evaluation)}\n\n{table(HEADINGS, rows)}"


def videos_markdown(evaluation: Evaluation) -> str:
    """Return the main figures of each video as a table in Markdown."""
    rows = []
    for video_id, figures in evaluation.per_video.items():
        values = {figure.name: number(figure.value, UNDEFINED) for figure in figures}
        rows.append([cell(video_id), *(values[name] for name in HEADLINES)])
    return table(("video", *HEADLINES), rows)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """Return the whole evaluation for JSON. Undefined values are null."""

    def described(figures: Sequence[Figure]) -> list[dict[str, Any]]:
        measures = ((figure, CATALOGUE[figure.name]) for figure in figures)
        return [
            {**asdict(figure), "family": measure.family, "better": measure.better}
            for figure, measure in measures
        ]

    whole = asdict(replace(evaluation, figures=(), per_video={}, judgements=()))
    del whole["judgements"]
    return whole | {
        "figures": described(evaluation.figures),
        "per_video": {video: described(figures) for video, figures in evaluation.per_video.items()},
    }
