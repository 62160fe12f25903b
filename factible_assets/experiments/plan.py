"""What follows from an experiment file: its variants, and which of their stages are the same.

What belongs here: the knobs that can be turned, expansion of lists, one factor at a time, names,
the keys by which stages are shared. All of it is pure. What does not: files (reading.py), what a
machine adds to the keys (surroundings.py), doing it (runner.py).

Every knob of a run keeps the name that it has in config.py. Beside them stand `model`, for all
stages, and `model_claims`, `model_queries` and so on for one: what a machine sets by
FACTIBLE_MODEL and FACTIBLE_MODEL_CLAIMS, here per variant and without touching the environment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from factible_assets import config
from factible_assets.config import FactCheckConfig, Knob, KnobError, Value, Values
from factible_assets.errors import FactibleError
from factible_assets.settings import Settings
from factible_assets.stages.progress import ALL_STAGES

STAGES: tuple[str, ...] = ("claims", *ALL_STAGES)
"""The stages of a variant, each computed from all before it. The transcript is given."""

BASE = "base"
"""The name of a variant that nothing distinguishes but what the others change."""

_STAGE_OF_SECTION: Mapping[str, str] = {
    "claims": "claims",
    "queries": "queries",
    "search": "search_hits",
    "evidence": "evidence",
    "verdicts": "verdicts",
    "strategy": "queries",
    "budget": "queries",
}
"""The first stage that a section of config.py, or the strategy, has a bearing on."""

Axis: TypeAlias = tuple[str, tuple[Value, ...]]
"""A knob and the values that are tried."""


# --- Knobs --------------------------------------------------------------------------------------

MODEL_KNOBS: tuple[str, ...] = (
    "model",
    "model_claims",
    "model_queries",
    "model_evidence",
    "model_verdicts",
)
"""The knobs that are settings of the machine everywhere else."""


@cache
def knobs() -> Mapping[str, Knob]:
    """Return every knob by its name; the models have no place in a run's knobs."""
    found = dict(config.knobs())
    for name in MODEL_KNOBS:
        stage = name.partition("_")[2]
        what = f"The model of the stage {stage}." if stage else "The model of all stages."
        words = f"{what} Named as in models.yaml, or PROVIDER/MODEL."
        found[name] = Knob(name, (), None, {"type": "string", "description": words})
    return found


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
    found: Any = config.config_of({name: value}).model_dump(mode="json")
    for step in knob.place:
        found = found[step]
    return config.plain_value(found)


def config_of(values: Values) -> FactCheckConfig:
    """Return the knobs of a run.

    Raises:
        KnobError: A value is out of its range.
    """
    return config.config_of({name: value for name, value in values.items() if knobs()[name].place})


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


# --- Variants -----------------------------------------------------------------------------------


class ExperimentError(FactibleError):
    """An experiment cannot be read, planned or run. A sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Design:
    """An experiment as it is written, every value checked.

    Every variant has the `fixed` knobs and one set of the named ones in `strategies` (none is one
    without knobs). Of `sweeps` every combination is tried, of `factors` each value alone.
    """

    fixed: Values = field(default_factory=dict)
    strategies: Mapping[str, Values] = field(default_factory=dict)
    sweeps: tuple[Axis, ...] = ()
    factors: tuple[Axis, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to set the knobs. `values` has those that the experiment sets, in its order."""

    name: str
    values: Values

    @property
    def config(self) -> FactCheckConfig:
        """The knobs of a run."""
        return config_of(self.values)

    @property
    def names_a_model(self) -> bool:
        """Whether it says itself which language model is asked."""
        return any(name in self.values for name in MODEL_KNOBS)

    @property
    def reasoner(self) -> str:
        """Who judges: a variant that names a model means it, whatever the machine would choose."""
        wish = self.config.reasoner
        return "llm" if wish == "auto" and self.names_a_model else wish


def expand(design: Design) -> tuple[Variant, ...]:
    """Return the variants of an experiment, each with a name that says what is special about it.

    Every strategy is combined with every combination of the sweeps; around each of these, every
    value of every factor is tried alone. A factor's value that is the one around it makes no
    variant of its own.
    """
    variants: dict[str, Variant] = {}
    names = [name for name, _ in design.sweeps]
    for strategy, chosen in (design.strategies or {"": {}}).items():
        for combination in product(*(values for _, values in design.sweeps)):
            swept = dict(zip(names, combination, strict=True))
            parts = [strategy, *(f"{name}={shown(value)}" for name, value in swept.items())]
            label = ",".join(part for part in parts if part)
            around = {**design.fixed, **chosen, **swept}
            variants.setdefault(label or BASE, Variant(label or BASE, around))
            for name, values in design.factors:
                for value in values:
                    if value != around.get(name, knobs()[name].default):
                        change = ",".join(filter(None, (label, f"{name}={shown(value)}")))
                        variants.setdefault(change, Variant(change, {**around, name: value}))
    return tuple(variants.values())


def count_of(design: Design) -> int:
    """Return how many variants there can be at most, without making them."""
    combinations = max(1, len(design.strategies))
    for _, values in design.sweeps:
        combinations *= len(values)
    return combinations * (1 + sum(len(values) for _, values in design.factors))


def shown(value: Value) -> str:
    """Return a value as it is written in YAML."""
    return str(value) if isinstance(value, str) else json.dumps(value)


# --- What is shared -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What changes an answer and is no knob.

    `subject` is the video and its transcript, by content; `makers` who answers in each stage
    (reasoner, model, web, rating sets); `code` the code that asks.
    """

    subject: str
    makers: Mapping[str, str]
    code: str


def stage_keys(config: FactCheckConfig, around: Surroundings) -> dict[str, str]:
    """Return the key of every stage: equal keys are the same work, which is done once.

    A key covers the knobs of its stage and, through the key before it, those of all stages that it
    builds on. Who judges is a maker and no knob: `auto` is the same as what it comes to.
    """
    keys: dict[str, str] = {}
    before = f"{around.code}\n{around.subject}"
    given = config.model_dump(mode="json", exclude={"reasoner": True, "search": {"web"}})
    for stage in STAGES:
        # A section that this module has not heard of may have a bearing on anything.
        turned = {
            section: values
            for section, values in given.items()
            if _STAGE_OF_SECTION.get(section, STAGES[0]) == stage
        }
        content = [stage, before, around.makers.get(stage, ""), turned]
        before = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        keys[stage] = before
    return keys
