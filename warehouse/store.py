"""The warehouse: writes sets, reads current rows, and answers SQL queries.

A *set* is everything that one run found for one asset and one video. One transaction writes a set
with its row in `materializations`, so a set is complete or absent. Each method opens the store for
a short time only.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from factible_assets.records import tables as records
from factible_assets.records.rows import Materialization, VideoRows
from resources.statements import statements
from warehouse import errors
from warehouse.connection import Connector, FileConnector, file_path, patiently
from warehouse.publication import publish_copy
from warehouse.reading import find_sets, has_one_run, read_rows, read_sets, stored_texts
from warehouse.rows import AnyRecord, Stamp, aware, from_row
from warehouse.sets import (
    AssetRows,
    PreparedSet,
    insert_records,
    insert_rows,
    prepare,
    replace_sets,
)
from warehouse.versions import Schema, packaged_schema

if TYPE_CHECKING:
    import polars as pl

_SQL = statements("warehouse", "store.sql")

Changed = TypeVar("Changed")

ALL_TEXTS = "texts"
"""The lock for removing texts. Writers of sets share it, because sets rest on texts."""


class Warehouse:
    """A warehouse in a DuckDB file or a lake. Creating the object touches nothing.

    Every method may raise WarehouseBusyError, WarehouseTooNewError, WarehouseTooOldError,
    NotAWarehouseError and WarehouseNotWritableError. Methods block: some 50 ms to read, some 300 ms
    to write a video with its pages. Threads take turns. The first use creates the file.
    """

    def __init__(self, store: str | Path | Connector, *, schema: Schema | None = None) -> None:
        self.connector: Connector = (
            FileConnector(file_path(store)) if isinstance(store, str | Path) else store
        )
        self._schema = schema

    @property
    def path(self) -> Path:
        return self.connector.path

    @property
    def schema(self) -> Schema:
        return self._schema or packaged_schema()

    # --- Writing --------------------------------------------------------------------------------

    def ensure_exists(self) -> None:
        """Create the file with its schema if it is missing."""
        self.connector.ensure_exists(lambda fresh: self.schema.apply(fresh, self.path))

    def write_assets(
        self,
        video_id: str,
        sets: Mapping[str, AssetRows],
        *,
        stamp: Stamp,
        also: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    ) -> list[Materialization]:
        """Write sets of several assets of one video, and the changes of `also`, in one transaction.

        Each set replaces the one that the same run wrote before, so steps are repeatable. A
        set without rows becomes current too.

        Raises WarehouseIntegrityError: A row does not belong to its set, breaks a constraint, or
        quotes words that are not in its page. Nothing was written.
        """
        for asset in sets.keys() - records.ASSET_RECORDS.keys():
            known = ", ".join(records.ASSET_RECORDS)
            raise errors.WarehouseIntegrityError(
                f"There is no asset {asset}; the warehouse holds {known}."
            )
        prepared = [prepare(asset, video_id, rows, stamp) for asset, rows in sets.items()]

        def replace_all(connection: duckdb.DuckDBPyConnection) -> None:
            if prepared:
                replace_sets(connection, prepared)
            if also is not None:
                also(connection)

        def attempt() -> None:
            with self.connector.locked([f"video {video_id}"], shared=[ALL_TEXTS]):
                if self.connector.is_shared:
                    self._write_texts(prepared)
                self._in_transaction(replace_all)

        patiently(attempt, errors.LakeBusyError)
        return [one_set.materialization for one_set in prepared]

    def _write_texts(self, prepared: Sequence[PreparedSet]) -> None:
        """Write page texts to a lake in a transaction of their own, before their sets.

        Videos share texts, and a lake has no keys, so writers of the same text must take turns.
        In one transaction with the sets, they would wait for each other's sets too. The texts of
        refused sets stay until retention removes them.
        """
        hashes = {text_hash for one_set in prepared for text_hash in one_set.texts}
        if hashes:
            stored = self.rows(_SQL["known_texts"], {"hashes": sorted(hashes)})
            hashes -= {row["content_hash"] for row in stored}

        def insert_texts(connection: duckdb.DuckDBPyConnection) -> None:
            for one_set in prepared:
                if (frame := one_set.frames.get(records.PageText)) is not None:
                    insert_records(connection, records.PageText, frame)

        if hashes:
            with self.connector.locked(f"text {text_hash}" for text_hash in hashes):
                self._in_transaction(insert_texts)

    def write_rows(
        self, entries: Mapping[str, Iterable[Any]], *, replacing: tuple[str, str] | None = None
    ) -> None:
        """Insert rows into tables without sets, by table, in one transaction.

        `replacing` is a column and a value: the transaction first deletes the rows that have it.
        """
        lists = {table: list(rows) for table, rows in entries.items()}

        def insert_all(connection: duckdb.DuckDBPyConnection) -> None:
            for table, rows in lists.items():
                if replacing is not None:
                    column, value = replacing
                    forget = _SQL["forget"].format(table=table, column=column)
                    connection.execute(forget, [value])
                insert_rows(connection, table, rows)

        self.write(insert_all, locks=lists)

    def write(
        self, change: Callable[[duckdb.DuckDBPyConnection], Changed], *, locks: Collection[str] = ()
    ) -> Changed:
        """Make a change in one transaction, and return its result.

        In a lake, a conflict with another transaction or a restart of the server repeats the
        change. `locks` (names of a video, a text or a table) exclude other writers of the same.

        Raises LakeBusyError: No attempt succeeded.
        """

        def attempt() -> Changed:
            with self.connector.locked(locks):
                return self._in_transaction(change)

        return patiently(attempt, errors.LakeBusyError)

    def _in_transaction(self, change: Callable[[duckdb.DuckDBPyConnection], Changed]) -> Changed:
        with self.connection() as connection:
            # No rollback: closing the connection discards uncommitted changes.
            connection.begin()
            changed = change(connection)
            connection.commit()
            return changed

    # --- Reading --------------------------------------------------------------------------------

    def read_current(self, record: type[AnyRecord], video_id: str) -> list[AnyRecord]:
        """Return the rows of one class in a video's newest set, in natural order.

        Verdicts are those of `current_verdicts`: a failed re-check does not replace a good one.
        """
        with self.connection(read_only=True) as connection:
            return read_rows(connection, "current", record, video_id=video_id)

    def read_video(self, video_id: str, assets: Iterable[str] = records.ASSET_RECORDS) -> VideoRows:
        """Return a video's newest sets, of all assets or some, from one moment."""
        with self.connection(read_only=True) as connection:
            sets = find_sets(connection, "current_sets", video_id=video_id)
            wanted = {asset: sets[asset] for asset in assets if asset in sets}
            return read_sets(connection, wanted, current=not has_one_run(connection, video_id))

    def video_ids(self) -> list[str]:
        """Return the sorted ids of all videos that have a set."""
        return [row["video_id"] for row in self.rows(_SQL["videos"])]

    def read_sets(self, video_id: str, runs: Mapping[str, str]) -> VideoRows:
        """Return the sets of given runs (run id by asset), from one moment."""
        with self.connection(read_only=True) as connection:
            sets: dict[str, Materialization] = {}
            for asset, run_id in runs.items():
                key = {"asset": asset, "video_id": video_id, "run_id": run_id}
                sets |= find_sets(connection, "set_of_run", **key)
            return read_sets(connection, sets, current=False)

    def read_judged(self, video_id: str) -> VideoRows:
        """Return a video's newest rows, with the evidence that its verdicts rest on.

        If a failed re-check left an older verdict current, `read_video` would return the evidence
        of the re-check. Claims without a verdict have their newest evidence. Hits, pages and texts
        are those of the evidence.
        """
        with self.snapshot() as now, now.connection(read_only=True) as connection:
            rows = now.read_video(video_id)
            judged = {verdict.claim_id for verdict in rows.verdicts}
            evidence = [row for row in rows.evidence if row.claim_id in judged]
            if not has_one_run(connection, video_id):
                source = {"view": "verdict_evidence", "video_id": video_id}
                evidence = read_rows(connection, "current", records.Evidence, **source)
            evidence += (row for row in rows.evidence if row.claim_id not in judged)
            hashes = {row.content_hash for row in evidence if row.content_hash}
            texts = {key: text for key, text in rows.texts.items() if key in hashes}
            texts |= stored_texts(connection, hashes - texts.keys())
            newest = partial(read_rows, connection, "newest", video_id=video_id)
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
        """Return a video's newest sets, without their rows, by asset."""
        with self.connection(read_only=True) as connection:
            return find_sets(connection, "current_sets", video_id=video_id)

    def table(
        self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> tuple[list[str], list[list[Any]]]:
        """Return the columns and the rows of an SQL query; datetimes are in UTC.

        Pass values in `params`, never in the text. Unlike `query` it loads no data frames, which
        takes a tenth of a second.

        Raises duckdb.Error: The SQL is wrong, or would change the warehouse.
        """

        def attempt() -> tuple[list[str], list[list[Any]]]:
            with self.connection(read_only=True) as connection:
                rows = connection.execute(sql, params).fetchall()
                names = [column[0] for column in connection.description or ()]
                return names, [[*map(aware, row)] for row in rows]

        return patiently(attempt, errors.LakeBusyError)

    def rows(
        self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows of an SQL query as dictionaries by column; see `table`."""
        names, rows = self.table(sql, params)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def records(
        self, sql: str, record: type[AnyRecord], params: Mapping[str, Any]
    ) -> list[AnyRecord]:
        """Return the rows of an SQL query as records; `{columns}` stands for their columns."""
        _, rows = self.table(sql.format(columns=", ".join(record.model_fields)), params)
        return [from_row(record, row) for row in rows]

    def query(
        self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> pl.DataFrame:
        """Return the result of an SQL query as a data frame; see `table`."""

        def attempt() -> pl.DataFrame:
            with self.connection(read_only=True) as connection:
                return connection.execute(sql, params).pl()

        return patiently(attempt, errors.LakeBusyError)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open the warehouse for several queries; all answers are from one moment.

        An open snapshot blocks all writers of a file. So keep the block short, or open the
        published copy.
        """
        with self.connection(read_only=True) as connection:
            yield Snapshot(self.connector, connection)

    # --- The store as a whole -------------------------------------------------------------------

    def publish(
        self, destination: str | Path | Connector, *, only_added_to: str | None = None
    ) -> Path:
        """Put a consistent copy for readers at a path, in one step, and return the path.

        If the caller has only added rows to one table and names it in `only_added_to`, that takes a
        seventh of the time; rows of a run in progress then wait for its own publication. A lake
        needs no copy, because its readers block no writer.

        Raises WarehouseNotWritableError: The copy cannot be written.
        """
        with self.published(destination, only_added_to=only_added_to):
            return Path(str(destination))

    @contextmanager
    def published(
        self, destination: str | Path | Connector, *, only_added_to: str | None = None
    ) -> Iterator[Snapshot]:
        """Publish like `publish`, and yield a snapshot of the published rows."""
        if self.connector.is_shared:
            with self.snapshot() as now:
                yield now
            return
        copy = Path(os.path.realpath(file_path(str(destination))))
        if copy == Path(os.path.realpath(self.path)):
            raise errors.WarehouseError(
                f"The warehouse {self.path} cannot be published onto itself: give another path."
            )
        # This connection locks the file until the copy is in place: of two simultaneous
        # publications, the one with newer content comes last.
        with self.connection() as connection:
            publish_copy(connection, self.path, copy, only_added_to=only_added_to)
            yield Snapshot(self.connector, connection)

    def open_to_read(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for notebooks; the caller closes it.

        SQL on it may read other files too. As long as it is open, nobody can write the warehouse.
        """
        with self.connection(read_only=True):
            pass  # creates the schema, or refuses another one
        return self.connector.open_to_read()

    @contextmanager
    def connection(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the warehouse with the current schema and views; close it at the end of the block.

        For purposes that no other method serves. Keep the block short: nobody else can open the
        file.
        """
        self.ensure_exists()
        key, now = (self.path, self.schema), time.monotonic()
        # In a lake this check takes a seventh of a write.
        is_known = self.connector.is_shared and now - _checked.get(key, -math.inf) < _TRUSTED
        with self.connector.connect(read_only=read_only) as connection:
            if is_known or self.schema.is_applied(connection, self.path):
                if not is_known:
                    _checked[key] = now
                yield connection
                return
        with self.connector.locked(["schema"]), self.connector.connect() as connection:
            self.schema.apply(connection, self.path)
        with self.connector.connect(read_only=read_only) as connection:
            yield connection


_TRUSTED = 60.0
"""Seconds for which a process trusts a lake whose schema it has checked."""
_checked: dict[tuple[Path, Schema], float] = {}
"""The monotonic time of the last check of each warehouse."""


class Snapshot(Warehouse):
    """The warehouse at one moment: all reads share one connection."""

    def __init__(self, store: Connector, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(store)
        self._connection = connection

    @contextmanager
    def connection(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield the shared connection, to read only."""
        if not read_only:
            raise errors.WarehouseError(f"A snapshot of {self.path} cannot be written.")
        yield self._connection
