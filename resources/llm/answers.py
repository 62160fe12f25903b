"""The JSON Schema of an answer, and reading an answer that should conform to it.

Models without enforced output wrap JSON in prose, in code fences, or put their thoughts before it.
An answer with several different valid values is invalid, because its meaning is ambiguous.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic

from pydantic import BaseModel, ValidationError

from resources.llm.base import Answer

_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""Chat templates that open the thoughts themselves leave only the closing tag in the answer."""
_MAX_ERRORS = 8
_MAX_SHOWN = 200
_MAX_CANDIDATES = 200
_TRIED = 20  # The last braces of an answer in a loop at which it may be valid.
_MOST_SINGLE_ITEMS = 50  # Beyond them, a growing answer may gain several items at once.
_KEPT = ("type", "enum", "anyOf", "items", "description")
_NOT_STRICT = frozenset({"prefixItems", "allOf", "oneOf", "const"})
_RANGES = (
    ("minimum", "at least {:g}"),
    # Pydantic's form for the bounds of a field with a validator before them.
    ("ge", "at least {:g}"),
    ("le", "at most {:g}"),
    ("maximum", "at most {:g}"),
    ("minLength", "at least {} characters"),
    ("minItems", "at least {} of them"),
    ("maxItems", "at most {} of them"),
)
_FROM_TO = re.compile(r"^at least (\S+), at most (\S+)$")
_MAX_STRING, _MAX_ITEMS = 600, 24
"""Limits in a bounded schema for types without limits of their own."""


def strict_schema(
    output_type: type[BaseModel], *, bounded: bool = False, most: int | None = None
) -> Mapping[str, Any]:
    """Return a type's JSON Schema in the subset that every server enforces.

    It requires all properties and forbids others. Ranges become words in the descriptions; the
    caller validates them (https://platform.openai.com/docs/guides/structured-outputs). It leaves
    out titles and the docstrings of types, because every question would pay for them.

    A `bounded` schema limits every string and list, for servers that enforce such limits while the
    model writes: small models repeat themselves endlessly otherwise. `most` limits the answer's own
    lists. Raises TypeError for mappings and tuples, which have no strict schema.
    """
    strict: dict[str, Any] = _strict(output_type.model_json_schema(), bounded)
    for field in strict["properties"].values():
        if bounded and most is not None and field.get("type") == "array":
            field["maxItems"] = most
    return strict


def _strict(node: Any, bounded: bool) -> Any:
    """Return a part of a JSON Schema with the keywords that strict schemas allow."""
    if isinstance(node, list):
        return [_strict(item, bounded) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if node.keys() & _NOT_STRICT or node.get("additionalProperties"):
        raise TypeError(f"There is no strict schema for {json.dumps(node)[:_MAX_SHOWN]}.")
    strict = {name: _strict(node[name], bounded) for name in _KEPT if name in node}
    if "$defs" in node:
        strict["$defs"] = {name: _strict(model, bounded) for name, model in node["$defs"].items()}
    if bounded and node.get("type") == "string" and "enum" not in node:
        strict["maxLength"] = node.get("maxLength", _MAX_STRING)
    elif bounded and node.get("type") == "array":
        strict["maxItems"] = node.get("maxItems", _MAX_ITEMS)
    ranges = ", ".join(words.format(node[name]) for name, words in _RANGES if name in node)
    ranges = _FROM_TO.sub(r"\1 to \2", ranges)  # half the tokens, in every question
    if ranges:
        strict["description"] = "; ".join(filter(None, (node.get("description"), ranges)))
    if node.get("type") == "object":
        properties = {
            name: _strict(field, bounded) for name, field in node.get("properties", {}).items()
        }
        strict.pop("description", None)
        strict |= {
            "properties": properties,
            "required": [*properties],
            "additionalProperties": False,
        }
    return strict


class UnreadableAnswerError(ValueError):
    """An answer of the wrong shape. The message tells the model and the user why."""


def read_answer(text: str | None, output_type: type[Answer]) -> Answer:
    """Read the value in an answer; UnreadableAnswerError if it has none, or several."""
    if not text or not text.strip():
        raise UnreadableAnswerError("The answer was empty.")
    try:
        return output_type.model_validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise UnreadableAnswerError(_worded(error)) from error
    valid, problems = list[Answer](), list[str]()
    for candidate in _candidates(_THOUGHTS.sub("", text)):
        try:
            value = output_type.model_validate_json(candidate)
        except ValidationError as error:
            problems.append(_worded(error))
        else:
            valid += [] if value in valid else [value]
    if len(valid) == 1:
        return valid[0]
    if valid:
        raise UnreadableAnswerError("The answer held more than one JSON object; give one only.")
    problems.append("The answer held no complete JSON object.")
    raise UnreadableAnswerError(problems[0])


def read_beginning(text: str, output_type: type[Answer]) -> Answer | None:
    """Read the complete items of an answer that breaks off in its last list; None if invalid."""
    start, braces = max(0, text.find("{")), [brace.end() for brace in re.finditer("}", text)]
    values = (_closed(text[start:end], output_type) for end in braces[:-_TRIED:-1])
    return next((value for value in values if value is not None), None)


class GrowingAnswer(Generic[Answer]):
    """An answer that arrives in pieces, as JSON from its first character.

    `listen` receives its value each time an item of its last list is complete. A long answer may
    gain several short items at once, because each value is read from the beginning.
    """

    def __init__(self, output_type: type[Answer], listen: Callable[[Answer], None]) -> None:
        self._type, self._listen, self.text = output_type, listen, ""
        self._least = 0  # Characters of the next value.

    def add(self, piece: str) -> None:
        """Add a piece of the text; pass on the answer after each item that the piece closes."""
        start = len(self.text)
        self.text += piece
        for brace in re.finditer("}", piece):
            end = start + brace.end()
            value = _closed(self.text[:end], self._type) if end >= self._least else None
            if value is not None:
                self._least = end + end // _MOST_SINGLE_ITEMS
                self._listen(value)


def _closed(text: str, output_type: type[Answer]) -> Answer | None:
    """Close and read an answer that breaks off behind an item of its last list; None if invalid."""
    try:
        return output_type.model_validate_json(f"{text}]}}")
    except ValidationError:
        return None


def _candidates(text: str) -> Iterator[str]:
    """Yield the outermost JSON objects in a text, after a limited number of tries."""
    decoder = json.JSONDecoder()
    position, tries = text.find("{"), 0
    while position >= 0 and tries < _MAX_CANDIDATES:
        tries += 1
        try:
            _, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
        else:
            yield text[position:end]
        position = text.find("{", end)


def _worded(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'the answer'}: "
        f"{problem['msg'].removeprefix('Value error, ')[:_MAX_SHOWN]}"
        for problem in problems[:_MAX_ERRORS]
    ]
    more = len(problems) - len(lines)
    return "; ".join(lines) + (f"; and {more} more problems" if more else "")


def shape_instruction(schema: object) -> str:
    """Return the instruction for a server that enforces no schema."""
    return (
        "Answer with one JSON object and nothing else: no prose, no code fence. "
        f"It must conform to this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def correction(problem: str, schema: object) -> str:
    """Tell a model what is wrong with its answer."""
    return f"Your answer cannot be used: {problem}.\nCorrect it. {shape_instruction(schema)}"
