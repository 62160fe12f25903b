"""Dagster's run config, derived from the stages' knobs so that each is declared once.

What belongs here: the translation between the pydantic models of config.py and the Dagster
classes that the launchpad shows. What does not: the knobs themselves.

Dagster's config system knows no dates and no closed vocabularies: such knobs are text in the
launchpad, and `settled` validates them, and all ranges, with the model of config.py.
"""

from collections.abc import Collection
from typing import Any, TypeVar, get_args, get_origin

import dagster as dg
from pydantic import Field, ValidationError, create_model

from factible_assets import config
from factible_assets.stages.progress import ALL_STAGES

Stage = TypeVar("Stage", bound=config.StageConfig)

_PLAIN = (str, int, float, bool)


def settled(model: type[Stage], given: dg.Config) -> Stage:
    """Return the stage's knobs as given in the launchpad.

    Raises:
        dagster.Failure: a value is out of range; the sentence names the knob. Never retried.
    """
    try:
        return model.model_validate(given.model_dump())
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors()
        )
        raise dg.Failure(
            f"The run config is not valid: {problems}. Correct it in the launchpad and run again.",
            allow_retries=False,
        ) from error


def _launchpad_type(annotation: Any) -> Any:
    """Keep what Dagster's config understands; the rest is text."""
    options = [option for option in get_args(annotation) if option is not type(None)]
    if annotation in _PLAIN:
        return annotation
    if get_origin(annotation) is tuple:
        return list[str]
    if len(options) == 1 and type(None) in get_args(annotation):
        plain = options[0] if options[0] in _PLAIN else str
        return plain | None
    return str


def _described(description: str, knob: Any) -> str:
    """Append the range, which Dagster's own schema cannot carry, to the description."""
    bounds = {type(bound).__name__: bound for bound in knob.metadata}
    lowest = getattr(bounds.get("Ge"), "ge", None)
    highest = getattr(bounds.get("Le"), "le", None)
    words = [options for options in get_args(knob.annotation) if isinstance(options, str)]
    if words:
        return f"{description} One of: {', '.join(words)}."
    if lowest is not None and highest is not None:
        return f"{description} From {lowest} to {highest}."
    return description


def _default(knob: Any) -> Any:
    return list(knob.default) if isinstance(knob.default, tuple) else knob.default


def launchpad_config(name: str, model: type[config.StageConfig]) -> type[dg.Config]:
    """Make the Dagster config class for a model of knobs, nested models included."""
    fields: dict[str, Any] = {}
    for field, knob in model.model_fields.items():
        if isinstance(knob.annotation, type) and issubclass(knob.annotation, config.StageConfig):
            nested = launchpad_config(f"{name}{field.title()}", knob.annotation)
            fields[field] = (nested, Field(default_factory=nested))
        else:
            fields[field] = (
                _launchpad_type(knob.annotation),
                Field(default=_default(knob), description=_described(knob.description or "", knob)),
            )
    made: type[dg.Config] = create_model(name, __base__=dg.Config, __module__=__name__, **fields)
    made.__doc__ = model.__doc__
    return made


ClaimsRunConfig = launchpad_config("ClaimsRunConfig", config.ExtractionConfig)
"""What the launchpad shows for `claims`: its knobs, and who extracts."""

ClaimChecksRunConfig = launchpad_config("ClaimChecksRunConfig", config.FactCheckConfig)
"""What the launchpad shows for the claim-level assets."""


def run_config_for(knobs: config.FactCheckConfig, assets: Collection[str]) -> dict[str, Any]:
    """Return the run config of a job that materializes these assets with these knobs."""
    ops: dict[str, Any] = {}
    if "claims" in assets:
        claims = config.ExtractionConfig(**knobs.claims.model_dump(), reasoner=knobs.reasoner)
        ops["claims"] = {"config": claims.model_dump(mode="json", exclude_none=True)}
    if set(assets) & set(ALL_STAGES):
        ops["claim_checks"] = {"config": knobs.model_dump(mode="json", exclude_none=True)}
    return {"ops": ops, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
