"""The warehouse as a whole: removing unused texts, compacting, restoring, upgrading, moving it.

Retention removes the text of a page and nothing else. Quotes stay, with their offsets and the hash
of their text; `trimmed_texts` records each removal, which explains a missing text.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from resources.statements import statements
from warehouse.connection import FileConnector, escaped, trouble_with
from warehouse.errors import (
    NotAWarehouseError,
    WarehouseBusyError,
    WarehouseError,
    WarehouseNotWritableError,
    WarehouseTooOldError,
)
from warehouse.lake import Lake
from warehouse.publication import copy_database, entries_beyond, remove_database, wal_of
from warehouse.rows import to_utc
from warehouse.store import ALL_TEXTS, Warehouse

_SQL = statements("warehouse", "upkeep.sql")

_GRACE_SECONDS = 1.0


def trim_texts(
    warehouse: Warehouse, *, before: datetime, now: datetime, dry_run: bool = False
) -> tuple[int, int]:
    """Remove the texts that no check has used since `before` and no current row refers to.

    Returns the number of texts and their length in code points. If a later check finds a text
    again, it stores it again. With `dry_run` nothing changes.
    """

    def trim(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        connection.execute(_SQL["find_due"], {"before": to_utc(before)})
        ((texts, characters),) = connection.execute(_SQL["measure"]).fetchall()
        if not dry_run:
            connection.execute(_SQL["forget"])
            connection.execute(_SQL["remember"], {"now": to_utc(now)})
            connection.execute(_SQL["remove"])
        return texts, characters

    return warehouse.write(trim, locks=[ALL_TEXTS])


def compact(warehouse: Warehouse) -> int:
    """Rewrite the file without the space of removed rows; return the bytes saved.

    DuckDB 1.5 reuses that space and never frees it: neither VACUUM nor CHECKPOINT shortens a file.
    So a copy replaces the file under the writer's lock. A lake is tidied in place.

    Raises WarehouseNotWritableError: The copy cannot be written or moved.
    """
    if isinstance(warehouse.connector, Lake):
        return warehouse.connector.tidy()
    path = Path(os.path.realpath(warehouse.path))
    with _replacement_of(path) as unfinished, warehouse.connection() as connection:
        # Empties the write-ahead log; DuckDB would replay it into the new file.
        connection.execute(_SQL["checkpoint"])
        before = path.stat().st_size
        copy_database(connection, unfinished)
        after = unfinished.stat().st_size
        _swap(connection, unfinished, path)
    return before - after


def holds_all_of(path: Path, copy: Path) -> bool:
    """Tell whether a warehouse is readable and has everything that its copy has."""
    try:
        FileConnector(path).refuse_damage(thoroughly=True)
        with FileConnector(path).connect() as connection:
            return not entries_beyond(connection, copy)
    except NotAWarehouseError:
        return False


def restore_copy(copy: Path, path: Path) -> Path | None:
    """Replace the warehouse by a published copy; return the new path of the old file.

    Raises WarehouseError: The copy is damaged too, or the disk is full. Nothing was changed.
    """
    path = Path(os.path.realpath(path))
    old = _replaced_name(path)
    with _replacement_of(path) as unfinished:
        shutil.copyfile(copy, unfinished)
        try:
            FileConnector(unfinished).refuse_damage(thoroughly=True)
        except NotAWarehouseError as failure:
            raise WarehouseError(
                f"The published copy {copy} is damaged too, so nothing was restored. Put a backup "
                "of the warehouse in its place, and run the command again."
            ) from failure
        is_lost = not path.exists()
        if wal_of(path).exists():
            wal_of(path).replace(wal_of(old))
        if not is_lost:
            path.replace(old)
        unfinished.replace(path)
    return None if is_lost else old


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A copied table: its rows and the sum of their hashes, the same on both sides."""

    table: str
    rows: int
    hash_sum: int


def move_into(path: Path, lake: Lake, say: Callable[[MovedTable], None]) -> list[MovedTable]:
    """Copy the rows of a file of any schema version into an empty lake, in one transaction.

    Calls `say` for each table, and returns the tables.

    Raises WarehouseError: The lake is not empty, a table differs after the copy, or the file or the
    lake cannot be opened. The lake is unchanged.
    """
    with FileConnector(path).connect(read_only=True), Warehouse(lake).connection():
        pass
    with lake.locked(["move"]), lake.connect() as connection:
        try:
            connection.execute(_SQL["attach"].format(path=escaped(path)))
        except duckdb.IOException as failure:
            raise WarehouseBusyError(path, waited_seconds=0, holder=None) from failure
        try:
            connection.begin()
            moved = _copy_rows(connection, "moved", "lake", say)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.execute(_SQL["detach"])
    return moved


