"""Rows that are entered one by one: judgements, metrics, acts of reviewers, launches, experiments.

What belongs here: the one way into every table that holds no sets of records (those: sets.py), from
whatever names its columns. What does not: what the rows mean, and which others they displace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal

import duckdb
from pydantic import BaseModel

from resources.statements import statements
from warehouse.errors import WarehouseIntegrityError
from warehouse.rows import to_utc

_ENTER = statements("warehouse", "entries.sql")


def enter(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: Iterable[Any],
    *,
    again: Literal["refuse", "keep", "replace"] = "refuse",
) -> None:
    """Enter rows of one kind, in the caller's transaction.

    Args:
        connection: Of the warehouse.
        table: Its name.
        rows: Records, dataclasses or mappings whose fields are called like the columns. Moments are
            timezone-aware.
        again: What becomes of a row whose key is there: nothing is written, the old one is kept, or
            it is replaced.

    Raises:
        WarehouseIntegrityError: A row breaks a rule of the table. The caller gives up.
    """
    values = [_by_column(row) for row in rows]
    if not values:
        return
    sql = _ENTER[again].format(
        table=table, columns=", ".join(values[0]), places=", ".join("?" for _ in values[0])
    )
    try:
        connection.executemany(sql, [list(each.values()) for each in values])
    except duckdb.ConstraintException as failure:
        raise WarehouseIntegrityError(
            f"The {table.replace('_', ' ')} break a rule of the warehouse: "
            f"{str(failure).splitlines()[0].rstrip('.')}. Nothing was written."
        ) from failure


def _by_column(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        named = dict(row)
    elif isinstance(row, BaseModel):
        named = row.model_dump()
    else:
        named = {each.name: getattr(row, each.name) for each in fields(row)}
    return {
        name: to_utc(value) if isinstance(value, datetime) else value
        for name, value in named.items()
    }
