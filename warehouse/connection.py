"""Connections to one DuckDB file: open it late, close it at once, wait for others to close it.

Three properties of DuckDB shape this package:

- DuckDB locks a file with fcntl, and a process loses that lock as soon as it closes *any* file
  descriptor of the file. So nothing in this process may open the file except through DuckDB: not to
  copy it, not to hash it.
- An unfinished result keeps a connection of DuckDB 2 busy: always `fetchall`.
- Within one process, connections to one file share a database and must have the same
  configuration. So connections of one process to one file take turns.
"""

from __future__ import annotations

import errno
import os
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import duckdb

from resources.statements import statements
from warehouse import errors

Found = TypeVar("Found")

_SQL = statements("warehouse", "connection.sql")
DEFAULT_LOCK_TIMEOUT_SECONDS = 60.0
"""How long to wait while someone else has the file open. A write takes well under a second."""

CONNECTION_CONFIG: Mapping[str, Any] = {
    # DuckDB downloads no extension by itself, and a name in SQL is a table, never a variable.
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}

LARGE_FILE_BYTES = 32_000_000
"""Smaller files (some 30 to 100 videos) have no compression, because choosing one takes half of a
write. Their published copies are always new, because an update would take longer."""

_LOCK_MESSAGES = (
    "Could not set lock on file",
    "being used by another process",  # on Windows
    # Another part of this process has the file open with another configuration.
    "same database file with a different configuration",
)
_LOCK_HOLDER = re.compile(r"Conflicting lock is held in (?P<holder>.+?\(PID \d+\))")
_DAMAGE = ("Corrupt ", "Could not read enough bytes", "Failed to deserialize", "replaying WAL file")
_HEADER_BYTES = 12_288
"""Size of a DuckDB file before its first block."""
_NO_ROOM = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.2
_URL_SCHEME = re.compile(r"^:memory:|^[A-Za-z][A-Za-z0-9+.-]+:")


