"""Derives Dagster's config schemas, which the launchpad shows, from pydantic models of options.

Dagster checks types and choices while a user types. The model checks all other rules (ranges,
patterns, options that exclude each other) when the user launches, before a run starts.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from factible_assets import config
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.stages.progress import ALL_STAGES
from resources.text_files import reason_of

_TYPES = {"boolean": bool, "integer": int, "number": float, "array": dg.Array(str)}
"""By the types of JSON Schema. All other values, such as dates, are text in the launchpad."""


def launchpad_schema(model: type[BaseModel]) -> dict[str, dg.Field]:
    """Return the config schema for a model of options: a group for each model within it."""
    schema = model.model_json_schema()
    fields = {}
    for name, option in model.model_fields.items():
        inner: Any = option.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            fields[name] = _group(inner)
        else:
            fields[name] = _field(option, schema["properties"][name], schema.get("$defs", {}))
    return fields


def _group(model: type[BaseModel]) -> dg.Field:
    words = (model.__doc__ or "").partition("\n")[0]
    # The launchpad unfolds a group only if its defaults are written out.
    defaults = to_jsonable_python(model(), exclude_none=True)
    return dg.Field(_shape(model), default_value=defaults, description=words)


def _field(option: FieldInfo, schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dg.Field:
    """Return the field for an option with its JSON Schema; `shared` are the schema's `$defs`."""
    alternatives = schema.get("anyOf", [schema])
    value = next(alternative for alternative in alternatives if alternative.get("type") != "null")
    value = shared.get(value.get("$ref", "").rpartition("/")[2], value)
    choices = tuple(value.get("enum", ()))
    dagster_type: Any = _enum(choices) if choices else _TYPES.get(value["type"], str)
    default = None
    if not option.is_required():
        default = to_jsonable_python(option.get_default(call_default_factory=True))
    default_argument = {} if default is None else {"default_value": default}
    return dg.Field(
        dg.Noneable(dagster_type) if "anyOf" in schema else dagster_type,
        is_required=option.is_required(),
        description=_description(option.description or "", choices, value),
        **default_argument,
    )


def _description(words: str, choices: tuple[str, ...], schema: Mapping[str, Any]) -> str:
    """Return a description with the choices or the range, if it lacks them."""
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    added = f"One of: {', '.join(choices)}." if choices else ""
    if lowest is not None and highest is not None:
        added = f"From {lowest:,} to {highest:,}."
    elif lowest is not None:
        added = f"At least {lowest:,}."
    has_it = added.casefold().rstrip(".") in words.casefold()
    return words if has_it else f"{words} {added}".strip()


@functools.cache
def _enum(words: tuple[str, ...]) -> dg.Enum:
    """Return the type for a set of choices, cached: Dagster refuses two types of one name."""
    return dg.Enum(" | ".join(words), [dg.EnumValue(word) for word in words])


def validated_schema(model: type[BaseModel]) -> dg.Field:
    """Return a config schema that refuses all values that the model refuses."""
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
    """Name the option with the wrong value, the problem, and the description of the option."""
    first = error.errors(include_url=False)[0]
    group: Any = model
    name = description = ""
    for part in first["loc"]:
        option = getattr(group, "model_fields", {}).get(part)
        if option is not None:
            name, description, group = str(part), option.description or "", option.annotation
    problem = reason_of(first)
    problem = f"{problem[:1].lower()}{problem[1:]}".rstrip(".")
    return FactibleError(
        f"{name} cannot be {first['input']!r}: {problem}. {description}".rstrip(),
        "Correct it in the launchpad and launch again.",
        ExitCode.BAD_INPUT,
    )


@dg.configured(
    dg.colored_console_logger,
    {"log_level": dg.Field(str, default_value="ERROR", description="The threshold.")},
)
def console(config: Mapping[str, str]) -> dict[str, str]:
    """Print errors on the terminal; the UI shows all events."""
    return {"log_level": config["log_level"]}


CLAIM_CHECKS_SCHEMA = launchpad_schema(config.FactCheckConfig)
"""The options of `claims` and the claim-level assets."""


def run_config_for(options: config.FactCheckConfig, assets: Collection[str]) -> dict[str, Any]:
    """Return the run config of a job that materializes these assets with these options."""
    ops: dict[str, Any] = {}
    if set(assets) & {"claims", *ALL_STAGES}:
        ops["claim_checks"] = {"config": options.model_dump(mode="json", exclude_none=True)}
    return {"ops": ops, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
