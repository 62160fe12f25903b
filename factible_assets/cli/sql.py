"""`factible sql`: questions to the warehouse, in SQL, and its answers as tables and files.

What belongs here: reading the query and its parameters, asking, saying what is wrong with a query,
forms of an answer, the prompt where questions are typed one after another. What does not: the
connection (warehouse/), views (warehouse/views).

Text in an answer may come from any page of the web. In a table, and in anything that a terminal
shows, control characters never reach the terminal: an escape sequence could move its cursor, set
its title or say what is not there. Files get the text as it is; only in CSV, text that a
spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import duckdb
from rich.console import Console
from typer import Argument, Option, echo

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
from factible_assets.cli.vocabulary import refuse_unknown_stances
from factible_assets.errors import FactibleError, UsageError
from factible_assets.exchange.tables import csv_of, with_text_keys
from factible_assets.files import write_whole
from factible_assets.runs.targets import open_store
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain
from resources.statements import statements
from warehouse.store import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_SQL = statements("factible_assets.cli", "sql.sql")
_PLACE = re.compile(r"LINE (?P<line>\d+): (?P<text>.*)\n(?P<caret> *)\^")
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT|NUMBER|DECIMAL|DOUBLE|FLOAT")
_ROWS_AT_ONCE = 10_000
_LONGEST_SECONDS = 300.0
_FILE_WIDTH = 200
_LONG_WORD = 24
"""Words of up to so many characters are not broken; longer ones, such as addresses, may be."""
_BETWEEN_COLUMNS = 3

HELP = """\
A question ends with a semicolon and may take several lines.
  .tables         the views and tables, with what they hold
  .schema NAME    the columns of one, with what they mean
  .help           this text
  .quit           leave; so does Ctrl-D
Ctrl-C drops what was typed, or stops the question that is being answered."""

_FIRST, _NEXT = "factible> ", "     ...> "
_HISTORY_LENGTH = 1_000
_SCHEMA = re.compile(r"\.schema\s+(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*;?\s*$")


Format: TypeAlias = Literal["table", "csv", "json", "parquet"]
"""How an answer is written."""


def sql(
    query: Annotated[
        str | None,
        Argument(
            help="A query, .tables or .schema NAME. Without one it is read from stdin; "
            "on a terminal a prompt opens."
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="A value for $NAME. JSON numbers, true, false and null are such; else it is text.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        Option("--format", "-f", help="How to write the answer; a table if not given."),
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
    seconds: Annotated[
        float, Option(min=0, help="How long to wait for the answer; 0: without a limit.")
    ] = _LONGEST_SECONDS,
    live: Annotated[bool, Option("--live", help="Ask the live warehouse, not the copy.")] = False,
) -> None:
    """Ask the warehouse a question in SQL; nothing can be changed, and no other file is reached.

    The published copy answers, so that no run is held up; the live warehouse where there is none.
    The views have stable names: factible sql .tables lists them, .schema NAME their columns.

    Example: factible sql "select stance, count(*) from current_verdicts group by all"

    Example: factible sql -p video=my-talk 'from current_claims where video_id = $video'
    """
    if output_mode.json and form not in {None, "json"}:
        words = f"--json and --format {form} say how to write the answer."
        raise UsageError(words, "Give one of them.")
    form = "json" if output_mode.json else form or "table"
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is no text for a terminal.", "Name a file with --output.")
    given: dict[str, Any] = {}
    for pair in param or ():
        name, equals, value = _storable(pair).partition("=")
        if not equals or not name.isidentifier():
            words = f"The parameter {pair!r} cannot be used."
            raise UsageError(words, "Write NAME=VALUE, and $NAME in the query.")
        given[name] = value
        with contextlib.suppress(ValueError, RecursionError):
            read = json.loads(value)
            given[name] = value if isinstance(read, list | dict) else read
    settings = load_settings()
    store = open_store(settings, live=live)
    if query is None and sys.stdin.isatty():
        _talk(store, form, given, seconds, settings.home / ".sql_history")
        return
    text = sys.stdin.read().strip() or None if query in {None, "-"} else query
    answer = _answer(store, _storable(text or ".tables"), given, form, seconds)
    if b";" in _beginnings(_storable(text or "")).rstrip(b";"):
        # Only now, for what is wrong with one of them says more.
        words = "These are several questions, and one is answered at a time."
        raise FactibleError(words, "Ask each by itself, or join them with union all.")
    if text is None:
        note("Views and tables; ask one with: factible sql 'from NAME limit 5'")
    _write(answer, form, output)


def _storable(text: str) -> str:
    """Return text of which all can be UTF-8: bytes of another encoding become question marks."""
    return text.encode("utf-8", "replace").decode()


def _answer(
    store: Warehouse, text: str, parameters: dict[str, Any], form: Format, seconds: float
) -> Answer:
    """Answer a query or a dot command, from the newest copy.

    Raises FactibleError: The query is wrong.
    """
    if text.startswith(".schema"):
        named = _SCHEMA.match(text)
        if named is None:
            raise FactibleError("Of which view?", "Write .schema NAME; .tables lists them.")
        columns = _ask(store, _SQL["schema"], named.groupdict(), form)
        if not len(columns):
            words = f"There is no view or table {named['name']}."
            raise FactibleError(words, "All: factible sql .tables")
        return columns
    if text.rstrip("; ") == ".tables":
        return _ask(store, _SQL["tables"], {}, form)
    if text.startswith("."):
        words = f"There is no command {text.split(maxsplit=1)[0]}."
        raise FactibleError(words, "Use .tables or .schema NAME.")
    refuse_unknown_stances(text, parameters)
    return _ask(store, text, parameters, form, seconds)


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that answer a question, without names if it asked nothing.

    `numbers` are the numeric columns. For Parquet, which keeps the types of columns, `table` has
    the rows as a table of Arrow.
    """

    names: Sequence[str] = ()
    numbers: frozenset[str] = frozenset()
    rows: Sequence[tuple[Any, ...]] = ()
    table: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.rows) if self.table is None else self.table.num_rows


