"""SQLite files that threads and processes share: one way to open, to wait and to write."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

_WAL_ATTEMPTS: Final = 100
_WAL_PAUSE_SECONDS: Final = 0.05


class OtherFileError(sqlite3.DatabaseError):
    """An SQLite file has other tables; `version` is 0 if another program made it."""

    def __init__(self, version: int) -> None:
        super().__init__("another version or program made it")
        self.version = version


class _ThreadState(threading.local):
    """A thread's open connection, and the inode of the file that it opened."""

    connection: sqlite3.Connection | None = None
    inode: int | None = None


class SharedFile:
    """Tables in one SQLite file in WAL mode: several processes read while one writes.

    WAL needs a local disk. Each thread has a connection of its own, which ends with the thread. The
    first block creates the file with the tables of `schema`, statements that may run twice. A
    statement waits `wait_seconds` for the lock of another process.
    """

    def __init__(self, path: Path, schema: str, version: int, *, wait_seconds: float) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._wait_seconds = wait_seconds
        self._state = _ThreadState()

    @contextmanager
    def opened(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """Open a transaction for a block; with BEGIN IMMEDIATE, it writes everything or nothing.

        Raises OtherFileError, OSError, and sqlite3.Error: The file cannot be used.
        """
        state, inode = self._state, self._inode()
        if state.connection is None or inode is None or inode != state.inode:
            # The file is new, or another process has replaced it.
            state.connection, state.inode = None, inode
            state.connection = self._connect()
        with state.connection as connection:
            connection.execute(begin)
            yield connection

    def compact(self) -> None:
        """Remove deleted rows from the bytes of the file. Raises sqlite3.Error."""
        with closing(self._connect()) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def delete(self) -> None:
        """Delete the file that this thread opened last, but not one that has replaced it."""
        self._state.connection = None
        if self._state.inode == self._inode():
            # The file itself goes last: its successor may have a log at once.
            for end in ("-shm", "-wal", ""):
                Path(f"{self.path}{end}").unlink(missing_ok=True)

    def _inode(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return None

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = sqlite3.connect(
            self.path, timeout=self._wait_seconds, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            if _pragma(connection, "schema_version") == 0:  # it has no tables yet
                _switch_to_wal(connection)
                connection.executescript(
                    f"BEGIN IMMEDIATE;\n{self._schema};\n"
                    f"PRAGMA user_version = {self._version};\nCOMMIT;"
                )
            version = _pragma(connection, "user_version")
            if version != self._version:
                raise OtherFileError(version)
        except BaseException:
            connection.close()
            raise
        return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # SQLite does not wait for locks here.
    for attempt in range(1, _WAL_ATTEMPTS + 1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if attempt == _WAL_ATTEMPTS:
                raise
            time.sleep(_WAL_PAUSE_SECONDS)
        else:
            return
