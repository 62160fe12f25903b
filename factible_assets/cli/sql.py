"""`factible sql`: questions to the warehouse, in SQL, and its answers as tables and files.

What belongs here: reading the query and its parameters, asking, saying what is wrong with a query,
forms of an answer. What does not: the connection (warehouse/), views (warehouse/views), the prompt
(prompt.py).

Text in an answer may come from any page of the web. In a table, and in anything that a terminal
shows, control characters never reach the terminal: an escape sequence could move its cursor, set
its title or say what is not there. Files get the text as it is; only in CSV, text that a
spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, as_text, note, stdout, without_controls
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType

    from factible_assets.settings import Settings

_PLACE = re.compile(r"LINE (?P<line>\d+): (?P<text>.*)\n(?P<caret> *)\^")
_HISTORY = ".sql_history"


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            help="A query, .tables or .schema NAME. Without one it is read from stdin; "
            "on a terminal a prompt opens.",
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A value for $NAME. JSON numbers, true, false and null are such; else it is text.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="How to write the answer; a table if not given."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file, not to stdout.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the live warehouse, not the published copy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the warehouse a question in SQL; nothing can be changed, and no other file is reached.

    The published copy answers, so that no run is held up; the live warehouse where there is none.
    The views have stable names: factible sql .tables lists them, .schema NAME their columns.

    Example: factible sql "select stance, count(*) from current_verdicts group by all"

    Example: factible sql -p video=my-talk 'from current_claims where video_id = $video'
    """
    from factible_assets.settings import load_settings

    form = _form(form, output, as_json=as_json)
    desk = _Desk(load_settings(), live=live)
    given = _parameters(param or [])
    if query is None and sys.stdin.isatty():
        _talk(desk, form, given)
        return
    text = query
    if text in {None, "-"}:
        text = sys.stdin.read().strip() or None
    frame = desk.answer(text or ".tables", given)
    if text is None:
        note("Views and tables; ask one with: factible sql 'from NAME limit 5'")
    _write(frame, form, output)


def _form(form: Format | None, output: Path | None, *, as_json: bool) -> Format:
    if as_json and form not in {None, Format.JSON}:
        raise CliError(
            f"--json and --format {form} say how to write the answer.",
            "Give one of them.",
            ExitCode.USAGE,
        )
    form = Format.JSON if as_json else form or Format.TABLE
    if form is Format.PARQUET and output is None and sys.stdout.isatty():
        raise CliError(
            "Parquet is no text for a terminal.", "Name a file with --output.", ExitCode.USAGE
        )
    return form


