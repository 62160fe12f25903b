"""What every command has in common: its options, its error boundary, its place in the help.

What belongs here: `--quiet` and `--debug`, declared once and handed to every leaf of the command
tree, and the headings of `factible --help`. What does not: what the options do (output.py,
errors.py), which commands there are (main.py).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from factible_assets.cli import output
from factible_assets.cli.errors import Boundary, show_tracebacks, told

CHECK = "Check videos"
LOOK = "Look at what was found"
DATA = "Corpora and stored pages"
MEASURE = "Measure"
SERVE = "Serve"
MACHINE = "This machine"

HEADINGS = (CHECK, LOOK, DATA, MEASURE, SERVE, MACHINE)
"""The headings of `factible --help`, in their order; a command names its own when registered."""


_MARGINS = 6
"""Columns of the help's list of commands that hold no words."""


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


@cache
def _shared_options() -> tuple[Any, ...]:
    declared = typer.Typer(add_completion=False, rich_markup_mode=None)
    declared.command()(_shared)
    return tuple(get_command(declared).params)


def _equip(command: Any) -> None:
    """Give a command, or every command of a group, the options that it does not declare itself."""
    for child in getattr(command, "commands", {}).values():
        _equip(child)
    if hasattr(command, "commands"):
        return
    declared = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(option for option in _shared_options() if not declared & {*option.opts})


class Program(TyperGroup):
    """The command tree: every leaf knows `--quiet` and `--debug` and ends inside the boundary."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            _equip(command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under their headings."""
        width = max(map(len, self.commands), default=0)
        room = formatter.width - width - _MARGINS
        shown = [command for command in self.commands.values() if not command.hidden]
        found = {getattr(command, "rich_help_panel", None) for command in shown}
        for heading in (*HEADINGS, *sorted(found - {*HEADINGS}, key=str)):
            rows = [
                # Padded, so that the columns of all headings stand below each other.
                (f"{command.name or '':<{width}}", command.get_short_help_str(room))
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
