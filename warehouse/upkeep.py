"""The warehouse as a whole: removing unused texts, compacting, upgrading, moving into a lake.

Retention removes the text of a page and nothing else: quotes stay, with their offsets and the hash
of their text. `trimmed_texts` records every removal, so that a missing text is explained.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from resources.statements import statements
from warehouse.connection import FileConnector, trouble_with
from warehouse.errors import (
    WarehouseBusyError,
    WarehouseError,
    WarehouseNotWritableError,
    WarehouseTooOldError,
)
from warehouse.lake import Lake
from warehouse.publication import copy_database, remove_database
from warehouse.rows import to_utc
from warehouse.store import ALL_TEXTS, Warehouse

_ASK = statements("warehouse", "upkeep.sql")

_GRACE_SECONDS = 1.0


def trim_texts(
    warehouse: Warehouse, *, before: datetime, now: datetime, dry_run: bool = False
) -> tuple[int, int]:
    """Remove the texts that no check has used since `before` and nothing current rests on.

    Returns how many went, or would go, and how long they were, in code points. A text that a later
    check finds again is stored again. One transaction; with `dry_run` nothing is changed.
    """

    def trim(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        connection.execute(_ASK["find_due"], {"before": to_utc(before)})
        ((texts, characters),) = connection.execute(_ASK["measure"]).fetchall()
        if not dry_run:
            connection.execute(_ASK["forget"])
            connection.execute(_ASK["remember"], {"now": to_utc(now)})
            connection.execute(_ASK["remove"])
        return texts, characters

    return warehouse.write(trim, alone=[ALL_TEXTS])


def compact(warehouse: Warehouse) -> int:
    """Write the file anew without the room of what was removed; return how many bytes that gave.

    DuckDB reuses the room of removed rows and does not give it back: VACUUM and CHECKPOINT leave a
    file of DuckDB 1.5 as long as it was. So a copy takes its place, under the writer's lock. Nobody
    loses anything: others wait for the lock and then open the new file. A lake is tidied in place.

    Raises WarehouseNotWritableError: The copy cannot be written or moved.
    """
    if isinstance(warehouse.connector, Lake):
        return warehouse.connector.tidy()
    path = Path(os.path.realpath(warehouse.path))
    unfinished = path.with_name(f".{path.name}.compacting")
    try:
        with warehouse.connection() as connection:
            remove_database(unfinished)
            # Takes the write-ahead log into the file; one beside it would be replayed into the new.
            connection.execute(_ASK["checkpoint"])
            before = path.stat().st_size
            copy_database(connection, unfinished)
            unfinished.chmod(path.stat().st_mode)
            after = unfinished.stat().st_size
            connection.execute(_ASK["close_as_it_is"])
            unfinished.replace(path)
            # Who opened the old file just before may be about to ask for its lock. They are refused
            # while ours is held, and then open the file by its name again, which is the new one.
            time.sleep(_GRACE_SECONDS)
    except (OSError, duckdb.Error) as failure:
        trouble = trouble_with(path, failure) or WarehouseNotWritableError(path, str(failure))
        raise trouble from failure
    finally:
        remove_database(unfinished)
    return before - after


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table that was copied: its rows, and the sum of their hashes, the same on both sides."""

    table: str
    rows: int
    hash_sum: int


def move_into(path: Path, lake: Lake, say: Callable[[MovedTable], None]) -> list[MovedTable]:
    """Copy the rows of a file of any schema version into an empty lake, in one transaction.

    Returns the tables that arrived; `say` is called for each of them.

    Raises WarehouseError: The lake is not empty, a table differs after the copy, or the file or the
    lake cannot be opened. The lake is as it was.
    """
    with FileConnector(path).connect(read_only=True):
        pass
    with Warehouse(lake).connection():
        pass
    with lake.alone(["move"]), lake.connect() as connection:
        try:
            connection.execute(_ASK["attach"].format(path=_escaped(path)))
        except duckdb.IOException as failure:
            raise WarehouseBusyError(path, waited_seconds=0, holder=None) from failure
        try:
            connection.begin()
            moved = _copy_rows(connection, ("moved", "moved.", ""), "lake", say)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.execute(_ASK["detach"])
    return moved