def _parameters(pairs: list[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise CliError(
                f"The parameter {pair!r} cannot be used.",
                "Write NAME=VALUE, and $NAME in the query.",
                ExitCode.USAGE,
            )
        parameters[name] = _value(value)
    return parameters


def _value(text: str) -> Any:
    """Read JSON numbers, strings, true, false and null as such, everything else as text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if isinstance(value, list | dict) else value


@dataclass(frozen=True)
class _Desk:
    """Where questions are answered: each opens the file anew, so that the newest copy answers."""

    settings: Settings
    live: bool = False
    nothing: dict[str, Any] = field(default_factory=dict)

    def answer(self, text: str, parameters: dict[str, Any]) -> pl.DataFrame:
        """Answer a query or a dot command.

        Raises:
            CliError: The query is wrong, or there is no warehouse yet.
        """
        from factible_assets.cli.prompt import schema_name
        from resources.statements import statements

        ask = statements("factible_assets.cli", "sql.sql")
        name = schema_name(text)
        if name is not None:
            frame = self._ask(ask["schema"], {"name": name})
            if not frame.height:
                raise CliError(f"There is no view or table {name}.", "All: factible sql .tables")
            return frame
        if text.rstrip("; ") == ".tables":
            return self._ask(ask["tables"], self.nothing)
        if text.startswith("."):
            raise CliError(
                f"There is no command {text.split(maxsplit=1)[0]}.", "Use .tables or .schema NAME."
            )
        return self._ask(text, parameters)

    def names(self) -> list[str]:
        """Return the names of views, tables and columns."""
        from resources.statements import statements

        ask = statements("factible_assets.cli", "sql.sql")
        return [str(name) for (name,) in self._ask(ask["names"], self.nothing).iter_rows()]

    def _ask(self, query: str, parameters: dict[str, Any]) -> pl.DataFrame:
        import duckdb
        import polars as pl

        from warehouse.store import Warehouse

        if "enable_logging" in query.casefold():
            # Where files are shut off, DuckDB ends the whole process over its own log.
            raise CliError(*query_problem(duckdb.PermissionException("no log is written")))
        is_published = self.settings.published.exists() and not self.live
        path = self.settings.published if is_published else self.settings.warehouse
        if not path.exists():
            raise CliError(
                f"There is no warehouse at {path} yet.",
                "Check a video first, such as: factible demo",
            )
        try:
            # Executed, not made a relation of: only so does DuckDB say where a query is wrong.
            with Warehouse(path).connection(read_only=True) as connection:
                # A lake's files may be reached, to be read: none is to be written beside them.
                if any(each.type.name == "COPY" for each in connection.extract_statements(query)):
                    raise CliError(*query_problem(duckdb.PermissionException("COPY")))
                answer = connection.execute(query, parameters)
                return answer.pl() if answer.description else pl.DataFrame()
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except duckdb.Error as error:
            raise CliError(*query_problem(error)) from error


def query_problem(error: Exception) -> tuple[str, str]:
    """Say what is wrong with a query, where, and what to do: a sentence and a remedy."""
    words = str(error).strip()
    if "read-only mode" in words:
        return (
            "The warehouse is open for reading only, and the query would change it.",
            "The pipeline alone writes; to keep an answer, give --output FILE.",
        )
    if type(error).__name__ == "PermissionException" or "configuration has been locked" in words:
        return (
            "A question reaches the warehouse alone: no other file, address, extension or setting.",
            "To keep an answer, give --output FILE; Parquet for other programs: factible export",
        )
    place = _PLACE.search(words)
    message = words[: place.start()] if place else words
    kind, colon, rest = message.partition("Error: ")
    message = " ".join((rest if colon else kind).split()).rstrip(".!")
    message = message if message.endswith("?") else f"{message}."
    where = f" at line {place['line']}, {_column(place)}" if place else ""
    return f"The query failed{where}: {message}", _remedy(error, words)


def _column(place: re.Match[str]) -> str:
    offset = len(place["caret"]) - len(f"LINE {place['line']}: ")
    text = place["text"]
    # DuckDB shortens a long line on both sides, and what is left no longer counts columns.
    if text.startswith("..."):
        return f"near {text[max(0, offset) :].split(' ')[0]!r}"
    return f"column {offset + 1}"


def _remedy(error: Exception, words: str) -> str:
    kinds = {
        "CatalogException": "The views and tables: factible sql .tables",
        "BinderException": "The columns of a view: factible sql '.schema NAME'",
        "ParserException": "Correct it there, or just before.",
        "ConversionException": "Convert it with try_cast, which gives null where it cannot.",
    }
    if "parameter" in words.casefold():
        return "Give a value for each $NAME with -p NAME=VALUE, and none besides."
    return kinds.get(type(error).__name__, "The names: factible sql .tables")


def _talk(desk: _Desk, form: Format, given: dict[str, Any]) -> None:
    """Answer what is typed, until the user leaves."""
    from factible_assets.cli.prompt import HELP, run_prompt

    if form is Format.PARQUET:
        raise CliError(
            "Parquet is no text for a terminal.", "Give a query with it.", ExitCode.USAGE
        )

    def answer(text: str) -> None:
        if text.rstrip("; ") == ".help":
            typer.echo(HELP)
            return
        _write(desk.answer(text, given), form, None)

    names = desk.names()
    note("Questions end with a semicolon; .help says more, .quit leaves.")
    run_prompt(answer, names=names, history=desk.settings.home / _HISTORY)


def _write(frame: pl.DataFrame, form: Format, output: Path | None) -> None:

    if form is Format.TABLE and output is None:
        draw(frame, stdout())
        if frame.width and not frame.height:
            note("no rows")
        return
    content = encode(frame, form)
    if output is None:
        if sys.stdout.isatty():
            content = without_controls(content.decode()).encode()
        typer.echo(content, nl=False)
        return
    from factible_assets.files import write_whole

    write_whole(output, content)
    note(f"{frame.height:,} rows written to {output}")


_FILE_WIDTH = 200
_NARROWEST_COLUMN = 9
"""Columns that would have to be narrower than this are written below each other instead."""


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def draw(frame: pl.DataFrame, console: Console) -> None:
    """Draw an answer as a table; on a screen too narrow for its columns, as a list of rows."""
    if not frame.width:
        return
    if console.is_terminal and frame.width * _NARROWEST_COLUMN > console.width:
        for number, row in enumerate(frame.iter_rows(named=True), start=1):
            console.print(f"── row {number} ──", style="dim")
            console.print(_below_each_other(row))
        return
    console.print(_table(frame))


def encode(frame: pl.DataFrame, form: Format) -> bytes:
    """Return an answer as the content of a file."""
    if form is Format.JSON:
        rows = json.dumps(frame.to_dicts(), ensure_ascii=False, indent=2, default=as_text)
        return f"{without_controls(rows)}\n".encode()
    if form is Format.PARQUET:
        stream = io.BytesIO()
        frame.write_parquet(stream)
        return stream.getvalue()
    if form is Format.CSV:
        return _without_formulas(_flat(frame)).write_csv().encode()
    return _table_text(frame).encode()


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Write lists and structures as JSON, for CSV knows none."""
    import polars as pl

    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    texts = {
        name: [
            None if value is None else json.dumps(value, ensure_ascii=False, default=as_text)
            for value in frame[name].to_list()
        ]
        for name in nested
    }
    return frame.with_columns(
        pl.Series(name, values, dtype=pl.String) for name, values in texts.items()
    )


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would calculate.

    Source: OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    import polars.selectors as cs

    return frame.with_columns(cs.string().str.replace(r"^[=+\-@\t\r]", "'${0}"))


def _table_text(frame: pl.DataFrame) -> str:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=_FILE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None,
    )
    console.print(_table(frame))
    return stream.getvalue()


def _table(frame: pl.DataFrame) -> RenderableType:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name, kind in frame.schema.items():
        table.add_column(
            plain(name), justify="right" if kind.is_numeric() else "left", overflow="fold"
        )
    for row in frame.iter_rows():
        table.add_row(*(_cell(value) for value in row))
    return table


def _below_each_other(row: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, value in row.items():
        grid.add_row(plain(name), _cell(value))
    return grid


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return plain(", ".join(str(part) for part in value))
    return plain(str(value))
