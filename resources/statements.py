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


def connect(path: Path, *, wait_seconds: float) -> sqlite3.Connection:
    """Open or create an SQLite file for any thread, without implicit transactions.

    Rows have column names. A statement waits `wait_seconds` for another process's lock. Raises
    sqlite3.Error if the file cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let several processes read while one writes.

    SQLite does not wait for locks here, so this function repeats the statement for five seconds.
    Raises sqlite3.Error: The file stayed locked, or is no SQLite file.
    """
    for attempt in range(1, _WAL_ATTEMPTS + 1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if attempt == _WAL_ATTEMPTS:
                raise
            time.sleep(_WAL_PAUSE_SECONDS)
        else:
            return
