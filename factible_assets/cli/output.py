"""Prints for all commands: results on stdout, progress and errors on stderr.

- `--json`: stdout holds one JSON document. Keys are snake_case, times ISO 8601, unknown is null.
- `--quiet`: `note` and `stderr` print nothing. Results and errors still appear.
- A FactibleError prints one sentence with the remedy on stderr and sets the exit code.
- Text from outside passes `plain` before a terminal shows it. Table cells do this themselves.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from factible_assets.errors import ExitCode, explained
from factible_assets.records.stances import STANCES
from factible_assets.wording import number, plain, verdict_words

if TYPE_CHECKING:  # help and JSON need no rich
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from factible_assets.records.tables import Verdict

Columns: TypeAlias = Iterable[str | tuple[str, str | Callable[[Any], object]]]
"""The columns of a table of documents: a field, `heading: field`, or a heading and a function that
returns the cell."""

_UNKNOWN = "–"
_FIGURE = re.compile(r"[$+−-]?\d[\d.,:]*( [\w:/]+( [\d.,]+)?)?", re.ASCII)
"""A number, perhaps with a unit or a second number: 1,024; 2:31; 14 days; 0.3 to 0.5; 3 : 1."""
_LONG_WORD = 24
"""Tables break only longer words."""

_WIDTH = 160
"""Columns of results in a pipe, so that lines stay whole."""

NARROW = 110
"""Narrower screens show related values in one cell."""


@dataclass
class OutputMode:
    """The options that every command has. `printed` is set once the JSON document is out."""

    json: bool = False
    quiet: bool = False
    debug: bool = False
    printed: bool = False


output_mode = OutputMode()
"""The options of the current command; main.py resets them."""


def stdout(stream: Any = None, *, silent: bool = False) -> Console:
    """Return a console for results."""
    from rich.console import Console

    stream = stream or sys.stdout
    return Console(
        file=stream,
        width=None if stream.isatty() or "COLUMNS" in os.environ else _WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
        quiet=silent,
        force_terminal=False if silent else None,
    )


def stderr() -> Console:
    """Return a console for progress; with --quiet it prints nothing."""
    return stdout(sys.stderr, silent=output_mode.quiet)


def progress_bar(*columns: Any) -> Progress:
    """Return a progress bar on stderr that shows only on a terminal."""
    from rich.progress import Progress

    console = stderr()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def counting(words: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar, and yield the function that takes the done and the total amount."""
    with progress_bar() as bar:
        task = bar.add_task(plain(words), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def note(words: str) -> None:
    """Print a remark on stderr, unless --quiet is set."""
    if not output_mode.quiet:
        _print_stderr(words)


def print_error(words: str) -> None:
    """Print an error on stderr that does not end the command."""
    _print_stderr(f"factible: {words}")


def _print_stderr(words: str) -> None:
    try:
        typer.echo(words, err=True)
    except BrokenPipeError:
        # The reader closed the pipe, perhaps stdout's too. The work goes on without it.
        out, err, nowhere = sys.stdout.fileno(), sys.stderr.fileno(), os.open(os.devnull, os.O_RDWR)
        for stream in (out, err) if os.path.sameopenfile(out, err) else (err,):
            os.dup2(nowhere, stream)


def result(document: Any, *shown: Any) -> None:
    """Print the result on stdout: the document with --json, otherwise `shown`.

    `shown` are lines of text, or tables and other objects that rich draws.
    """
    if output_mode.json:
        print_json(document)
        return
    for part in shown:
        if isinstance(part, str):
            typer.echo(part)
        else:
            stdout().print(part, crop=False)


def print_json(value: Any) -> None:
    output_mode.printed = True
    text = json.dumps(value, ensure_ascii=not is_utf(sys.stdout), indent=2, default=as_json)
    typer.echo(without_controls(text))


def is_utf(stream: Any) -> bool:
    """Tell whether a stream can encode every character."""
    return str(getattr(stream, "encoding", None) or "utf").casefold().startswith("utf")


def as_json(value: Any) -> Any:
    """Convert records and dataclasses to objects, times to ISO 8601, for `json.dumps`.

    Fields that a dataclass keeps out of its repr, such as passwords, stay out.
    """
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.repr}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return value.isoformat() if isinstance(value, date) else str(value)


