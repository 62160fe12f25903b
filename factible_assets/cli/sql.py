"""`factible sql`: questions to the warehouse, in SQL.

What belongs here: reading the query and its parameters, drawing or writing the answer. What does
not: the connection (warehouse/), views (warehouse/views).
"""

from __future__ import annotations

import io
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError, ExitCode
from factible_assets.cli.output import as_text, note, plain, stdout

if TYPE_CHECKING:
    import polars as pl

    from factible_assets.settings import Settings

_CATALOGUE = """
    select table_name as name, table_type as kind, coalesce(comment, '') as comment
    from (
        select view_name as table_name, 'view' as table_type, comment
        from duckdb_views() where not internal
        union all
        select table_name, 'table', comment from duckdb_tables() where not internal
    )
    order by kind desc, name
"""


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def sql(
    query: Annotated[
        str | None,
        typer.Argument(help="A query; without one it is read from stdin, or the views are listed."),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A value for $NAME. JSON numbers, true, false and null are such; else it is text.",
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="How to write the answer.")] = (
        Format.TABLE
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file, not to stdout.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the live warehouse, not the published copy.")
    ] = False,
) -> None:
    """Ask the warehouse a question in SQL; nothing can be changed.

    The published copy answers, so that no run is held up; the live warehouse where there is none.

    Example: factible sql "select stance, count(*) from current_verdicts group by all"

    Example: factible sql -p video=my-talk 'from current_claims where video_id = $video'
    """
    from factible_assets.settings import load_settings

    if form is Format.PARQUET and output is None and sys.stdout.isatty():
        raise CliError(
            "Parquet is no text for a terminal.", "Name a file with --output.", ExitCode.USAGE
        )
    text = _query_text(query)
    frame = _ask(load_settings(), text or _CATALOGUE, _parameters(param or []), live=live)
    if text is None:
        note("Views and tables; ask one with: factible sql 'from NAME limit 5'")
    _write(frame, form, output)


def _query_text(query: str | None) -> str | None:
    """Return the query, None if there is none and nobody pipes one in."""
    if query is not None and query != "-":
        return query
    if query is None and sys.stdin.isatty():
        return None
    return sys.stdin.read().strip() or None


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


def _ask(settings: Settings, query: str, parameters: dict[str, Any], *, live: bool) -> pl.DataFrame:
    import duckdb

    from warehouse.store import Warehouse

    is_published = settings.published.exists() and not live
    path = settings.published if is_published else settings.warehouse
    if not path.exists():
        raise CliError(
            f"There is no warehouse at {path} yet.", "Check a video first, such as: factible demo"
        )
    try:
        return Warehouse(path).query(query, parameters)
    except duckdb.Error as error:
        raise CliError(_sql_sentence(error)) from error


def _sql_sentence(error: Exception) -> str:
    """Say a DuckDB error with its hint and the place in the query, without its stack trace."""
    words = str(error).strip()
    if "read-only mode" in words:
        return f"The warehouse is open for reading only: {words}"
    return f"The query failed: {words}"


def _write(frame: pl.DataFrame, form: Format, output: Path | None) -> None:
    if form is Format.TABLE and output is None:
        _draw(frame)
        return
    content = _encode(frame, form)
    if output is None:
        typer.echo(content, nl=False)
        return
    from factible_assets.cli.files import write_whole

    write_whole(output, content)
    note(f"{frame.height:,} rows written to {output}")


def _encode(frame: pl.DataFrame, form: Format) -> bytes:
    if form is Format.JSON:
        rows = json.dumps(frame.to_dicts(), ensure_ascii=False, indent=2, default=as_text)
        return f"{rows}\n".encode()
    if form is Format.PARQUET:
        stream = io.BytesIO()
        frame.write_parquet(stream)
        return stream.getvalue()
    if form is Format.CSV:
        return _flat(frame).write_csv().encode()
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


def _table_text(frame: pl.DataFrame) -> str:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=200, highlight=False, markup=False, emoji=False)
    console.print(_table(frame))
    return stream.getvalue()


def _draw(frame: pl.DataFrame) -> None:
    console = stdout()
    console.print(_table(frame))
    if not frame.height:
        note("no rows")


def _table(frame: pl.DataFrame) -> Any:
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


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return plain(", ".join(str(part) for part in value))
    return plain(str(value))
