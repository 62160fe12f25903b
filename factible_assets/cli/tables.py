"""Answers of the warehouse as tables, CSV, JSON and Parquet.

What belongs here: forms of an answer. What does not: asking (sql.py), talking (prompt.py).

Text in an answer may come from any page of the web. In a table, and in anything that a terminal
shows, control characters never reach the terminal: an escape sequence could move its cursor, set
its title or say what is not there. Files get the text as it is; only in CSV, text that a
spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import io
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from factible_assets.cli.output import as_text, without_controls
from factible_assets.wording import plain

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType

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