def without_controls(text: str) -> str:
    """Replace control characters, except newlines and tabs, by their JSON escapes."""

    def escaped(character: str) -> str:
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return "".join(c if c.isprintable() or c in "\n\t" else escaped(c) for c in text)


def table(
    headings: Iterable[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    lines: bool = False,
    bare: bool = False,
) -> Table:
    """Return a table; None shows as a dash, and every value but rich's Text passes `plain`.

    Columns of figures are right-aligned. Only long words, such as addresses, are broken. `lines`
    draws lines between rows; `bare` leaves out the frame, for copying.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    frame = box.SIMPLE_HEAD if bare else box.HEAVY_HEAD
    drawn = Table(title=title and plain(title), title_justify="left", show_lines=lines, box=frame)
    cells = [
        [value if isinstance(value, Text) else cell_text(value) for value in row] for row in rows
    ]
    for heading, *column in zip(headings, *cells, strict=True):
        shown = [str(value) for value in column]
        is_figures = any(map(_FIGURE.fullmatch, shown)) and all(
            _FIGURE.fullmatch(text) or not any(map(str.isdigit, text)) for text in shown
        )
        words = (word for text in (heading, *shown) for word in text.split())
        drawn.add_column(
            heading,
            overflow="fold",
            justify="right" if is_figures else "left",
            min_width=min(_LONG_WORD, max(map(len, words), default=1)),
        )
    for texts in cells:
        drawn.add_row(*texts)
    return drawn


def table_of(documents: Iterable[Any], columns: Columns, **drawn: Any) -> Table:
    headings, cells = [], []
    for column in columns:
        heading, cell = column.rpartition(": ")[::2] if isinstance(column, str) else column
        headings.append(heading or str(cell).replace("_", " "))
        cells.append(cell)

    def value(document: Any, cell: str | Callable[[Any], object]) -> object:
        if callable(cell):
            return cell(document)
        return document[cell] if isinstance(document, Mapping) else getattr(document, cell)

    rows = ([value(document, cell) for cell in cells] for document in documents)
    return table(headings, rows, **drawn)


def show_rows(
    documents: Sequence[Any], columns: Columns, *below: Any, nothing: str = "", **drawn: Any
) -> None:
    """Print documents: with --json as they are, otherwise as a table, or `nothing` without any."""
    shown = nothing if nothing and not documents else table_of(documents, columns, **drawn)
    result(documents, shown, *below)


def grid(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names with their values, one per line. The text must have passed `plain`."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2))
    drawn.add_column(no_wrap=True, style="bold")
    drawn.add_column(overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def cell_text(value: object) -> str:
    """Return a value as one line for a terminal."""
    if value is None:
        return _UNKNOWN
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:,}" if isinstance(value, int) else plain(str(value))


def between(bounds: Any) -> str | None:
    """Return an interval (`low` and `high`) in words, None without one."""
    if bounds is None or bounds.low is None or bounds.high is None:
        return None
    return f"{cell_text(bounds.low)} to {cell_text(bounds.high)}"


def outcome_text(verdict: Verdict) -> Text:
    """Return the words of a verdict in its colour."""
    from rich.text import Text

    style = STANCES[verdict.stance].style if verdict.stance else "magenta"
    return Text(verdict_words(verdict), style=style)


# --- Errors --------------------------------------------------------------------------------------

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some verdicts are incomplete because "
    "services failed; 4 bad input (a file, an id or a query); 5 a problem with the data folder, "
    "the warehouse or a setting; 130 interrupted."
)


def sentence(error: BaseException) -> str:
    """Return an error as one line."""
    return message_and_code(error)[0]


def message_and_code(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code for an error that ends a command."""
    if isinstance(error, typer.Exit):
        return "It failed.", int(error.exit_code)
    if hasattr(error, "format_message"):  # a usage error of the parser
        return error.format_message(), int(ExitCode.USAGE)
    if (known := explained(error)) is not None:
        return known[0], int(known[1])
    words = (
        f"An unexpected {type(error).__name__} stopped the command: {' '.join(str(error).split())} "
        "Run it again as `factible --debug …` and report the traceback."
    )
    return words, int(ExitCode.FAILED)
