"""What a file says, held to models: its entries, and what is wrong with each, in a sentence.

What belongs here: the words for what a model refuses, and the place of it. What does not: the
models (format.py, experiments/plan.py), parsing YAML (resources/lines.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from factible_assets.wording import did_you_mean
from resources.lines import Document, FileProblem, Place, shown

Model = TypeVar("Model", bound=BaseModel)


@dataclass(kw_only=True)
class EntryReader:
    """Reads the entries of one document, and collects every problem on the way."""

    file: Path
    document: Document
    problems: list[FileProblem] = field(default_factory=list)

    def entry(self, model: type[Model], data: object, place: Place) -> Model | None:
        """Return an entry; None where there are problems, each at its line."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for detail in error.errors():
                self.report((*place, *detail["loc"]), problem_words(detail, model))
            return None

    def report(self, place: Place, sentence: str) -> None:
        """Report a problem at a place of the document."""
        self.problems.append(FileProblem(self.file, self.document.line(place), sentence))


def problem_words(detail: ErrorDetails, model: type[BaseModel], name: str | None = None) -> str:
    """Say what is wrong with a value, whose `name` is its key if none is given, and what to do."""
    place, given = detail["loc"], shown(detail["input"])
    key = place[-1] if place else None
    name = name or (key if isinstance(key, str) else "")
    words = detail["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    for step in place[:-1]:
        if isinstance(step, str) and (around := model.model_fields.get(step)):
            model = _entry_in(around.annotation) or model
    known = model.model_fields
    match detail["type"]:
        case "extra_forbidden":
            hint = did_you_mean(name, known, f"Known keys: {', '.join(known)}.")
            return f"{name!r} is not a key here. {hint}"
        case "missing":
            return f"{name} is missing. Add it."
        case "model_type" | "dict_type":
            return f"{name or 'This'} is no mapping of keys to values. Correct it."
        case "tuple_type":
            return f"{name} is {given}, and no list. Make it one."
        case "string_pattern_mismatch" if name in known and known[name].description:
            words = str(known[name].description)
    sentence = f"{words}{'' if words.endswith(('.', '?')) else '.'}"
    # Without a key it is the entry as a whole.
    return f"{name} is {given}: {sentence}" if name else f"{sentence[:1].upper()}{sentence[1:]}"


def _entry_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of the entries that a type holds, None if it holds none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_entry_in, get_args(annotation))), None)
