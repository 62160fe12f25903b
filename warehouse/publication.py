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

from pathlib import Path

import duckdb

from warehouse.errors import WarehouseNotWritableError


def publish_copy(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
    """Copy the database of a connection to a path.

    Raises:
        WarehouseNotWritableError: The copy cannot be written or moved.
    """
    unfinished = destination.with_name(f".{destination.name}.publishing")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        # A publication that was killed may have left these behind.
        unfinished.unlink(missing_ok=True)
        wal_of(unfinished).unlink(missing_ok=True)
        copy_database(connection, unfinished)
        unfinished.chmod(0o444)
        # A write-ahead log beside the old copy would be replayed into the new one.
        wal_of(destination).unlink(missing_ok=True)
        unfinished.replace(destination)
    except (OSError, duckdb.IOException) as failure:
        raise WarehouseNotWritableError(destination, str(failure)) from failure


def copy_database(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
    """Copy the database of a connection into a new file, tables, views and comments included."""
    ((source,),) = connection.execute("SELECT current_database()").fetchall()
    # Neither ATTACH nor COPY FROM DATABASE takes parameters.
    path = str(destination).replace("'", "''")
    name = source.replace('"', '""')
    connection.execute(f"ATTACH '{path}' AS publication")
    connection.execute(f'COPY FROM DATABASE "{name}" TO publication')
    connection.execute("DETACH publication")


def wal_of(path: Path) -> Path:
    """Return where DuckDB keeps the write-ahead log of a file."""
    return path.with_name(f"{path.name}.wal")
