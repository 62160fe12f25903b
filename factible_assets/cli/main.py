"""The entry point of `factible`: which commands there are, and what surrounds each of them.

What belongs here: the command tree, the options of the whole program. What does not: commands.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

import factible_assets
from factible_assets.cli import (
    archive,
    cache,
    check,
    completion,
    corpus,
    demo,
    dev,
    doctor,
    evaluate,
    experiment,
    export,
    judge,
    models,
    recheck,
    report,
    restore,
    retention,
    review,
    runs,
    serve,
    sql,
    status,
    trust,
)
from factible_assets.cli import open as open_command
from factible_assets.cli.errors import EXIT_CODES, install_hook
from factible_assets.cli.everywhere import CHECK, DATA, LOOK, MACHINE, MEASURE, SERVE, Program

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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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


app.command("demo", epilog=EXIT_CODES, rich_help_panel=CHECK)(demo.demo)
app.command("check", epilog=EXIT_CODES, rich_help_panel=CHECK)(check.check)
app.command("recheck", epilog=EXIT_CODES, rich_help_panel=CHECK)(recheck.recheck)
app.command("review", epilog=EXIT_CODES, rich_help_panel=CHECK)(review.review)
app.command("status", epilog=EXIT_CODES, rich_help_panel=LOOK)(status.status)
app.command("runs", epilog=EXIT_CODES, rich_help_panel=LOOK)(runs.runs)
app.command("open", epilog=EXIT_CODES, rich_help_panel=LOOK)(open_command.open_)
app.command("report", epilog=EXIT_CODES, rich_help_panel=LOOK)(report.report)
app.command("sql", epilog=EXIT_CODES, rich_help_panel=LOOK)(sql.sql)
app.command("export", epilog=EXIT_CODES, rich_help_panel=LOOK)(export.export)
app.add_typer(corpus.app, name="corpus", rich_help_panel=DATA)
app.add_typer(archive.app, name="archive", rich_help_panel=DATA)
app.command("evaluate", epilog=EXIT_CODES, rich_help_panel=MEASURE)(evaluate.evaluate)
app.command("judge", epilog=EXIT_CODES, rich_help_panel=MEASURE)(judge.judge)
app.add_typer(experiment.app, name="experiment", rich_help_panel=MEASURE)
app.command("dev", epilog=EXIT_CODES, rich_help_panel=SERVE)(dev.dev)
app.command("serve", epilog=EXIT_CODES, rich_help_panel=SERVE)(serve.serve)
app.command("doctor", epilog=EXIT_CODES, rich_help_panel=MACHINE)(doctor.doctor)
app.command("trust", epilog=EXIT_CODES, rich_help_panel=MACHINE)(trust.trust)
app.add_typer(cache.app, name="cache", rich_help_panel=MACHINE)
app.command("completion", epilog=EXIT_CODES, rich_help_panel=MACHINE)(completion.completion)
app.add_typer(models.app, name="models", rich_help_panel=MACHINE)
app.command("restore", epilog=EXIT_CODES, rich_help_panel=MACHINE)(restore.restore)
app.command("retention", epilog=EXIT_CODES, rich_help_panel=MACHINE)(retention.retention)


def main() -> None:
    """Run the command line."""
    if completion.VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined] # not listed

        completion_init()
    app(prog_name="factible")
