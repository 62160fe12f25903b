"""Reading the files of rating sets: texts, and YAML whose every part knows its line.

What belongs here: the error of a rating file, and YAML nodes read strictly. What does not: what a
file says (datasets.py, descriptions.py).
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import yaml

from resources.nesting import deepest_line


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
        RatingFileError: It cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise RatingFileError(file, None, f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RatingFileError(file, line, "it is not UTF-8; save it as UTF-8") from error


def compose(file: Path) -> yaml.Node | None:
    """Return a YAML file's node, None if it is empty.

    Raises:
        RatingFileError: It cannot be read, or is no YAML.
    """
    # Nodes, not values: only they know the line that they stand on. SafeLoader makes no objects.
    try:
        return yaml.compose(read_text(file), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise RatingFileError(file, line, f"this is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise RatingFileError(file, None, f"this is not YAML: {error}") from error
    except RecursionError as error:
        line = deepest_line(read_text(file))
        raise RatingFileError(file, line, "it is nested too deeply; flatten it") from error


def mapping(
    file: Path, node: yaml.Node | None, required: set[str], optional: set[str]
) -> dict[str, yaml.Node]:
    """Return a mapping's values by key.

    Raises:
        RatingFileError: It is no mapping, or a key is missing, unknown or given twice.
    """
    if not isinstance(node, yaml.MappingNode):
        names = ", ".join(sorted(required))
        line = line_of(node) if node is not None else None
        raise RatingFileError(file, line, f"here should stand a mapping with {names}")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name not in required | optional or name in found:
            problem = "stands here twice" if name in found else "is not known here"
            raise RatingFileError(file, line_of(key), f"the key {name} {problem}")
        found[name] = value
    missing = sorted(required - found.keys())
    if missing:
        raise RatingFileError(file, line_of(node), f"{', '.join(missing)} should be given")
    return found


def text_of(file: Path, node: yaml.Node) -> str:
    """Return a text on one line.

    Raises:
        RatingFileError: It is none, or is empty.
    """
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise RatingFileError(file, line_of(node), "here should stand a text")
    return " ".join(node.value.split())


def day_of(file: Path, node: yaml.Node) -> date:
    """Return a day written as 2026-01-31.

    Raises:
        RatingFileError: It is written otherwise.
    """
    try:
        return date.fromisoformat(text_of(file, node))
    except ValueError as error:
        raise RatingFileError(file, line_of(node), "write the date as 2026-01-31") from error


def line_of(node: yaml.Node) -> int:
    """Return the line that a node begins on, counted from 1."""
    return int(node.start_mark.line) + 1
