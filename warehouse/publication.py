"""Publishing: a consistent, read-only copy of a DuckDB file, moved into place in one step.

The copy begins under another name. So a reader finds the old copy or the new one, and a reader
that has the old one open keeps it.

DuckDB makes the first copies as a whole: tables, views, constraints and comments. Once a copy is
large, the one that it displaces becomes a spare, which the next publication brings up to date. It
compares the two files, so that writers need no log, and an interrupted update needs no repair. If a
reader still has the spare open, it makes a whole copy instead. docs/performance.md compares the
alternatives. It never copies the bytes of the live file: closing a second handle on it would lose
DuckDB's lock (connection.py).
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from factible_assets.records.tables import ALL_RECORDS, PageText
from resources.statements import statements
from warehouse import errors
from warehouse.connection import LARGE_FILE_BYTES, escaped, trouble_with

_SQL = statements("warehouse", "publication.sql")
_OF_SETS = {"materializations", "service_uses", *(record.table for record in ALL_RECORDS)}
_OPEN_FILES = Path("/dev/fd")


def publish_copy(
    connection: duckdb.DuckDBPyConnection,
    source: Path,
    destination: Path,
    *,
    only_added_to: str | None = None,
) -> None:
    """Publish the database of a connection at a path.

    If the caller has only added rows to the table `only_added_to`, other new rows may wait for the
    next publication.

    Raises WarehouseError: The existing copy has rows that the database lacks, the database is
    damaged, or the copy cannot be written.
    """
    missing = entries_beyond(connection, destination)
    if missing:
        raise errors.WarehouseError(
            f"The published copy {destination} was not replaced: it holds {missing:,} entries "
            f"(sets of rows, actions of reviewers) that the warehouse {source} lacks. Put it back "
            "in its place with: factible restore. Or move it away, and publish again."
        )
    unfinished = destination.with_name(f".{destination.name}.publishing")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        remove_database(unfinished)  # a killed publication may have left it behind
        if not _update_older_copy(connection, destination, unfinished, only_added_to):
            remove_database(unfinished)
            copy_database(connection, unfinished)
        unfinished.chmod(0o444)
        _swap_in(unfinished, destination)
    except (OSError, duckdb.Error) as failure:
        with suppress(OSError):
            remove_database(unfinished)
        trouble = trouble_with(source, failure)
        if isinstance(trouble, errors.NoRoomError):
            trouble = errors.NoRoomError(destination)
        raise trouble or errors.WarehouseNotWritableError(destination, str(failure)) from failure


def _update_older_copy(
    connection: duckdb.DuckDBPyConnection,
    destination: Path,
    unfinished: Path,
    only_added_to: str | None,
) -> bool:
    """Bring the spare, or a copy of a small published copy, up to date as `unfinished`.

    Returns false if only a whole copy will do.
    """
    # A large published copy becomes a spare: a second handle on it would lose DuckDB's lock.
    if only_added_to and destination.exists() and not _is_large(destination):
        shutil.copyfile(destination, unfinished)
        return _bring_up_to_date(connection, unfinished, only_added_to)
    spare = _spare_of(destination)
    return _is_free(spare) and _bring_up_to_date(connection, spare.replace(unfinished))


def _swap_in(unfinished: Path, destination: Path) -> None:
    """Move a finished copy into place, and keep a large displaced one as a spare."""
    previous = destination.with_name(f".{destination.name}.previous")
    previous.unlink(missing_ok=True)
    _spare_of(destination).unlink(missing_ok=True)
    # Fails before the first copy, and on file systems without hard links.
    with suppress(OSError):
        if _is_large(destination):
            previous.hardlink_to(destination)
    # DuckDB would replay the write-ahead log of the old copy into the new one.
    wal_of(destination).unlink(missing_ok=True)
    unfinished.replace(destination)
    with suppress(OSError):
        previous.replace(_spare_of(destination))


def _spare_of(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.spare")


def _is_large(copy: Path) -> bool:
    return copy.stat().st_size >= LARGE_FILE_BYTES


def entries_beyond(connection: duckdb.DuckDBPyConnection, copy: Path) -> int:
    """Count the entries that a copy has and the database lacks; 0 for an unreadable copy."""
    if not copy.exists():
        return 0
    try:
        connection.execute(_SQL["attach"].format(path=escaped(copy)))
    except duckdb.Error:
        return 0
    try:
        beyond = _SQL["beyond"].format(source=_source(connection))
        ((count,),) = connection.execute(beyond).fetchall()
    except duckdb.Error:
        return 0
    finally:
        connection.execute(_SQL["detach"])
    return int(count)


def _is_free(copy: Path) -> bool:
    """Tell whether a copy exists, and this process does not have it open."""
    if not copy.exists() or not (_OPEN_FILES.is_dir() or os.name == "nt"):
        return False
    status = copy.stat()
    for descriptor in _OPEN_FILES.iterdir() if _OPEN_FILES.is_dir() else ():
        # Another thread may have closed the descriptor since.
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(descriptor.name)), status):
                return False
    return True


def _bring_up_to_date(
    connection: duckdb.DuckDBPyConnection, copy: Path, only_added_to: str | None = None
) -> bool:
    """Apply all changes to an older copy; return false if only a whole copy will do."""
    copy.chmod(0o644)
    source = _source(connection)

    def run(statement: str, table: str = "", **values: object) -> list[tuple[Any, ...]]:
        sql = _SQL[statement].format(source=source, table=table)
        return connection.execute(sql, values).fetchall()

    try:
        # Fails if another process still reads the copy.
        connection.execute(_SQL["attach_copy"].format(path=escaped(copy)))
        if run("other_schema"):
            return False
        run("changed_sets")
        ((first, last, has_rewritten),) = run("changed_moments")
        moments = {"first": first, "last": last}
        connection.begin()
        tables = [(only_added_to,)] if only_added_to else run("tables", name=source)
        for (table,) in tables:
            if table == PageText.table:
                run("add_texts", table, **moments)
            elif table in _OF_SETS:
                if has_rewritten:
                    run("remove_sets", table)
                run("add_sets", table, **moments)
                # Rows without a set, such as model calls of failed runs.
                if run("uneven", table):
                    run("remove_uneven", table)
                    run("add_missing", table)
            else:
                run("remove_others", table)
                run("add_others", table)
        # Without trimmed texts the counts differ, and a whole copy saves their space.
        is_whole = not any(run("uneven", table) for (table,) in tables)
        if is_whole:
            connection.commit()
            connection.execute(_SQL["checkpoint_copy"])
    except duckdb.Error:
        return False
    finally:
        # After a commit there is nothing to roll back.
        with suppress(duckdb.Error):
            connection.rollback()
        connection.execute(_SQL["detach_copy"])
    return is_whole


def copy_database(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
    """Copy the database of a connection into a new file, with views and comments."""
    names = {"path": escaped(destination), "source": _source(connection)}
    for step in ("attach_copy", "copy", "detach_copy"):
        connection.execute(_SQL[step].format(**names))


def _source(connection: duckdb.DuckDBPyConnection) -> str:
    ((name,),) = connection.execute(_SQL["source"]).fetchall()
    return str(name).replace('"', '""')


def wal_of(path: Path) -> Path:
    """Return the path of DuckDB's write-ahead log for a file."""
    return path.with_name(f"{path.name}.wal")


def remove_database(path: Path) -> None:
    """Delete a file and its write-ahead log, if they exist."""
    path.unlink(missing_ok=True)
    wal_of(path).unlink(missing_ok=True)
