"""Rows on their way in: sets, checked and written as a whole, and rows that are entered one by one.

What belongs here: which rows a set (what one run knows of one asset and one video) may consist of,
that what it quotes is really there, the statements that replace it; the one way into every table
that holds no sets. What does not: transactions and connections (store.py), the shape of single rows
(rows.py), what rows mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from pydantic import BaseModel

from factible_assets.records import ASSET_RECORDS, Evidence, LlmCall, Page, PageText, Record
from factible_assets.rows import Materialization
from resources.statements import statements
from warehouse.errors import WarehouseIntegrityError
from warehouse.rows import Stamp, data_version, to_frame, to_utc

if TYPE_CHECKING:
    import pyarrow as pa

_ASK = statements("warehouse", "sets.sql")

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

    `rows` are records, dataclasses or mappings whose fields are called like the columns, moments
    timezone-aware. `again`: of a row whose key is there nothing is written, the old one is kept, or
    it is replaced.

    Raises WarehouseIntegrityError: A row breaks a rule of the table. The caller gives up.
    """
    values: list[dict[str, Any]] = []
    for row in rows:
        if isinstance(row, Mapping | BaseModel):
            named = dict(row)
        else:
            named = {each.name: getattr(row, each.name) for each in fields(row)}
        values.append(
            {name: to_utc(at) if isinstance(at, datetime) else at for name, at in named.items()}
        )
    if not values:
        return
    key, kind = KEYS.get(table, ()), table.replace("_", " ")
    by_key = {tuple(row[each] for each in key): row for row in values} if key else {}
    if key and len(by_key) < len(values):
        if again == "refuse":
            raise _broken(kind, f"duplicate key ({', '.join(key)})")
        values = list(by_key.values())
    import pyarrow as pa  # noqa: PLC0415 - loaded by who writes rows

    names = {"table": table, "key": ", ".join(key)}
    connection.register("entering", pa.Table.from_pylist(values))
    try:
        if key and again == "refuse":
            if connection.execute(_ASK["known"].format(**names)).fetchall():
                raise _broken(kind, f"duplicate key ({names['key']})")
        elif key and again == "replace":
            connection.execute(_ASK["displace"].format(**names))
        connection.execute(_ASK["keep" if key else "enter"].format(**names))
    except duckdb.ConstraintException as failure:
        raise _broken(kind, failure) from failure
    finally:
        connection.unregister("entering")


def _broken(what: str, why: str | Exception) -> WarehouseIntegrityError:
    reason = str(why).splitlines()[0].rstrip(".")
    return WarehouseIntegrityError(
        f"The {what} break a rule of the warehouse: {reason}. Nothing was written."
    )


