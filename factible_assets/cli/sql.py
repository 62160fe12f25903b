"""`factible sql`: queries in SQL, with answers as tables and files.

An answer may contain text from any web page. Tables and terminals never get control characters,
because escape sequences can move the cursor, set the title or fake output. Files get the text as
it is; CSV puts an apostrophe before text that a spreadsheet would read as a formula.
"""

from __future__ import annotations

import code
import contextlib
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import duckdb
from typer import Argument, Option, echo

from factible_assets.cli.arguments import Live, Output
from factible_assets.cli.output import (
    as_json,
    grid,
    note,
    output_mode,
    sentence,
    stdout,
    table,
    without_controls,
)
from factible_assets.errors import FactibleError, UsageError
from factible_assets.exchange.tables import csv_of, with_text_keys
from factible_assets.runs.query import LONGEST_SECONDS, Answer, ask, describe, names_in
from factible_assets.runs.targets import open_store
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain
from resources.files import write_whole
from warehouse.store import Warehouse

try:
    import readline
except ImportError:  # Python on Windows has none
    readline = None  # type: ignore[assignment]

_BETWEEN_COLUMNS = 3

HELP = """\
A query ends with a semicolon and may take several lines.
  .tables         the views and tables, with their contents
  .schema NAME    the columns of a view or table, with their meaning
  .help           this text
  .quit           leave, as does Ctrl-D
Ctrl-C drops the typed text, or stops the running query."""

_HISTORY_LENGTH = 1_000
_SCHEMA = re.compile(r"\.schema\s+(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*;?\s*$")

Format: TypeAlias = Literal["table", "csv", "json", "parquet"]


def sql(
    asked: Annotated[
        list[str] | None,
        Argument(
            metavar="QUERY",
            help="A query, .tables or .schema NAME. Without one the command reads stdin, or opens "
            "a prompt on a terminal.",
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A value for $NAME: a JSON number, true, false, null, or text.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        Option("--format", "-f", help="The format (default: table, which is CSV in a file)."),
    ] = None,
    output: Output = None,
    seconds: Annotated[float, Option(min=0, help="The time limit; 0: none.")] = LONGEST_SECONDS,
    live: Live = False,
) -> None:
    """Query the warehouse in SQL. A query cannot change anything or read other files.

    The published copy answers, so that no run waits, or the live warehouse if there is no copy. The
    views have stable names: factible sql .tables lists them, .schema NAME lists their columns.

    Example: factible sql "select verdict, count(*) from verdicts group by all"

    Example: factible sql -p video=my-talk 'from current_claims where video_id = $video'
    """
    if output_mode.json and form not in {None, "json"}:
        raise UsageError(f"--json and --format {form} exclude each other.", "Give one of them.")
    form = "json" if output_mode.json else form or "table"
    if form == "table" and output is not None:
        form = "csv"
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("A terminal cannot show Parquet.", "Name a file with --output.")
    parameters: dict[str, Any] = {}
    for pair in param or ():
        name, equals, value = _encodable(pair).partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(
                f"The parameter {pair!r} is not NAME=VALUE.", "Its place in the query is $NAME."
            )
        parameters[name] = value
        with contextlib.suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            parameters[name] = value if isinstance(parsed, list | dict) else parsed
    settings, query = load_settings(), " ".join(asked or ()) or None
    store = open_store(settings, live=live)
    if query is None and sys.stdin.isatty():
        note("A query ends with a semicolon. .help says more, .quit leaves.")
        prompt = _SqlConsole(
            lambda text: _write(_answer(store, text, parameters, form, seconds), form, None),
            names_in(store),
            settings.home / ".sql_history",
        )
        with contextlib.suppress(EOFError):
            prompt.interact(banner="", exitmsg="")
        return
    text = sys.stdin.read().strip() or None if query in {None, "-"} else query
    answer = _answer(store, _encodable(text or ".tables"), parameters, form, seconds)
    if b";" in _first_bytes(_encodable(text or "")).rstrip(b";"):
        # After the answer, because an error in one of the queries is more helpful.
        words = "The command answers one query at a time, and these are several."
        raise FactibleError(words, "Run them one by one, or join them with union all.")
    if text is None:
        note("Views and tables; query one with: factible sql 'from NAME limit 5'")
    _write(answer, form, output)


def _encodable(text: str) -> str:
    """Return text that UTF-8 can encode: a question mark replaces every lone surrogate."""
    return text.encode("utf-8", "replace").decode()


def _answer(
    store: Warehouse, text: str, parameters: dict[str, Any], form: Format, seconds: float
) -> Answer:
    """Answer a query or a dot command.

    Raises FactibleError: The query is wrong.
    """
    typed = form == "parquet"
    if text.startswith(".schema"):
        matched = _SCHEMA.match(text)
        if matched is None:
            raise FactibleError("Name a view: .schema NAME.", ".tables lists them.")
        return describe(store, matched["name"], typed=typed)
    if text.rstrip("; ") == ".tables":
        return describe(store, typed=typed)
    if text.startswith("."):
        words = f"There is no command {text.split(maxsplit=1)[0]}."
        raise FactibleError(words, "Use .tables or .schema NAME.")
    return ask(store, text, parameters, seconds=seconds, typed=typed)


def _write(answer: Answer, form: Format, output: Path | None) -> None:
    if form == "table":
        _draw(answer)
        if answer.names and not len(answer):
            note("no rows")
        return
    content = _encoded(answer, form)
    if output is not None:
        write_whole(output, content)
        note(f"{counted(len(answer), 'row')} written to {output}")
        return
    if sys.stdout.isatty():
        content = without_controls(content.decode()).encode()
    echo(content, nl=False)


def _draw(answer: Answer) -> None:
    """Print an answer as a table, or row by row if the screen is too narrow."""
    if not answer.names:
        return
    console = stdout()
    headings = [plain(name) for name in answer.names]
    rows = [[plain(_cell(value)) for value in row] for row in answer.rows]
    shown = table(headings, rows, bare=True)
    for name, column in zip(answer.names, shown.columns, strict=True):
        column.justify = "right" if name in answer.numbers else "left"
    width = _BETWEEN_COLUMNS + sum(
        (column.min_width or 0) + _BETWEEN_COLUMNS for column in shown.columns
    )
    if width <= console.width or not console.is_terminal:
        console.print(shown, crop=False)
        return
    for number, row in enumerate(rows, start=1):
        console.print(f"── row {number} ──", style="dim")
        console.print(grid(zip(headings, row, strict=True)))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value)


