"""Reads the items of data sets in JSON and JSON Lines, and validates them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resources.text_files import (
    FileProblem,
    PlacedError,
    problem_words,
    quoted,
    read_json,
    readable,
)

MAX_BYTES: Final = 64 * 1024 * 1024
"""Larger JSON files are refused. JSON Lines are read line by line and may be larger."""

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_MAX_PROBLEMS: Final = 20
_DECODER: Final = json.JSONDecoder(strict=False)
"""It accepts line breaks inside texts, which publishers leave there."""
_OPENING: Final = re.compile(r"\s*\[\s*(?:(\])\s*)?")
_BETWEEN: Final = re.compile(r"\s*([,\]])\s*")

_Model = TypeVar("_Model", bound=BaseModel)


class DataSetModel(BaseModel):
    """An object of a data set. Unknown keys are ignored; aliases hold the data set's own names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class JsonItem:
    """One value of a file with its number and its line, both from 1; no line: the whole file."""

    value: Any
    number: int
    line: int | None


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, cut near MAX_LINE_BYTES. Raises PlacedError."""
    with readable(), file.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES + 1):
            yield line
            if len(line) > MAX_LINE_BYTES:
                return


def items_of_list(text: str) -> Iterator[JsonItem]:
    """Yield the items of one JSON list.

    Raises PlacedError: The text is no list, or no JSON from some item on.
    """
    mark = _OPENING.match(text)
    if mark is None:
        raise PlacedError("The file is not a JSON list. Give a list of claims in brackets.", 1)
    number, line, start = 0, 1, 0
    while mark[1] != "]":
        number, line = number + 1, line + text.count("\n", start, mark.end())
        start = mark.end()
        value, end = read_json(text, partial(_DECODER.raw_decode, idx=start))
        yield JsonItem(value, number, line)
        mark = _BETWEEN.match(text, end)
        if mark is None:
            line += text.count("\n", start, end)
            raise PlacedError("A comma or the closing bracket is missing here. Add it.", line)
    if mark.end() < len(text):
        raise PlacedError("Text follows the list. Remove it.")


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
            yield JsonItem(read_json(raw.decode("utf-8-sig")), number, line)
        except UnicodeDecodeError:
            yield FileProblem(file, line, "The line is not UTF-8. Save the file as UTF-8.")
        except PlacedError as error:
            yield FileProblem(file, line, error.sentence)


def validated(model: type[_Model], item: JsonItem, file: Path) -> _Model | list[FileProblem]:
    """Validate an item with a model. Each problem names the item, its line and the key."""
    name = item.value.get("claim") if isinstance(item.value, dict) else None
    try:
        return model.model_validate(item.value)
    except ValidationError as error:
        subject = f"Item {item.number}{f' ({quoted(name)})' if isinstance(name, str) else ''}"
        details = error.errors(include_url=False)[:_MAX_PROBLEMS]
        words = [
            problem_words(detail, model, ".".join(map(str, detail["loc"]))) for detail in details
        ]
        return [FileProblem(file, item.line, f"{subject}: {word}") for word in words]
