"""The shape of an answer: as a schema for the server, and from what a model wrote to a value of it.

What belongs here: the schema that every server takes, finding the JSON in an answer, validating it,
and wording what was wrong with it for the model. What does not: asking again (structured.py).

Models without enforced output wrap JSON in prose, in code fences, or in the thoughts before it.
An answer that holds several different valid values is not valid: nobody could say which is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from resources.llm.base import Answer

_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""Templates that open the thoughts themselves leave only their end in the answer."""
_MOST_ERRORS = 8
_MOST_CHARACTERS = 200
_MOST_CANDIDATES = 200


_KEPT = ("type", "enum", "anyOf", "items", "description")
_RANGES = (
    ("minimum", "at least {}"),
    # So pydantic writes the bounds of a field that has a validator before them.
    ("ge", "at least {}"),
    ("le", "at most {}"),
    ("min_length", "at least {} of them"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minLength", "at least {} characters"),
    ("minItems", "at least {} of them"),
    ("maxItems", "at most {} of them"),
)


_MOST_CHARACTERS_OF_A_STRING, _MOST_ITEMS = 600, 24
"""Bounds of a bounded schema where a type has none of its own."""


def strict_schema(
    output_type: type[BaseModel], *, bounded: bool = False, most: int | None = None
) -> Mapping[str, Any]:
    """Return a type's JSON Schema in the subset that every server enforces.

    All properties are required and no others allowed; what else a field must keep to is validated
    afterwards, ranges being told in words
    (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas). Titles and the
    docstrings of types are left out: they are our own, and paid for with every question.

    A `bounded` schema also says how long every string and list may be, for servers that hold a
    model to that while it writes: small models run in circles otherwise. The lists of the answer
    itself have at most `most` items. Raises TypeError for a mapping or a tuple, for which there is
    no strict schema.
    """
    strict: dict[str, Any] = _strict(output_type.model_json_schema(), bounded)
    for each in strict["properties"].values():
        if bounded and most is not None and each.get("type") == "array":
            each["maxItems"] = most
    return strict


def _strict(node: Any, bounded: bool) -> Any:
    if isinstance(node, list):
        return [_strict(each, bounded) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    node = {"anyOf": node["oneOf"], **node} if "oneOf" in node else node
    node = {"enum": [node["const"]], **node} if "const" in node else node
    if "prefixItems" in node or "allOf" in node or node.get("additionalProperties"):
        raise TypeError(f"There is no strict schema for {json.dumps(node)[:_MOST_CHARACTERS]}.")
    kept = {name: _strict(node[name], bounded) for name in _KEPT if name in node}
    if "$defs" in node:
        kept["$defs"] = {name: _strict(each, bounded) for name, each in node["$defs"].items()}
    if bounded and node.get("type") == "string" and "enum" not in node:
        kept["maxLength"] = node.get("maxLength", _MOST_CHARACTERS_OF_A_STRING)
    elif bounded and node.get("type") == "array":
        kept["maxItems"] = node.get("maxItems", _MOST_ITEMS)
    ranges = ", ".join(words.format(node[name]) for name, words in _RANGES if name in node)
    if ranges:
        kept["description"] = "; ".join(filter(None, (node.get("description"), ranges)))
    if node.get("type") == "object":
        properties = {
            name: _strict(each, bounded) for name, each in node.get("properties", {}).items()
        }
        kept.pop("description", None)
        kept |= {"properties": properties, "required": [*properties], "additionalProperties": False}
    return kept


class UnreadableAnswerError(ValueError):
    """An answer of the wrong shape. The text says what is wrong, for the model and for people."""


def read_answer(text: str | None, output_type: type[Answer]) -> Answer:
    """Read the value in an answer; UnreadableAnswerError if it holds none, or several."""
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
    """Read what is whole of an answer that was cut off in its last list; None if that is no answer.

    The item in which it was cut off is left out, unless nothing but its end was missing.
    """
    try:
        begun = from_json(text[max(0, text.find("{")) :], allow_partial=True)
    except ValueError:
        return None
    if not isinstance(begun, dict):
        return None
    for _ in range(2):
        try:
            return output_type.model_validate(begun)
        except ValidationError:
            lists = [each for each in begun.values() if each and isinstance(each, list)]
            if not lists:
                return None
            lists[-1].pop()
    return None


def _candidates(text: str) -> Iterator[str]:
    """Yield every outermost JSON object in a text, at most a few hundred tries of it."""
    decoder = json.JSONDecoder()
    position, tries = text.find("{"), 0
    while position >= 0 and tries < _MOST_CANDIDATES:
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
        f"{problem['msg'][:_MOST_CHARACTERS]}"
        for problem in problems[:_MOST_ERRORS]
    ]
    more = len(problems) - len(lines)
    return "; ".join(lines) + (f"; and {more} more problems" if more else "")


def shape_instruction(schema: object) -> str:
    """Word what a server that enforces nothing has to be told in the prompt."""
    return (
        "Answer with one JSON object and nothing else: no prose, no code fence. "
        f"It must conform to this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def correction(problem: str, schema: object) -> str:
    """Word what is wrong with an answer, for the model that gave it."""
    return f"Your answer cannot be used: {problem}.\nCorrect it. {shape_instruction(schema)}"
