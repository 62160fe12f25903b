"""Moving a warehouse from its file into a lake.

What belongs here: copying every table, and holding what arrived against what was there. What does
not: opening either of them (connection.py, lake.py), the schema (migrations.py).

All tables arrive in one transaction: who is interrupted finds the lake as empty as before, and
begins anew. The file is read and stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from resources.statements import statements
from warehouse.errors import WarehouseBusyError, WarehouseError
from warehouse.lake import Lake
from warehouse.store import Warehouse

_ASK = statements("warehouse", "moving.sql")
_SETTINGS = "recheck_settings"
"""The one table that a new warehouse has a row in: the limits of the nights."""


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table that arrived: its rows, and the sum of their hashes, the same on both sides."""

    table: str
    rows: int
    hash_sum: int


def move_into(path: Path, lake: Lake, say: Callable[[MovedTable], None]) -> list[MovedTable]:
    """Copy what a file holds into an empty lake, and return what arrived, table by table.

    Args:
        path: The file. One of an older version is brought to this one's schema first.
        lake: Where it goes.
        say: Told of every table that arrived.

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
                    ((rows, hash_sum),) = connection.execute(sql).fetchall()
                    return MovedTable(table, rows, hash_sum)

                if table == _SETTINGS:
                    connection.execute(_ASK["forget"].format(table=table))
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
