"""The knobs that an experiment can turn: those of a run (config.py), and the models of its stages.

What belongs here: the models as knobs, and turning a variant's values into a run's knobs and a
machine's settings. What does not: files (reading.py), which values are tried (plan.py).

Every knob of a run keeps the name that it has in config.py. Beside them stand `model`, for all
stages, and `model_claims`, `model_queries` and so on for one: what a machine sets by
FACTIBLE_MODEL and FACTIBLE_MODEL_CLAIMS, here per variant and without touching the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from factible_assets import config
from factible_assets.config import FactCheckConfig, Knob, KnobError, Value, Values
from factible_assets.settings import Settings

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
