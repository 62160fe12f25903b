"""Keys and values of the cache: what a question is known by, and how an answer is written down.

What belongs here: the derivation of keys, and answers as JSON and back. What does not: where and
how long they are kept (store.py).

A key is a SHA-256, so that no query, address or prompt stands in it. A value is JSON and nothing
else: reading one can build only the type that the reader names, whoever wrote the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

Json: TypeAlias = Any
"""What json.dumps takes: None, bool, int, float, str, and lists and dictionaries of those."""

Value = TypeVar("Value")

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def cache_key(kind: str, version: int, *parts: Json) -> str:
    """Return the key of a question: 64 hexadecimal digits.

    Args:
        kind: The kind of the question.
        version: The version of what reads and writes the answers.
        parts: Everything else that changes the answer.
    """
    canonical = json.dumps(
        [kind, version, *parts], sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def to_json(kind: type[Value], value: Value) -> Json | None:
    """Return a dataclass or model as JSON; None if it holds what JSON cannot carry."""
    try:
        return _adapter(kind).dump_python(value, mode="json")
    except PydanticSerializationError:
        return None


def from_json(kind: type[Value], written: Json) -> Value | None:
    """Build a dataclass or model from JSON; None if it does not have that shape any more."""
    try:
        built: Value = _adapter(kind).validate_python(written)
    except ValidationError:
        return None
    return built
