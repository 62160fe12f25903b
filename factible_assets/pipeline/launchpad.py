"""Dagster's run config, derived from the knobs' models so that each knob is declared once.

What belongs here: the translation between pydantic models (config.py, and those of single jobs) and
the config schemas that the launchpad shows. What does not: the knobs themselves.

A value that its knob does not allow, or that knobs together do not (a period without days), is
refused when a run is launched, before anything is done.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from factible_assets import config
from factible_assets.pipeline.dagster_internals import (
    ConfigScalar,
    ConfigScalarKind,
    PostProcessingError,
)
from factible_assets.stages.progress import ALL_STAGES

_KINDS = {
    "boolean": ConfigScalarKind.BOOL,
    "integer": ConfigScalarKind.INT,
    "number": ConfigScalarKind.FLOAT,
}
"""By the types of JSON Schema. Everything else, such as a day, is text in the launchpad."""

_KIND_WORDS = {ConfigScalarKind.STRING: "Text", ConfigScalarKind.INT: "Integer"}

_REMEDY = "Correct it in the launchpad and launch again."


def _refusing(made: Any, name: str, knob: FieldInfo, values: Mapping[str, Any]) -> Any:
    """Have a type of Dagster's refuse what the knob would refuse; of a group, what its knobs would.

    `values` is the JSON Schema of what the knob can be.
    """
    annotation: Any = knob.annotation
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[annotation, *knob.metadata] if knob.metadata else annotation
    )

    def post_process(value: Any) -> Any:
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            found = error.errors()[0]
            problem = found["msg"].removeprefix("Value error, ")
            # Said in the words of the knob where pydantic's are no use.
            if _range(values):
                problem = f"it goes {_range(values)}"
            elif found["type"] in {"string_pattern_mismatch", "string_too_short"}:
                problem = knob.description or problem
            of_group = isinstance(annotation, type) and issubclass(annotation, BaseModel)
            which = found["loc"][0] if of_group else name
            # Without its cause, as the UI prints the stack of every error in the chain.
            raise PostProcessingError(
                f"{which} cannot be {found['input']!r}: {problem.rstrip('.')}. {_REMEDY}"
            ) from None
        return value

    made.post_process = post_process
    return made


def launchpad_schema(
    model: type[BaseModel], *, without: Collection[str] = ()
) -> dict[str, dg.Field]:
    """Return the config schema that the launchpad shows for a model of knobs, `without` some.

    Models in it become groups.
    """
    schema = model.model_json_schema()
    fields = {}
    for name, knob in model.model_fields.items():
        described = schema["properties"][name]
        kinds = (each for each in described.get("anyOf", [described]) if each.get("type") != "null")
        values = next(kinds)
        values = schema.get("$defs", {}).get(values.get("$ref", "").rpartition("/")[2], values)
        if name not in without:
            made = _field(f"{model.__name__}.{name}", knob, values, nullable="anyOf" in described)
            fields[name] = made
    return fields


def _field(key: str, knob: FieldInfo, values: Mapping[str, Any], *, nullable: bool) -> dg.Field:
    """Return a knob as a field; `values` is the JSON Schema of what it can be beside null."""
    name, annotation = key.rsplit(".", 1)[-1], knob.annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        words = (annotation.__doc__ or "").partition("\n")[0]
        # With its defaults written out, a group is shown whole and not folded away.
        shown = to_jsonable_python(annotation(), exclude_none=True)
        group = dg.Shape(launchpad_schema(annotation))  # type: ignore[no-untyped-call]
        group = _refusing(group, name, knob, values)
        return dg.Field(group, default_value=shown, description=words)
    # The range stands in the description, unless that says it itself.
    described = knob.description or ""
    choices = tuple(values.get("enum", ()))
    told = f"One of: {', '.join(choices)}." if choices else ""
    if _range(values):
        told = f"{_range(values).capitalize()}."
    if told and told.casefold().rstrip(".") not in described.casefold():
        described = f"{described} {told}".strip()
    if choices:
        # The launchpad offers the words, and knows without asking what is none of them.
        made: Any = _enum(choices)
    elif values["type"] == "array":
        made = _refusing(dg.Array(str), name, knob, values)
    elif annotation in {str, bool, int, float} and not knob.metadata:
        made = annotation
    else:
        kind = _KINDS.get(values["type"], ConfigScalarKind.STRING)
        words = f"{_KIND_WORDS.get(kind, kind.value.title())} {_range(values)}".strip()
        # Dagster wants the names of all types to differ.
        scalar = ConfigScalar(key=key, given_name=f"{words} ({key})", scalar_kind=kind)
        made = _refusing(scalar, name, knob, values)
    made = dg.Noneable(made) if nullable else made
    if knob.is_required():
        # In place, to be filled in: an empty text is refused at launch, as its knob says.
        return dg.Field(made, default_value="", description=described)
    default = to_jsonable_python(knob.get_default(call_default_factory=True))
    given = {"is_required": False} if default is None else {"default_value": default}
    return dg.Field(made, description=described, **given)


@functools.cache
def _enum(words: tuple[str, ...]) -> dg.Enum:
    """Return the one type for a set of words; Dagster refuses a second one of the same name."""
    return dg.Enum(" | ".join(words), [dg.EnumValue(word) for word in words])


def _range(values: Mapping[str, Any]) -> str:
    """Say from where to where a number goes; empty where it may be anything."""
    lowest, highest = values.get("minimum"), values.get("maximum")
    if lowest is None:
        return ""
    return f"at least {lowest:,}" if highest is None else f"from {lowest:,} to {highest:,}"


CLAIMS_SCHEMA = launchpad_schema(config.ExtractionConfig)
"""What the launchpad shows for `claims`: its knobs, and who extracts."""

CLAIM_CHECKS_SCHEMA = launchpad_schema(config.FactCheckConfig, without={"claims"})
"""What the launchpad shows for the claim-level assets; the knobs of `claims` are not theirs."""


def run_config_for(knobs: config.FactCheckConfig, assets: Collection[str]) -> dict[str, Any]:
    """Return the run config of a job that materializes these assets with these knobs."""
    ops: dict[str, Any] = {}
    if "claims" in assets:
        claims = config.ExtractionConfig(
            **knobs.claims.model_dump(),
            reasoner=knobs.reasoner if knobs.claims_by == "auto" else knobs.claims_by,
            keep=bool(knobs.only_claims),
        )
        ops["claims"] = {"config": claims.model_dump(mode="json", exclude_none=True)}
    if set(assets) & set(ALL_STAGES):
        given = knobs.model_dump(mode="json", exclude_none=True, exclude={"claims"})
        ops["claim_checks"] = {"config": given}
    return {"ops": ops, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
