"""Publishing: a consistent copy of a DuckDB file, swapped in for readers in one step.

What belongs here: making the copy and moving it to its place. What does not: the lock under which
that happens (store.py).

The copy is made beside its place and moved there, so that a reader finds the old copy or the new
one and never a part of one; whoever has the old one open goes on reading it. It is made read-only,
as whatever someone wrote into it would be gone with the next one.

DuckDB itself copies, table by table and with views, constraints and comments. Copying the file's
bytes would be about four times as fast, but a second handle on the live file, once closed, takes
DuckDB's lock with it (see connection.py); and this way the space of replaced rows is left behind.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb

from resources.statements import statements
from warehouse.connection import FileConnector, trouble_with
from warehouse.errors import (
    DamagedWarehouseError,
    NoRoomError,
    NotAWarehouseError,
    WarehouseError,
    WarehouseNotWritableError,
    WiderCopyError,
)

_ASK = statements("warehouse", "publication.sql")


def publish_copy(connection: duckdb.DuckDBPyConnection, source: Path, destination: Path) -> None:
    """Copy the database of a connection to a path.

    Raises:
        WiderCopyError: The copy that is there holds what the database does not.
        DamagedWarehouseError: The database cannot be read to its end.
        WarehouseNotWritableError: The copy cannot be written or moved.
        NoRoomError: There is no room for it.
    """
    missing = entries_beyond(connection, destination)
    if missing:
        raise WiderCopyError(source, destination, missing)
    unfinished = destination.with_name(f".{destination.name}.publishing")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        # A publication that was killed may have left these behind.
        remove_database(unfinished)
        copy_database(connection, unfinished)
        unfinished.chmod(0o444)
        # A write-ahead log beside the old copy would be replayed into the new one.
        wal_of(destination).unlink(missing_ok=True)
        unfinished.replace(destination)
    except (OSError, duckdb.Error) as failure:
        with suppress(OSError):
            remove_database(unfinished)
        trouble = trouble_with(source, failure)
        if isinstance(trouble, NoRoomError):
            trouble = NoRoomError(destination)
        raise trouble or WarehouseNotWritableError(destination, str(failure)) from failure


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


def restore_copy(copy: Path, path: Path, *, moment: datetime) -> Path | None:
    """Put a published copy in the place of the warehouse; return where what was there lies now.

    Raises:
        WarehouseError: The copy is damaged itself, or there is no room; nothing was changed.
    """
    bytes_of_copy = path.with_name(f".{path.name}.published")
    unfinished = path.with_name(f".{path.name}.restoring")
    aside = path.with_name(f"{path.name}.replaced-{moment:%Y%m%dT%H%M%SZ}")
    try:
        # Of its own, for the copy is read-only; and read to its end, so that damage is found now.
        shutil.copyfile(copy, bytes_of_copy)
        unfinished.unlink(missing_ok=True)
        with FileConnector(bytes_of_copy).connect() as connection:
            copy_database(connection, unfinished)
        if not path.exists():
            unfinished.replace(path)
            return None
        if wal_of(path).exists():
            wal_of(path).replace(wal_of(aside))
        path.replace(aside)
        unfinished.replace(path)
    except (DamagedWarehouseError, NotAWarehouseError) as failure:
        raise WarehouseError(
            f"The published copy {copy} is damaged itself, so nothing was restored. Put a backup "
            "of the warehouse in its place, and run the command again."
        ) from failure
    except (OSError, duckdb.Error) as failure:
        raise (
            trouble_with(path, failure) or WarehouseNotWritableError(path, str(failure))
        ) from failure
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
