"""The warehouse's schema: which migrations there are, and bringing a file up to the newest one.

What belongs here: reading `schema/*.sql` and `views/*.sql`, and applying them. What does not: any
table or view (they are SQL), opening files (connection.py), rows (rows.py, store.py).

A migration is one numbered file that is never changed once released; views are replaced as a whole
whenever their definitions differ from those in force. One query tells whether there is anything to
do, and everything there is to do happens in one transaction.

Tables that grow with every video have no key, whatever their migrations say: DuckDB 1.5 writes the
index behind a key anew, as a whole, at each checkpoint, and with it the last 122,880 rows of its
table. At 3,000 videos that was 1.8 s of CPU for each video written, against 0.13 without, in a file
of twice the size. What a key would refuse, sets.py refuses (the `key` of a record).

A lake takes the same migrations and views, as far as DuckLake knows what they say (lake.py): a new
one the shape that they come to, an older one those that it lacks.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Self

import duckdb

from factible_assets.records import ALL_RECORDS
from resources.statements import statements
from warehouse.errors import NotAWarehouseError, WarehouseTooNewError
from warehouse.lake import fitting, take_shape

_ASK = statements("warehouse", "migrations.sql")

_COMMENT = re.compile(
    r"^COMMENT ON (?:TABLE|COLUMN) (?P<place>[\w.]+) IS '(?P<words>(?:[^']|'')*)';", re.MULTILINE
)
_WIDENED = (
    ("'organisation', 'unknown'", "'organisation', 'answer_engine', 'unknown'"),
    ("('embedded', 'llm'))", "('embedded', 'labels', 'llm'))"),
)
"""Lists in checks as the migrations have them, and as they are today."""

_SAME_COLUMNS = {
    **{f"current_{record.table}": record.table for record in ALL_RECORDS},
    "current_materializations": "materializations",
    "latest_verdicts": "verdicts",
    "verdict_evidence": "evidence",
    "corpus_quality": "metrics",
    "video_quality": "metrics",
    "metric_trend": "metrics",
    "current_judgements": "judgements",
}
"""Views that show the columns of a table, and so take over the comments on them."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a version of the schema to the next."""

    version: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Schema:
    """All migrations, in order from 1 without a gap, and the views over the newest tables."""

    migrations: tuple[Migration, ...]
    views: tuple[str, ...]

    @classmethod
    def load(cls, migrations: Path, views: Path) -> Self:
        """Read a schema. Raises ValueError: A migration is not numbered in its turn."""
        steps = []
        for number, file in enumerate(sorted(migrations.glob("*.sql")), start=1):
            if not file.name.startswith(f"{number:04}_"):
                raise ValueError(
                    f"{file.name} is not named as migration {number}, {number:04}_what_it_adds.sql."
                )
            steps.append(Migration(number, file.stem, file.read_text(encoding="utf-8")))
        texts = (file.read_text(encoding="utf-8") for file in sorted(views.glob("*.sql")))
        return cls(migrations=tuple(steps), views=tuple(texts))

    @property
    def version(self) -> int:
        """The number of the newest migration."""
        return len(self.migrations)

    @property
    def views_checksum(self) -> str:
        """SHA-256 over the definitions of the views."""
        return hashlib.sha256("\x00".join(self.views).encode()).hexdigest()

    def is_in_force(self, connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
        """Tell, with one query, whether a file has this schema and these views.

        Raises WarehouseError: The file has a later schema, or belongs to something else.
        """
        version, checksum = _state(connection, path)
        if version > self.version:
            raise WarehouseTooNewError(
                path, found=f"schema version {version}", supported=f"up to version {self.version}"
            )
        return version == self.version and checksum == self.views_checksum

    def apply(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Bring a file to this schema; a file that has it is left alone.

        Each migration is a transaction of its own, because DuckDB cannot alter a table twice in
        one: whoever is killed in between leaves a file of an earlier schema, and the next one goes
        on from there. Views come last. Raises like `is_in_force`.
        """
        # Asked outside of the transaction, which a question to a table that is not there would end;
        # nobody else can write to the file in between.
        if self.is_in_force(connection, path):
            return
        applied, _ = _state(connection, path)
        is_lake = bool(connection.execute(_ASK["is_lake"]).fetchall())
        # No rollback here: closing the connection discards what was not committed.
        now = datetime.now(UTC).replace(tzinfo=None)
        # Straight into the file: DuckDB 1.5 cannot replay every change of a table from its log, and
        # a file of which it cannot is lost to whoever was killed before the next checkpoint.
        connection.execute(_ASK["into_the_file"])
        if is_lake and not applied:
            # Of the shape that all migrations come to: a lake cannot take each step to it.
            with duckdb.connect() as model:
                self.apply(model, path)
                connection.begin()
                take_shape(connection, model)
                connection.commit()
            applied = self.version
        for migration in self.migrations[applied:]:
            connection.begin()
            for sql in fitting(migration.sql) if is_lake else (migration.sql,):
                connection.execute(sql)
            connection.execute(_ASK["applied"], [migration.version, migration.name, now])
            connection.commit()
        if not is_lake:
            connection.begin()
            _make_anew(connection)
            connection.commit()
        connection.begin()
        for view in self.views:
            for sql in fitting(view, of_views=True) if is_lake else (view,):
                connection.execute(sql)
        if not is_lake:
            views = {"views": list(_SAME_COLUMNS), "tables": list(_SAME_COLUMNS.values())}
            for (comment,) in connection.execute(_ASK["comments_of_views"], views).fetchall():
                connection.execute(comment)
        connection.execute(_ASK["views_in_force"], [self.version, self.views_checksum])
        connection.commit()
        connection.execute(_ASK["into_the_log"])


@cache
def packaged_schema() -> Schema:
    """Return the schema that this project ships."""
    here = Path(__file__).parent
    return Schema.load(here / "schema", here / "views")


@cache
def packaged_comments() -> dict[str, str]:
    """Return what tables and columns mean, by `table` and `table.column`, in the newest words."""
    return {
        found["place"]: found["words"].replace("''", "'")
        for migration in packaged_schema().migrations
        for found in _COMMENT.finditer(migration.sql)
    }


def _state(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[int, str | None]:
    try:
        newest = connection.execute(_ASK["newest"]).fetchall()
    except duckdb.CatalogException:
        # Where a question was part of a transaction, its failure ended that.
        with suppress(duckdb.TransactionException):
            connection.rollback()
        tables = connection.execute(_ASK["tables"]).fetchall()
        if tables:
            raise NotAWarehouseError(
                path, f"it is a DuckDB file with {len(tables)} tables of something else"
            ) from None
        newest = []
    return (newest[0][0], newest[0][1]) if newest else (0, None)


def _make_anew(connection: duckdb.DuckDBPyConnection) -> None:
    """Make tables that grow anew: without keys, and with today's lists in their checks.

    DuckDB can drop neither a key nor a check.
    """
    growing = ["materializations", *(record.table for record in ALL_RECORDS if record.key)]
    old_lists = [before for before, _ in _WIDENED]
    outdated = connection.execute(_ASK["outdated"], [growing, old_lists]).fetchall()
    for table, sql, key, columns in outdated:
        anew = sql.replace(f"CREATE TABLE {table}", f"CREATE TABLE {table}_anew")
        anew = anew.replace(f", {key}", "").replace(" PRIMARY KEY", "")
        for before, after in _WIDENED:
            anew = anew.replace(before, after)
        for column in columns or []:
            anew = re.sub(rf"([(,] ?\"?{column}\"? [A-Z]+)", r"\1 NOT NULL", anew, count=1)
        connection.execute(anew)
        for (comment,) in connection.execute(_ASK["comments"], {"table": table}).fetchall():
            connection.execute(comment)
        connection.execute(_ASK["take_over"].format(table=table))
