"""The entry point of `factible`: which commands there are, and what surrounds each of them.

What belongs here: the command tree, the options of the whole program. What does not: commands.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import factible_assets
from factible_assets.cli import (
    archive,
    cache,
    check,
    corpus,
    demo,
    dev,
    doctor,
    evaluate,
    models,
    report,
    sql,
)
from factible_assets.cli.errors import EXIT_CODES, Boundary, install_hook


class _Program(TyperGroup):
    """The command tree inside its error boundary."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; a known error ends it with a sentence and an exit code."""
        with Boundary(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


app = typer.Typer(
    name="factible",
    cls=_Program,
    no_args_is_help=True,
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


app.command("demo", epilog=EXIT_CODES)(demo.demo)
app.command("check", epilog=EXIT_CODES)(check.check)
app.add_typer(corpus.app, name="corpus")
app.add_typer(archive.app, name="archive")
app.add_typer(cache.app, name="cache")
app.add_typer(models.app, name="models")
app.command("doctor", epilog=EXIT_CODES)(doctor.doctor)
app.command("report", epilog=EXIT_CODES)(report.report)
app.command("evaluate", epilog=EXIT_CODES)(evaluate.evaluate)
app.command("sql", epilog=EXIT_CODES)(sql.sql)
app.command("dev", epilog=EXIT_CODES)(dev.dev)


def main() -> None:
    """Run the command line."""
    app(prog_name="factible")
