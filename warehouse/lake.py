"""A warehouse in a lake: DuckLake's catalogue on PostgreSQL, its rows in Parquet files.

What belongs here: where a lake is, opening it, keeping its writers apart, and what DuckLake refuses
of the schema's SQL. What does not: what is written into it (store.py), files of DuckDB
(connection.py), when the schema is applied (migrations.py).

Several processes write a lake at once. DuckLake refuses a commit only where two transactions change
the same rows, and knows no keys. So whoever writes holds a lock of PostgreSQL on the video, the
texts and the tables of single rows that it writes (`alone`), from before its transaction sees the
lake until after its commit; a lock ends with its connection, however a process ends. What keys of a
file refuse is then refused by sets.py. A commit that is refused for another's, or
for a server that restarts, is made again; see `Warehouse.write`.

Loading the extensions takes 0.4 s. So a process opens a lake once for reading and once for writing,
and a connection is a cursor on that, with a transaction of its own.

The password of the server is kept apart from the rest of the address and given to DuckDB as a
secret, so that neither a message nor a question in SQL can show it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module, resources
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

import duckdb

from resources.statements import statements
from warehouse.connection import CONNECTION_CONFIG, DEFAULT_LOCK_TIMEOUT_SECONDS, trouble_with
from warehouse.errors import LakeBusyError, LakeError, WarehouseBusyError, WarehouseError

SCHEME = "ducklake:postgres:"

_ASK = statements("warehouse", "lake.sql")
_PAUSE_SECONDS = 0.5
_WORD = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)")
_COMMENT_ON_COLUMN = re.compile(r"^COMMENT ON (?:COLUMN|MACRO) [^;]*?'(?:[^']|'')*';", re.MULTILINE)
_PASSING = (
    "Transaction conflict",
    "Connection refused",
    "could not connect",
    "server closed the connection",
    # Of a server that is gone, which DuckDB does not say in so many words.
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
    # Of a transaction whose server went away, by whoever asks next.
    "Current transaction is aborted",
)
"""What PostgreSQL and DuckLake say of what another attempt may do without."""


@dataclass(frozen=True, slots=True)
class Lake:
    """Where a lake is, and connections to it.

    `catalogue` is the PostgreSQL database in libpq's `keyword=value` form, whose password is None
    where libpq finds it; `data` the folder or object store of the Parquet files.
    """

    catalogue: str
    data: str
    password: str | None = field(default=None, repr=False)
    lock_timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS

    @classmethod
    def of(cls, location: str, data: str | Path) -> Self:
        """Read `ducklake:postgres:` and libpq's keywords, or an address as `postgresql://…`.

        Raises WarehouseError: It is neither (the message does not repeat it), or the data would be
        in a store that is not known here.
        """
        given = location.removeprefix(SCHEME)
        words = _words_of(given)
        if given == location or words is None:
            raise WarehouseError(
                "The lake's place is not understood. Write it as ducklake:postgres:dbname=NAME "
                "host=HOST user=USER, or as ducklake:postgres:postgresql://USER@HOST/NAME."
            )
        password = words.pop("password", None)
        catalogue = " ".join(f"{name}={_quoted(value)}" for name, value in words.items())
        place = str(data)
        if "://" in place:
            _store_of(place)
        else:
            try:
                place = f"{Path(place).expanduser().absolute()}/"
            except RuntimeError as error:
                raise WarehouseError(
                    f"The folder of its data is {place!r}, and no user is called what follows its "
                    "~. Write the whole path."
                ) from error
        lake = cls(catalogue, place, password)
        _told[str(lake)] = lake
        return lake

    @classmethod
    def told(cls, shown: str) -> Lake:
        """Return the lake that this process was told of, by what a message shows of it.

        So a configuration that others may look at names a lake without its password.

        Raises WarehouseError: It was told of none that is shown so.
        """
        if shown not in _told:
            raise WarehouseError(f"Where {shown} is, is not known here: set FACTIBLE_WAREHOUSE.")
        return _told[shown]

    def __str__(self) -> str:
        """Return the place as a message may show it."""
        return f"{SCHEME}{self.catalogue}"

    @property
    def path(self) -> Path:
        """The place, as a message may show it."""
        return Path(str(self))

    def exists(self) -> bool:
        """Whether there is something to open: a lake is made by whoever opens it first."""
        return True

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Do nothing: a lake is made with its first connection."""

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the lake, and close it with the block. All that is read is of one moment.

        Raises LakeError: Its server or files cannot be reached; LakeBusyError if only for now.
        """
        try:
            cursor = self._entered(read_only=read_only)
            try:
                if read_only:
                    cursor.begin()
                yield cursor
            finally:
                _end(cursor)
        except duckdb.Error as failure:
            raise self._explain(failure) or failure from failure

    @contextmanager
    def alone(self, keys: Iterable[str], *, beside: Iterable[str] = ()) -> Iterator[None]:
        """Keep others who hold one of the same keys out; those `beside` are shared.

        Raises WarehouseBusyError: Someone held one of the keys until the time was up.
        """
        numbers = {
            kind: sorted(
                int.from_bytes(hashlib.sha256(f"factible:{key}".encode()).digest()[:8], signed=True)
                for key in held
            )
            for kind, held in (("keys", set(keys)), ("beside", set(beside)))
        }
        started = time.monotonic()
        cursor = self._instance(read_only=False).cursor()
        try:
            cursor.begin()
            sql = _ASK["lock"].format(milliseconds=int(self.lock_timeout_seconds * 1000), **numbers)
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

    def newest_change(self) -> int:
        """Return the number of the newest change of anything in the lake."""
        with self.connect(read_only=True) as connection:
            ((number,),) = connection.execute(_ASK["newest_change"]).fetchall()
        return int(number)

    def tidy(self) -> int:
        """Merge small files, forget snapshots older than a day, remove what nothing refers to.

        Returns the bytes of Parquet files that gave back, after rows went there from the catalogue.
        """
        with self.connect() as connection:
            connection.execute(_ASK["flush"]).fetchall()
            ((before,),) = connection.execute(_ASK["bytes_of_files"]).fetchall()
            for step in ("expire", "merge", "rewrite", "clean", "clean_orphans"):
                connection.execute(_ASK[step]).fetchall()
            ((after,),) = connection.execute(_ASK["bytes_of_files"]).fetchall()
        return int(before - after)

    def _entered(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + self.lock_timeout_seconds
        instance = self._instance(read_only=read_only)
        while True:
            cursor = instance.cursor()
            try:
                cursor.execute(_ASK["enter"])
                return cursor
            except duckdb.Error as failure:
                cursor.close()
                # A server that was there a moment ago restarts.
                trouble = self._explain(failure)
                if not isinstance(trouble, LakeBusyError) or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _instance(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        """Return what this process has open of the lake; opened now if it has nothing."""
        key = self, read_only, os.getpid()
        with _opening:
            if key not in _opened:
                try:
                    _opened[key] = self._open(read_only=read_only)
                except (OSError, duckdb.Error) as failure:
                    trouble = self._explain(failure) or LakeError(self.path, str(failure))
                    if "Connection refused" in str(failure) and self not in _met:
                        # Perhaps there is none: that is said at once.
                        trouble = LakeError(self.path, trouble.args[0].partition("used: ")[2])
                    raise trouble from failure
                _met.add(self)
            return _opened[key]

    def _open(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(config=dict(CONNECTION_CONFIG))
        if not read_only:
            # A second thread finds nothing to do in small sets, and looks for it all the time: with
            # four writers on two cores a write took half as much CPU again.
            connection.execute("SET threads = 1")
        is_folder = "://" not in self.data
        if is_folder and not read_only:
            Path(self.data).mkdir(parents=True, exist_ok=True)
        store = () if is_folder else (_store_of(self.data)[0],)
        for name in ("ducklake", "postgres_scanner", *store):
            connection.execute(_ASK["load"].format(file=extension(name)))
        named = {
            "catalogue": _escaped(self.catalogue),
            "data": _escaped(self.data),
            "mode": ", READ_ONLY" if read_only else "",
        }
        password = "" if self.password is None else f", PASSWORD '{_escaped(self.password)}'"
        connection.execute(_ASK["secret"].format(password=password))
        if not is_folder:
            connection.execute(_secret_of_store(self.data))
        try:
            connection.execute(_ASK["attach"].format(**named))
        except duckdb.Error as failure:
            # Nobody wrote yet; or somebody else makes the lake at this moment.
            if not any(words in str(failure) for words in ("does not exist", "already exists")):
                raise
            self._open(read_only=False).close()
            connection.execute(_ASK["attach"].format(**named))
        if read_only:
            connection.execute(_ASK["shut"].format(**named))
        else:
            connection.execute(_ASK["attach_locks"].format(**named))
        return connection

    def _explain(self, failure: Exception) -> WarehouseError | None:
        words = str(failure)
        if isinstance(failure, WarehouseError):
            return failure
        # What a server says comes behind what DuckDB tried, over several lines.
        said = " ".join(words.split()).rpartition('": ')[2][:300]
        said = said.replace(self.password, "…") if self.password else said
        is_lost = isinstance(failure, duckdb.InternalException | duckdb.FatalException)
        if is_lost or any(each in words for each in _PASSING):
            return LakeBusyError(self.path, said)
        if "DATA_PATH" in words:
            why = f"its files are not in {self.data}. Set FACTIBLE_LAKE_DATA to where they are"
            return LakeError(self.path, why)
        if "PostgreSQL" in words or "Postgres" in words:
            return LakeError(self.path, said)
        if isinstance(failure, duckdb.IOException) and "://" in self.data:
            why = " ".join(words.split())[:300]
            return LakeError(self.path, f"its files in {self.data} cannot be reached: {why}")
        return trouble_with(self.path, failure)


_told: dict[str, Lake] = {}
_opened: dict[tuple[Lake, bool, int], duckdb.DuckDBPyConnection] = {}
_opening = threading.Lock()
_met: set[Lake] = set()
"""The lakes that this process has had open: who is away now has been there."""


def _end(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give up what was not committed, and close.

    In this order: where closing meets a transaction that cannot be given up, DuckDB ends the
    process. So it does with all that is open of an instance that a dying server left invalid: that
    is never closed, nor collected, and the next who asks opens a new one.
    """
    try:
        cursor.rollback()
    except duckdb.FatalException:
        with _opening:
            for each in (cursor, *_opened.values()):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
            _opened.clear()
        return
    except duckdb.Error:
        pass
    cursor.close()


