"""A warehouse in a lake: DuckLake's catalogue in PostgreSQL, its rows in Parquet files.

Several processes write a lake at once. DuckLake has no keys, and refuses a commit only if two
transactions change the same rows. So a writer locks, in PostgreSQL, the video, the texts and the
tables of single rows that it writes (`locked`), from before its transaction until after its commit.
The lock ends with its connection, even if the process is killed. sets.py then refuses the
duplicates that a file's keys would refuse. `Warehouse.write` repeats a commit that another
transaction or a restart of the server made impossible.

A process opens a lake once for reading and once for writing; every connection is a cursor on one of
these, with its own transaction.

The server's password is separate from the rest of the address. DuckDB gets it as a secret, so that
no message and no SQL query can show it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import duckdb

from resources.statements import statements
from warehouse.connection import (
    CONNECTION_CONFIG,
    DEFAULT_LOCK_TIMEOUT_SECONDS,
    escaped,
    patiently,
    trouble_with,
)
from warehouse.errors import LakeBusyError, LakeError, WarehouseBusyError, WarehouseError
from warehouse.lake_address import connection_words, extension, quoted, secret_of_store, store_of

SCHEME = "ducklake:postgres:"

_SQL = statements("warehouse", "lake.sql")
_COMMENT_ON_COLUMN = re.compile(r"^COMMENT ON (?:COLUMN|MACRO) [^;]*?'(?:[^']|'')*';", re.MULTILINE)
_PASSING = (
    "Transaction conflict",
    "Connection refused",
    "could not connect",
    "server closed the connection",
    # The server is gone, which DuckDB does not say.
    'Failed to execute query "ROLLBACK',
    'Failed to execute query "COMMIT',
    'Failed to execute query "BEGIN',
    "terminating connection",
    "is starting up",
    "not yet accepting connections",
    "is shutting down",
    "in recovery mode",
    "no connection to the server",
    "SSL SYSCALL error",
    "too many clients",
    "could not serialize",
    "deadlock detected",
    # The server went away during the transaction; the next statement says so.
    "Current transaction is aborted",
)
"""Parts of the messages of failures that may not happen again."""


@dataclass(frozen=True, slots=True)
class Lake:
    """The place of a lake, and connections to it.

    `catalogue` is the PostgreSQL database in libpq's `keyword=value` form, `data` the folder or
    object store of the Parquet files. Without a `password`, libpq looks for one.
    """

    is_shared: ClassVar[bool] = True

    catalogue: str
    data: str
    password: str | None = field(default=None, repr=False)
    lock_timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS

    @classmethod
    def of(cls, location: str, data: str | Path) -> Self:
        """Parse `ducklake:postgres:` with libpq's keywords or a `postgresql://…` address.

        Raises WarehouseError: The location has neither form (the message does not repeat it), or
        the object store of the data is unknown.
        """
        address = location.removeprefix(SCHEME)
        words = connection_words(address)
        if address == location or words is None:
            raise WarehouseError(
                "The location of the lake cannot be read. Write it as "
                "ducklake:postgres:dbname=NAME host=HOST user=USER, or as ducklake:postgres:postgresql://USER@HOST/NAME."
            )
        password = words.pop("password", None)
        catalogue = " ".join(f"{name}={quoted(value)}" for name, value in words.items())
        place = str(data)
        if "://" in place:
            store_of(place)
        else:
            try:
                place = f"{Path(place).expanduser().absolute()}/"
            except RuntimeError as error:
                raise WarehouseError(
                    f"The lake's data folder {place!r} names an unknown user after ~. Write "
                    "the whole path."
                ) from error
        lake = cls(catalogue, place, password)
        _known[str(lake)] = lake
        return lake

    @classmethod
    def named(cls, shown: str) -> Lake:
        """Return a lake of this process by its name without the password.

        So a configuration that others can see need not contain the password.

        Raises WarehouseError: This process knows no lake with this name.
        """
        if shown not in _known:
            raise WarehouseError(f"The lake {shown} is unknown here: set FACTIBLE_WAREHOUSE.")
        return _known[shown]

    def __str__(self) -> str:
        """Return the location without the password."""
        return f"{SCHEME}{self.catalogue}"

    @property
    def path(self) -> Path:
        """The location without the password, for messages."""
        return Path(str(self))

    def exists(self) -> bool:
        """Return true: the first connection creates a lake."""
        return True

    def waiting(self, seconds: float) -> Lake:
        return replace(self, lock_timeout_seconds=seconds)

    def refuse_damage(self, *, thoroughly: bool = False) -> None:
        """Do nothing: PostgreSQL guards its own database."""

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Do nothing: the first connection creates a lake."""

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the lake for a block. All reads are from one moment.

        Raises LakeError: The server or the files cannot be reached; LakeBusyError if that may pass.
        """
        try:
            cursor = self._cursor(read_only=read_only)
            try:
                if read_only:
                    cursor.begin()
                yield cursor
            finally:
                _end(cursor)
        except duckdb.Error as failure:
            raise self._explain(failure) or failure from failure

    def open_to_read(self) -> duckdb.DuckDBPyConnection:
        return self._cursor(read_only=True)

    @contextmanager
    def locked(self, keys: Iterable[str], *, shared: Iterable[str] = ()) -> Iterator[None]:
        """Hold PostgreSQL's advisory locks on some keys, and shared ones on others.

        Raises WarehouseBusyError: Another writer held one of the keys until the timeout.
        """
        numbers = {
            kind: sorted(
                int.from_bytes(hashlib.sha256(f"factible:{key}".encode()).digest()[:8], signed=True)
                for key in names
            )
            for kind, names in (("keys", set(keys)), ("shared", set(shared)))
        }
        started = time.monotonic()
        cursor = self._instance(read_only=False).cursor()
        try:
            cursor.begin()
            sql = _SQL["lock"].format(milliseconds=int(self.lock_timeout_seconds * 1000), **numbers)
            try:
                cursor.execute(sql).fetchall()
            except duckdb.Error as failure:
                if "lock timeout" in str(failure):
                    waited = time.monotonic() - started
                    raise WarehouseBusyError(
                        self.path,
                        waited_seconds=waited,
                        holder="another writer of the same rows",
                        remedy="Run the same command again; nothing of it was written.",
                    ) from failure
                raise self._explain(failure) or failure from failure
            yield
        finally:
            _end(cursor)

    def state(self) -> Hashable:
        """Return the number of the newest change in the lake."""
        with self.connect(read_only=True) as connection:
            ((number,),) = connection.execute(_SQL["newest_change"]).fetchall()
        return int(number)

    def tidy(self) -> int:
        """Merge small files, drop snapshots older than a day, delete unused files.

        Moves rows from the catalogue into files first. Returns the bytes of Parquet files saved.
        """
        with self.connect() as connection:
            connection.execute(_SQL["flush"]).fetchall()
            ((before,),) = connection.execute(_SQL["bytes_of_files"]).fetchall()
            for step in ("expire", "merge", "rewrite", "clean", "clean_orphans"):
                connection.execute(_SQL[step]).fetchall()
            ((after,),) = connection.execute(_SQL["bytes_of_files"]).fetchall()
        return int(before - after)

    def _cursor(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        """Return a cursor on this process's instance of the lake."""
        instance = self._instance(read_only=read_only)

        def attempt() -> duckdb.DuckDBPyConnection:
            cursor = instance.cursor()
            try:
                return cursor.execute(_SQL["enter"])
            except duckdb.Error as failure:
                cursor.close()
                raise self._explain(failure) or failure from failure

        # The server may be restarting.
        return patiently(attempt, LakeBusyError, self.lock_timeout_seconds)

    def _instance(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        """Return this process's open instance of the lake; open one if there is none."""
        key = self, read_only, os.getpid()
        with _opening:
            if key not in _opened:
                try:
                    _opened[key] = self._open(read_only=read_only)
                except (OSError, duckdb.Error) as failure:
                    trouble = self._explain(failure) or LakeError(self.path, str(failure))
                    if "Connection refused" in str(failure) and self not in _reached:
                        # There may be no server at all: report that at once.
                        trouble = LakeError(self.path, trouble.args[0].partition("used: ")[2])
                    raise trouble from failure
                _reached.add(self)
            return _opened[key]

    def _open(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        # pip has checked the extensions, like all packages; a check of their signatures at each
        # start took 0.2 s of CPU for each.
        config = {**CONNECTION_CONFIG, "allow_unsigned_extensions": "true"}
        connection = duckdb.connect(config=config)
        if not read_only:
            # In small sets a second thread finds nothing to do and keeps looking for work: with
            # four writers on two cores, a write took half as much CPU again.
            connection.execute("SET threads = 1")
        is_folder = "://" not in self.data
        if is_folder and not read_only:
            Path(self.data).mkdir(parents=True, exist_ok=True)
        store = () if is_folder else (store_of(self.data)[0],)
        for name in ("ducklake", "postgres_scanner", *store):
            connection.execute(_SQL["load"].format(file=extension(name)))
        parts = {
            "catalogue": escaped(self.catalogue),
            "data": escaped(self.data),
            "mode": ", READ_ONLY" if read_only else "",
        }
        password = "" if self.password is None else f", PASSWORD '{escaped(self.password)}'"
        connection.execute(_SQL["secret"].format(password=password))
        if not is_folder:
            connection.execute(secret_of_store(self.data))
        try:
            connection.execute(_SQL["attach"].format(**parts))
        except duckdb.Error as failure:
            # The lake is new, or another process creates it right now.
            if not any(words in str(failure) for words in ("does not exist", "already exists")):
                raise
            self._open(read_only=False).close()
            connection.execute(_SQL["attach"].format(**parts))
        if read_only:
            connection.execute(_SQL["shut"].format(**parts))
        else:
            connection.execute(_SQL["attach_locks"].format(**parts))
        return connection

    def _explain(self, failure: Exception) -> WarehouseError | None:
        """Return the error for a failure of DuckDB; None if the lake is not the cause."""
        words = str(failure)
        if isinstance(failure, WarehouseError):
            return failure
        # The server's message follows DuckDB's own, over several lines.
        server_words = " ".join(words.split()).rpartition('": ')[2][:300]
        if self.password:
            server_words = server_words.replace(self.password, "…")
        is_lost = isinstance(failure, duckdb.InternalException | duckdb.FatalException)
        if is_lost or any(message in words for message in _PASSING):
            return LakeBusyError(self.path, server_words)
        if "DATA_PATH" in words:
            why = f"its files are not in {self.data}. Set FACTIBLE_LAKE_DATA to where they are"
            return LakeError(self.path, why)
        if "PostgreSQL" in words or "Postgres" in words:
            return LakeError(self.path, server_words)
        if isinstance(failure, duckdb.IOException) and "://" in self.data:
            why = " ".join(words.split())[:300]
            return LakeError(self.path, f"its files in {self.data} cannot be reached: {why}")
        return trouble_with(self.path, failure)


_known: dict[str, Lake] = {}
_opened: dict[tuple[Lake, bool, int], duckdb.DuckDBPyConnection] = {}
_opening = threading.Lock()
_reached: set[Lake] = set()
"""Lakes whose server this process has reached: if it is gone now, it may come back."""


def _end(cursor: duckdb.DuckDBPyConnection) -> None:
    """Roll back, then close.

    If a dying server left the instance invalid, DuckDB cannot roll back, and closing it would end
    the process. So such an instance stays open for good; the next connection opens a new one.
    """
    try:
        cursor.rollback()
    except duckdb.FatalException:
        with _opening:
            for connection in (cursor, *_opened.values()):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            _opened.clear()
        return
    except duckdb.Error:
        pass
    cursor.close()


def create_tables_of_lake(lake: duckdb.DuckDBPyConnection, tables: str) -> None:
    """Create the tables of a script in an empty lake, and insert the script's rows.

    A lake has no keys, checks or defaults.
    """
    with duckdb.connect() as model:
        model.execute(tables)
        for table, columns in model.execute(_SQL["tables"]).fetchall():
            lake.execute(_SQL["create"].format(table=table, columns=columns))
            rows = model.execute(_SQL["rows"].format(table=table)).to_arrow_table()
            if rows.num_rows:
                lake.register("incoming", rows)
                lake.execute(_SQL["insert"].format(table=table))
                lake.unregister("incoming")
        for (comment,) in model.execute(_SQL["comments"]).fetchall():
            lake.execute(comment)


def without_comments_on_columns(views: str) -> str:
    """Remove the comments that a lake refuses from a script of views: on columns and macros."""
    return _COMMENT_ON_COLUMN.sub("", views)
