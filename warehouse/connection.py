"""Opening a DuckDB file late, closing it at once, and waiting for whoever else has it open.

What belongs here: one connection's life: the lock, the waiting, the sentences for what can be wrong
with a path. What does not: what is inside the file (versions.py, store.py).

Three traps that this package is built around:

- DuckDB locks a file with fcntl, and such a lock is lost as soon as its process closes *any* file
  descriptor of that file. So nothing here, and nothing in this process, may open the file except
  through DuckDB: not to copy it, not to hash it, not to look at its first bytes.
- A result that is not fetched to its end keeps a connection of DuckDB 2 busy: `fetchall`, always.
- Within one process DuckDB shares one database between connections of the same configuration and
  refuses those of another one. So connections of one process to one file take turns.
"""

from __future__ import annotations

import errno
import os
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import duckdb

from resources.statements import statements
from warehouse import errors

_ASK = statements("warehouse", "connection.sql")
DEFAULT_LOCK_TIMEOUT_SECONDS = 60.0
"""How long to wait for a file that someone else has open. A write takes well under a second."""

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.2
"""Between these two, the pause after each refusal doubles; the pause taken is a random part of it,
so that several waiting processes do not knock at the same moments."""

CONNECTION_CONFIG: Mapping[str, Any] = {
    # Nothing is downloaded without being asked, and a name in SQL is a table, never a variable.
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
}

LARGE_FILE_BYTES = 32_000_000
"""Of smaller files, of some 30 to 100 videos, rows are not compressed, for to find out how takes
half of a write, and each copy is made whole, for to bring one up to date takes longer."""

