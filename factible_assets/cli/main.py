"""The entry point of `factible`: the tree of commands, and the options that all of them share."""

from __future__ import annotations

import functools
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from factible_assets.cli.output import (
    EXIT_CODES,
    OutputMode,
    is_utf,
    message_and_code,
    output_mode,
    print_error,
    print_json,
)
from factible_assets.errors import leave
from factible_assets.version import VERSION

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Check videos": {
        "demo": ("check.demo", "Fact-check the demo video; needs no key and no network."),
        "check": ("check.check", "Fact-check a video against sources."),
        "claims": ("claims.app", "Fact-check a table of claims without a video."),
        "media": ("check.media", "Look at the pictures of a checked video."),
        "recheck": ("recheck.recheck", "Check videos again, by name or because they are due."),
        "review": ("review.review", "Correct a claim and its check; sign a ruling."),
    },
    "Look at results": {
        "status": ("status.status", "Show what is checked, incomplete, due and running."),
        "runs": ("status.runs", "List the newest runs."),
        "open": ("report.open_", "Open a report, the Dagster UI or the published copy."),
        "report": ("report.report", "Write HTML reports and print their path."),
        "said": ("status.said", "Find claims that say the same as a text, with their verdicts."),
        "sql": ("sql.sql", "Query the warehouse in SQL."),
        "export": (
            "report.export",
            "Write results as Parquet, CSV, ClaimReview, AVeriTeC, Markdown.",
        ),
    },
    "Corpora and stored pages": {
        "corpus": ("corpus.app", "Manage the files that list videos and annotated claims."),
        "archive": ("archive.app", "Manage stored pages and searches, for offline checks."),
    },
    "Measure": {
        "evaluate": ("evaluate.evaluate", "Measure the newest results against annotations."),
        "judge": ("evaluate.judge", "Have a language model score results from 0 to 2."),
        "experiment": ("experiment.app", "Run the pipeline under many settings and compare them."),
    },
    "Serve": {
        "dev": ("serving.dev", "Serve the Dagster UI, with sensors and schedules."),
        "serve": ("serving.serve", "Serve the desk and the HTTP API."),
        "mcp": ("serving.mcp", "Serve an assistant over the Model Context Protocol."),
    },
    "This machine": {
        "doctor": ("machine.doctor", "Test every service that is set up."),
        "cache": ("machine.cache_app", "Show or clear cached searches, pages and model answers."),
        "completion": ("arguments.completion", "Print the completion script of a shell."),
        "models": ("models.app", "Fetch and list open models on this machine."),
        "restore": ("machine.restore", "Replace a lost warehouse with the published copy."),
        "forget": ("corpus.forget", "Remove a video with all its results."),
        "retention": ("machine.retention", "Remove old page texts, cached answers and runs."),
        "upgrade": ("machine.upgrade", "Copy an older warehouse into the current schema."),
        "migrate": ("machine.migrate_app", "Move the warehouse into a lake."),
    },
}
"""Every command by its heading in `factible --help`: module and function, and a description."""

_WITHOUT_JSON = {"dev", "mcp", "completion"}
"""Commands that print no document."""

_DASHES = "An id that begins with a dash follows two dashes, after the options: -- -LDjqcvSbP4"

_PLACES = {name: place for group in COMMANDS.values() for name, (place, _) in group.items()}


def _set_mode(option: typer.CallbackParam, value: bool | None) -> None:
    """Set the field of the output mode that has the option's name."""
    if value:
        setattr(output_mode, str(option.name), True)


def _shared_option(words: str, *names: str) -> Any:
    return typer.Option(*names, help=words, callback=_set_mode, is_eager=True, expose_value=False)


def _print_all_options(context: typer.Context, value: bool) -> None:
    if value:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined] # of options, not of arguments
        typer.echo(context.get_help())
        raise typer.Exit


_HELP_ALL = typer.Option(
    "--help-all",
    help="Show every option, rare ones too.",
    callback=_print_all_options,
    is_eager=True,
    expose_value=False,
)


