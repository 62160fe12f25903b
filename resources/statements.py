"""SQL that stands in `.sql` files beside the module that runs it, and SQLite files of many users.

What belongs here: reading named statements, opening a file that several processes share. What does
not: any statement, and what its tables mean.
"""

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
    """Return the statements of a file by name; the line `-- name: NAME` stands above each."""
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


def connect(path: Path, *, wait_seconds: float) -> sqlite3.Connection:
    """Open an SQLite file for any thread, without implicit transactions; rows have names.

    The file is created, but not its folder, and nothing is read; a statement waits `wait_seconds`
    for the lock of another process. Raises sqlite3.Error if it cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let many processes read while one writes. SQLite does not wait for other openers here.

    Raises sqlite3.Error: the file is none of SQLite's, or is locked for more than five seconds.
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
