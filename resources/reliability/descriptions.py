"""Descriptions of rating sets: a small YAML file beside a file that does not explain itself.

What belongs here: reading `NAME.csv.yaml`, the description of `NAME.csv`. What does not: reading
the table itself (datasets.py), choosing a file's reader (the caller).

    dataset: newsroom-survey        # the name that ratings show
    as_of: 2026-03-01               # the day that the ratings describe
    licence: CC BY 4.0
    citation: Who made it, where it is published
    description: What it covers.
    delimiter: ";"                  # where it is not a comma; tab for tabulators
    columns:                        # which column holds what; only domain and rating are needed
      domain: Website
      rating: Score
      class: Kind
      bias: Lean
      reason: Remark
    thresholds: {high: 75, medium: 50, low: 25}   # numbers: from this one on; below all: very_low
    scale: {Trustworthy: high, Doubtful: low}     # or texts; every one that occurs must stand here
    classes: {Newspaper: news}                    # texts of the class's column; others: unknown

Only `dataset` is needed. Without `columns` the file is of a layout that is known by its header, and
the description adds what the file does not say; without `thresholds` and `scale` the ratings are
called high, medium, low and very low.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TypeVar

from resources.reliability.base import Rating
from resources.reliability.datasets import (
    TableLayout,
    folded,
    rating_by_name,
    rating_of_name,
    source_class_of,
)
from resources.reliability.files import Node, read_yaml

Name = TypeVar("Name")

ENDING = ".yaml"
"""What the name of a description has beyond the name of the file that it describes."""

_ABOUT = {"as_of", "licence", "citation", "description"}
_READING = {"delimiter", "columns", "thresholds", "scale", "classes"}
_STEPS: tuple[Rating, ...] = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Description:
    """What a description says. `layout` is None where it names no columns."""

    dataset: str
    as_of: date | None = None
    licence: str = ""
    citation: str = ""
    description: str = ""
    layout: TableLayout | None = None

    def applied_to(self, known: TableLayout) -> TableLayout:
        """Return the layout of the table: this description's own, or a known one under its name."""
        return replace(
            self.layout or known,
            name=self.dataset,
            description=self.description or known.description,
            licence=self.licence,
            citation=self.citation,
        )


def description_of(file: Path) -> Path:
    """Return where the description of a file would be."""
    return file.with_name(f"{file.name}{ENDING}")


def load_description(file: Path) -> Description:
    """Read a description.

    Raises:
        RatingFileError: The file cannot be read, or something in it is wrong; names file and line.
    """
    top = read_yaml(file).mapping({"dataset"}, _ABOUT | _READING)
    if "columns" not in top:
        for key in sorted(_READING & top.keys()):
            raise top[key].wrong(f"{key} needs columns beside it")
    said = {key: top[key].text() for key in _ABOUT - {"as_of"} if key in top}
    return Description(
        dataset=top["dataset"].text(),
        as_of=top["as_of"].day() if "as_of" in top else None,
        licence=said.get("licence", ""),
        citation=said.get("citation", ""),
        description=said.get("description", ""),
        layout=_layout(top) if "columns" in top else None,
    )


def _layout(top: Mapping[str, Node]) -> TableLayout:
    columns = top["columns"].mapping({"domain", "rating"}, {"class", "bias", "reason"})
    named = {key: node.text() for key, node in columns.items()}
    return TableLayout(
        name="",
        domain_column=named["domain"],
        rating_column=named["rating"],
        rating_of=_rating_of(top),
        class_column=named.get("class"),
        bias_column=named.get("bias"),
        reason_column=named.get("reason"),
        classes=_named(top["classes"], source_class_of) if "classes" in top else None,
        delimiter=_delimiter(top["delimiter"]) if "delimiter" in top else ",",
    )


def _delimiter(node: Node) -> str:
    delimiter = "\t" if node.value == "tab" else node.value
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in {'"', "\r", "\n"}:
        raise node.wrong('the delimiter should be one character, such as ";", or tab')
    return delimiter


def _rating_of(top: Mapping[str, Node]) -> Callable[[str], Rating]:
    if "thresholds" in top and "scale" in top:
        raise top["scale"].wrong("thresholds and scale exclude each other; keep one")
    if "thresholds" in top:
        return _by_thresholds(_thresholds(top["thresholds"]))
    if "scale" in top:
        return _by_scale(top["scale"].file, _named(top["scale"], rating_of_name))
    return rating_by_name


def _thresholds(node: Node) -> tuple[tuple[float, Rating], ...]:
    given = node.mapping({"high"}, {"medium", "low"})
    steps: list[tuple[float, Rating]] = []
    for rating in _STEPS:
        if rating not in given:
            continue
        try:
            least = float(given[rating].text())
        except ValueError:
            least = math.nan
        if not math.isfinite(least):
            raise given[rating].wrong(f"{rating} should be a number")
        if steps and least >= steps[-1][0]:
            raise given[rating].wrong(f"{rating} should lie below {steps[-1][1]}")
        steps.append((least, rating))
    return tuple(steps)


def _by_thresholds(steps: tuple[tuple[float, Rating], ...]) -> Callable[[str], Rating]:
    def rating_of(text: str) -> Rating:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError("not a number")
        return next((rating for least, rating in steps if number >= least), "very_low")

    return rating_of


def _named(node: Node, read: Callable[[Path, int, str], Name]) -> Mapping[str, Name]:
    """Read what texts of the table stand for; they are compared without case and white space."""
    if not isinstance(node.value, dict) or not node.value:
        raise node.wrong("here should stand a mapping of the texts")
    found: dict[str, Name] = {}
    for key in node.value:
        text, named = folded(key), node.child(key)
        if not text:
            raise named.wrong("here should stand a text")
        if text in found:
            raise named.wrong(f"{text} stands here twice")
        found[text] = read(named.file, named.line, named.text())
    return found


def _by_scale(file: Path, scale: Mapping[str, Rating]) -> Callable[[str], Rating]:
    def rating_of(text: str) -> Rating:
        rating = scale.get(folded(text))
        if rating is None:
            raise ValueError(f"it does not stand in the scale of {file.name}; add it there")
        return rating

    return rating_of