def upgrade(warehouse: Warehouse, say: Callable[[MovedTable], None]) -> Path | None:
    """Carry the rows of a warehouse with an older schema over into the schema of this version.

    A file is copied into a new one, which takes its place; returns the path of the old file. The
    tables of a lake are replaced in one transaction. Returns None for a lake, and if there was
    nothing to do. A column that the old schema lacks gets its default.

    Raises WarehouseError: The store cannot be read, is newer, or a table differs after the copy.
    The store is as it was.
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
    unfinished = path.with_name(f".{path.name}.upgrading")
    old = path.with_name(f"{path.name}.before-schema-{warehouse.schema.version}")
    remove_database(unfinished)
    try:
        Warehouse(unfinished, schema=warehouse.schema).ensure_exists()
        with FileConnector(path).connect() as connection:
            ((source,),) = connection.execute(_ASK["source"]).fetchall()
            connection.execute(_ASK["checkpoint"])
            connection.execute(_ASK["attach_new"].format(path=_escaped(unfinished)))
            _copy_rows(connection, (source, f'"{source}".', ""), "upgraded", say)
            connection.execute(_ASK["detach_new"])
            unfinished.chmod(path.stat().st_mode)
            connection.execute(_ASK["close_as_it_is"])
            path.rename(old)
            unfinished.rename(path)
            time.sleep(_GRACE_SECONDS)
    except (OSError, duckdb.Error) as failure:
        trouble = trouble_with(path, failure) or WarehouseNotWritableError(path, str(failure))
        raise trouble from failure
    finally:
        remove_database(unfinished)
    return old


def _upgrade_lake(warehouse: Warehouse, lake: Lake, say: Callable[[MovedTable], None]) -> None:
    with lake.alone(["schema", ALL_TEXTS]), lake.connect() as connection:
        connection.begin()
        old = [table for (table,) in connection.execute(_ASK["tables_of_lake"]).fetchall()]
        for table in old:
            connection.execute(_ASK["set_aside"].format(table=table))
        warehouse.schema.create_tables(connection)
        _copy_rows(connection, ("lake", "lake.before_", "before_"), "lake", say)
        for table in old:
            connection.execute(_ASK["drop"].format(table=table))
        connection.commit()


def _copy_rows(
    connection: duckdb.DuckDBPyConnection,
    source: tuple[str, str, str],
    target: str,
    say: Callable[[MovedTable], None],
) -> list[MovedTable]:
    """Copy the columns that two databases share, table by table, and compare rows and hashes.

    `source` is a database, the beginning of the names of its tables in SQL, and their prefix.

    Raises WarehouseError: The target is not empty, or a table differs after the copy.
    """
    moved: list[MovedTable] = []
    database, before, prefix = source
    shared = {"source": database, "prefix": prefix, "target": target}
    for table, columns in connection.execute(_ASK["tables"], shared).fetchall():
        names = {"old": f"{before}{table}", "new": f"{target}.{table}", "columns": columns}

        def digest(of: str, table: str = table, columns: str = columns) -> MovedTable:
            sql = _ASK["digest"].format(table=of, columns=columns)
            return MovedTable(table, *connection.execute(sql).fetchall()[0])

        if table == "recheck_settings":  # the one table in which a new warehouse has a row
            connection.execute(_ASK["forget_settings"].format(**names))
        elif digest(names["new"]).rows:
            raise WarehouseError(
                f"The {target} is not empty: it has rows in {table}. Nothing was moved; name a new "
                "database and a new folder."
            )
        was = digest(names["old"])
        if was.rows:
            connection.execute(_ASK["copy"].format(**names))
        if digest(names["new"]) != was:
            raise WarehouseError(f"The {table} differ after the copy. Nothing was changed.")
        moved.append(was)
        say(was)
    return moved


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
