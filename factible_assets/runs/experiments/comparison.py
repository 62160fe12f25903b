"""Compares the variants of a finished experiment with its baseline, video by video.

The comparison of two variants uses the videos for which both have a value. Few videos prove little,
and among many comparisons some differ by chance, so a comparison states both numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: str
    trivial: float | None
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
    """A finished experiment, compared."""

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
        return next((each for each in self.metrics if each.name == name), None)

    @property
    def headlines(self) -> tuple[MetricComparison, ...]:
        """The main metrics of which any variant has a value."""
        found = (self.metric(name) for name in HEADLINES)
        return tuple(each for each in found if each is not None and each.is_known)

    @property
    def tests(self) -> int:
        """The number of comparisons with a test."""
        tested = (cell.bootstrap for metric in self.metrics for cell in metric.cells)
        return sum(each is not None and each.p_value is not None for each in tested)


def finished_experiments(warehouse: Warehouse) -> dict[str, datetime]:
    """Return the time at which each experiment was last finished."""
    return dict(warehouse.query(_SQL["finished"]).rows())


def read_comparison(
    warehouse: Warehouse, experiment: str, *, baseline: str | None = None
) -> Comparison:
    """Compare the variants of a finished experiment with its baseline, or with another variant.

    Raises ExperimentError: It never finished, or has no such variant.
    """
    heads = warehouse.query(_SQL["head"], [experiment])
    if heads.is_empty():
        raise ExperimentError(
            f"The experiment {experiment} has not finished yet. Run it: factible experiment "
            f"run {experiment}"
        )
    head = heads.row(0, named=True)
    variants = tuple(
        VariantInfo(name, is_baseline, json.loads(settings), reasoner, json.loads(models), *counts)
        for _, name, is_baseline, settings, reasoner, models, *counts in warehouse.query(
            _SQL["variants"], [experiment]
        ).iter_rows()
    )
    names = [variant.name for variant in variants]
    against = baseline or head["baseline"]
    if against not in names:
        raise ExperimentError(
            f"The experiment {experiment} has no variant {against}. It has {', '.join(names)}."
        )
    pooled = warehouse.query(_SQL["figures"], [experiment])
    figures = {(row["metric"], row["variant"]): row for row in pooled.iter_rows(named=True)}
    by_video: dict[tuple[str, str], dict[str, float]] = {}
    values = warehouse.query(_SQL["video_values"], [experiment])
    for variant, metric, video_id, value in values.iter_rows():
        by_video.setdefault((metric, variant), {})[video_id] = value
    metrics = []
    for metric, described in CATALOGUE.items():
        rows = {name: figures.get((metric, name)) for name in names}
        known = next((row for row in rows.values() if row is not None), None)
        if known is not None:
            base = by_video.get((metric, against), {})
            cells = tuple(
                _cell(
                    name, row, base if name != against else None, by_video.get((metric, name), {})
                )
                for name, row in rows.items()
            )
            about = described.family, described.better, known["averaging"]
            metrics.append(MetricComparison(metric, *about, cells))
    return Comparison(
        experiment=experiment,
        description=head["description"],
        baseline=against,
        matcher=head["matcher"],
        code_version=head["code_version"],
        scored_videos=head["videos"],
        finished_at=head["finished_at"].replace(tzinfo=UTC),
        variants=variants,
        metrics=tuple(metrics),
    )


def _cell(
    variant: str,
    figure: Mapping[str, Any] | None,
    baseline: Mapping[str, float] | None,
    own: Mapping[str, float],
) -> Cell:
    if figure is None:
        return Cell(variant, None, None, None, 0, "", None)
    names = ("value", "interval_low", "interval_high", "n", "unit", "trivial")
    cell = Cell(variant, *(figure[name] for name in names))
    if baseline is None:
        return cell
    both = sorted(baseline.keys() & own.keys())
    first, second = [baseline[each] for each in both], [own[each] for each in both]
    return replace(
        cell,
        bootstrap=paired_bootstrap(first, second),
        wilcoxon=wilcoxon_signed_rank(first, second) if len(both) > 1 else None,
        above=sum(b > a for a, b in zip(first, second, strict=True)),
        below=sum(b < a for a, b in zip(first, second, strict=True)),
    )
