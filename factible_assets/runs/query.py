"""Runs read-only SQL over the warehouse, for untrusted people and programs.

A query reaches only the warehouse: no other file, address, extension or setting. It ends after a
time limit.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from factible_assets.errors import FactibleError
from factible_assets.records.stances import STANCES
from factible_assets.wording import OUTCOME_WORDS, plain
from resources.statements import statements
from warehouse.store import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

_SQL = statements("factible_assets.runs", "query.sql")
LONGEST_SECONDS = 300.0
_ERROR_PLACE = re.compile(r"LINE (?P<line>\d+): (?P<text>.*)\n(?P<caret> *)\^")
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT|NUMBER|DECIMAL|DOUBLE|FLOAT")
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query; a statement without an answer has no `names`.

    `numbers` are the numeric columns. For Parquet, `table` holds the rows with their types.
    """

    names: Sequence[str] = ()
    numbers: frozenset[str] = frozenset()
    rows: Sequence[tuple[Any, ...]] = ()
    table: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.rows) if self.table is None else self.table.num_rows


def names_in(store: Warehouse) -> list[str]:
    """Return the names of all views, tables and columns, for completion."""
    return [str(name) for (name,) in ask(store, _SQL["names"], {}).rows]


def describe(store: Warehouse, name: str | None = None, *, typed: bool = False) -> Answer:
    """List the views and tables, or the columns of one, with their comments.

    Raises FactibleError: There is no view or table of this name.
    """
    if name is None:
        return ask(store, _SQL["tables"], {}, typed=typed)
    columns = ask(store, _SQL["schema"], {"name": name}, typed=typed)
    if not len(columns):
        words = f"There is no view or table {plain(name, 60)}."
        raise FactibleError(words, "factible sql .tables lists them.")
    return columns


def ask(
    store: Warehouse,
    query: str,
    parameters: Mapping[str, Any],
    *,
    seconds: float = LONGEST_SECONDS,
    most_rows: int | None = None,
    typed: bool = False,
) -> Answer:
    """Run a query for at most `seconds`; 0 means no limit. If `typed`, return an Arrow table.

    Raises FactibleError: The query is wrong, or takes too long.
    """
    try:
        if "enable_logging" in query.casefold():
            # Without access to files, DuckDB would end the whole process over its log.
            raise duckdb.PermissionException("no log is written")
        with store.connection(read_only=True) as connection:
            _refuse_unknown_words(connection, query, parameters)
            # A lake grants access to its folder, where COPY could write.
            if any(
                statement.type.name == "COPY" for statement in connection.extract_statements(query)
            ):
                raise duckdb.PermissionException("COPY")
            # DuckDB ignores Ctrl-C in its own thread, so the query runs in another.
            stopped = threading.Event()
            with ThreadPoolExecutor(1) as worker:
                future = worker.submit(
                    _fetch, connection, query, parameters, stopped, most_rows, typed=typed
                )
                try:
                    return future.result(seconds or None)
                except (KeyboardInterrupt, TimeoutError):
                    stopped.set()
                    connection.interrupt()
                    raise
    except TimeoutError as error:
        words = f"The query had no answer after {seconds:g} seconds."
        remedy = "Give each join a condition, or raise the limit: --seconds N, 0 for none."
        raise FactibleError(words, remedy) from error
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.Error as error:
        raise FactibleError(*_problem(error)) from error
    except MemoryError as error:
        words = "The answer does not fit into memory."
        raise FactibleError(words, "Add a condition or a limit.") from error


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, Any],
    stopped: threading.Event,
    most_rows: int | None,
    *,
    typed: bool,
) -> Answer:
    connection.execute(query, dict(parameters))
    columns = connection.description or ()
    if typed and columns:
        return Answer([str(name) for name, *_ in columns], table=connection.to_arrow_table())
    rows: list[tuple[Any, ...]] = []
    while columns and not stopped.is_set():
        wanted = _ROWS_AT_ONCE if most_rows is None else most_rows - len(rows)
        batch = connection.fetchmany(min(_ROWS_AT_ONCE, wanted))
        rows += batch
        if len(batch) < _ROWS_AT_ONCE:
            break
    numbers = (str(name) for name, kind, *_ in columns if _NUMERIC.match(str(kind)))
    return Answer([str(column[0]) for column in columns], frozenset(numbers), rows)


def _problem(error: Exception) -> tuple[str, str]:
    """Return a sentence on the error, with its place in the query, and a remedy."""
    words, kind = str(error).partition("Stack Trace:")[0].strip(), type(error).__name__
    if "read-only mode" in words:
        return (
            "The query would change the warehouse, which is read-only here.",
            "To store an answer, use --output FILE.",
        )
    if kind == "PermissionException" or "configuration has been locked" in words:
        return (
            "A query reaches only the warehouse: no other file, address, extension or setting.",
            "To store an answer, use --output FILE. factible export writes Parquet.",
        )
    remedies = {
        "CatalogException": "factible sql .tables lists the views and tables.",
        "BinderException": "factible sql '.schema NAME' lists the columns of a view.",
        "ParserException": "Correct it there, or just before.",
        "ConversionException": "try_cast converts, and gives null if it cannot.",
    }
    remedy = remedies.get(kind, "factible sql .tables lists the names.")
    if "parameter" in words.casefold():
        remedy = "Give one -p NAME=VALUE for each $NAME, and no others."
    place = _ERROR_PLACE.search(words)
    where = f" at {_position(place)}" if place else ""
    message = words[: place.start()] if place else words
    before, colon, rest = message.partition("Error: ")
    message = " ".join((rest if colon else before).split()).rstrip(".!")
    message = message if message.endswith("?") else f"{message}."
    return f"The query failed{where}: {message}", remedy


def _position(place: re.Match[str]) -> str:
    """Return the line and the column that DuckDB's caret marks."""
    offset, text = len(place["caret"]) - len(f"LINE {place['line']}: "), place["text"]
    if not text.startswith("..."):
        return f"line {place['line']}, column {offset + 1}"
    # DuckDB shortens long lines on both sides, so the column would be wrong.
    return f"line {place['line']}, near {text[max(0, offset) :].split(' ')[0]!r}"


# --- Verdicts and stances in a query -----------------------------------------------------------
# A verdict is `refuted`, and a page `refutes`. DuckDB answers `stance = 'refuted'` with no rows,
# also for an ENUM column, so the mistake would look like a finding.

_VALID_WORDS = {"stance": tuple(STANCES), "verdict": tuple(OUTCOME_WORDS.values())}
_COUNTERPARTS: dict[str, str] = {label.word: label.name for label in STANCES.values()}
_COUNTERPARTS |= {label.name: label.word for label in STANCES.values()}


def _refuse_unknown_words(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any]
) -> None:
    """Raise FactibleError if a query compares a verdict or a stance with a word that is none."""
    with suppress(duckdb.Error):  # the query's own run reports an error better
        compared = connection.execute(_SQL["compared"], {"query": query}).fetchall()
        for column, word, parameter in compared:
            value = parameters.get(parameter) if parameter else word
            known = _VALID_WORDS[column.rpartition("_")[2]]
            if isinstance(value, str) and value not in known:
                meant = _COUNTERPARTS.get(value.casefold())
                hint = f"Write '{meant}'; its words are" if meant in known else "Its words are"
                never = f"The column {column} never holds '{plain(value, 40)}'."
                raise FactibleError(f"{never} {hint} {', '.join(known)}.")
