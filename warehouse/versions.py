"""The schema of this version: creating it in an empty store, and refusing a store with another one.

Tables are in `schema/*.sql`, views in `views/*.sql`. A comment at the end of the line that begins a
table, a view or a column is its comment in the store; records/stances.py fills in the stances. The
store gets new views whenever their definitions differ. `factible upgrade` copies the rows of an
older store into this schema (upkeep.py).

Tables that grow with every video have no primary key: at each checkpoint DuckDB 1.5 rewrites the
index behind a key, and with it the last 122,880 rows of the table. With 3,000 videos that took
1.8 s of CPU per video, against 0.13 s without, in a file twice as large. sets.py refuses duplicate
keys instead (the `key` of a record).
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb

from factible_assets.records.stances import with_stances
from factible_assets.records.tables import ALL_RECORDS
from resources.statements import statements
from warehouse.errors import NotAWarehouseError, WarehouseTooNewError, WarehouseTooOldError
from warehouse.lake import create_tables_of_lake, without_comments_on_columns

VERSION = 36
"""Raise it with every change of a table. Versions up to 31 were numbered migrations."""

_SQL = statements("warehouse", "versions.sql")
_COMMENT = re.compile(
    r"^COMMENT ON (?:TABLE|COLUMN) (?P<place>[\w.]+) IS '(?P<words>(?:[^']|'')*)';", re.MULTILINE
)
_COMMENTED = re.compile(
    r"^CREATE (?:OR REPLACE )?(?P<kind>TABLE|VIEW) (?P<place>\w+)(?:.*?  -- (?P<about>.+))?$"
    r"|^ +(?=[^ -])(?=(?P<first>\w*)).*?(?P<last>\w*)[,(]?  -- (?P<words>.+)$",
    re.MULTILINE,
)
_VIEWS_OF_TABLES = {
    **{record.view: record.table for record in ALL_RECORDS},
    "current_materializations": "materializations",
    "verdict_evidence": "evidence",
    "corpus_quality": "metrics",
    "video_quality": "metrics",
    "metric_trend": "metrics",
    "current_judgements": "judgements",
}
"""Views that show the columns of a table, and so copy the comments on them."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The SQL of the tables and of the views over them."""

    version: int
    tables: str
    views: tuple[str, ...]

    @property
    def views_checksum(self) -> str:
        return hashlib.sha256("\x00".join(self.views).encode()).hexdigest()

    def is_applied(self, connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
        """Tell, with one query, whether a store has these tables and views.

        Raises WarehouseError: The store has another schema version, or is no warehouse.
        """
        return self._applied_version(connection, path) == (self.version, self.views_checksum)

    def apply(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Create the tables in an empty store, and replace views that differ.

        Raises like `is_applied`.
        """
        # Ask before the transaction: a query to a missing table would end it.
        applied = self._applied_version(connection, path)
        if applied == (self.version, self.views_checksum):
            return
        # Bypass the write-ahead log: after a crash, DuckDB 1.5 cannot replay every change of the
        # catalogue from it.
        connection.execute(_SQL["into_the_file"])
        # No rollback: closing the connection discards uncommitted changes.
        connection.begin()
        if applied is None:
            self.create_tables(connection)
        self._create_views(connection)
        connection.commit()
        connection.execute(_SQL["into_the_log"])

    def create_tables(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the tables, without views, in the caller's transaction."""
        if _is_lake(connection):
            create_tables_of_lake(connection, self.tables)
        else:
            connection.execute(self.tables)
        connection.execute(_SQL["created"], [self.version, datetime.now(UTC)])

    def _create_views(self, connection: duckdb.DuckDBPyConnection) -> None:
        is_lake = _is_lake(connection)
        # Drop all views first: replacing alone would leave those that were renamed or removed.
        for (view,) in connection.execute(_SQL["views"]).fetchall():
            connection.execute(_SQL["drop_view"].format(view=view))
        for view in self.views:
            connection.execute(without_comments_on_columns(view) if is_lake else view)
        if not is_lake:
            pairs = {"views": list(_VIEWS_OF_TABLES), "tables": list(_VIEWS_OF_TABLES.values())}
            for (comment,) in connection.execute(_SQL["comments_of_views"], pairs).fetchall():
                connection.execute(comment)
        connection.execute(_SQL["views_in_force"], [self.views_checksum])

    def _applied_version(
        self, connection: duckdb.DuckDBPyConnection, path: Path
    ) -> tuple[int, str | None] | None:
        """Return the version and the checksum of the views in a store, None if it is empty."""
        try:
            ((version, checksum),) = connection.execute(_SQL["version"]).fetchall()
        except duckdb.CatalogException:
            # The failed query has ended the caller's transaction, if there was one.
            with suppress(duckdb.TransactionException):
                connection.rollback()
            tables = {table for (table,) in connection.execute(_SQL["tables"]).fetchall()}
            if not tables:
                return None
            if "schema_migrations" not in tables:
                raise NotAWarehouseError(
                    path, f"it is a DuckDB file with {len(tables)} tables of another program"
                ) from None
            ((version, checksum),) = connection.execute(_SQL["last_migration"]).fetchall()
        if version > self.version:
            raise WarehouseTooNewError(
                path, found=f"schema version {version}", supported=f"version {self.version}"
            )
        if version < self.version:
            raise WarehouseTooOldError(path, found=version, wanted=self.version)
        return version, checksum


def _is_lake(connection: duckdb.DuckDBPyConnection) -> bool:
    return bool(connection.execute(_SQL["is_lake"]).fetchall())


@cache
def packaged_schema() -> Schema:
    """Return the schema that this project ships."""

    def texts(folder: str) -> list[str]:
        files = sorted((Path(__file__).parent / folder).glob("*.sql"))
        return [with_stances(file.read_text(encoding="utf-8")) for file in files]

    tables = with_comments("\n".join(texts("schema")))
    return Schema(VERSION, tables, tuple(map(with_comments, texts("views"))))


def with_comments(script: str) -> str:
    """Add a statement for each comment at the end of a line that begins a table, view or column.

    A table's column is the first word of its line, a view's is the last before the comment.
    """
    comments, kind, place = [script], "", ""
    for line in _COMMENTED.finditer(script):
        if line["place"]:
            kind, place = line["kind"], line["place"]
            what, words = f"{kind} {place}", line["about"]
        else:
            column = line["first" if kind == "TABLE" else "last"]
            what, words = f"COLUMN {place}.{column}", line["words"]
        if words:
            comments.append(_SQL["comment"].format(what=what, words=words.replace("'", "''")))
    return "\n".join(comments)


@cache
def packaged_comments() -> dict[str, str]:
    """Return the comments on tables and columns, by `table` and `table.column`."""
    comments = _COMMENT.finditer(packaged_schema().tables)
    return {comment["place"]: comment["words"].replace("''", "'") for comment in comments}
