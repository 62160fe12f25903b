"""The warehouse as a whole: texts that nothing rests on, giving room back, moving into a lake.

What belongs here: which texts go, remembering that they went, compacting the file; copying every
table into a lake, and holding what arrived against what was there. What does not: when and how old
(factible_assets/pipeline/schedules.py), caches (resources/cache), opening (connection.py, lake.py).

Verdicts, evidence, pages and claims are never touched: what was quoted stays quoted, with its
offsets and the hash of the text that it stood in. Only the text itself goes, and `trimmed_texts`
says so, so that a quote that can no longer be held against its page is told from one that never
could.
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
from warehouse.connection import trouble_with
from warehouse.errors import WarehouseBusyError, WarehouseError, WarehouseNotWritableError
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


_SETTINGS = "recheck_settings"
"""The one table that a new warehouse has a row in: the limits of the nights."""


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table that arrived: its rows, and the sum of their hashes, the same on both sides."""

    table: str
    rows: int
    hash_sum: int


def move_into(path: Path, lake: Lake, say: Callable[[MovedTable], None]) -> list[MovedTable]:
    """Copy what a file holds into an empty lake, in one transaction; return what arrived, by table.

    The file is brought to this version's schema first; `say` is told of every table.

    Raises WarehouseError: The lake holds something, a table arrived otherwise than it was, or
    either of them cannot be opened. The lake is as it was.
    """
    for either in (Warehouse(path), Warehouse(lake)):
        with either.connection():
            pass
    moved: list[MovedTable] = []
    with lake.alone(["move"]), lake.connect() as connection:
        try:
            connection.execute(_ASK["attach"].format(path=str(path).replace("'", "''")))
        except duckdb.IOException as failure:
            raise WarehouseBusyError(path, waited_seconds=0, holder=None) from failure
        try:
            connection.begin()
            for table, columns in connection.execute(_ASK["tables"]).fetchall():

                def digest(of: str, table: str = table, columns: str = columns) -> MovedTable:
                    sql = _ASK["digest"].format(of=of, table=table, columns=columns)
                    return MovedTable(table, *connection.execute(sql).fetchall()[0])

                if table == _SETTINGS:
                    connection.execute(_ASK["forget_settings"].format(table=table))
                elif digest("lake").rows:
                    raise WarehouseError(
                        f"The lake {lake} is not empty: it has rows in {table}. Nothing was moved; "
                        "name a new database and a new folder."
                    )
                was = digest("moved")
                if was.rows:
                    connection.execute(_ASK["copy"].format(table=table))
                if digest("lake") != was:
                    raise WarehouseError(f"The {table} did not arrive as they were in {path}.")
                moved.append(was)
                say(was)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.execute(_ASK["detach"])
    return moved