@dataclass(frozen=True, slots=True)
class AssetRows:
    """One set, ready to be written: rows of the classes that ASSET_RECORDS lists, in any order.

    `data_version` is the hash of their content, computed from all rows if it is not given;
    `first_result_seconds` count from the beginning of the step's work, None if nobody measured.
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
    """One set with all that can be done before the file is opened, the rows laid out by table.

    The `quotes` are to be held against their texts, of which the set brings some along, by content
    hash; `hashes` are all that its pages and evidence refer to.
    """

    whole: Materialization
    frames: Mapping[type[Record], pa.Table]
    quotes: tuple[Evidence, ...]
    texts: Mapping[str, str]
    hashes: frozenset[str]


def prepare(asset: str, video_id: str, given: AssetRows, stamp: Stamp) -> PreparedSet:
    """Check a set as far as that can be done without the file, and lay it out.

    Raises WarehouseIntegrityError: A row does not belong to the set, a value has no place in its
    column, or a text is not the one its hash says.
    """
    classes, problem = ASSET_RECORDS[asset], None
    for row in given.rows:
        if type(row) not in classes:
            problem = f"A {type(row).__name__} does not belong to the asset {asset}"
        elif getattr(row, "video_id", video_id) != video_id:
            problem = f"A {type(row).__name__} of another video is among the {asset} of {video_id}"
        elif isinstance(row, LlmCall) and row.stage != asset:
            problem = f"A model call of the stage {row.stage} is among the {asset} of {video_id}"
    of_class = {record: [row for row in given.rows if type(row) is record] for record in classes}
    for record, rows in of_class.items():
        # No index of the table holds rows to the key of their class; see versions.py. Equal texts
        # are one; see insert_texts.
        keys = {tuple(getattr(row, each) for each in record.key) for row in rows}
        if record.key and record is not PageText and len(keys) < len(rows):
            why = f"duplicate key in {record.table} ({', '.join(record.key)})"
            raise _broken(f"{asset} of video {video_id}", why)
    texts = {row.content_hash: row.text for row in given.rows if isinstance(row, PageText)}
    for stated, text in texts.items():
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != stated:
            problem = f"The text of a page is not the one whose SHA-256 is {stated}"
    if problem:
        raise WarehouseIntegrityError(f"{problem}. Nothing was written.")
    return PreparedSet(
        whole=Materialization(
            asset=asset,
            video_id=video_id,
            run_id=stamp.run_id,
            checked_at=stamp.checked_at.astimezone(UTC),
            code_version=given.code_version,
            data_version=given.data_version,
            row_count=sum(not isinstance(row, PageText) for row in given.rows),
            duration_seconds=given.duration_seconds,
            first_result_seconds=given.first_result_seconds,
        ),
        frames={record: to_frame(record, rows, stamp) for record, rows in of_class.items()},
        quotes=tuple(
            row for row in given.rows if isinstance(row, Evidence) and row.quote is not None
        ),
        texts=texts,
        hashes=frozenset(
            row.content_hash
            for row in given.rows
            if isinstance(row, Evidence | Page) and row.content_hash is not None
        ),
    )


def replace_sets(connection: duckdb.DuckDBPyConnection, prepared: Sequence[PreparedSet]) -> None:
    """Put sets of one video and run in the place of those that the run wrote before, if it did.

    The caller holds a transaction and gives it up if this raises.

    Raises WarehouseIntegrityError: A row breaks a constraint, or a quote stands nowhere in its
    page.
    """
    whole = prepared[0].whole
    key = [whole.video_id, whole.run_id]
    try:
        for (asset,) in connection.execute(_ASK["written"], key).fetchall():
            for one in prepared:
                if one.whole.asset == asset:
                    _forget(connection, one)
        for one in prepared:
            for record, frame in one.frames.items():
                if frame.num_rows:
                    insert(connection, record, frame)
        enter(connection, "materializations", [one.whole for one in prepared])
    except duckdb.ConstraintException as failure:
        assets = ", ".join(one.whole.asset for one in prepared)
        raise _broken(f"{assets} of video {whole.video_id}", failure) from failure
    for one in prepared:
        if one.hashes or one.quotes:
            _refuse_ungrounded(connection, one)


def _forget(connection: duckdb.DuckDBPyConnection, prepared: PreparedSet) -> None:
    asset, key = prepared.whole.asset, [prepared.whole.video_id, prepared.whole.run_id]
    connection.execute(_ASK["forget"], [*key, asset])
    for record in prepared.frames:
        if record is LlmCall:
            connection.execute(_ASK["delete_calls"].format(table=record.table), [*key, asset])
        # Texts are shared between sets and never change under their hash.
        elif record is not PageText:
            connection.execute(_ASK["delete"].format(table=record.table), key)


def stored_texts(connection: duckdb.DuckDBPyConnection, hashes: Iterable[str]) -> dict[str, str]:
    """Return the stored texts by content hash; a hash without a stored text is left out."""
    wanted = list(dict.fromkeys(hashes))
    if not wanted:
        return {}
    # One place for each: for an unnested list DuckDB reads every hash.
    sql = _ASK["texts"].format(places=", ".join("?" for _ in wanted))
    return dict(connection.execute(sql, wanted).fetchall())


def insert(connection: duckdb.DuckDBPyConnection, record: type[Record], frame: pa.Table) -> None:
    """Enter rows of one class; the caller holds a transaction."""
    question = "insert_texts" if record is PageText else "insert"
    if record is LlmCall and any(frame["cache_hit"].to_pylist()):
        question = "insert_calls"
    connection.register("incoming", frame)
    connection.execute(_ASK[question].format(table=record.table))
    connection.unregister("incoming")


def _refuse_ungrounded(connection: duckdb.DuckDBPyConnection, prepared: PreparedSet) -> None:
    """Hold every quote against the stored text that it is said to stand in."""
    elsewhere = prepared.hashes - prepared.texts.keys()
    texts = {**prepared.texts, **stored_texts(connection, sorted(elsewhere))}
    homeless = prepared.hashes - texts.keys()
    invented = [
        row
        for row in prepared.quotes
        if (text := texts.get(row.content_hash or "")) is None
        or text[row.quote_start : row.quote_end] != row.quote
    ]
    if homeless or invented:
        raise WarehouseIntegrityError(
            f"The evidence of video {prepared.whole.video_id} is not grounded: {len(homeless)} "
            f"texts that it refers to are not stored, and {len(invented)} quotes do not stand at "
            "their offsets in the text of their page. Nothing was written."
        )
