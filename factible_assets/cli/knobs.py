"""The run's knobs as options of a command: each that config.py declares is one, by its own name.

What belongs here: making options of knobs, and knobs of options. What does not: which knobs there
are, their ranges and their words (config.py).
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from factible_assets.cli.errors import CliError
from factible_assets.config import FactCheckConfig, Knob, KnobError, config_of, knobs
from factible_assets.errors import ExitCode

GIVEN = "factible.knobs"
"""Where the context of a command keeps the knobs that were given."""

_TYPES: dict[str, Any] = {"integer": int, "number": float}


@cache
def knob_options(without: str | None = None) -> tuple[Any, ...]:
    """Return an option for each knob, without those of a section."""
    signature = inspect.Signature(
        [
            inspect.Parameter(
                name.replace(".", "_"),
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[
                    _TYPES.get(_schema(knob).get("type", ""), str) | None, _option(knob)
                ],
            )
            for name, knob in knobs().items()
            if without is None or knob.section != without
        ]
    )

    def declared(**given: Any) -> None:
        del given

    declared.__signature__ = signature  # type: ignore[attr-defined] # which typer reads
    declared.__annotations__ = {
        name: parameter.annotation for name, parameter in signature.parameters.items()
    }
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(declared)
    return tuple(option for option in get_command(app).params if option.name != "help")


def _schema(knob: Knob) -> dict[str, Any]:
    kinds = knob.schema.get("anyOf", [knob.schema])
    return next(kind for kind in kinds if kind.get("type") != "null")


def _option(knob: Knob) -> Any:
    schema = _schema(knob)
    form = "|".join(schema.get("enum", ())) or {"date": "YYYY-MM-DD"}.get(schema.get("format", ""))
    words = str(knob.schema.get("description", ""))
    if words.endswith(" Write: a, b"):
        form, words = "A,B", words.removesuffix(" Write: a, b")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        words = f"{words} From {low:,} to {high:,}."
    if knob.default is not None and knob.default != "":
        words = f"{words} Default: {knob.default}."

    def keep(context: typer.Context, value: Any) -> None:
        if value is not None:
            context.meta.setdefault(GIVEN, {})[knob.name] = value

    name = f"--{knob.name.replace('_', '-').replace('.', '-')}"
    return typer.Option(name, help=words, metavar=form, callback=keep, expose_value=False)


def given_knobs(context: typer.Context, **others: object) -> dict[str, object]:
    """Return the knobs that were given, with those that the command's own options are."""
    own = {name: value for name, value in others.items() if value is not None}
    return {**context.meta.get(GIVEN, {}), **own}


def checked_config(given: dict[str, object], command: str = "check") -> FactCheckConfig:
    """Return the run's knobs; options that were not given keep their defaults.

    Raises:
        CliError: A value is out of its range; the sentence names the option.
    """
    try:
        return config_of(given)
    except KnobError as error:
        option = f"--{error.knob.replace('_', '-').replace('.', '-')}"
        raise CliError(
            f"{option} {given.get(error.knob)!r} cannot be used: {error.reason}.",
            f"factible {command} --help describes the options.",
            ExitCode.USAGE,
        ) from error