def _encoded(answer: Answer, form: Format) -> bytes:
    if form == "csv":
        return csv_of(answer.names, answer.rows)
    if len({*answer.names}) < len(answer.names):
        words = "Two columns of the answer have the same name."
        raise FactibleError(words, "Name them: select ... as NAME.")
    if form == "json":
        rows = [
            dict(zip(answer.names, map(with_text_keys, row), strict=True)) for row in answer.rows
        ]
        document = json.dumps(rows, ensure_ascii=False, indent=2, default=as_json)
        return f"{without_controls(document)}\n".encode()
    return _parquet(answer)


def _parquet(answer: Answer) -> bytes:
    # These imports take most of a second.
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    try:
        pq.write_table(pa.table({}) if answer.table is None else answer.table, content)
    except pa.ArrowException as error:
        words = f"The answer cannot be Parquet: {str(error).splitlines()[0].rstrip('.')}."
        raise FactibleError(words, "Convert such columns to text: NAME::text.") from error
    return content.getvalue()


# --- The prompt ------------------------------------------------------------------------------


def is_complete(text: str) -> bool:
    """Tell whether the text ends with a semicolon outside of strings and comments."""
    return _first_bytes(text).endswith(b";")


def _first_bytes(text: str) -> bytes:
    """Return the first byte of each SQL token; a semicolon in a string or comment is no token."""
    encoded = text.encode()
    return b"".join(encoded[place : place + 1] for place, _ in duckdb.tokenize(text))


class _SqlConsole(code.InteractiveConsole):
    """Answers queries and dot commands until the user leaves, and keeps them in a file."""

    def __init__(self, answer: Callable[[str], None], names: list[str], history: Path) -> None:
        super().__init__()
        self._answer, self._names, self._history = answer, names, history
        sys.ps1, sys.ps2 = "factible> ", "     ...> "
        if readline is not None:
            readline.set_auto_history(False)  # a query of several lines is one entry
            readline.set_history_length(_HISTORY_LENGTH)
            with contextlib.suppress(OSError):
                readline.read_history_file(history)
            readline.set_completer(self._complete)
            readline.set_completer_delims(" \t\n,;()=<>'\"")
            readline.parse_and_bind("tab: complete")

    def _complete(self, text: str, state: int) -> str | None:
        matching = [name for name in self._names if name.startswith(text.casefold())]
        return matching[state] if state < len(matching) else None

    def _remember(self, text: str) -> None:
        """Store a query now, because the process may end in any way."""
        if readline is not None:
            readline.add_history(" ".join(text.split()))
            with contextlib.suppress(OSError):
                self._history.unlink(missing_ok=True)  # never write through a stranger's link
                readline.write_history_file(self._history)

    def runsource(self, source: str, *_: str) -> bool:
        """Answer the typed lines, or return True to ask for more."""
        text = source.strip()
        if not text:
            return False
        if not text.startswith(".") and not is_complete(text):
            return True
        self._remember(text)
        command = text.rstrip("; ")
        if command in {".quit", ".exit", ".q"}:
            raise EOFError
        try:
            if command == ".help":
                echo(HELP)
            else:
                self._answer(text)
        except FactibleError as error:
            note(sentence(error))
        except KeyboardInterrupt:
            note("Stopped.")
        return False