class Connector(Protocol):
    """The store under a warehouse: a DuckDB file, or a lake (lake.py)."""

    is_shared: ClassVar[bool]
    """Whether processes write at the same time, and readers read the store itself, not a copy."""

    @property
    def path(self) -> Path: ...
    def exists(self) -> bool: ...
    def state(self) -> Hashable:
        """Return a value that changes with every change of the store."""
        ...

    def waiting(self, seconds: float) -> Connector:
        """Return the same store with another lock timeout."""
        ...

    def refuse_damage(self, *, thoroughly: bool = False) -> None: ...
    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None: ...
    def connect(
        self, *, read_only: bool = False
    ) -> AbstractContextManager[duckdb.DuckDBPyConnection]: ...
    def open_to_read(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that the caller closes."""
        ...

    def locked(
        self, keys: Iterable[str], *, shared: Iterable[str] = ()
    ) -> AbstractContextManager[None]:
        """Exclude writers that hold one of the same keys. `shared` keys exclude their holders."""
        ...


def file_path(location: str | Path) -> Path:
    """Return the absolute path of a warehouse's file.

    Raises WarehouseError: The location is a URL, or in memory.
    """
    if _URL_SCHEME.match(str(location)):
        raise errors.WarehouseError(
            f"{location} is not a file. A warehouse is a file on this machine, such as "
            "data/warehouse.duckdb, because every step opens and closes it."
        )
    return Path(location).absolute()


@dataclass(frozen=True)
class FileConnector:
    """Connections to one DuckDB file. `config` adds settings of DuckDB to the project's own."""

    path: Path
    lock_timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS
    config: Mapping[str, Any] = field(default_factory=dict)
    is_shared: ClassVar[bool] = False

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def state(self) -> Hashable:
        status = self.path.stat()
        return status.st_ino, status.st_mtime_ns

    def waiting(self, seconds: float) -> FileConnector:
        return replace(self, lock_timeout_seconds=seconds)

    def open_to_read(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect(str(self.path), read_only=True)

    def locked(
        self, keys: Iterable[str], *, shared: Iterable[str] = ()
    ) -> AbstractContextManager[None]:
        """Do nothing: a connection that writes has the whole file to itself."""
        del keys, shared
        return nullcontext()

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file as soon as no one else has it open; close it at the end of the block.

        Readers share the file with each other, but still block every writer, because DuckDB locks
        whole files. SQL of a reader reaches no other file.

        Raises WarehouseError: The file stayed locked, DuckDB cannot read it, or the operating
        system refuses access.
        """
        started = time.monotonic()
        with _file_lock(self.path, started, self.lock_timeout_seconds):
            connection = self._open(read_only=read_only, started=started)
            try:
                yield connection
            except duckdb.Error as failure:
                raise trouble_with(self.path, failure) or failure from failure
            finally:
                connection.close()

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Create the file if it is missing: under another name first, then moved into place.

        A killed process leaves no half-made warehouse. If several processes create the file at
        once, one wins and the others use its file.
        """
        unfinished = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}.new")
        try:
            if self.path.exists():
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect_to(unfinished, read_only=False)
            try:
                prepare(connection)
            finally:
                connection.close()
            try:
                self.path.hardlink_to(unfinished)
            except OSError:
                # Another one was faster, or the file system has no hard links. A rename is less
                # safe, because it replaces an existing file.
                if not self.path.exists():
                    unfinished.rename(self.path)
        except (OSError, duckdb.OperationalError, duckdb.FatalException) as failure:
            raise self._explain(failure) from failure
        finally:
            with suppress(OSError):
                unfinished.unlink()

    def refuse_damage(self, *, thoroughly: bool = False) -> None:
        """Open the file and compare its length with its number of blocks.

        With `thoroughly`, or if the lengths leave a doubt, read every row of every table too.

        Raises WarehouseError: The file is damaged, or stayed locked.
        """
        with self.connect(read_only=True) as connection:
            ((block_bytes, blocks, used),) = connection.execute(_SQL["blocks"]).fetchall()
            length, wanted = self.path.stat().st_size, _HEADER_BYTES + block_bytes * blocks
            if length < _HEADER_BYTES + block_bytes * used:
                cut = f"it is damaged (cut off after {length:,} of {wanted:,} bytes)"
                raise errors.NotAWarehouseError(self.path, cut)
            # DuckDB does not write free blocks at the end of a file, although it counts them.
            all_rows = thoroughly or length < wanted
            tables = connection.execute(_SQL["tables"]).fetchall() if all_rows else ()
            for (name,) in tables:
                connection.execute(_SQL["read_all"].format(table=name)).fetchall()

    def _open(self, *, read_only: bool, started: float) -> duckdb.DuckDBPyConnection:
        if self.path.is_fifo():  # opening one would wait forever for a writer
            raise errors.NotAWarehouseError(self.path, "it is a named pipe")

        def attempt() -> duckdb.DuckDBPyConnection:
            try:
                return self._connect_to(self.path, read_only=read_only)
            except duckdb.Error as failure:
                if not any(words in str(failure) for words in _LOCK_MESSAGES):
                    raise self._explain(failure) from failure
                match = _LOCK_HOLDER.search(str(failure))
                raise errors.WarehouseBusyError(
                    self.path,
                    waited_seconds=time.monotonic() - started,
                    holder=match["holder"] if match else None,
                ) from failure

        left = started + self.lock_timeout_seconds - time.monotonic()
        return patiently(attempt, errors.WarehouseBusyError, left)

    def _connect_to(self, path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        # In small files, further threads find nothing to do and keep looking for work: a published
        # copy took 290 ms of CPU with two threads, 170 ms with one.
        config: dict[str, Any] = {} if read_only else {"threads": 1}
        with suppress(OSError):  # the file may be missing, or unreadable
            if path.stat().st_size < LARGE_FILE_BYTES:
                config |= {"threads": 1} if read_only else {"force_compression": "uncompressed"}
        connection = duckdb.connect(
            str(path), read_only=read_only, config={**CONNECTION_CONFIG, **config, **self.config}
        )
        # DuckDB draws a progress bar on stdout if it takes the process for an interactive one.
        connection.execute("SET enable_progress_bar = false")
        # Timestamps and days are in one zone on every machine.
        connection.execute("SET TimeZone = 'UTC'")
        if read_only:
            # No SQL reads or writes another file, attaches a database or loads an extension.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        return connection

    def _explain(self, failure: Exception) -> errors.WarehouseError:
        trouble = trouble_with(self.path, failure)
        if trouble is not None:
            return trouble
        message = str(failure)
        if "not a valid DuckDB database file" in message or "sqlite_scanner" in message:
            return errors.NotAWarehouseError(
                self.path, "DuckDB does not recognise the file as its own"
            )
        if "Trying to read a database file with version number" in message:
            return errors.WarehouseTooNewError(
                self.path,
                found="a storage format of a newer DuckDB",
                supported=f"that of DuckDB {duckdb.__version__}",
            )
        if self.path.is_dir():
            return errors.NotAWarehouseError(self.path, "it is a directory")
        is_allowed = self.path.is_file() and os.access(self.path, os.R_OK | os.W_OK)
        if is_allowed and isinstance(failure, duckdb.Error) and "Cannot open file" not in message:
            return errors.NotAWarehouseError(self.path, f"it is damaged ({_first_line(message)})")
        return errors.WarehouseNotWritableError(self.path, _first_line(message))


def patiently(
    attempt: Callable[[], Found],
    busy: type[Exception],
    seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS,
) -> Found:
    """Repeat an attempt that raises the error `busy`, for at most so many seconds.

    The pauses double; a random part keeps processes apart.
    """
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    while True:
        try:
            return attempt()
        except busy:
            if time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - jitter, not a secret
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def trouble_with(path: Path, failure: Exception) -> errors.WarehouseError | None:
    """Return the error for a message about damage or a full disk; None for other messages."""
    words = str(failure)
    if any(sign in words for sign in _NO_ROOM):
        return errors.NoRoomError(path)
    if any(sign in words for sign in _DAMAGE):
        return errors.NotAWarehouseError(path, f"it is damaged ({_first_line(words)})")
    return None


@dataclass
class _FileLock:
    """The thread of this process that has a file open."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: int | None = None


_locks: dict[str, _FileLock] = {}


@contextmanager
def _file_lock(path: Path, started: float, seconds: float) -> Iterator[None]:
    """Wait until no other connection of this process has the file open."""
    file_lock = _locks.setdefault(os.path.realpath(path), _FileLock())
    if file_lock.thread == threading.get_ident():
        raise errors.WarehouseBusyError(
            path,
            waited_seconds=0.0,
            holder="this very thread, which has not closed its earlier connection",
        )
    if not file_lock.lock.acquire(timeout=max(0.0, started + seconds - time.monotonic())):
        raise errors.WarehouseBusyError(
            path, waited_seconds=time.monotonic() - started, holder="another thread of this process"
        )
    file_lock.thread = threading.get_ident()
    try:
        yield
    finally:
        file_lock.thread = None
        file_lock.lock.release()


def escaped(words: str | Path) -> str:
    """Return words for a literal of SQL: ATTACH, for instance, takes no parameters."""
    return str(words).replace("'", "''")


def _first_line(message: str) -> str:
    return message.splitlines()[0].removeprefix("IO Error: ").rstrip(".")
