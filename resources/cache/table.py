"""One file of the cache: an SQLite database with one table of answers, in WAL mode.

What belongs here: opening a file, reading and writing answers, making room, and telling a damaged
file from a full disk. What does not: kinds, ages and limits (store.py), SQL (answers.sql).

A write is one transaction, so an answer is there whole or not at all, and the one before it stays
until then. Why no library: diskcache has had no release since 2023 and unpickles what it finds in
its files (CVE-2025-69872); sqlitedict pickles too, and knows neither ages nor limits; hishel keeps
HTTP responses, and what is kept here are answers that were read already.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from resources.sqlite import connect, switch_to_wal
from resources.statements import statements

Json: TypeAlias = Any
"""What json.dumps takes: None, bool, int, float, str, and lists and dictionaries of those."""

_LOG = logging.getLogger(__name__)
_SQL = statements("resources.cache", "answers.sql")

_VERSION = 1
_PRIMARY_CODE = 0xFF
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is damaged",
    sqlite3.SQLITE_ERROR: "it is of another version or make",  # a table or column is not there
}
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_WAIT_SECONDS = 5.0
_MAX_TOUCH_SECONDS = 60.0
_MOST_EVICTIONS = 20
"""Rounds of ten for one new answer; what is larger than that is not kept."""

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Kept:
    """A value and when it was put away, in seconds since 1970."""

    value: Json
    stored_at: float


class AnswerTable:
    """Keeps values in one file, for all threads and processes. No failure of the file is raised.

    A damaged file is set aside beside itself and a new one begun. A file that cannot be opened or
    written keeps nothing; what is wrong is logged once, as a sentence. The file is opened, and its
    folder created, on first use.

    Args:
        path: The file.
        max_bytes: What is on it beyond this makes room, longest unused first.
        settle_seconds: How long an answer is safe from making room after its last use.
    """

    def __init__(self, path: Path, *, max_bytes: int, settle_seconds: float) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._settle_seconds = settle_seconds
        self._touch_seconds = min(_MAX_TOUCH_SECONDS, settle_seconds / 2)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._said: set[str] = set()

    def get(self, key: str) -> Kept | None:
        """Return the value of a key, None if there is none."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Collection[str]) -> dict[str, Kept]:
        """Return the values of those keys that have one."""

        def read(connection: sqlite3.Connection) -> dict[str, Kept]:
            now = time.time()
            asked = {"keys": json.dumps(list(keys)), "now": now}
            found, unreadable = {}, []
            rows = connection.execute(_SQL["find"], asked).fetchall()
            for row in rows:
                try:
                    found[row["key"]] = Kept(json.loads(row["value"]), float(row["stored_at"]))
                except (ValueError, TypeError):
                    unreadable.append(row["key"])
            if unreadable:
                connection.execute(_SQL["forget"], {"keys": json.dumps(unreadable)})
            if any(now - row["used_at"] >= self._touch_seconds for row in rows):
                with suppress(sqlite3.OperationalError):  # a full disk keeps nobody from reading
                    connection.execute(_SQL["touch"], asked)
            return found

        return self._attempt(read) or {}

    def put(self, key: str, value: Json, *, stored_at: float, seconds: float) -> None:
        """Keep a value in place of the key's older one, for at most so many seconds.

        A value with lone surrogates is not kept: it would come back as another text.
        """
        self.put_many({key: value}, stored_at=stored_at, seconds=seconds)

    def put_many(self, values: Mapping[str, Json], *, stored_at: float, seconds: float) -> None:
        """Keep several values at once; see `put`."""
        now = time.time()
        written = []
        for key, value in values.items():
            text = json.dumps(value, ensure_ascii=False)
            with suppress(UnicodeEncodeError):
                text.encode("utf-8")
                written.append((key, text, stored_at, now + seconds, now))

        def write(connection: sqlite3.Connection) -> None:
            settled = {"now": now, "settled_since": now - self._settle_seconds}
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SQL["forget_expired"], settled)
                for _ in range(_MOST_EVICTIONS):
                    if connection.execute(_SQL["size"]).fetchone()[0] <= self.max_bytes:
                        connection.executemany(_SQL["keep"], written)
                        return
                    if not connection.execute(_SQL["forget_longest_unused"], settled).rowcount:
                        return

        self._attempt(write)

    def count(self) -> tuple[int, float | None]:
        """Return how many values are kept, and when the longest unused was used (since 1970)."""

        def look(connection: sqlite3.Connection) -> tuple[int, float | None]:
            found, oldest = connection.execute(_SQL["count"], {"now": time.time()}).fetchone()
            return found, oldest

        return (self._attempt(look) if self.path.exists() else None) or (0, None)

    def bytes_on_disk(self) -> int:
        """Return the size of the file and its companions."""
        return sum(file.stat().st_size for file in self._files() if file.exists())

    def trim(self, unused_since: float) -> int:
        """Forget what has expired, and what was last used before a moment (seconds since 1970).

        The room is given back; returned is how many values there were.
        """
        now = time.time()
        settled_since = now - self._settle_seconds
        moments = {"unused_since": unused_since, "now": now, "settled_since": settled_since}
        return self._forget("forget_unused", "forget_expired", moments=moments)

    def clear(self) -> int:
        """Forget everything, give the room back, and return how many values there were."""
        found, _ = self.count()
        self._forget("forget_all", moments={})
        for file in self.path.parent.glob(f"{self.path.name}.damaged-*"):
            with suppress(OSError):
                file.unlink()
        return found

    def _forget(self, *statements: str, moments: Mapping[str, float]) -> int:
        def forget(connection: sqlite3.Connection) -> int:
            gone = sum(connection.execute(_SQL[name], moments).rowcount for name in statements)
            with suppress(sqlite3.OperationalError):  # another process reads: it is reused later
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return gone

        return (self._attempt(forget) if self.path.exists() else None) or 0

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    # --- Opening, and what may go wrong ---------------------------------------------------------

    def _attempt(self, work: Callable[[sqlite3.Connection], Done]) -> Done | None:
        """Do something with the open file; None if the file does not allow it."""
        with self._lock:
            for _ in range(2):  # the second time with a new file in place of a damaged one
                try:
                    return work(self._opened())
                except (sqlite3.Error, OSError) as trouble:
                    if not self._settle(trouble):
                        return None
        return None

    def _opened(self) -> sqlite3.Connection:
        """Return the open file.

        Raises:
            sqlite3.Error: It cannot be opened, is no database, or has tables of another make.
            OSError: Its folder cannot be created.
        """
        if self._connection is not None and _inode(self.path) == self._inode:
            return self._connection
        self.close()  # another process has set the file aside
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._connection = connection = connect(self.path, wait_seconds=_WAIT_SECONDS)
        self._inode = _inode(self.path)
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            switch_to_wal(connection)
            with connection:  # a new file, or one whose answers an earlier version kept
                connection.execute("BEGIN IMMEDIATE")
                is_old = connection.execute(_SQL["find_old"]).fetchone() is not None
                for name in ("schema", "adopt") if is_old else ("schema",):
                    for statement in _SQL[name].split(";"):
                        connection.execute(statement)
        return connection

    def _settle(self, trouble: Exception) -> bool:
        """Deal with what went wrong; return whether it is worth trying again."""
        code = getattr(trouble, "sqlite_errorcode", 0) & _PRIMARY_CODE
        if code in _BUSY:
            return False
        if code not in _DAMAGED:
            self._say(
                f"The cache {self.path} cannot be used ({trouble}). Answers are not kept; nothing "
                "else is lost. Free some room on the disk, or check the folder's permissions."
            )
            return False
        self.close()
        aside = Path(f"{self.path}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        try:
            if _inode(self.path) == self._inode:  # else another process has set it aside
                for file in self._files():
                    with suppress(FileNotFoundError):
                        file.replace(f"{aside}{file.name.removeprefix(self.path.name)}")
        except OSError as error:
            return self._settle(error)
        self._say(
            f"The cache {self.path} was set aside as {aside.name}, because {_DAMAGED[code]}. A new "
            "one is begun; what was kept is asked for again when it is needed."
        )
        return True

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _LOG.warning("%s", sentence)

    def _files(self) -> list[Path]:
        return [Path(f"{self.path}{end}") for end in ("", "-wal", "-shm")]


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None
