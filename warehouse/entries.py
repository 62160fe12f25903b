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

KEYS: Mapping[str, tuple[str, ...]] = {
    "carried_claims": ("video_id", "run_id", "claim_id"),
    "experiment_results": ("experiment", "variant", "metric", "averaging"),
    "experiment_sets": ("experiment", "variant", "video_id", "asset"),
    "experiment_variants": ("experiment", "variant"),
    "experiment_video_results": ("experiment", "variant", "video_id", "metric"),
    "experiments": ("experiment",),
    "judge_calls": ("judgement_id", "judging_id", "attempt"),
    "judgements": ("judgement_id", "judging_id"),
    "recheck_launches": ("video_id", "planned_at"),
    "review_actions": ("action_id",),
    "review_applications": ("action_id",),
    "service_uses": ("video_id", "run_id", "stage", "service"),
}
"""What a table holds one row of. Files have these keys themselves; lakes have none."""


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

    Raises WarehouseIntegrityError: A row breaks a rule of the table. The caller gives up.
    """
    values = [_by_column(row) for row in rows]
    if not values:
        return
    key = KEYS.get(table, ())
    by_key = {tuple(row[each] for each in key): row for row in values} if key else {}
    if key and len(by_key) < len(values):
        if again == "refuse":
            raise _broken(table, f"duplicate key ({', '.join(key)})")
        values = list(by_key.values())
    names = {"table": table, "columns": ", ".join(values[0]), "key": ", ".join(key)}
    insert = _ENTER["lay_out_row"].format(places=", ".join("?" for _ in values[0]), **names)
    try:
        connection.execute(_ENTER["lay_out"].format(**names))
        connection.executemany(insert, [list(each.values()) for each in values])
        if (
            key
            and again == "refuse"
            and connection.execute(_ENTER["known"].format(**names)).fetchall()
        ):
            raise _broken(table, f"duplicate key ({', '.join(key)})")
        if key and again == "replace":
            connection.execute(_ENTER["forget"].format(**names))
        connection.execute(_ENTER["keep" if key else "enter"].format(**names))
    except duckdb.ConstraintException as failure:
        raise _broken(table, str(failure).splitlines()[0].rstrip(".")) from failure


def _broken(table: str, why: str) -> WarehouseIntegrityError:
    return WarehouseIntegrityError(
        f"The {table.replace('_', ' ')} break a rule of the warehouse: {why}. Nothing was written."
    )


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
