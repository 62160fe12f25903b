"""What follows from an experiment file: its variants, and which of their stages are the same.

What belongs here: expansion of lists, one factor at a time, names, the keys by which stages are
shared. All of it is pure. What does not: files (reading.py), what a machine adds to the keys
(surroundings.py), doing it (runner.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from factible_assets.config import FactCheckConfig, Value, Values
from factible_assets.errors import FactibleError
from factible_assets.experiments.knobs import MODEL_KNOBS, config_of, knobs
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


class ExperimentError(FactibleError):
    """An experiment cannot be read, planned or run. A sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Design:
    """An experiment as it is written, every value checked.

    Attributes:
        fixed: Knobs that every variant has.
        strategies: Named knobs, of which each variant has one set; none is one without knobs.
        sweeps: Lists, of which every combination is tried.
        factors: Lists, of which each value is tried alone.
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
    for base in _bases(design):
        for variant in (base, *_around(base, design.factors)):
            variants.setdefault(variant.name, variant)
    return tuple(variants.values())


def count_of(design: Design) -> int:
    """Return how many variants there can be at most, without making them."""
    combinations = max(1, len(design.strategies))
    for _, values in design.sweeps:
        combinations *= len(values)
    return combinations * (1 + sum(len(values) for _, values in design.factors))


def _bases(design: Design) -> Iterator[Variant]:
    names = [name for name, _ in design.sweeps]
    for strategy, chosen in (design.strategies or {"": {}}).items():
        for combination in product(*(values for _, values in design.sweeps)):
            swept = dict(zip(names, combination, strict=True))
            parts = [strategy, *(f"{name}={shown(value)}" for name, value in swept.items())]
            label = ",".join(part for part in parts if part) or BASE
            yield Variant(label, {**design.fixed, **chosen, **swept})


def _around(base: Variant, factors: Sequence[Axis]) -> Iterator[Variant]:
    for name, values in factors:
        for value in values:
            if value != base.values.get(name, knobs()[name].default):
                change = f"{name}={shown(value)}"
                label = change if base.name == BASE else f"{base.name},{change}"
                yield Variant(label, {**base.values, name: value})


def shown(value: Value) -> str:
    """Return a value as it is written in YAML."""
    return str(value) if isinstance(value, str) else json.dumps(value)


# --- What is shared -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What changes an answer and is no knob.

    Attributes:
        subject: The video and its transcript, by content.
        makers: Who answers in each stage: reasoner, model, web, rating sets.
        code: The code that asks.
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
    for stage in STAGES:
        content = [stage, before, around.makers.get(stage, ""), _knobs_of(stage, config)]
        before = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        keys[stage] = before
    return keys


def _knobs_of(stage: str, config: FactCheckConfig) -> dict[str, object]:
    given = config.model_dump(mode="json", exclude={"reasoner": True, "search": {"web"}})
    # A section that this module has not heard of may have a bearing on anything.
    return {
        section: values
        for section, values in given.items()
        if _STAGE_OF_SECTION.get(section, STAGES[0]) == stage
    }