def create_tables_of_lake(lake: duckdb.DuckDBPyConnection, tables: str) -> None:
    """Create the tables of a script in an empty lake, with the rows that the script inserts.

    A lake has no keys, checks and defaults.
    """
    with duckdb.connect() as model:
        model.execute(tables)
        for table, columns in model.execute(_ASK["tables"]).fetchall():
            lake.execute(_ASK["create"].format(table=table, columns=columns))
            rows = model.execute(_ASK["rows"].format(table=table)).to_arrow_table()
            if rows.num_rows:
                lake.register("incoming", rows)
                lake.execute(_ASK["insert"].format(table=table))
                lake.unregister("incoming")
        for (comment,) in model.execute(_ASK["comments"]).fetchall():
            lake.execute(comment)


def without_comments_on_columns(views: str) -> str:
    """Return a script of views without the comments that a lake refuses: on columns and macros."""
    return _COMMENT_ON_COLUMN.sub("", views)


def _words_of(given: str) -> dict[str, str] | None:
    """Read libpq's keywords, or an address; None if it is neither."""
    if "://" not in given:
        if _WORD.sub("", given).strip():
            return None
        return {
            name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith("'") else value
            for name, value in _WORD.findall(given)
        }
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"postgresql", "postgres"}:
        return None
    words = {
        "host": parts.hostname,
        "port": port and str(port),
        "user": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
        "dbname": unquote(parts.path.strip("/")),
    }
    return {name: word for name, word in words.items() if word} | dict(parse_qsl(parts.query))


