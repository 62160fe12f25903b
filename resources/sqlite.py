"""SQLite files that several processes share.

What belongs here: opening a file in WAL mode. What does not: any statement (statements.py), and
what its tables mean (cache, archive).
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Final

_WAL_ATTEMPTS: Final = 100
_WAL_PAUSE_SECONDS: Final = 0.05


def connect(path: Path, *, wait_seconds: float) -> sqlite3.Connection:
    """Open a file for any thread, without implicit transactions; rows have names. Reads nothing.

    Args:
        path: The file; created, but not its folder, if it is not there.
        wait_seconds: How long a statement waits for the lock of another process.

    Raises:
        sqlite3.Error: It cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let many processes read while one writes. SQLite does not wait for other openers here.

    Raises:
        sqlite3.Error: The file is none of SQLite's, or is locked for more than five seconds.
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
