"""The knobs that an experiment can turn, by one flat name each.

What belongs here: which knobs there are, derived from the run's own (config.py) and from the models
that the settings name, and turning a variant's values into both. What does not: files (reading.py),
which values are tried (plan.py).

Every knob of a run keeps the name that it has in config.py. Beside them stand `model`, for all
stages, and `model_claims`, `model_queries` and so on for one: what a machine sets by
FACTIBLE_MODEL and FACTIBLE_MODEL_CLAIMS, here per variant and without touching the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from pydantic import ValidationError

from factible_assets.config import FactCheckConfig, StageConfig
from factible_assets.settings import Settings

Value: TypeAlias = str | int | float | bool | None
"""One value of a knob, as JSON has it."""

Values: TypeAlias = Mapping[str, Value]
"""Values of some knobs, by name."""

MODEL_KNOBS: tuple[str, ...] = (
    "model",
    "model_claims",
    "model_queries",
    "model_evidence",
    "model_verdicts",
)
"""The knobs that are settings of the machine everywhere else."""


_OF_EVERY_STAGE = ("reasoner",)
"""The knobs outside of a section that an experiment can turn; the others concern re-checks."""


class KnobError(ValueError):
    """A knob that does not exist, or a value that it cannot take. `knob` names it."""

    def __init__(self, knob: str, sentence: str) -> None:
        super().__init__(sentence)
        self.knob = knob
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob. `place` leads to it in FactCheckConfig; empty for the models."""

    name: str
    place: tuple[str, ...]
    default: Value
    schema: Mapping[str, Any]
    """Its JSON Schema: type, range, vocabulary, description."""

    @property
    def section(self) -> str | None:
        """The part of FactCheckConfig that it belongs to; None for what concerns every stage."""
        return self.place[0] if len(self.place) > 1 else None


@cache
def knobs() -> Mapping[str, Knob]:
    """Return every knob by its name.

    A knob whose name stands in two sections of config.py is called SECTION.NAME.
    """
    sections = {
        name: field.annotation
        for name, field in FactCheckConfig.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, StageConfig)
    }
    listed = [(section, name) for section, model in sections.items() for name in model.model_fields]
    names = [name for _, name in listed]
    found = {}
    for section, name in listed:
        label = name if names.count(name) == 1 else f"{section}.{name}"
        found[label] = _knob(label, (section, name), sections[section])
    for name in _OF_EVERY_STAGE:
        found[name] = _knob(name, (name,), FactCheckConfig)
    for name in MODEL_KNOBS:
        stage = name.partition("_")[2]
        what = f"The model of the stage {stage}." if stage else "The model of all stages."
        schema = {
            "type": "string",
            "description": f"{what} Named as in models.yaml, or PROVIDER/MODEL.",
        }
        found[name] = Knob(name, (), None, schema)
    return found


def _knob(label: str, place: tuple[str, ...], model: type[StageConfig]) -> Knob:
    schema = model.model_json_schema()
    described = {
        key: value
        for key, value in schema["properties"][place[-1]].items()
        if key not in {"title", "default"}
    }
    default = _plain(model().model_dump(mode="json")[place[-1]])
    if isinstance(model().model_dump(mode="json")[place[-1]], list):
        # A list is what an experiment sweeps, so a knob that is one is written as text: `a, b`.
        described = {"type": "string", "description": f"{described['description']} Write: a, b"}
    return Knob(label, place, default, described)


def _plain(value: Any) -> Value:
    """Return a value of a run's knobs as an experiment writes it."""
    plain: Value = ", ".join(value) if isinstance(value, list) else value
    return plain


def checked_value(name: str, value: object) -> Value:
    """Return a value as its knob takes it: `"3"` becomes 3.

    Raises:
        KnobError: The knob does not exist, or the value is out of its range.
    """
    knob = knobs()[name]
    if not knob.place:
        if not isinstance(value, str) or not value.strip():
            raise KnobError(name, f"{name} is the name of a model, such as gpt-4o-mini.")
        return value.strip()
    config = _validated({name: value})
    found: Any = config.model_dump(mode="json")
    for step in knob.place:
        found = found[step]
    return _plain(found)


def config_of(values: Values) -> FactCheckConfig:
    """Return the knobs of a run.

    Raises:
        KnobError: A value is out of its range.
    """
    return _validated({name: value for name, value in values.items() if knobs()[name].place})


def settings_of(values: Values, settings: Settings) -> Settings:
    """Return the machine's settings with the models of a variant.

    A model for all stages replaces what the machine says of single ones, too: a variant would
    otherwise mean something else on another machine.
    """
    models = {name: values[name] for name in MODEL_KNOBS if name in values}
    if not models:
        return settings
    cleared = dict.fromkeys(MODEL_KNOBS) if "model" in models else {}
    return settings.model_copy(update={**cleared, **models})


def _validated(values: Mapping[str, object]) -> FactCheckConfig:
    nested: dict[str, Any] = {}
    for name, value in values.items():
        *sections, knob = knobs()[name].place
        inner = nested
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[knob] = value
    try:
        return FactCheckConfig.model_validate(nested)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = tuple(str(step) for step in first["loc"])
        name = next((n for n in values if knobs()[n].place == place[: len(knobs()[n].place)]), "")
        words = first["msg"].removeprefix("Value error, ")
        raise KnobError(
            name, f"{name} is {first['input']!r}: {words[:1].upper()}{words[1:]}."
        ) from error
