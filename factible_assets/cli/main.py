"""The entry point of `factible`: which commands there are, and what surrounds each of them.

What belongs here: the tree of commands, each of which loads its module when it is called; the
options of the whole program, and those (`--json`, `--quiet`, `--debug`) that are declared once and
handed to every command. What does not: commands, what the options do (output.py, arguments.py).
"""

from __future__ import annotations

import functools
import inspect
import io
import os
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

import factible_assets
from factible_assets.cli.output import (
    EXIT_CODES,
    Wishes,
    complain,
    is_utf,
    print_json,
    told,
    wishes,
)
from factible_assets.errors import leave

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Check videos": {
        "demo": ("check.demo", "Fact-check the demo video end to end; needs no key, no network."),
        "check": ("check.check", "Fact-check a video: its claims, and what sources say of each."),
        "claims": ("check.claims_app", "Claims without a video, such as a list in a table."),
        "media": ("check.media", "Look at the pictures of a checked video."),
        "recheck": ("check.recheck", "Check videos again, those that are due or named."),
        "review": ("review.review", "Correct a claim and how it was checked; sign a ruling."),
    },
    "Look at what was found": {
        "status": ("status.status", "Show what is checked, incomplete, due and running."),
        "runs": ("status.runs", "List the newest runs."),
        "open": ("report.open_", "Open a report, the Dagster UI or the published copy."),
        "report": ("report.report", "Write HTML reports, and print their path."),
        "sql": ("sql.sql", "Ask the warehouse a question in SQL."),
        "export": ("report.export", "Write results as Parquet, ClaimReview, AVeriTeC, Markdown."),
    },
    "Corpora and stored pages": {
        "corpus": ("corpus.app", "Files that list videos, their transcripts, annotated claims."),
        "archive": ("corpus.archive_app", "Stored pages and searches, to check without a network."),
    },
    "Measure": {
        "evaluate": ("evaluate.evaluate", "Measure how good the newest answers are."),
        "judge": ("evaluate.judge", "Have a language model score what was found, from 0 to 2."),
        "experiment": ("experiment.app", "The pipeline under many settings, and which does best."),
    },
    "Serve": {
        "dev": ("serve.dev", "Serve the Dagster UI, with sensors and schedules."),
        "serve": ("serve.serve", "Serve the desk, and the HTTP API for programs."),
    },
    "This machine": {
        "doctor": ("machine.doctor", "Say what is set up, what answers, and what to do."),
        "cache": ("machine.cache_app", "Answers kept between runs: searches, pages, model calls."),
        "completion": ("arguments.completion", "Print the script of completion for a shell."),
        "models": (
            "machine.models_app",
            "Open models on this machine, fetched only when asked for.",
        ),
        "restore": ("machine.restore", "Put the published copy in place of a lost warehouse."),
        "forget": ("forget.forget", "Remove a video with everything that was found."),
        "retention": ("machine.retention", "Remove old page texts, kept answers and runs."),
        "migrate": ("machine.migrate_app", "Move what is kept to another place."),
    },
}
"""Every command under its heading in `factible --help`: where it stands, and what it is for."""

_WITHOUT_JSON = {"dev", "completion"}
"""What they print is no document: the output of Dagster, a script for a shell."""

_PLACES = {name: place for each in COMMANDS.values() for name, (place, _) in each.items()}
_WHOLE_SENTENCE = 500


def options_of(declared: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return options by the names and annotations that parameters of a command would have."""

    def command(**given: Any) -> None:
        del given

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=None, annotation=each)
        for name, each in declared.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # typer's
    command.__annotations__ = dict(declared)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return tuple(option for option in get_command(app).params if option.name != "help")


def _wished(name: str, words: str, *short: str) -> Any:
    def keep(value: bool | None) -> None:
        if value:
            setattr(wishes, name, True)

    names = (f"--{name}", *short)
    wish = typer.Option(*names, help=words, callback=keep, is_eager=True, expose_value=False)
    return Annotated[bool, wish]


@functools.cache
def _shared_options() -> tuple[Any, ...]:
    words = {
        "as_json": _wished("json", "Print JSON on stdout; progress stays on stderr."),
        "quiet": _wished(
            "quiet", "Print the result and errors alone: no progress, no remarks.", "-q"
        ),
        "debug": _wished("debug", "Show tracebacks of errors."),
    }
    return options_of(words)


def _equip(command: Any) -> None:
    """Give a command, or every command of a group, what all have."""
    command.epilog = EXIT_CODES
    for child in getattr(command, "commands", {}).values():
        # Else it is cut where a line ends.
        child.short_help = child.get_short_help_str(_WHOLE_SENTENCE)
        _equip(child)
    if hasattr(command, "commands"):
        return
    more = (*_shared_options(), *getattr(command.callback, "more_options", tuple)())
    taken = {name for parameter in command.params for name in parameter.opts}
    taken |= {"--json"} if command.name in _WITHOUT_JSON else set()
    command.params += [each for each in more if not taken & {*each.opts}]


class Program(TyperGroup):
    """The command tree: a command is loaded when it is called, and ends with a sentence."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for commands in COMMANDS.values():
            for name, (_, words) in commands.items():
                self.commands[name] = TyperCommand(name, help=words, short_help=words)

    def loaded(self, name: str) -> Any:
        """Return a command, its module loaded."""
        module, _, attribute = _PLACES[name].partition(".")
        found = getattr(import_module(f"factible_assets.cli.{module}"), attribute)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, no_args_is_help=True, help=self.commands[name].help)
        else:
            app.command(name)(found)
        command = get_group(app).commands[name]
        _equip(command)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is meant."""
        if args[0] in _PLACES:
            self.commands[args[0]] = self.loaded(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under their headings."""
        del ctx
        width = max(map(len, _PLACES))
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                # Padded, so that the columns of all headings stand below each other.
                formatter.write_dl([(f"{n:<{width}}", words) for n, (_, words) in commands.items()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether a program listens before any command can go wrong."""
        vars(wishes).update(vars(Wishes(json="--json" in args)))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; an error ends it with a sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            words, code = told(error)
            if wishes.json and not wishes.printed:
                print_json({"success": False, "error": words, "exit_code": code})
            if isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message"):
                raise  # what the parser says by itself
            if wishes.debug:
                traceback.print_exception(error)
            complain(words)
            raise typer.Exit(code) from error
        finally:
            vars(wishes).update(vars(Wishes()))


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
    wishes.debug = debug


def main() -> None:
    """Run the command line."""
    # A terminal or a pipe in Latin-1, say, gets a question mark for a dash that it does not know.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not is_utf(stream):
            stream.reconfigure(errors="replace")
    if "_FACTIBLE_COMPLETE" in os.environ:  # set by the scripts of `factible completion`
        from typer.completion import completion_init  # type: ignore[attr-defined] # not listed

        completion_init()
    try:
        app(prog_name="factible")
    except SystemExit as end:
        leave(int(end.code or 0))
        raise
