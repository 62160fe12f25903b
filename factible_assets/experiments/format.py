"""The format of an experiment file: its keys, its named strategies, its JSON Schema.

What belongs here: the model of what is written. What does not: files and lines (reading.py), knobs
and their ranges (knobs.py), what follows from a file (plan.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from factible_assets.errors import FactibleError
from factible_assets.experiments.knobs import knobs

STRATEGIES: Final[Mapping[str, Mapping[str, int]]] = {
    "minimal": {"max_claims": 1, "max_queries": 1, "max_results": 1},
    "deep": {"max_claims": 3, "max_queries": 4, "max_results": 5},
    "broad": {"max_claims": 10, "max_queries": 1, "max_results": 2},
}
"""The named strategies: a glance, few claims in depth, many claims at the surface."""

MAX_VARIANTS: Final = 200
"""More than that is a slip of the pen: five lists of three values make 243."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class ExperimentError(FactibleError):
    """An experiment cannot be read, planned or run. A sentence with the remedy."""


class ExperimentFile(BaseModel):
    """A whole experiment file, before its knobs are looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: str = Field(
        description="Its name: small letters, digits, hyphens and underscores, at most 64."
    )
    description: str | None = Field(default=None, description="What it is to find out.")
    videos: tuple[str, ...] = Field(
        default=(), description="Only these videos, by id; without it all that the corpora list."
    )
    tags: tuple[str, ...] = Field(
        default=(), description="Only videos with at least one of these tags."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Knobs of every variant: a value is fixed, a list is swept. Several lists "
        "make every combination.",
    )
    strategies: tuple[str, ...] = Field(
        default=(), description=f"Named strategies: {', '.join(STRATEGIES)}."
    )
    variants: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict, description="Strategies of your own: a name, and its knobs."
    )
    one_at_a_time: dict[str, Any] = Field(
        default_factory=dict,
        description="One factor at a time: lists of values, each tried alone around the settings.",
    )
    baseline: str | None = Field(
        default=None, description="The variant that others are compared with; the first if unset."
    )

    @field_validator("experiment")
    @classmethod
    def _name_is_usable(cls, value: str) -> str:
        if _NAME.fullmatch(value) is None:
            raise ValueError(
                "the name is made of small letters, digits, hyphens and underscores, at most 64"
            )
        return value


def is_variant_name(name: str) -> bool:
    """Tell whether a strategy of one's own may be called so."""
    return _VARIANT.fullmatch(name) is not None


def experiment_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an experiment file, for editors that check while one types."""
    schema = ExperimentFile.model_json_schema()
    one = {name: dict(knob.schema) for name, knob in knobs().items()}
    many = {name: {"type": "array", "items": each, "minItems": 1} for name, each in one.items()}
    either = {
        name: {"anyOf": [each, many[name]], "description": each.get("description", "")}
        for name, each in one.items()
    }
    properties = schema["properties"]
    properties["settings"] |= _closed(either)
    properties["one_at_a_time"] |= _closed(many)
    properties["variants"]["additionalProperties"] = {"anyOf": [_closed(one), {"type": "null"}]}
    properties["strategies"]["items"] = {"type": "string", "enum": list(STRATEGIES)}
    properties["experiment"]["pattern"] = f"^{_NAME.pattern}$"
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment",
    }


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}
