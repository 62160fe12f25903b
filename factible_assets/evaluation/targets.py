"""Targets: what a corpus's figures should be, read from targets.yaml, and their judgement.

What belongs here: the file's format, with file and line in every problem, and the comparison of a
figure with its target. What does not: what happens then (checks/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from factible_assets.evaluation.figures import Figure
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.wording import did_you_mean
from resources.lines import Document, FileProblem, Place, PlacedError, read_document

FILE_NAME: Final = "targets.yaml"

Outcome = Literal["reached", "below target", "below floor", "undefined", "too few"]
"""`too few`: the figure rests on fewer items than its target asks for, and is not judged."""


class Target(BaseModel):
    """What one metric should be. Which way is better says the metric."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: float = Field(allow_inf_nan=False, description="Worse than this is warned of.")
    floor: float = Field(allow_inf_nan=False, description="Worse than this fails.")
    averaging: Literal["macro", "micro"] = "macro"
    min_n: int = Field(default=1, ge=1, description="With fewer items nothing is judged.")


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of all corpora, and what could not be read."""

    targets: Mapping[str, Target] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, Target | None]] = field(default_factory=dict)
    problems: tuple[FileProblem, ...] = ()

    def of(self, corpus: str) -> dict[str, Target]:
        """Return the targets of one corpus by metric."""
        merged = {**self.targets, **self.overrides.get(corpus, {})}
        return {metric: target for metric, target in merged.items() if target is not None}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return every metric that some corpus has a target for, in order of the catalogue."""
        named = {*self.targets, *(name for each in self.overrides.values() for name in each)}
        return tuple(name for name in CATALOGUE if name in named)


@dataclass(frozen=True, slots=True)
class Assessment:
    """How one figure stands to its target."""

    corpus: str
    metric: str
    target: Target
    figure: Figure | None
    outcome: Outcome


def assess(corpus: str, figures: Iterable[Figure], targets: Targets) -> tuple[Assessment, ...]:
    """Compare a corpus's figures with its targets. An undefined figure is not judged."""
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


# --- Reading ------------------------------------------------------------------------------------


def load_targets(folders: Iterable[Path]) -> Targets:
    """Read targets.yaml of every folder that has one; entries of later folders replace earlier.

    Never raises: what cannot be used is a problem with its file and line, and is left out.
    """
    targets: dict[str, Target] = {}
    overrides: dict[str, dict[str, Target | None]] = {}
    problems: list[FileProblem] = []
    for folder in folders:
        if (file := folder / FILE_NAME).is_file():
            _Reader(file, targets, overrides, problems).read()
    return Targets(targets, overrides, tuple(problems))


_FORM: Final = "Write {target: NUMBER, floor: NUMBER}, with averaging and min_n if needed."


@dataclass
class _Reader:
    """Reads one file, and collects every problem on the way."""

    file: Path
    targets: dict[str, Target]
    overrides: dict[str, dict[str, Target | None]]
    problems: list[FileProblem]

    def read(self) -> None:
        try:
            document = read_document(self.file)
        except PlacedError as error:
            self.problems.append(error.at(self.file))
            return
        self.problems += document.repeated_keys(self.file)
        data = document.data if isinstance(document.data, dict) else {}
        for key in sorted(data.keys() - {"targets", "overrides"}):
            known = "Known keys: targets, overrides."
            self._report(document.line((key,)), f"{key!r} is not a key of this file. {known}")
        if not isinstance(data.get("targets"), dict):
            self._report(document.line(("targets",)), "There are no targets. Begin with targets:.")
        for metric, given in self._entries(document, ("targets",)):
            if target := self._target(document, ("targets", metric), given):
                self.targets[metric] = target
        for corpus, _ in self._entries(document, ("overrides",)):
            own = self.overrides.setdefault(corpus, {})
            for metric, given in self._entries(document, ("overrides", corpus)):
                if given in ({}, None) and metric in CATALOGUE:
                    own[metric] = None
                elif target := self._target(document, ("overrides", corpus, metric), given):
                    own[metric] = target

    def _entries(self, document: Document, place: Place) -> Sequence[tuple[str, Any]]:
        value = document.data
        for step in place:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, dict):
            self._report(document.line(place), f"{place[-1]} is not a mapping of names to entries.")
        return list(value.items()) if isinstance(value, dict) else []

    def _target(self, document: Document, place: Place, given: Any) -> Target | None:
        metric, line = str(place[-1]), document.line(place)
        if metric not in CATALOGUE:
            hint = did_you_mean(metric, CATALOGUE, "All: factible evaluate --all.")
            self._report(line, f"There is no metric {metric!r}. {hint}")
            return None
        if CATALOGUE[metric].better is None:
            self._report(line, f"Of {metric!r} neither more nor less is better. Remove its target.")
            return None
        try:
            target = Target.model_validate(given)
        except ValidationError as error:
            for detail in error.errors(include_input=False):
                key = ".".join(str(part) for part in detail["loc"])
                at = document.line((*place, *detail["loc"]))
                self._report(at, f"{metric}, {key or 'entry'}: {detail['msg']}. {_FORM}")
            return None
        if _is_worse(metric, target.target, target.floor):
            words = f"{target.target}, is worse than its floor, {target.floor}. Exchange them."
            self._report(line, f"The target of {metric}, {words}")
            return None
        return target

    def _report(self, line: int | None, sentence: str) -> None:
        self.problems.append(FileProblem(self.file, line, sentence))
