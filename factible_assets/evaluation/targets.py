"""Reads the targets of figures from targets.yaml, and compares figures with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.measures import CATALOGUE
from resources.lines import (
    EntryReader,
    FileProblem,
    Place,
    PlacedError,
    did_you_mean,
    read_document,
)

FILE_NAME: Final = "targets.yaml"

Outcome = Literal["reached", "below target", "below floor", "undefined", "too few"]
"""`too few`: the figure has fewer items than `min_n`, and is not judged."""


class MetricTarget(BaseModel):
    """The target of one metric. The metric says whether higher or lower is better."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: float = Field(allow_inf_nan=False, description="Worse than this is warned of.")
    floor: float = Field(allow_inf_nan=False, description="Worse than this fails.")
    averaging: Literal["macro", "micro"] = "macro"
    min_n: int = Field(default=1, ge=1, description="With fewer items nothing is judged.")


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
        named = {name for each in self.by_corpus.values() for name in each}
        return tuple(name for name in CATALOGUE if name in named)


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
    found = {(figure.name, figure.averaging): figure for figure in figures}
    assessed = []
    for metric, target in targets.of(corpus).items():
        figure = found.get((metric, target.averaging))
        outcome: Outcome = "reached"
        if figure is None or figure.value is None:
            outcome = "undefined"
        elif figure.n < target.min_n:
            outcome = "too few"
        elif _is_worse(metric, figure.value, target.floor):
            outcome = "below floor"
        elif _is_worse(metric, figure.value, target.target):
            outcome = "below target"
        assessed.append(Assessment(corpus, metric, target, figure, outcome))
    return tuple(assessed)


def _is_worse(metric: str, value: float, than: float) -> bool:
    return value > than if CATALOGUE[metric].better == "lower" else value < than


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    targets: dict[str, Any]
    overrides: dict[str, dict[str, Any]] = {}


def load_targets(folders: Iterable[Path]) -> Targets:
    """Read targets.yaml in each folder; later folders override earlier ones.

    Invalid entries are left out and returned as problems.
    """
    found: dict[str, dict[str, MetricTarget | None]] = {}
    problems: list[FileProblem] = []
    for file in (folder / FILE_NAME for folder in folders):
        if not file.is_file():
            continue
        try:
            document = read_document(file)
        except PlacedError as error:
            problems.append(error.at(file))
            continue
        reader = _Reader(file=file, document=document)
        problems += document.repeated_keys(file)
        data = document.data
        listed = reader.entry(_File, data, ())
        if listed is None and isinstance(data, dict):
            # An unknown key must not hide the problems of the rest.
            known = {key: data[key] for key in _File.model_fields if key in data}
            listed = reader.entry(_File, known, ())
        for corpus, entries in {"": listed.targets, **listed.overrides}.items() if listed else ():
            place: Place = ("overrides", corpus) if corpus else ("targets",)
            for metric, given in entries.items():
                is_off = corpus and given in ({}, None) and metric in CATALOGUE
                target = None if is_off else reader.target(metric, given, (*place, metric))
                if is_off or target:
                    found.setdefault(corpus, {})[metric] = target
        problems += dict.fromkeys(reader.problems)
    return Targets(found, tuple(problems))


class _Reader(EntryReader):
    def target(self, metric: str, given: object, place: Place) -> MetricTarget | None:
        if metric not in CATALOGUE:
            hint = did_you_mean(metric, CATALOGUE, "All: factible evaluate --all.")
            self.report(place, f"There is no metric {metric!r}. {hint}")
            return None
        if CATALOGUE[metric].better is None:
            words = f"{metric!r} has no better direction. Remove its target."
            self.report(place, words)
            return None
        target = self.entry(MetricTarget, given, place)
        if target and _is_worse(metric, target.target, target.floor):
            words = f"{target.target}, is worse than its floor, {target.floor}. Swap them."
            self.report(place, f"The target of {metric}, {words}")
            return None
        return target
