"""Publishing: a consistent copy of a DuckDB file, swapped in for readers in one step.

What belongs here: making the copy and moving it to its place. What does not: the lock under which
that happens (store.py).

A copy is made beside its place and moved there, so that a reader finds the old copy or the new one
and never a part of one; whoever has the old one open goes on reading it. It is read-only, as
whatever someone wrote into it would be gone with the next one.

The first copies are made as a whole, by DuckDB, table by table and with views, constraints and
comments. The one that a new copy displaces is kept as a spare, and brought up to date to be the
next one: what changed is read from the two files themselves, so that nothing has to be noted when
rows are written, and a file that was interrupted tells what it lacks. A spare that someone still
reads is left to them, and a whole copy is made: nobody waits. docs/performance.md holds this
against the alternatives. Copying the bytes of the live file is none: a second handle on it, once
closed, takes DuckDB's lock with it (see connection.py).
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from factible_assets.records import ALL_RECORDS, PageText
from resources.statements import statements
from warehouse import errors
from warehouse.connection import LARGE_FILE_BYTES, FileConnector, trouble_with

_ASK = statements("warehouse", "publication.sql")
_OF_SETS = {"materializations", "service_uses", *(each.table for each in ALL_RECORDS)}
_OPEN_FILES = Path("/dev/fd")


def publish_copy(
    connection: duckdb.DuckDBPyConnection,
    source: Path,
    destination: Path,
    *,
    only_added_to: str | None = None,
) -> None:
    """Put what the database of a connection holds at a path, for readers.

    `only_added_to` is the one table to which the caller has added rows; what others have written
    meanwhile may then wait for the next copy.

    Raises WarehouseError: The copy that is there holds what the database does not, the database
    cannot be read to its end, or the copy cannot be written.
    """
    missing = entries_beyond(connection, destination)
    if missing:
        raise errors.WarehouseError(
            f"The published copy {destination} was not replaced: it holds {missing:,} entries "
            f"(sets of rows, acts of reviewers) that the warehouse {source} does not. Put it back "
            "in its place with: factible restore. Or move it away, and it is made anew."
        )
    unfinished = destination.with_name(f".{destination.name}.publishing")
    previous = destination.with_name(f".{destination.name}.previous")
    spare = destination.with_name(f".{destination.name}.spare")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        # A publication that was killed may have left these behind.
        remove_database(unfinished)
        previous.unlink(missing_ok=True)
        is_spare_to_be = destination.exists() and destination.stat().st_size >= LARGE_FILE_BYTES
        if only_added_to and destination.exists() and not is_spare_to_be:
            # Of a spare to be, another handle in this process would take the lock away.
            shutil.copyfile(destination, unfinished)
            is_done = _bring_up_to_date(connection, unfinished, only_added_to)
        else:
            is_free = _is_free(spare)
            is_done = is_free and _bring_up_to_date(connection, spare.replace(unfinished))
        if not is_done:
            remove_database(unfinished)
            copy_database(connection, unfinished)
        unfinished.chmod(0o444)
        spare.unlink(missing_ok=True)
        # Not there before the first copy, nor where a file system has no hard links.
        with suppress(OSError):
            if destination.stat().st_size >= LARGE_FILE_BYTES:
                previous.hardlink_to(destination)
        # A write-ahead log beside the old copy would be replayed into the new one.
        wal_of(destination).unlink(missing_ok=True)
        unfinished.replace(destination)
        with suppress(OSError):
            previous.replace(spare)
    except (OSError, duckdb.Error) as failure:
        with suppress(OSError):
            remove_database(unfinished)
        trouble = trouble_with(source, failure)
        if isinstance(trouble, errors.NoRoomError):
            trouble = errors.NoRoomError(destination)
        raise trouble or errors.WarehouseNotWritableError(destination, str(failure)) from failure


def entries_beyond(connection: duckdb.DuckDBPyConnection, copy: Path) -> int:
    """Count what a copy holds and the database does not; none if the copy cannot be read."""
    if not copy.exists():
        return 0
    ((source,),) = connection.execute(_ASK["source"]).fetchall()
    try:
        connection.execute(_ASK["attach"].format(path=str(copy).replace("'", "''")))
    except duckdb.Error:
        return 0
    try:
        beyond = _ASK["beyond"].format(source=source.replace('"', '""'))
        ((count,),) = connection.execute(beyond).fetchall()
    except duckdb.Error:
        return 0
    finally:
        connection.execute(_ASK["detach"])
    return int(count)


def _is_free(copy: Path) -> bool:
    """Tell whether a copy is there that this process does not read: its own locks let it in."""
    if not copy.exists() or not (_OPEN_FILES.is_dir() or os.name == "nt"):
        return False
    place = copy.stat()
    for each in _OPEN_FILES.iterdir() if _OPEN_FILES.is_dir() else ():
        # A descriptor that was just closed leads nowhere.
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(each.name)), place):
                return False
    return True


def _bring_up_to_date(
    connection: duckdb.DuckDBPyConnection, copy: Path, only_added_to: str | None = None
) -> bool:
    """Change in an older copy what changed since; False where a whole copy has to be made."""
    copy.chmod(0o644)
    ((source,),) = connection.execute(_ASK["source"]).fetchall()

    def ask(question: str, table: str = "", **values: object) -> list[tuple[Any, ...]]:
        named = {"source": source.replace('"', '""'), "table": table}
        return connection.execute(_ASK[question].format(**named), values).fetchall()

    try:
        # Refused where another process still reads it.
        connection.execute(_ASK["attach_copy"].format(path=str(copy).replace("'", "''")))
    except duckdb.Error:
        return False
    try:
        if ask("other_schema"):
            return False
        ask("changed_sets")
        ((first, last, again),) = ask("changed_moments")
        moments = {"first": first, "last": last}
        connection.begin()
        every = [table for (table,) in ask("tables", name=source)]
        tables = [only_added_to] if only_added_to else every
        for table in tables:
            if table not in _OF_SETS:
                ask("remove_others", table)
                ask("add_others", table)
                continue
            if again and table != PageText.table:
                ask("remove_sets", table)
            ask("add_texts" if table == PageText.table else "add_sets", table, **moments)
            # Rows beside the sets: calls of checks that came to nothing.
            if table != PageText.table and ask("uneven", table):
                ask("remove_uneven", table)
                ask("add_missing", table)
        # Texts that were trimmed are uneven: a whole copy gives their room back.
        is_whole = not any(ask("uneven", table) for table in tables)
        if is_whole:
            connection.commit()
            connection.execute(_ASK["checkpoint_copy"])
    except duckdb.Error:
        return False
    finally:
        # Nothing to roll back where it was committed.
        with suppress(duckdb.Error):
            connection.rollback()
        connection.execute(_ASK["detach_copy"])
    return is_whole


def restore_copy(copy: Path, path: Path, *, moment: datetime) -> Path | None:
    """Put a published copy in the place of the warehouse; return where what was there lies now.

    Raises WarehouseError: The copy is damaged itself, or there is no room; nothing was changed.
    """
    bytes_of_copy = path.with_name(f".{path.name}.published")
    unfinished = path.with_name(f".{path.name}.restoring")
    aside = path.with_name(f"{path.name}.replaced-{moment:%Y%m%dT%H%M%SZ}")
    try:
        # Of its own, for the copy is read-only; and read to its end, so that damage is found now.
        for left in (bytes_of_copy, unfinished):
            remove_database(left)
        shutil.copyfile(copy, bytes_of_copy)
        with FileConnector(bytes_of_copy).connect() as connection:
            copy_database(connection, unfinished)
        if not path.exists():
            unfinished.replace(path)
            return None
        if wal_of(path).exists():
            wal_of(path).replace(wal_of(aside))
        path.replace(aside)
        unfinished.replace(path)
    except errors.NotAWarehouseError as failure:
        raise errors.WarehouseError(
            f"The published copy {copy} is damaged itself, so nothing was restored. Put a backup "
            "of the warehouse in its place, and run the command again."
        ) from failure
    except (OSError, duckdb.Error) as failure:
        trouble = trouble_with(path, failure) or errors.WarehouseNotWritableError(
            path, str(failure)
        )
        raise trouble from failure
    finally:
        remove_database(bytes_of_copy)
        remove_database(unfinished)
    return aside


def copy_database(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
    """Copy the database of a connection into a new file, tables, views and comments included."""
    ((source,),) = connection.execute(_ASK["source"]).fetchall()
    # Neither ATTACH nor COPY FROM DATABASE takes parameters.
    path = str(destination).replace("'", "''")
    name = source.replace('"', '""')
    for step in ("attach_copy", "copy", "detach_copy"):
        connection.execute(_ASK[step].format(path=path, source=name))


def wal_of(path: Path) -> Path:
    """Return where DuckDB keeps the write-ahead log of a file."""
    return path.with_name(f"{path.name}.wal")


def remove_database(path: Path) -> None:
    """Remove a file with its write-ahead log, as far as they are there."""
    path.unlink(missing_ok=True)
    wal_of(path).unlink(missing_ok=True)
