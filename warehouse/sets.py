"""Writing rows: sets, whose rows belong together, and rows that belong to no set.

A set is everything that one run found for one asset and one video.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from pydantic import BaseModel

from factible_assets.records.rows import Materialization
from factible_assets.records.tables import ASSET_RECORDS, Evidence, LlmCall, Page, PageText, Record
from resources.statements import statements
from warehouse.errors import WarehouseIntegrityError
from warehouse.reading import stored_texts
from warehouse.rows import Stamp, data_version, to_array, to_frame, to_utc

if TYPE_CHECKING:
    import pyarrow as pa

_SQL = statements("warehouse", "sets.sql")

KEYS: Mapping[str, tuple[str, ...]] = {
    "claim_matches": ("video_id", "claim_id", "other_claim_id"),
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
"""Primary keys of tables without sets. The schema declares them too, but a lake has no keys."""


def insert_rows(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: Iterable[Any],
    *,
    again: Literal["refuse", "keep", "replace"] = "refuse",
) -> None:
    """Insert rows into a table without sets, in the caller's transaction.

    `rows` are records, dataclasses or mappings with the names of the columns; datetimes are
    timezone-aware. If the table already has a row with the same key, `again` decides: refuse
    all rows, keep the old row, or replace it.

    Raises WarehouseIntegrityError: A row breaks a rule of the table.
    """
    values = list[dict[str, Any]]()
    for row in rows:
        is_mapping = isinstance(row, Mapping | BaseModel)
        cells = dict(row) if is_mapping else {f.name: getattr(row, f.name) for f in fields(row)}
        moments = {name: to_utc(at) for name, at in cells.items() if isinstance(at, datetime)}
        values.append(cells | moments)
    if not values:
        return
    import pyarrow as pa  # noqa: PLC0415 - slow to load, and only writers need it

    columns = dict.fromkeys(itertools.chain(*values))
    arrays = {name: to_array([row.get(name) for row in values], table, name) for name in columns}
    key, noun = KEYS.get(table, ()), table.replace("_", " ")
    names = {"table": table, "key": ", ".join(key)}
    connection.register("incoming", pa.table(arrays))
    try:
        if key:
            is_repeated = len({tuple(map(row.get, key)) for row in values}) < len(values)
            if again == "replace":
                connection.execute(_SQL["delete_known"].format(**names))
            elif again == "refuse" and not is_repeated:
                is_repeated = bool(connection.execute(_SQL["known"].format(**names)).fetchall())
            if is_repeated:
                raise _broken(noun, f"duplicate key ({names['key']})")
        connection.execute(_SQL["insert_unknown" if key else "insert"].format(**names))
    except duckdb.ConstraintException as failure:
        raise _broken(noun, failure) from failure
    finally:
        connection.unregister("incoming")


def _broken(rows: str, why: str | Exception) -> WarehouseIntegrityError:
    reason = str(why).splitlines()[0].rstrip(".")
    return WarehouseIntegrityError(
        f"The {rows} break a rule of the warehouse: {reason}. Nothing was written."
    )


@dataclass(frozen=True, slots=True)
class AssetRows:
    """One set to write: rows of the classes in ASSET_RECORDS, in any order.

    `data_version` defaults to the hash of all rows. `first_result_seconds` counts from the start of
    the step; None if unknown.
    """

    rows: Sequence[Record]
    code_version: str
    data_version: str = ""
    duration_seconds: float = 0.0
    first_result_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.data_version:
            object.__setattr__(self, "data_version", data_version(self.rows))


@dataclass(frozen=True, slots=True)
class PreparedSet:
    """A set after all checks that need no open file. `texts` are its page texts by hash."""

    materialization: Materialization
    rows: Mapping[type[Record], list[Record]]
    frames: Mapping[type[Record], pa.Table]
    texts: Mapping[str, str]


def prepare(asset: str, video_id: str, new: AssetRows, stamp: Stamp) -> PreparedSet:
    """Check a set and convert its rows to Arrow, before the store is opened.

    Raises WarehouseIntegrityError: A row does not belong to the set, a value does not fit its
    column, or a text does not match its hash.
    """
    classes, problem = ASSET_RECORDS[asset], None
    for row in new.rows:
        if type(row) not in classes:
            problem = f"A {type(row).__name__} does not belong to the asset {asset}"
        elif getattr(row, "video_id", video_id) != video_id:
            problem = f"A {type(row).__name__} of another video is among the {asset} of {video_id}"
        elif isinstance(row, LlmCall) and row.stage != asset:
            problem = f"A model call of the stage {row.stage} is among the {asset} of {video_id}"
    of_class = {record: [row for row in new.rows if type(row) is record] for record in classes}
    for record, rows in of_class.items():
        # The tables of records have no keys (versions.py), and equal texts are stored once.
        keys = {tuple(getattr(row, column) for column in record.key) for row in rows}
        if record.key and record is not PageText and len(keys) < len(rows):
            why = f"duplicate key in {record.table} ({', '.join(record.key)})"
            raise _broken(f"{asset} of video {video_id}", why)
    texts = {row.content_hash: row.text for row in new.rows if isinstance(row, PageText)}
    for text_hash, text in texts.items():
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != text_hash:
            problem = f"The text of a page is not the one whose SHA-256 is {text_hash}"
    if problem:
        raise WarehouseIntegrityError(f"{problem}. Nothing was written.")
    return PreparedSet(
        materialization=Materialization(
            asset=asset,
            video_id=video_id,
            run_id=stamp.run_id,
            checked_at=stamp.checked_at.astimezone(UTC),
            code_version=new.code_version,
            data_version=new.data_version,
            row_count=sum(not isinstance(row, PageText) for row in new.rows),
            duration_seconds=new.duration_seconds,
            first_result_seconds=new.first_result_seconds,
        ),
        rows=of_class,
        frames={record: to_frame(record, rows, stamp) for record, rows in of_class.items()},
        texts=texts,
    )


def replace_sets(connection: duckdb.DuckDBPyConnection, sets: Sequence[PreparedSet]) -> None:
    """Write sets of one video and run, and delete those that the run wrote before.

    The caller holds a transaction and rolls it back if this raises.

    Raises WarehouseIntegrityError: A row breaks a constraint, or a quote is not in its page.
    """
    materializations = [prepared.materialization for prepared in sets]
    video_id, run_id = materializations[0].video_id, materializations[0].run_id
    try:
        written = connection.execute(_SQL["written"], [video_id, run_id]).fetchall()
        for prepared in sets:
            if (prepared.materialization.asset,) in written:
                _delete(connection, prepared)
        for prepared in sets:
            for record, frame in prepared.frames.items():
                if frame.num_rows:
                    insert_records(connection, record, frame)
        insert_rows(connection, "materializations", materializations)
    except duckdb.ConstraintException as failure:
        assets = ", ".join(written.asset for written in materializations)
        raise _broken(f"{assets} of video {video_id}", failure) from failure
    for prepared in sets:
        _refuse_ungrounded(connection, prepared)


def _delete(connection: duckdb.DuckDBPyConnection, prepared: PreparedSet) -> None:
    """Delete the rows that the run wrote before for this set."""
    new = prepared.materialization
    key, asset = [new.video_id, new.run_id], new.asset
    connection.execute(_SQL["forget"], [*key, asset])
    for record in prepared.frames:
        if record is LlmCall:
            connection.execute(_SQL["delete_calls"].format(table=record.table), [*key, asset])
        # Sets share texts, and a text never changes under its hash.
        elif record is not PageText:
            connection.execute(_SQL["delete"].format(table=record.table), key)


def insert_records(
    connection: duckdb.DuckDBPyConnection, record: type[Record], frame: pa.Table
) -> None:
    """Insert rows of one class, in the caller's transaction."""
    statement = "insert_texts" if record is PageText else "insert"
    if record is LlmCall and any(frame["cache_hit"].to_pylist()):
        statement = "insert_calls"
    connection.register("incoming", frame)
    connection.execute(_SQL[statement].format(table=record.table))
    connection.unregister("incoming")


def _refuse_ungrounded(connection: duckdb.DuckDBPyConnection, prepared: PreparedSet) -> None:
    """Compare every quote with its page's stored text. Raises WarehouseIntegrityError."""
    every_row = (row for rows in prepared.rows.values() for row in rows)
    rows = [row for row in every_row if isinstance(row, Page | Evidence)]
    hashes = {row.content_hash for row in rows if row.content_hash is not None}
    texts = {**prepared.texts, **stored_texts(connection, sorted(hashes - prepared.texts.keys()))}
    missing = hashes - texts.keys()
    quotes = (row for row in rows if isinstance(row, Evidence) and row.quote is not None)
    invented = [
        row
        for row in quotes
        if (text := texts.get(row.content_hash or "")) is None
        or text[row.quote_start : row.quote_end] != row.quote
    ]
    if missing or invented:
        video_id = prepared.materialization.video_id
        raise WarehouseIntegrityError(
            f"The evidence of video {video_id} is not grounded: {len(missing)} "
            f"texts that it refers to are not stored, and {len(invented)} quotes do not stand at "
            "their offsets in the text of their page. Nothing was written."
        )
