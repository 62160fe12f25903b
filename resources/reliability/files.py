"""Reading the files of rating sets: texts, and YAML that is read strictly.

What belongs here: the error of a rating file, and what a value in it has to be. What does not:
what a file says (datasets.py), YAML itself (resources/lines.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeVar

from resources import lines
from resources.lines import Document, Place, PlacedError

Name = TypeVar("Name", bound=str)
_MAX_BYTES: Final = 1 << 30


class RatingFileError(Exception):
    """A rating set that cannot be used. The message names file, line, and remedy."""

    def __init__(self, file: Path, line: int | None, problem: str) -> None:
        where = str(file) if line is None else f"{file}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line


def read_text(file: Path) -> str:
    """Return a file's text.

    Raises:
        RatingFileError: It cannot be read, is larger than 1 GB, or is not UTF-8.
    """
    try:
        return lines.read_text(file, _MAX_BYTES)
    except PlacedError as error:
        raise RatingFileError(file, error.line, error.sentence) from error


def chosen(file: Path, line: int, text: str, known: Sequence[Name], what: str) -> Name:
    """Return the one of several known names that a text is exactly.

    Raises:
        RatingFileError: It is none; `what` is what it should be.
    """
    for name in known:
        if name == text:
            return name
    names = ", ".join(sorted(known))
    raise RatingFileError(file, line, f"{text[:40]!r} is no {what}; write one of {names}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a YAML file, and where it stands.

    What reads it raises RatingFileError, with its line, if it is something else.
    """

    file: Path
    document: Document
    place: Place = ()

    @property
    def value(self) -> Any:
        """The mapping, list, text or null that stands here."""
        return self.document.at(self.place)

    @property
    def line(self) -> int:
        """The line that it or its key begins on, counted from 1."""
        return self.document.line(self.place)

    def wrong(self, problem: str) -> RatingFileError:
        """Return the error that says so of this place."""
        return RatingFileError(self.file, self.line, problem)

    def child(self, step: str | int) -> Node:
        """Return what stands under a key or at a position."""
        return Node(self.file, self.document, (*self.place, step))

    def mapping(self, required: set[str], optional: set[str]) -> dict[str, Node]:
        """Return a mapping's values by key; none may be missing, and no other one may be there."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"here should stand a mapping with {', '.join(sorted(required))}")
        for key in self.value:
            if key not in required | optional:
                raise self.child(key).wrong(f"the key {key} is not known here")
        if missing := sorted(required - self.value.keys()):
            raise self.wrong(f"{', '.join(missing)} should be given")
        return {key: self.child(key) for key in self.value}

    def text(self) -> str:
        """Return a text on one line; it may not be empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong("here should stand a text")
        return " ".join(self.value.split())

    def choice(self, known: Sequence[Name], what: str) -> Name:
        """Return one of several known names; see `chosen`."""
        return chosen(self.file, self.line, self.text(), known, what)

    def share(self) -> float:
        """Return a number from 0 to 1."""
        try:
            found = float(self.text())
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise self.wrong("here should stand a number from 0 to 1")
        return found

    def day(self) -> date:
        """Return a day written as 2026-01-31."""
        try:
            return date.fromisoformat(self.text())
        except ValueError as error:
            raise self.wrong("write the date as 2026-01-31") from error


def read_yaml(file: Path) -> Node:
    """Return what a YAML file holds.

    Raises:
        RatingFileError: It cannot be read, is no YAML, or has a key twice.
    """
    try:
        document = lines.parse_document(read_text(file))
    except PlacedError as error:
        raise RatingFileError(file, error.line, error.sentence) from error
    for _, key, line in document.duplicates:
        raise RatingFileError(file, line, f"the key {key} stands here twice")
    return Node(file, document)