def _ask(
    store: Warehouse,
    query: str,
    parameters: dict[str, Any],
    form: Format,
    seconds: float = _LONGEST_SECONDS,
) -> Answer:
    """Return the answer to a query.

    Raises FactibleError: The query is wrong, or has no answer after so many seconds; 0: no limit.
    """
    try:
        if "enable_logging" in query.casefold():
            # Where files are shut off, DuckDB ends the whole process over its own log.
            raise duckdb.PermissionException("no log is written")
        # Executed, not made a relation of: only so does DuckDB say where a query is wrong.
        with store.connection(read_only=True) as connection:
            # A lake's files may be reached, to be read: none is to be written beside them.
            if any(each.type.name == "COPY" for each in connection.extract_statements(query)):
                raise duckdb.PermissionException("COPY")
            # DuckDB hears no Ctrl-C in the thread in which it executes.
            stopped = threading.Event()
            with ThreadPoolExecutor(1) as worker:
                asked = worker.submit(_fetch, connection, query, parameters, form, stopped)
                try:
                    return asked.result(seconds or None)
                except (KeyboardInterrupt, TimeoutError):
                    stopped.set()
                    connection.interrupt()
                    raise
    except TimeoutError as error:
        words = f"The question was stopped: it had no answer after {seconds:g} seconds."
        remedy = "Give each join a condition, or wait longer: --seconds N; 0 for no limit."
        raise FactibleError(words, remedy) from error
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.Error as error:
        raise FactibleError(*_problem(error)) from error
    except MemoryError as error:
        words = "The answer is larger than the memory."
        raise FactibleError(words, "Narrow it down: with a condition, or limit.") from error


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: dict[str, Any],
    form: Format,
    stopped: threading.Event,
) -> Answer:
    connection.execute(query, parameters)
    columns = connection.description or ()
    if form == "parquet" and columns:
        return Answer([str(name) for name, *_ in columns], table=connection.to_arrow_table())
    rows: list[tuple[Any, ...]] = []
    while columns and not stopped.is_set():
        some = connection.fetchmany(_ROWS_AT_ONCE)
        rows += some
        if len(some) < _ROWS_AT_ONCE:
            break
    numbers = (str(name) for name, kind, *_ in columns if _NUMERIC.match(str(kind)))
    return Answer([str(column[0]) for column in columns], frozenset(numbers), rows)


def _problem(error: Exception) -> tuple[str, str]:
    """Say what is wrong with a query, where, and what to do: a sentence and a remedy."""
    words, kind = str(error).partition("Stack Trace:")[0].strip(), type(error).__name__
    if "read-only mode" in words:
        return (
            "The warehouse is open for reading only, and the query would change it.",
            "The pipeline alone writes; to keep an answer, give --output FILE.",
        )
    if kind == "PermissionException" or "configuration has been locked" in words:
        return (
            "A question reaches the warehouse alone: no other file, address, extension or setting.",
            "To keep an answer, give --output FILE; Parquet for other programs: factible export",
        )
    remedies = {
        "CatalogException": "The views and tables: factible sql .tables",
        "BinderException": "The columns of a view: factible sql '.schema NAME'",
        "ParserException": "Correct it there, or just before.",
        "ConversionException": "Convert it with try_cast, which gives null where it cannot.",
    }
    remedy = remedies.get(kind, "The names: factible sql .tables")
    if "parameter" in words.casefold():
        remedy = "Give a value for each $NAME with -p NAME=VALUE, and none besides."
    place = _PLACE.search(words)
    where = ""
    if place:
        offset, text = len(place["caret"]) - len(f"LINE {place['line']}: "), place["text"]
        # DuckDB shortens a long line on both sides, and what is left no longer counts columns.
        near = f"near {text[max(0, offset) :].split(' ')[0]!r}"
        column = near if text.startswith("...") else f"column {offset + 1}"
        where = f" at line {place['line']}, {column}"
    message = words[: place.start()] if place else words
    before, colon, rest = message.partition("Error: ")
    message = " ".join((rest if colon else before).split()).rstrip(".!")
    message = message if message.endswith("?") else f"{message}."
    return f"The query failed{where}: {message}", remedy


