"""Derives Dagster's config schemas, which the launchpad shows, from pydantic models of options.

Dagster checks types and choices while a user types. The model checks all other rules (ranges,
patterns, options that exclude each other) when the user launches, before a run starts.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from factible_assets import config
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.stages.progress import ALL_STAGES
from resources.lines import reason_of

_TYPES = {"boolean": bool, "integer": int, "number": float, "array": dg.Array(str)}
"""By the types of JSON Schema. All other values, such as dates, are text in the launchpad."""


def launchpad_schema(model: type[BaseModel]) -> dict[str, dg.Field]:
    """Return the config schema for a model of options.

    A model within it becomes a group, which refuses the values that the model refuses.
    """
    schema = model.model_json_schema()
    fields = {}
    for name, option in model.model_fields.items():
        described = schema["properties"][name]
        kinds = (each for each in described.get("anyOf", [described]) if each.get("type") != "null")
        values = next(kinds)
        values = schema.get("$defs", {}).get(values.get("$ref", "").rpartition("/")[2], values)
        annotation: Any = option.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            words = (annotation.__doc__ or "").partition("\n")[0]
            # The launchpad unfolds a group only if its defaults are written out.
            shown = to_jsonable_python(annotation(), exclude_none=True)
            fields[name] = dg.Field(_shape(annotation), default_value=shown, description=words)
            continue
        choices = tuple(values.get("enum", ()))
        made: Any = _enum(choices) if choices else _TYPES.get(values["type"], str)
        made = dg.Noneable(made) if "anyOf" in described else made
        default = None
        if not option.is_required():
            default = to_jsonable_python(option.get_default(call_default_factory=True))
        given = {} if default is None else {"default_value": default}
        fields[name] = dg.Field(
            made,
            is_required=option.is_required(),
            description=_description(option.description or "", choices, values),
            **given,
        )
    return fields


def _description(words: str, choices: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return a description with the choices or the range, if it lacks them."""
    lowest, highest = values.get("minimum"), values.get("maximum")
    added = f"One of: {', '.join(choices)}." if choices else ""
    if lowest is not None and highest is not None:
        added = f"From {lowest:,} to {highest:,}."
    elif lowest is not None:
        added = f"At least {lowest:,}."
    is_said = added.casefold().rstrip(".") in words.casefold()
    return words if is_said else f"{words} {added}".strip()


@functools.cache
def _enum(words: tuple[str, ...]) -> dg.Enum:
    """Return the type for a set of choices; Dagster refuses two types of one name."""
    return dg.Enum(" | ".join(words), [dg.EnumValue(word) for word in words])


def validated_schema(model: type[BaseModel]) -> dg.Field:
    """Return the config schema for a model of options; it refuses the values the model refuses."""
    return dg.Field(_shape(model))


def _shape(model: type[BaseModel]) -> Any:
    shape: Any = dg.Shape(launchpad_schema(model))  # type: ignore[no-untyped-call]

    def refuse_wrong_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            model.model_validate(values)
        except ValidationError as error:
            # Without its cause: the UI prints the stack trace of every error in the chain.
            raise _refusal(model, error) from None
        return values

    # Dagster calls this at launch, after it has checked the types.
    shape.post_process = refuse_wrong_values
    return shape


def _refusal(model: type[BaseModel], error: ValidationError) -> FactibleError:
    """Say which option has which wrong value, and how the option is described."""
    first = error.errors(include_url=False)[0]
    inner: Any = model
    name = words = ""
    for part in first["loc"]:
        option = getattr(inner, "model_fields", {}).get(part)
        if option is not None:
            name, words, inner = str(part), option.description or "", option.annotation
    problem = reason_of(first)
    problem = f"{problem[:1].lower()}{problem[1:]}".rstrip(".")
    return FactibleError(
        f"{name} cannot be {first['input']!r}: {problem}. {words}".rstrip(),
        "Correct it in the launchpad and launch again.",
        ExitCode.BAD_INPUT,
    )


@dg.configured(
    dg.colored_console_logger,
    {"log_level": dg.Field(str, default_value="ERROR", description="The threshold.")},
)
def console(config: Mapping[str, str]) -> dict[str, str]:
    """Print on the terminal what goes wrong; the UI shows all events."""
    return {"log_level": config["log_level"]}


CLAIM_CHECKS_SCHEMA = launchpad_schema(config.FactCheckConfig)
"""The options of `claims` and the claim-level assets."""


def run_config_for(options: config.FactCheckConfig, assets: Collection[str]) -> dict[str, Any]:
    """Return the run config of a job that materializes these assets with these options."""
    ops: dict[str, Any] = {}
    if set(assets) & {"claims", *ALL_STAGES}:
        given = options.model_dump(mode="json", exclude_none=True)
        ops["claim_checks"] = {"config": given}
    return {"ops": ops, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
