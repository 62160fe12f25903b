"""Reads the targets of figures from targets.yaml, and compares figures with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.measures import CATALOGUE
from resources.text_files import EntryReader, FileProblem, PlacedError, did_you_mean, read_document

FILE_NAME: Final = "targets.yaml"

Outcome = Literal["reached", "below target", "below floor", "undefined", "too few"]
"""`too few`: the figure has fewer items than `min_n`, and is not judged."""


class MetricTarget(BaseModel):
    """The target of one metric. The metric says whether higher or lower is better."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: float = Field(allow_inf_nan=False, description="A worse value gives a warning.")
    floor: float = Field(allow_inf_nan=False, description="A worse value fails.")
    averaging: Literal["macro", "micro"] = "macro"
    min_n: int = Field(default=1, ge=1, description="With fewer items there is no judgement.")


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of each corpus, those of all corpora under "", and problems of the files."""

    by_corpus: Mapping[str, Mapping[str, MetricTarget | None]]
    problems: tuple[FileProblem, ...] = ()

    def of(self, corpus: str) -> dict[str, MetricTarget]:
        merged = {**self.by_corpus.get("", {}), **self.by_corpus.get(corpus, {})}
        return {metric: target for metric, target in merged.items() if target is not None}

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics with a target in any corpus, in order of the catalogue."""
        with_target = {metric for targets in self.by_corpus.values() for metric in targets}
        return tuple(metric for metric in CATALOGUE if metric in with_target)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The comparison of one figure with its target."""

    corpus: str
    metric: str
    target: MetricTarget
    figure: Figure | None
    outcome: Outcome


def assess(corpus: str, figures: Iterable[Figure], targets: Targets) -> tuple[Assessment, ...]:
    """Compare a corpus's figures with its targets."""
    by_name = {(figure.name, figure.averaging): figure for figure in figures}
    assessments = []
    for metric, target in targets.of(corpus).items():
        figure = by_name.get((metric, target.averaging))
        outcome: Outcome = "reached"
        if figure is None or figure.value is None:
            outcome = "undefined"
        elif figure.n < target.min_n:
            outcome = "too few"
        elif _is_worse(metric, figure.value, target.floor):
            outcome = "below floor"
        elif _is_worse(metric, figure.value, target.target):
            outcome = "below target"
        assessments.append(Assessment(corpus, metric, target, figure, outcome))
    return tuple(assessments)


def _is_worse(metric: str, value: float, than: float) -> bool:
    return value > than if CATALOGUE[metric].better == "lower" else value < than


def _metric_with_direction(metric: str) -> str:
    """Raises ValueError: There is no such metric, or neither high nor low values are better."""
    if metric not in CATALOGUE:
        hint = did_you_mean(metric, CATALOGUE, "All: factible evaluate --all.")
        raise ValueError(f"there is no such metric. {hint}")
    if CATALOGUE[metric].better is None:
        raise ValueError("it has no better direction. Remove its target.")
    return metric


_Metric = Annotated[str, AfterValidator(_metric_with_direction)]
_Override = Annotated[MetricTarget | None, BeforeValidator(lambda given: given or None)]
"""A target of one corpus; an empty entry switches the target off."""


class _TargetsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    targets: dict[_Metric, MetricTarget]
    overrides: dict[str, dict[_Metric, _Override]] = {}


def load_targets(folders: Iterable[Path]) -> Targets:
    """Read targets.yaml in each folder; later folders override earlier ones.

    A file with a problem is left out, and its problems are returned.
    """
    merged: dict[str, dict[str, MetricTarget | None]] = {}
    problems: list[FileProblem] = []
    for file in (folder / FILE_NAME for folder in folders):
        if not file.is_file():
            continue
        try:
            document = read_document(file)
        except PlacedError as error:
            problems.append(error.at(file))
            continue
        reader = EntryReader(file=file, document=document)
        content = reader.entry(_TargetsFile, document.data, ())
        by_corpus: dict[str, Mapping[str, MetricTarget | None]] = {}
        if content is not None:
            by_corpus = {"": content.targets, **content.overrides}
        for corpus, entries in by_corpus.items():
            for metric, target in entries.items():
                if target and _is_worse(metric, target.target, target.floor):
                    place = ("overrides", corpus, metric) if corpus else ("targets", metric)
                    words = f"{target.target}, is worse than its floor, {target.floor}. Swap them."
                    reader.report(place, f"The target of {metric}, {words}")
        problems += reader.problems
        if not reader.problems:
            for corpus, entries in by_corpus.items():
                merged.setdefault(corpus, {}).update(entries)
    return Targets(merged, tuple(problems))
