"""Reads JSON and JSON Lines safely, as items with their line numbers.

The standard library's C parser decodes the values item by item and refuses deep nesting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resources.lines import FileProblem, PlacedError, legible, problem_words, shown

MAX_BYTES: Final = 64 * 1024 * 1024
"""Larger JSON files are refused. JSON Lines are read line by line and may be larger."""

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_MAX_PROBLEMS: Final = 20
_SPACE: Final = re.compile(r"[ \t\r\n]*+")

_Model = TypeVar("_Model", bound=BaseModel)


class Loose(BaseModel):
    """An object of a data set. Unknown keys are ignored; aliases hold the data set's own names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class JsonItem:
    """One value of a file: its number and first line, both from 1, and its text."""

    value: Any
    number: int
    line: int
    text: str


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, cut near MAX_LINE_BYTES. Raises PlacedError."""
    with legible(), file.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES + 1):
            yield line
            if len(line) > MAX_LINE_BYTES:
                return


def whole(text: str) -> JsonItem:
    """Decode a text that is one JSON value. Raises PlacedError otherwise."""
    start = _skip(text, 0)
    value, end = _decoded(text, start, 1)
    rest = _skip(text, end)
    if rest < len(text):
        raise _placed(text, rest, "More text follows the JSON value here. Take it out.")
    return JsonItem(value, 1, text.count("\n", 0, start) + 1, text[start:end])


def items_of_list(text: str) -> Iterator[JsonItem]:
    """Yield the items of one JSON list. Raises PlacedError after the last valid item."""
    position = _skip(text, 0)
    if not text.startswith("[", position):
        words = "The file is not a JSON list. Give a list of claims in brackets."
        raise _placed(text, position, words)
    position = _skip(text, position + 1)
    line, counted, number = 1, 0, 0
    while not text.startswith("]", position):
        line, counted = line + text.count("\n", counted, position), position
        number += 1
        value, end = _decoded(text, position, line)
        yield JsonItem(value, number, line, text[position:end])
        position = _skip(text, end)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
            if text.startswith("]", position):
                words = f"No item follows the comma after item {number}. Take it out."
                raise _placed(text, position, words)
        elif not text.startswith("]", position):
            words = f"After item {number} a comma or the end is missing. Correct it."
            raise _placed(text, position, words)


def _placed(text: str, position: int, sentence: str) -> PlacedError:
    return PlacedError(text.count("\n", 0, position) + 1, sentence)


def items_of_lines(lines: Iterable[bytes], file: Path) -> Iterator[JsonItem | FileProblem]:
    """Yield the values of JSON Lines. An invalid line becomes a problem, and reading continues."""
    number = 0
    for line, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            sentence = f"The line is longer than {MAX_LINE_BYTES >> 20} MB. Take it out."
            yield FileProblem(file, line, sentence)
            return
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8").strip()
            value, end = _decoded(text, 0, line)
            if end < len(text):
                raise PlacedError(
                    line, "More than one value stands on this line. Give each its own."
                )
        except UnicodeDecodeError:
            yield FileProblem(file, line, "The line is not UTF-8. Save the file as UTF-8.")
        except PlacedError as error:
            yield error.at(file)
        else:
            yield JsonItem(value, number, line, text)


def validated(model: type[_Model], item: JsonItem, file: Path) -> _Model | list[FileProblem]:
    """Validate an item with a model. Each problem names the item, its line and the key."""
    name = item.value.get("claim") if isinstance(item.value, dict) else None
    try:
        return model.model_validate(item.value)
    except ValidationError as error:
        called = f"Item {item.number}{f' ({shown(name)})' if isinstance(name, str) else ''}"
        details = error.errors(include_url=False)[:_MAX_PROBLEMS]
        return [
            FileProblem(
                file,
                item.line,
                f"{called}: {problem_words(detail, model, '.'.join(map(str, detail['loc'])))}",
            )
            for detail in details
        ]


def _skip(text: str, position: int) -> int:
    """Return the end of the white space at a position."""
    return _SPACE.match(text, position).end()  # type: ignore[union-attr] # it matches nothing, too


def _decoded(text: str, position: int, line: int) -> tuple[Any, int]:
    """Decode one value; `line` is the line of the position."""
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        at = line + text.count("\n", position, error.pos)
        raise PlacedError(at, f"This is not valid JSON: {error.msg}. Correct it.") from error
    except RecursionError as error:
        words = "The value is nested too deeply. Flatten it, or take it out."
        raise PlacedError(line, words) from error
    except ValueError as error:
        raise PlacedError(line, f"A value here cannot be used ({error}). Correct it.") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} is written twice in one object")
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_no_constant)