def upgrade(warehouse: Warehouse, say: Callable[[MovedTable], None]) -> Path | None:
    """Copy the rows of a warehouse with an older schema into the current schema.

    A new file replaces the old one; returns the new path of the old file. A lake replaces
    its tables in one transaction. Returns None for a lake, and if the schema is current. Columns
    that the old schema lacks get their default.

    Raises WarehouseError: The store cannot be read, its schema is newer, or a table differs after
    the copy. The store is unchanged.
    """
    try:
        with warehouse.connection():
            return None
    except WarehouseTooOldError:
        pass
    if isinstance(warehouse.connector, Lake):
        _upgrade_lake(warehouse, warehouse.connector, say)
        return None
    path = Path(os.path.realpath(warehouse.path))
    old = _replaced_name(path)
    with _replacement_of(path) as unfinished:
        Warehouse(unfinished, schema=warehouse.schema).ensure_exists()
        with FileConnector(path).connect() as connection:
            ((source,),) = connection.execute(_SQL["source"]).fetchall()
            connection.execute(_SQL["checkpoint"])
            connection.execute(_SQL["attach_new"].format(path=escaped(unfinished)))
            _copy_rows(connection, source, "upgraded", say)
            connection.execute(_SQL["detach_new"])
            old.hardlink_to(path)
            _swap(connection, unfinished, path)
    return old


def _upgrade_lake(warehouse: Warehouse, lake: Lake, say: Callable[[MovedTable], None]) -> None:
    with lake.locked(["schema", ALL_TEXTS]), lake.connect() as connection:
        connection.begin()
        old = [table for (table,) in connection.execute(_SQL["tables_of_lake"]).fetchall()]
        for table in old:
            connection.execute(_SQL["set_aside"].format(table=table))
        warehouse.schema.create_tables(connection)
        _copy_rows(connection, "lake", "lake", say, prefix="before_")
        for table in old:
            connection.execute(_SQL["drop"].format(table=table))
        connection.commit()


def _copy_rows(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    target: str,
    say: Callable[[MovedTable], None],
    *,
    prefix: str = "",
) -> list[MovedTable]:
    """Copy the columns that two databases share, table by table, and compare rows and hashes.

    `prefix` begins the names of the tables in the source.

    Raises WarehouseError: The target is not empty, or a table differs after the copy.
    """
    moved: list[MovedTable] = []
    databases = {"source": source, "prefix": prefix, "target": target}
    for old_name, table, columns in connection.execute(_SQL["tables"], databases).fetchall():
        old, new = f'"{source}".{old_name}', f"{target}.{table}"
        if table == "recheck_settings":  # the only table in which a new warehouse has a row
            connection.execute(_SQL["clear"].format(table=new))
        elif connection.execute(_SQL["any_row"].format(table=new)).fetchall():
            raise WarehouseError(
                f"The {target} is not empty: it has rows in {table}. Nothing was copied. Name a "
                "new database and a new folder."
            )
        rows, hash_sum = _digest(connection, old, columns)
        if rows:
            connection.execute(_SQL["copy"].format(old=old, new=new, columns=columns))
            if _digest(connection, new, columns) != (rows, hash_sum):
                raise WarehouseError(f"The {table} differ after the copy. Nothing was changed.")
        moved.append(MovedTable(table, rows, hash_sum))
        say(moved[-1])
    return moved


def _digest(connection: duckdb.DuckDBPyConnection, table: str, columns: str) -> tuple[int, int]:
    """Return the number of rows of a table, and the sum of the hashes of some of its columns."""
    sql = _SQL["digest"].format(table=table, columns=columns)
    ((rows, hash_sum),) = connection.execute(sql).fetchall()
    return rows, hash_sum


def _replaced_name(path: Path) -> Path:
    """Return the new path of a warehouse's file that another one replaces."""
    return path.with_name(f"{path.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")


@contextmanager
def _replacement_of(path: Path) -> Iterator[Path]:
    """Yield the path of an unfinished file, and delete the file if it was not moved into place."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    remove_database(unfinished)
    try:
        yield unfinished
    except (OSError, duckdb.Error) as failure:
        trouble = trouble_with(path, failure) or WarehouseNotWritableError(path, str(failure))
        raise trouble from failure
    finally:
        remove_database(unfinished)


def _swap(connection: duckdb.DuckDBPyConnection, unfinished: Path, path: Path) -> None:
    """Move a finished file into the place of the one that the connection has open for writing."""
    unfinished.chmod(path.stat().st_mode)
    connection.execute(_SQL["close_as_it_is"])
    unfinished.replace(path)
    # A process that opened the old file a moment ago may ask for its lock now. It is refused while
    # this connection holds the lock; then it opens the path again, and gets the new file.
    time.sleep(_GRACE_SECONDS)