def _quoted(value: str) -> str:
    escaped = re.sub(r"(['\\])", r"\\\1", value)
    return value if re.fullmatch(r"[^\s'\\]+", value) else f"'{escaped}'"


_AWS = {
    "KEY_ID": "AWS_ACCESS_KEY_ID",
    "SECRET": "AWS_SECRET_ACCESS_KEY",
    "SESSION_TOKEN": "AWS_SESSION_TOKEN",
    "REGION": "AWS_REGION",
}
_STORES: dict[str, tuple[str, str, dict[str, str]]] = {
    "s3": ("httpfs", "s3", _AWS),
    "gs": ("httpfs", "gcs", _AWS),
    "az": ("azure", "azure", {"CONNECTION_STRING": "AZURE_STORAGE_CONNECTION_STRING"}),
}
"""By scheme: the extension that speaks with an object store, its kind of secret, and the usual
variables. Google's HMAC keys go by the names of AWS, as its tools for S3 take them."""


def _store_of(data: str) -> tuple[str, str, dict[str, str]]:
    scheme = urlsplit(data).scheme
    if scheme not in _STORES:
        known = ", ".join(f"{each}://" for each in _STORES)
        raise WarehouseError(f"FACTIBLE_LAKE_DATA is a folder, or begins with {known}.")
    return _STORES[scheme]


def _secret_of_store(data: str) -> str:
    """Return SQL that makes a store's usual variables a secret for one place, if they are set.

    DuckDB keeps AWS's as settings, which a question in SQL could show: there they are erased.
    """
    speaks, kind, variables = _store_of(data)
    given = {name: os.environ[each] for name, each in variables.items() if os.environ.get(each)}
    forget = _ASK["forget_keys"] if speaks == "httpfs" else ""
    if not given.keys() & {"KEY_ID", "CONNECTION_STRING"}:
        return forget
    server = urlsplit(os.environ.get("AWS_ENDPOINT_URL", ""))
    if server.netloc and speaks == "httpfs":
        given |= {"ENDPOINT": server.netloc, "URL_STYLE": "path"}
        given["USE_SSL"] = str(server.scheme == "https").lower()
    options = "".join(f", {name} '{_escaped(value)}'" for name, value in given.items())
    return forget + _ASK["secret_of_store"].format(kind=kind, data=_escaped(data), options=options)


def _escaped(words: str) -> str:
    return words.replace("'", "''")


def extension(name: str) -> str:
    """Return where the packaged extension of this very DuckDB is."""
    with suppress(ImportError):
        folder = resources.files(import_module(f"duckdb_extension_{name}"))
        file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
        if file.is_file():
            return _escaped(str(file))
    raise WarehouseError(
        f"A lake needs DuckDB's extension {name} for DuckDB {duckdb.__version__}: "
        "pip install 'factible-assets[lake]'"
    )
