"""The entry point of `factible`: which commands there are, and what surrounds each of them.

What belongs here: the command tree and the headings of `factible --help`; the options of the whole
program, and those (`--quiet`, `--debug`) that are declared once and handed to every leaf. What does
not: commands, what the options do (output.py, errors.py, knobs.py).
"""

from __future__ import annotations

import functools
import gc
import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import factible_assets
from factible_assets.cli import (
    archive,
    check,
    claims,
    completion,
    corpus,
    evaluate,
    experiment,
    export,
    judge,
    machine,
    media,
    models,
    output,
    recheck,
    report,
    review,
    serve,
    sql,
    status,
)
from factible_assets.cli.errors import EXIT_CODES, Boundary, install_hook, show_tracebacks, told

CHECK = "Check videos"
LOOK = "Look at what was found"
DATA = "Corpora and stored pages"
MEASURE = "Measure"
SERVE = "Serve"
MACHINE = "This machine"

HEADINGS = (CHECK, LOOK, DATA, MEASURE, SERVE, MACHINE)
"""The headings of `factible --help`, in their order."""


_WHOLE_SENTENCE = 500


def _shared(
    *,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print the result and errors alone: no progress, no remarks.",
            # Called also where it is not given, so that one command's wish never outlives it.
            callback=lambda value: output.be_quiet(wanted=bool(value)),
            is_eager=True,
            expose_value=False,
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show tracebacks of errors.",
            callback=lambda value: show_tracebacks() if value else None,
            is_eager=True,
            expose_value=False,
        ),
    ] = False,
) -> None:
    """Declare the options; nobody runs this."""
    del quiet, debug


@functools.cache
def _shared_options() -> tuple[Any, ...]:
    declared = typer.Typer(add_completion=False, rich_markup_mode=None)
    declared.command()(_shared)
    return tuple(get_command(declared).params)


def _equip(command: Any) -> None:
    """Give a command, or every command of a group, the options that it does not declare itself."""
    for child in getattr(command, "commands", {}).values():
        # Else it is cut where a line ends.
        child.short_help = child.get_short_help_str(_WHOLE_SENTENCE)
        _equip(child)
    if hasattr(command, "commands"):
        return
    declared = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(option for option in _shared_options() if not declared & {*option.opts})


class KnobCommand(TyperCommand):
    """A command that takes every knob of a run besides its own options."""

    without: str | None = None
    """The section of the knobs that mean nothing to it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its own options, the knobs that none of them is, and --help."""
        from factible_assets.cli.knobs import knob_options

        *own, helping = super().get_params(ctx)
        names = {name for parameter in own for name in parameter.opts}
        return [
            *own,
            *(each for each in knob_options(self.without) if not names & {*each.opts}),
            helping,
        ]


class RecheckCommand(KnobCommand):
    """A command that keeps the claims that are there."""

    without = "claims"


class Program(TyperGroup):
    """The command tree: every leaf knows `--quiet` and `--debug` and ends inside the boundary."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        _equip(self)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under their headings."""
        width = max(map(len, self.commands), default=0)
        shown = [command for command in self.commands.values() if not command.hidden]
        found = {getattr(command, "rich_help_panel", None) for command in shown}
        for heading in (*HEADINGS, *sorted(found - {*HEADINGS}, key=str)):
            rows = [
                # Padded, so that the columns of all headings stand below each other.
                (f"{command.name or '':<{width}}", command.get_short_help_str())
                for command in shown
                if getattr(command, "rich_help_panel", None) == heading
            ]
            if rows:
                with formatter.section(heading or "Other commands"):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether a program listens before any command can go wrong."""
        self._wants_document = "--json" in args
        output.expect_document()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; a known error ends it with a sentence and an exit code."""
        try:
            with Boundary(debug=bool(ctx.params.get("debug"))):
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if self._wants_document:
                output.print_failure(*told(error))
            raise


app = typer.Typer(
    name="factible",
    cls=Program,
    no_args_is_help=True,
    # `factible completion` prints the scripts.
    add_completion=False,
    # Plain help: drawing it with rich would double the time that it takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
    # No wider than 80 columns, which every terminal has.
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"factible {factible_assets.__version__}")
        raise typer.Exit


@app.callback()
def program(
    *,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="FACTIBLE_DEBUG", help="Show tracebacks of errors.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fact-check videos: which claims does a video make, and what do reliable sources say?

    Start with `factible demo`; it needs no key and no network.
    """
    del version
    install_hook(debug=debug)


claims.app.command("check", cls=RecheckCommand, epilog=EXIT_CODES)(claims.check)
_COMMANDS: dict[str, tuple[Any, ...]] = {
    CHECK: (check.demo, check.check, claims.app, media.media, recheck.recheck, review.review),
    LOOK: (status.status, status.runs, report.open_, report.report, sql.sql, export.export),
    DATA: (corpus.app, archive.app),
    MEASURE: (evaluate.evaluate, judge.judge, experiment.app),
    SERVE: (serve.dev, serve.serve),
    MACHINE: (
        machine.doctor,
        machine.trust,
        machine.cache_app,
        completion.completion,
        models.app,
        machine.restore,
        machine.retention,
        machine.migrate_app,
    ),
}
for _heading, _commands in _COMMANDS.items():
    for _command in _commands:
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, rich_help_panel=_heading)
            continue
        app.command(
            _command.__name__.rstrip("_"),
            cls={"check": KnobCommand, "recheck": RecheckCommand}.get(_command.__name__),
            epilog=EXIT_CODES,
            rich_help_panel=_heading,
        )(_command)


def main() -> None:
    """Run the command line."""
    if completion.VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined] # not listed

        completion_init()
    # What is imported stays: it is not searched for garbage every 700 objects, a tenth of a start.
    gc.set_threshold(50_000)
    app(prog_name="factible")
