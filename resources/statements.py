"""SQL in `.sql` files next to their module, and SQLite files that several processes share."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_WAL_ATTEMPTS: Final = 100
_WAL_PAUSE_SECONDS: Final = 0.05


@cache
def statements(package: str, file: str) -> Mapping[str, str]:
    """Return the statements of a file by name. A line `-- name: NAME` precedes each."""
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


class OtherFileError(Exception):
    """An SQLite file has other tables; `version` is 0 if another program made it."""

    def __init__(self, version: int) -> None:
        super().__init__("another version or program made it")
        self.version = version


def open_tables(
    path: Path, schema: str, version: int, *, wait_seconds: float
) -> sqlite3.Connection:
    """Open or create an SQLite file in WAL mode, for any thread, without implicit transactions.

    In WAL mode several processes read while one writes. It needs a local disk. Rows have column
    names. A statement waits `wait_seconds` for another process's lock. An empty file gets the
    tables of `schema`, statements that may run twice, and its version.

    Raises OtherFileError, and sqlite3.Error: The file cannot be opened, or is no SQLite file.
    """
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        if _pragma(connection, "schema_version") == 0:  # it has no tables yet
            _switch_to_wal(connection)
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{schema};\nPRAGMA user_version = {version};\nCOMMIT;"
            )
        found = _pragma(connection, "user_version")
        if found != version:
            raise OtherFileError(found)
    except BaseException:
        connection.close()
        raise
    return connection


def compact(connection: sqlite3.Connection) -> None:
    """Remove deleted rows from the bytes of a file. Raises sqlite3.Error."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


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
