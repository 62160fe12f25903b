"""The warehouse: sets of rows in, current rows out, each in one short visit to the file.

What belongs here: the transactions that write sets, reading what is current, and asking questions.
What does not: opening and waiting (connection.py), the schema (migrations.py, *.sql), the content
of a set (sets.py), the shape of single rows (rows.py), Dagster (resource.py).

A *set* is everything that one run knows of one asset and one video. Sets are complete or not there:
a set and its entry in `materializations` are written in one transaction. No method leaves a
connection open, and none holds one while it waits for anything but the file.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import duckdb

from factible_assets import records
from factible_assets.rows import Materialization, VideoRows
from resources.statements import statements
from warehouse import errors
from warehouse.connection import DEFAULT_LOCK_TIMEOUT_SECONDS, Connector, FileConnector, file_path
from warehouse.lake import Lake
from warehouse.publication import publish_copy
from warehouse.rows import AnyRecord, Stamp, aware, from_row, to_utc
from warehouse.sets import (
    AssetRows,
    PreparedSet,
    enter,
    insert,
    prepare,
    replace_sets,
    stored_texts,
)
from warehouse.versions import Schema, packaged_schema

if TYPE_CHECKING:
    import polars as pl

_QUESTIONS = statements("warehouse", "store.sql")

Changed = TypeVar("Changed")

ALL_TEXTS = "texts"
"""Who removes texts is alone with this; who writes sets that rest on texts is beside others."""


class Warehouse:
    """The warehouse, a DuckDB file or a lake. Making one touches nothing; methods open and close.

    Every method may raise WarehouseBusyError, WarehouseTooNewError, NotAWarehouseError and
    WarehouseNotWritableError. Methods block, for some 50 ms to read and some 300 ms to write a
    video with its pages. Threads take turns. A file is created with the first use.
    """

    def __init__(self, store: str | Path | Connector, *, schema: Schema | None = None) -> None:
        self.connector: Connector = (
            FileConnector(file_path(store)) if isinstance(store, str | Path) else store
        )
        self._schema = schema

    @property
    def path(self) -> Path:
        """Where the warehouse is."""
        return self.connector.path

    @property
    def schema(self) -> Schema:
        """The schema that the file is held to."""
        return self._schema or packaged_schema()

    # --- Writing --------------------------------------------------------------------------------

    def ensure_exists(self) -> None:
        """Create the warehouse where there is none, with its schema."""
        self.connector.ensure_exists(lambda fresh: self.schema.apply(fresh, self.path))

    def write_assets(
        self,
        video_id: str,
        sets: Mapping[str, AssetRows],
        *,
        stamp: Stamp,
        also: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    ) -> list[Materialization]:
        """Write sets of several assets of one video, and what `also` writes, in one transaction.

        A set that the same run wrote before is replaced, so that a step may be repeated. A set
        without rows is a set, and becomes the current one.

        Raises WarehouseIntegrityError: A row does not belong to its set, breaks a constraint, or
        quotes what its page does not say. The warehouse is as it was.
        """
        for asset in sets.keys() - records.ASSET_RECORDS.keys():
            known = ", ".join(records.ASSET_RECORDS)
            raise errors.WarehouseIntegrityError(
                f"There is no asset {asset}; the warehouse holds {known}."
            )
        prepared = [prepare(asset, video_id, given, stamp) for asset, given in sets.items()]

        def replace_all(connection: duckdb.DuckDBPyConnection) -> None:
            if prepared:
                replace_sets(connection, prepared)
            if also is not None:
                also(connection)

        before = partial(self._write_texts, prepared) if isinstance(self.connector, Lake) else None
        self.write(replace_all, alone=[f"video {video_id}"], beside=[ALL_TEXTS], before=before)
        return [one.whole for one in prepared]

    def _write_texts(self, prepared: Sequence[PreparedSet]) -> None:
        """Write the page texts of sets to a lake before the sets, in a transaction of their own.

        Videos share texts. A lake has no keys that keep a text from being there twice, so writers
        of the same text take turns; they would take turns for the whole of their sets otherwise. A
        text whose sets are refused stays until old texts are removed.
        """
        texts = {each for one in prepared for each in one.texts}
        if texts:
            there = self.rows(_QUESTIONS["known_texts"], {"hashes": sorted(texts)})
            texts -= {row["content_hash"] for row in there}

        def enter_texts(connection: duckdb.DuckDBPyConnection) -> None:
            for one in prepared:
                if records.PageText in one.frames:
                    insert(connection, records.PageText, one.frames[records.PageText])

        if texts:
            with self._alone(f"text {each}" for each in texts):
                self._in_transaction(enter_texts)

    def write_rows(
        self, entries: Mapping[str, Iterable[Any]], *, replacing: tuple[str, str] | None = None
    ) -> None:
        """Enter rows into tables that hold no sets, by table, all or none; see sets.py.

        Of these tables, rows that have the value of `replacing`, a column and a value, go first.
        """
        given = {table: list(rows) for table, rows in entries.items()}

        def enter_all(connection: duckdb.DuckDBPyConnection) -> None:
            for table, rows in given.items():
                if replacing is not None:
                    column, value = replacing
                    forget = _QUESTIONS["forget"].format(table=table, column=column)
                    connection.execute(forget, [value])
                enter(connection, table, rows)

        self.write(enter_all, alone=given)

    def write(
        self,
        change: Callable[[duckdb.DuckDBPyConnection], Changed],
        *,
        alone: Iterable[str] = (),
        beside: Iterable[str] = (),
        before: Callable[[], None] | None = None,
    ) -> Changed:
        """Make a change in one transaction, and return what it returns.

        In a lake the transaction may meet another one, or a server that restarts; then the change
        is made again, on a new one. Nobody else may meanwhile write what it is `alone` with (names
        of a video, a text or a table), or be alone with what it is `beside`. `before` is called
        under these locks, ahead of the transaction of the change.

        Raises LakeBusyError: No attempt came through.
        """
        held, shared = list(alone), list(beside)

        def attempt() -> Changed:
            with self._alone(held, shared):
                if before is not None:
                    before()
                return self._in_transaction(change)

        return _patiently(attempt)

    def _in_transaction(self, change: Callable[[duckdb.DuckDBPyConnection], Changed]) -> Changed:
        with self.connection() as connection:
            # No rollback here: closing the connection discards what was not committed.
            connection.begin()
            changed = change(connection)
            connection.commit()
            return changed

    def _alone(
        self, keys: Iterable[str], beside: Iterable[str] = ()
    ) -> AbstractContextManager[None]:
        """Keep out who writes the same; of a file whoever has it open is alone with all of it."""
        lake = self.connector
        return lake.alone(keys, beside=beside) if isinstance(lake, Lake) else nullcontext()

    # --- Reading --------------------------------------------------------------------------------

    def read_current(self, record: type[AnyRecord], video_id: str) -> list[AnyRecord]:
        """Return the rows of one class in the newest set of a video, in natural order.

        Verdicts are those of `current_verdicts`: a failed re-check does not displace a good one.
        """
        with self.connection(read_only=True) as connection:
            return _rows(connection, "current", record, video_id=video_id)

    def read_asset(self, asset: str, video_id: str) -> VideoRows:
        """Return everything in the newest set of an asset, from one moment.

        Raises NotMaterializedError: The asset was never materialized for this video.
        """
        found = self.read_video(video_id, [asset])
        if not found.sets:
            raise errors.NotMaterializedError(asset, video_id)
        return found

    def read_video(self, video_id: str, assets: Iterable[str] = records.ASSET_RECORDS) -> VideoRows:
        """Return everything in the newest sets of a video, of all assets or some, of one moment."""
        with self.connection(read_only=True) as connection:
            sets = _sets(connection, "current_sets", video_id=video_id)
            wanted = {asset: sets[asset] for asset in assets if asset in sets}
            return _read(connection, wanted, current=True)

    def video_ids(self) -> list[str]:
        """Return the videos of which the warehouse holds any set, in order of their ids."""
        with self.connection(read_only=True) as connection:
            return [row[0] for row in connection.execute(_QUESTIONS["videos"]).fetchall()]

    def read_sets(self, video_id: str, runs: Mapping[str, str]) -> VideoRows:
        """Return what is in the sets that given runs wrote, by asset, all from one moment."""
        with self.connection(read_only=True) as connection:
            sets: dict[str, Materialization] = {}
            for asset, run_id in runs.items():
                own = {"asset": asset, "video_id": video_id, "run_id": run_id}
                sets |= _sets(connection, "set_of_run", **own)
            return _read(connection, sets, current=False)

    def read_standing(self, video_id: str) -> VideoRows:
        """Return what stands of a video: its newest rows, and what its verdicts rest on.

        Unlike that of `read_video`, the evidence of a verdict that outlived a failed re-check is
        that which it was reached from; of a claim without a verdict it is the newest. Hits,
        pages and texts are those of the evidence.
        """
        with self.snapshot() as now, now.connection(read_only=True) as connection:
            rows = now.read_video(video_id)
            judged = {verdict.claim_id for verdict in rows.verdicts}
            evidence = _rows(
                connection, "current", records.Evidence, view="verdict_evidence", video_id=video_id
            )
            evidence += (row for row in rows.evidence if row.claim_id not in judged)
            hashes = {row.content_hash for row in evidence if row.content_hash}
            texts = {each: text for each, text in rows.texts.items() if each in hashes}
            texts |= stored_texts(connection, hashes - texts.keys())
            newest = partial(_rows, connection, "newest", video_id=video_id)
            hit_ids = sorted({row.hit_id for row in evidence})
            page_ids = sorted({row.page_id for row in evidence if row.page_id})
            hits = newest(records.SearchHit, key="hit_id", ids=hit_ids)
            pages = newest(records.Page, key="page_id", ids=page_ids)
        return replace(
            rows,
            hits=tuple(hits),
            evidence=tuple(evidence),
            pages=tuple(pages),
            page_texts=tuple(
                records.PageText(content_hash=key, text=text) for key, text in texts.items()
            ),
        )

    def current_sets(self, video_id: str) -> dict[str, Materialization]:
        """Return what is known of the newest sets of a video as wholes, by asset."""
        with self.connection(read_only=True) as connection:
            return _sets(connection, "current_sets", video_id=video_id)

    def rows(
        self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows that answer a question in SQL, by column; moments are in UTC.

        Unlike `query` it needs no data frames, which take a tenth of a second to load.

        Raises duckdb.Error: The question is wrong, or would change the warehouse.
        """

        def attempt() -> list[dict[str, Any]]:
            with self.connection(read_only=True) as connection:
                found = connection.execute(sql, params).fetchall()
                names = [column[0] for column in connection.description or ()]
                return [dict(zip(names, map(aware, row), strict=True)) for row in found]

        return _patiently(attempt)

    def query(
        self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> pl.DataFrame:
        """Return the answer to a question in SQL; values go into `params`, never into the text.

        Raises duckdb.Error: The question is wrong, or would change the warehouse.
        """
        import polars as pl  # noqa: PLC0415 - a tenth of a second, for those who ask

        def attempt() -> pl.DataFrame:
            with self.connection(read_only=True) as connection:
                # The stubs promise a relation; a statement such as BEGIN returns None.
                answer = cast("duckdb.DuckDBPyRelation | None", connection.sql(sql, params=params))
                return pl.DataFrame() if answer is None else answer.pl()

        return _patiently(attempt)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open the warehouse for several questions: all answers are of one moment.

        Nobody writes meanwhile, so keep the block short, or open the published copy.
        """
        with self.connection(read_only=True) as connection:
            yield Snapshot(self.connector, connection)

    # --- The file as a whole --------------------------------------------------------------------

    def publish(self, destination: str | Path | Lake, *, only_added_to: str | None = None) -> Path:
        """Put a consistent copy for readers at a path, in one step, and return the path.

        Where the caller has only added rows to one table and names it, that is done in a seventh
        of the time; what a run has written meanwhile comes with the copy that it makes itself. Of a
        lake no copy is made: whoever reads it keeps nobody waiting.

        Raises WarehouseNotWritableError: The copy cannot be written.
        """
        with self.published(destination, only_added_to=only_added_to):
            return Path(str(destination))

    @contextmanager
    def published(
        self, destination: str | Path | Lake, *, only_added_to: str | None = None
    ) -> Iterator[Snapshot]:
        """Publish like `publish`, and lend what was published to whoever has questions about it."""
        if isinstance(self.connector, Lake):
            with self.snapshot() as now:
                yield now
            return
        copy = Path(os.path.realpath(file_path(str(destination))))
        if copy == Path(os.path.realpath(self.path)):
            raise errors.WarehouseError(
                f"The warehouse {self.path} cannot be published onto itself: give another path."
            )
        # The lock is kept until the copy is in its place, so that of two that publish at once the
        # one with the newer content comes last.
        with self.connection() as connection:
            publish_copy(connection, self.path, copy, only_added_to=only_added_to)
            yield Snapshot(self.connector, connection)

    @contextmanager
    def connection(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the warehouse at the newest schema, and close it with the block.

        For what no other method does. Keep the block short: nobody else can open the file.
        """
        self.ensure_exists()
        place, now = (self.path, self.schema), time.monotonic()
        # In a lake it takes a seventh of a write to ask.
        is_known = (
            isinstance(self.connector, Lake) and _asked.get(place, -math.inf) > now - _TRUSTED
        )
        with self.connector.connect(read_only=read_only) as connection:
            if is_known or self.schema.is_in_force(connection, self.path):
                if not is_known:
                    _asked[place] = now
                yield connection
                return
        with self._alone(["schema"]), self.connector.connect() as connection:
            self.schema.apply(connection, self.path)
        with self.connector.connect(read_only=read_only) as connection:
            yield connection


_TRUSTED = 60.0
"""For so many seconds a lake whose schema was found in force is not asked again by a process."""
_asked: dict[tuple[Path, Schema], float] = {}


class Snapshot(Warehouse):
    """The warehouse at one moment: all that is read of it comes over one connection."""

    def __init__(self, store: Connector, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(store)
        self._connection = connection

    @contextmanager
    def connection(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend the connection, to read."""
        if not read_only:
            raise errors.WarehouseError(f"A snapshot of {self.path} is read, and never written.")
        yield self._connection


def _patiently(attempt: Callable[[], Changed]) -> Changed:
    """Return what an attempt returns; it is made again while a lake is busy, as one that restarts.

    Raises LakeBusyError: No attempt came through.
    """
    deadline = time.monotonic() + DEFAULT_LOCK_TIMEOUT_SECONDS
    while True:
        try:
            return attempt()
        except errors.LakeBusyError:
            if time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.05, 0.5))  # noqa: S311 - jitter, not a secret


def _rows(
    connection: duckdb.DuckDBPyConnection,
    question: str,
    record: type[AnyRecord],
    *,
    view: str = "",
    key: str = "",
    **values: Any,
) -> list[AnyRecord]:
    sql = _QUESTIONS[question].format(
        columns=", ".join(record.model_fields),
        table=record.table,
        view=view or f"current_{record.table}",
        order=", ".join(record.order),
        key=key,
    )
    return [from_row(record, row) for row in connection.execute(sql, values).fetchall()]


def _read(
    connection: duckdb.DuckDBPyConnection, sets: dict[str, Materialization], *, current: bool
) -> VideoRows:
    """Read the rows of some sets; of current ones, a verdict may be of an older set."""
    rows: list[records.Record] = []
    calls: dict[str, list[records.LlmCall]] = {}
    for asset, one in sets.items():
        # By its run a set is found at once.
        own = {"video_id": one.video_id, "run_id": one.run_id}
        for record in records.ASSET_RECORDS[asset]:
            if record is records.LlmCall:
                # The stages of a run share one table of model calls; each asset owns its own.
                if one.run_id not in calls:
                    calls[one.run_id] = _rows(connection, "calls_of_run", records.LlmCall, **own)
                rows += (call for call in calls[one.run_id] if call.stage == asset)
            elif record is records.Verdict and current:
                rows += _rows(connection, "current", record, video_id=one.video_id)
            elif record is not records.PageText:
                moment = to_utc(one.checked_at)
                rows += _rows(connection, "of_run", record, checked_at=moment, **own)
    if "evidence" in sets:
        read = (
            row.content_hash for row in rows if isinstance(row, records.Page | records.Evidence)
        )
        texts = stored_texts(connection, [each for each in read if each is not None])
        rows += (records.PageText(content_hash=each, text=texts[each]) for each in sorted(texts))
    return VideoRows.of(rows, sets=sets)


def _sets(
    connection: duckdb.DuckDBPyConnection, question: str, **values: str
) -> dict[str, Materialization]:
    columns = ", ".join(each.name for each in fields(Materialization))
    found = connection.execute(_QUESTIONS[question].format(columns=columns), values).fetchall()
    return {one.asset: one for one in (Materialization(*map(aware, row)) for row in found)}