def _write(answer: Answer, form: Format, output: Path | None) -> None:
    if form == "table" and output is None:
        _draw(answer, stdout())
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


def _draw(answer: Answer, console: Console) -> None:
    """Draw an answer as a table; on a screen too narrow for its words, as a list of rows."""
    if not answer.names:
        return
    headings = [plain(name) for name in answer.names]
    rows = [[plain(_cell(value)) for value in row] for row in answer.rows]
    numbers = {plain(name) for name in answer.numbers}
    drawn = table(headings, rows, numbers=numbers, bare=True)
    needed = _BETWEEN_COLUMNS
    for place, column in enumerate(drawn.columns):
        words = (word for row in (headings, *rows) for word in row[place].split())
        column.min_width = min(_LONG_WORD, max(map(len, words), default=1))
        needed += column.min_width + _BETWEEN_COLUMNS
    if needed <= console.width or not console.is_terminal:
        console.print(drawn, width=max(needed, console.width), crop=False)
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
    if form == "table":
        text = io.StringIO()
        plainly: dict[str, Any] = dict.fromkeys(("highlight", "markup", "emoji"), False)
        _draw(answer, Console(file=text, width=_FILE_WIDTH, color_system=None, **plainly))
        return text.getvalue().encode()
    if form == "csv":
        return csv_of(answer.names, answer.rows)
    if len({*answer.names}) < len(answer.names):
        words = "Two columns of the answer have the same name."
        raise FactibleError(words, "Name each column: select ... as NAME.")
    if form == "json":
        rows = [
            dict(zip(answer.names, map(with_text_keys, row), strict=True)) for row in answer.rows
        ]
        document = json.dumps(rows, ensure_ascii=False, indent=2, default=as_json)
        return f"{without_controls(document)}\n".encode()
    # Loaded here, because it takes most of a second.
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    try:
        pq.write_table(pa.table({}) if answer.table is None else answer.table, written)
    except pa.ArrowException as error:
        words = f"The answer cannot be Parquet: {str(error).splitlines()[0].rstrip('.')}."
        raise FactibleError(words, "Convert the odd columns: NAME::text.") from error
    return written.getvalue()


# --- The prompt ------------------------------------------------------------------------------


def is_complete(text: str) -> bool:
    """Tell whether a statement ends here: with a semicolon that is in no text and no comment."""
    return _beginnings(text).endswith(b";")


def _beginnings(text: str) -> bytes:
    """Return the first byte of each word and sign: semicolons in texts and comments are none."""
    written = text.encode()
    return b"".join(written[place : place + 1] for place, _ in duckdb.tokenize(text))


def _talk(
    store: Warehouse, form: Format, given: dict[str, Any], seconds: float, history: Path
) -> None:
    """Answer what is typed until the user leaves; the file `history` keeps what was asked."""
    names = [str(name) for (name,) in _ask(store, _SQL["names"], {}, "table").rows]
    note("Questions end with a semicolon; .help says more, .quit leaves.")
    remember = _line_editing(names, history)
    for text in _statements():
        remember(text)
        command = text.rstrip("; ")
        if command in {".quit", ".exit", ".q"}:
            return
        try:
            if command == ".help":
                echo(HELP)
            else:
                _write(_answer(store, text, given, form, seconds), form, None)
        except FactibleError as error:
            note(sentence(error))
        except KeyboardInterrupt:
            note("Stopped.")


def _statements() -> Iterator[str]:
    lines: list[str] = []
    while True:
        try:
            line = input(_NEXT if lines else _FIRST)
        except KeyboardInterrupt:
            lines = []
            note("")
            continue
        except EOFError:
            note("")
            return
        lines.append(line)
        text = "\n".join(lines).strip()
        if not text:
            lines = []
        elif text.startswith(".") or is_complete(text):
            lines = []
            yield text


def _line_editing(names: list[str], history: Path) -> Callable[[str], None]:
    """Edit lines with history and names, if there is a library for it; return what remembers."""
    try:
        import readline
    except ImportError:  # Python on Windows has none
        return lambda text: None
    # What is typed at other prompts of this process is not a question in SQL.
    readline.set_auto_history(False)
    readline.set_history_length(_HISTORY_LENGTH)
    with contextlib.suppress(OSError):
        readline.read_history_file(history)

    def complete(text: str, state: int) -> str | None:
        matching = [name for name in names if name.startswith(text.casefold())]
        return matching[state] if state < len(matching) else None

    def remember(text: str) -> None:
        # One entry per statement, whatever lines it was typed on; kept whatever ends the prompt.
        readline.add_history(" ".join(text.split()))
        with contextlib.suppress(OSError):
            history.unlink(missing_ok=True)  # Not through a link of somebody else's working folder.
            readline.write_history_file(history)

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,;()=<>'\"")
    readline.parse_and_bind("tab: complete")
    return remember