@functools.cache
def _shared_options() -> Sequence[Any]:
    """Return the options that every command has, made by Typer from a command with only these."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    def command(
        *,
        json: Annotated[
            bool, _shared_option("Print JSON on stdout; progress stays on stderr.", "--json")
        ] = False,
        quiet: Annotated[
            bool, _shared_option("Print only the result and errors.", "--quiet", "-q")
        ] = False,
        debug: Annotated[bool, _shared_option("Show tracebacks of errors.", "--debug")] = False,
        help_all: Annotated[bool, _HELP_ALL] = False,
    ) -> None: ...

    return [option for option in get_command(app).params if option.name != "help"]


def _add_shared_options(command: Any) -> None:
    """Give a command, or every command of a group, the shared options and the exit codes."""
    has_arguments = any(parameter.param_type_name == "argument" for parameter in command.params)
    command.epilog = f"{_DASHES}\n\n{EXIT_CODES}" if has_arguments else EXIT_CODES
    for child in getattr(command, "commands", {}).values():
        child.short_help = child.get_short_help_str(limit=500)  # never cut
        _add_shared_options(child)
    if not hasattr(command, "commands"):
        without = {"--json"} if command.name in _WITHOUT_JSON else set()
        if not any(getattr(parameter, "hidden", False) for parameter in command.params):
            without.add("--help-all")
        command.params += [
            option for option in _shared_options() if without.isdisjoint(option.opts)
        ]


class Command(TyperCommand):
    """A command whose help lists its options under their headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        listed: dict[str, list[Any]] = {}
        parameter: Any
        for parameter in self.get_params(ctx):
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record := parameter.get_help_record(ctx):
                listed.setdefault(parameter.rich_help_panel or usual, []).append(record)
        for heading, records in listed.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Program(TyperGroup):
    """The tree of commands. Imports a command's module only when the user calls it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for commands in COMMANDS.values():
            for name, (_, words) in commands.items():
                self.commands[name] = TyperCommand(name, help=words, short_help=words)

    def load(self, name: str) -> Any:
        module, _, attribute = _PLACES[name].partition(".")
        target = getattr(import_module(f"factible_assets.cli.{module}"), attribute)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        if isinstance(target, typer.Typer):
            app.add_typer(target, name=name, no_args_is_help=True, help=self.commands[name].help)
        else:
            app.command(name, cls=Command)(target)
        command = get_group(app).commands[name]
        _add_shared_options(command)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in _PLACES:
            self.commands[args[0]] = self.load(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        width = max(map(len, _PLACES))
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                # The padding aligns the columns of all headings.
                formatter.write_dl([(f"{n:<{width}}", words) for n, (_, words) in commands.items()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Already now, so that an error while parsing is JSON too.
        vars(output_mode).update(vars(OutputMode(json="--json" in args)))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; print an error as one sentence and set the exit code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            words, code = message_and_code(error)
            if output_mode.json and not output_mode.printed:
                print_json({"success": False, "error": words, "exit_code": code})
            if isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message"):
                raise  # the parser prints these itself
            if output_mode.debug:
                traceback.print_exception(error)
            print_error(words)
            raise typer.Exit(code) from error
        finally:
            vars(output_mode).update(vars(OutputMode()))


app = typer.Typer(
    name="factible",
    cls=Program,
    no_args_is_help=True,
    add_completion=False,  # `factible completion` prints the scripts
    rich_markup_mode=None,  # rich would double the time of --help
    pretty_exceptions_enable=False,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"factible {VERSION}")
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
    """Fact-check videos: find their claims, and compare them with reliable sources.

    Start with `factible demo`. It needs no key and no network.
    """
    del version
    output_mode.debug = debug


def main() -> None:
    # A stream in another encoding, such as Latin-1, gets a question mark for an unknown character.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not is_utf(stream):
            stream.reconfigure(errors="replace")
    if "_FACTIBLE_COMPLETE" in os.environ:  # a completion script asks for words
        from typer.completion import completion_init  # type: ignore[attr-defined] # not exported

        completion_init()
    try:
        app(prog_name="factible")
    except SystemExit as end:
        leave(int(end.code or 0))
        raise