_LOCK_MESSAGES = (
    "Could not set lock on file",
    # Windows says it in these words.
    "being used by another process",
    # Another part of this process has the file open with another configuration.
    "same database file with a different configuration",
)
_LOCK_HOLDER = re.compile(r"Conflicting lock is held in (?P<holder>.+?\(PID \d+\))")
_DAMAGE = ("Corrupt ", "Could not read enough bytes", "Failed to deserialize", "replaying WAL file")
_HEADER_BYTES = 12_288
"""Of a DuckDB file, before its first block."""
_NO_ROOM = tuple(os.strerror(each) for each in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_URL_SCHEME = re.compile(r"^:memory:|^[A-Za-z][A-Za-z0-9+.-]+:")


class Connector(Protocol):
    """What a warehouse needs of the store under it: a file, or a lake (lake.py)."""

    @property
    def path(self) -> Path: ...
    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None: ...
    def connect(
        self, *, read_only: bool = False
    ) -> AbstractContextManager[duckdb.DuckDBPyConnection]: ...


def file_path(location: str | Path) -> Path:
    """Return the path of a warehouse's file.

    Raises WarehouseError: The location is in memory, or a URL of a store that is not a file.
    """
    if _URL_SCHEME.match(str(location)):
        raise errors.WarehouseError(
            f"{location} is no file: a warehouse is a file on this machine, such as "
            "data/warehouse.duckdb, because every step opens and closes it for itself."
        )
    return Path(location).absolute()


@dataclass(frozen=True)
class FileConnector:
    """Connections to one DuckDB file, with settings of DuckDB besides the project's own."""

    path: Path
    lock_timeout_seconds: float = DEFAULT_LOCK_TIMEOUT_SECONDS
    config: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file once everyone else is done with it, and close it with the block.

        Who only reads shares the file with other readers, reaches no other file from SQL, and still
        keeps every writer out, as DuckDB locks whole files.

        Raises WarehouseError: Someone held the file until the time was up, it is none of this
        DuckDB's, or the operating system refuses.
        """
        started = time.monotonic()
        with _turn_of(self.path, started, self.lock_timeout_seconds):
            connection = self._open(read_only=read_only, started=started)
            try:
                yield connection
            except duckdb.Error as failure:
                raise trouble_with(self.path, failure) or failure from failure
            finally:
                connection.close()

    def ensure_exists(self, prepare: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
        """Create the file if there is none: prepared beside its place, then moved there whole.

        A process that is killed in between leaves no half-made warehouse, and of several that
        create the same file at once one wins and the others use its file. Threads take turns.
        """
        unfinished = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}.new")
        try:
            if self.path.exists():
                return
            with _creating:
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
                    # Another process was faster, or the file system has no hard links: not quite
                    # as safe, as rename replaces what is there.
                    if not self.path.exists():
                        unfinished.rename(self.path)
        except (OSError, duckdb.OperationalError, duckdb.FatalException) as failure:
            raise self._explain(failure) from failure
        finally:
            with suppress(OSError):
                unfinished.unlink()

    def refuse_damage(self, *, thoroughly: bool = False) -> None:
        """Open the file, and hold its length against its number of blocks.

        With `thoroughly` every row of every table is read too.

        Raises WarehouseError: The file is damaged, or someone holds it for too long.
        """
        with self.connect(read_only=True) as connection:
            ((block_bytes, blocks),) = connection.execute(_ASK["blocks"]).fetchall()
            length, wanted = self.path.stat().st_size, _HEADER_BYTES + block_bytes * blocks
            if length < wanted:
                cut = f"it is damaged (cut off after {length:,} of {wanted:,} bytes)"
                raise errors.NotAWarehouseError(self.path, cut)
            tables = connection.execute(_ASK["tables"]).fetchall() if thoroughly else ()
            for (name,) in tables:
                connection.execute(_ASK["read_all"].format(table=name)).fetchall()

    def _open(self, *, read_only: bool, started: float) -> duckdb.DuckDBPyConnection:
        if self.path.is_fifo():  # whose opening waits for a writer, for ever
            raise errors.NotAWarehouseError(self.path, "it is a named pipe")
        longest = FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._connect_to(self.path, read_only=read_only)
            except duckdb.Error as failure:
                if not any(words in str(failure) for words in _LOCK_MESSAGES):
                    raise self._explain(failure) from failure
                waited = time.monotonic() - started
                if waited >= self.lock_timeout_seconds:
                    found = _LOCK_HOLDER.search(str(failure))
                    holder = found["holder"] if found else None
                    raise errors.WarehouseBusyError(
                        self.path, waited_seconds=waited, holder=holder
                    ) from failure
            time.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - jitter, not a secret
            longest = min(2 * longest, LONGEST_PAUSE_SECONDS)

    def _connect_to(self, path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        # For what is small, further threads find nothing to do, and look for it all the time. With
        # two, a published copy took 290 ms of CPU, and with one 170; what is read, a fifth less.
        chosen: dict[str, Any] = {} if read_only else {"threads": 1}
        with suppress(OSError):  # of a file that is not there yet, or cannot be opened either
            if path.stat().st_size < LARGE_FILE_BYTES:
                chosen |= {"threads": 1} if read_only else {"force_compression": "uncompressed"}
        connection = duckdb.connect(
            str(path), read_only=read_only, config={**CONNECTION_CONFIG, **chosen, **self.config}
        )
        # DuckDB draws one on stdout where it takes a process for interactive, as it does a child's.
        connection.execute("SET enable_progress_bar = false")
        # Moments are read, and their days counted, in one zone, wherever this machine stands.
        connection.execute("SET TimeZone = 'UTC'")
        if read_only:
            # Whatever is asked: no other file is read or written, nothing attached or loaded.
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


def trouble_with(path: Path, failure: Exception) -> errors.WarehouseError | None:
    """Tell damage and a full disk from DuckDB's or the system's words, None if it is neither."""
    words = str(failure)
    if any(each in words for each in _NO_ROOM):
        return errors.NoRoomError(path)
    if any(each in words for each in _DAMAGE):
        return errors.NotAWarehouseError(path, f"it is damaged ({_first_line(words)})")
    return None


@dataclass
class _Turn:
    """Who in this process has a file open."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: int | None = None


_turns: dict[str, _Turn] = {}
_creating = threading.Lock()
_turns_guard = threading.Lock()


@contextmanager
def _turn_of(path: Path, started: float, seconds: float) -> Iterator[None]:
    """Wait until no other connection of this process has the file open."""
    with _turns_guard:
        turn = _turns.setdefault(os.path.realpath(path), _Turn())
    if turn.thread == threading.get_ident():
        raise errors.WarehouseBusyError(
            path,
            waited_seconds=0.0,
            holder="this very thread, which has yet to close the connection it opened before",
        )
    if not turn.lock.acquire(timeout=max(0.0, started + seconds - time.monotonic())):
        raise errors.WarehouseBusyError(
            path, waited_seconds=time.monotonic() - started, holder="another thread of this process"
        )
    turn.thread = threading.get_ident()
    try:
        yield
    finally:
        turn.thread = None
        turn.lock.release()


def _first_line(message: str) -> str:
    return message.splitlines()[0].removeprefix("IO Error: ").rstrip(".")
