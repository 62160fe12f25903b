"""Compares the variants of a finished experiment with its baseline, video by video.

The comparison of two variants uses the videos for which both have a value. Few videos prove little,
and among many comparisons some differ by chance, so a comparison states both numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from factible_assets.evaluation.figures import (
    PairedBootstrap,
    SignedRank,
    paired_bootstrap,
    wilcoxon_signed_rank,
)
from factible_assets.evaluation.measures import CATALOGUE, HEADLINES
from factible_assets.runs.experiments.plan import ExperimentError
from resources.statements import statements
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs.experiments", "experiments.sql")


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """One variant of the last run. `computed` and `shared` count its stages."""

    name: str
    is_baseline: bool
    settings: Mapping[str, Any]
    reasoner: str
    models: Mapping[str, str]
    videos: int
    failed_videos: int
    computed: int
    shared: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one variant, and its difference from the baseline (None for the baseline)."""

    variant: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = ""
    trivial: float | None = None
    bootstrap: PairedBootstrap | None = None
    wilcoxon: SignedRank | None = None
    above: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of all variants. `better` is higher, lower or None."""

    name: str
    family: str
    better: str | None
    averaging: str
    cells: tuple[Cell, ...]

    @property
    def is_known(self) -> bool:
        """Whether any variant has a value."""
        return any(cell.value is not None for cell in self.cells)

    def cell(self, variant: str) -> Cell:
        return next(cell for cell in self.cells if cell.variant == variant)


@dataclass(frozen=True, slots=True)
class Comparison:
    experiment: str
    description: str | None
    baseline: str
    matcher: str
    code_version: str
    scored_videos: int
    finished_at: datetime
    variants: tuple[VariantInfo, ...]
    metrics: tuple[MetricComparison, ...]

    def metric(self, name: str) -> MetricComparison | None:
        return next((metric for metric in self.metrics if metric.name == name), None)

    @property
    def headlines(self) -> tuple[MetricComparison, ...]:
        """The main metrics of which any variant has a value."""
        found = (self.metric(name) for name in HEADLINES)
        return tuple(metric for metric in found if metric is not None and metric.is_known)

    @property
    def tests(self) -> int:
        """The number of comparisons with a test."""
        tested = (cell.bootstrap for metric in self.metrics for cell in metric.cells)
        return sum(test is not None and test.p_value is not None for test in tested)


def finished_experiments(warehouse: Warehouse) -> dict[str, datetime]:
    """Return the time at which each experiment was last finished."""
    return {row["experiment"]: row["finished_at"] for row in warehouse.rows(_SQL["finished"])}


def _with_tests(cell: Cell, before: Mapping[str, float], after: Mapping[str, float]) -> Cell:
    """Add the comparison with the baseline, over the videos for which both have a value."""
    pairs = [
        (before[video_id], after[video_id]) for video_id in sorted(before.keys() & after.keys())
    ]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    return replace(
        cell,
        bootstrap=paired_bootstrap(first, second),
        wilcoxon=wilcoxon_signed_rank(first, second) if len(pairs) > 1 else None,
        above=sum(b > a for a, b in pairs),
        below=sum(b < a for a, b in pairs),
    )


def read_comparison(
    warehouse: Warehouse, experiment: str, *, baseline: str | None = None
) -> Comparison:
    """Compare the variants of a finished experiment with its baseline, or with another variant.

    Raises ExperimentError: It never finished, or has no such variant.
    """
    parameters = [experiment]
    head = next(iter(warehouse.rows(_SQL["head"], parameters)), None)
    if head is None:
        raise ExperimentError(
            f"The experiment {experiment} has not finished yet. Run it: factible experiment "
            f"run {experiment}"
        )
    variants = tuple(
        VariantInfo(**row | {name: json.loads(row[name]) for name in ("settings", "models")})
        for row in warehouse.rows(_SQL["variants"], parameters)
    )
    names = [variant.name for variant in variants]
    against = baseline or head["baseline"]
    if against not in names:
        raise ExperimentError(
            f"The experiment {experiment} has no variant {against}. It has {', '.join(names)}."
        )
    figures = {
        (row["metric"], row["variant"]): row for row in warehouse.rows(_SQL["figures"], parameters)
    }
    by_video: dict[tuple[str, str], dict[str, float]] = {}
    for row in warehouse.rows(_SQL["video_values"], parameters):
        by_video.setdefault((row["metric"], row["variant"]), {})[row["video_id"]] = row["value"]

    def cell_of(metric: str, variant: str) -> Cell:
        figure = figures.get((metric, variant))
        if figure is None:
            return Cell(variant)
        columns = ("value", "interval_low", "interval_high", "n", "unit", "trivial")
        cell = Cell(variant, *(figure[name] for name in columns))
        if variant == against:
            return cell
        before, after = (by_video.get((metric, name), {}) for name in (against, variant))
        return _with_tests(cell, before, after)

    averaging = {metric: row["averaging"] for (metric, _), row in reversed(figures.items())}
    return Comparison(
        experiment=experiment,
        description=head["description"],
        baseline=against,
        matcher=head["matcher"],
        code_version=head["code_version"],
        scored_videos=head["videos"],
        finished_at=head["finished_at"],
        variants=variants,
        metrics=tuple(
            MetricComparison(
                *(name, about.family, about.better, averaging[name]),
                tuple(cell_of(name, variant) for variant in names),
            )
            for name, about in CATALOGUE.items()
            if name in averaging
        ),
    )
