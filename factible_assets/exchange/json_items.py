"""Reads the items of data sets in JSON and JSON Lines, and validates them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resources.lines import FileProblem, PlacedError, legible, problem_words, read_json, shown

MAX_BYTES: Final = 64 * 1024 * 1024
"""Larger JSON files are refused. JSON Lines are read line by line and may be larger."""

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_MAX_PROBLEMS: Final = 20

_Model = TypeVar("_Model", bound=BaseModel)


class Loose(BaseModel):
    """An object of a data set. Unknown keys are ignored; aliases hold the data set's own names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class JsonItem:
    """One value of a file with its number, from 1. Only items of JSON Lines have a `line`."""

    value: Any
    number: int
    line: int | None = None


def read_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, cut near MAX_LINE_BYTES. Raises PlacedError."""
    with legible(), file.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES + 1):
            yield line
            if len(line) > MAX_LINE_BYTES:
                return


def items_of_list(text: str) -> list[JsonItem]:
    """Return the items of one JSON list. Raises PlacedError if the text is none."""
    values = read_json(text)
    if not isinstance(values, list):
        raise PlacedError(1, "The file is not a JSON list. Give a list of claims in brackets.")
    return [JsonItem(value, number) for number, value in enumerate(values, start=1)]


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
        called = f"Item {item.number}{f' ({shown(name)})' if isinstance(name, str) else ''}"
        details = error.errors(include_url=False)[:_MAX_PROBLEMS]
        words = [problem_words(each, model, ".".join(map(str, each["loc"]))) for each in details]
        return [FileProblem(file, item.line, f"{called}: {each}") for each in words]
