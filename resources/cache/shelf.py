"""One file of the cache: an SQLite database in WAL mode that hishel keeps.

What belongs here: opening a file, telling a damaged file from a full disk, and translating between
values and hishel's entries. What does not: kinds, ages and limits (store.py).

Why hishel (2.x, BSD): its storage does the difficult part of a cache between processes (WAL with
its races at creation, expiry, eviction of what was used longest ago, writes that stay invisible
until complete, failures that cost no answer), is maintained and widely used, and reads and writes
no pickle. diskcache has had no release since 2023 and unpickles what it finds in its files
(CVE-2025-69872); sqlitedict pickles too, and knows neither ages nor limits. Of hishel only the
storage is used: what is kept here are answers that were read already, many of them of POST
requests, to which the rules of HTTP caching do not apply.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from hishel import Entry, Request, Response, SqliteStorage

from resources.cache.values import Json

_LOG = logging.getLogger(__name__)
# What goes wrong with a file is said here, once and in a sentence, instead of in tracebacks there.
logging.getLogger("hishel").setLevel(logging.CRITICAL)

_PRIMARY_CODE = 0xFF
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_COMPANIONS = ("-wal", "-shm")
_WAIT_SECONDS = 5.0

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Kept:
    """A value and when it was put away, in seconds since 1970."""

    value: Json
    stored_at: float


@dataclass(frozen=True, slots=True)
class ShelfInfo:
    """How full a file is. `oldest_use` is in seconds since 1970, None for an empty file."""

    entries: int
    bytes_on_disk: int
    oldest_use: float | None


class _Cursor(sqlite3.Cursor):
    """Remembers on its connection what went wrong, since hishel keeps that to itself."""

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with self._noting():
            return super().execute(sql, parameters)

    def fetchall(self) -> list[Any]:
        with self._noting():
            return super().fetchall()

    def fetchone(self) -> Any:
        with self._noting():
            return super().fetchone()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if isinstance(self.connection, _Connection):
                self.connection.trouble = error
            raise


class _Connection(sqlite3.Connection):
    trouble: sqlite3.Error | None = None

    def cursor(self, factory: Any = _Cursor, /) -> Any:
        return super().cursor(factory)


@dataclass(slots=True)
class _Open:
    storage: SqliteStorage
    connection: _Connection
    inode: int | None


class Shelf:
    """Keeps values in one file, for all threads and processes. No failure of the file is raised.

    A damaged file is set aside beside itself and a new one begun. A file that cannot be opened or
    written keeps nothing; what is wrong is logged once, as a sentence.
    """

    def __init__(self, path: Path, *, max_bytes: int, settle_seconds: float) -> None:
        """Remember where the file is; it is opened, and its folder created, on first use.

        Args:
            path: The file.
            max_bytes: What is on it beyond this makes room, longest unused first.
            settle_seconds: How long an entry is safe from making room after its last use.
        """
        self._path = path
        self._max_bytes = max_bytes
        self._settle_seconds = settle_seconds
        self._lock = threading.RLock()
        self._open: _Open | None = None
        self._said: set[str] = set()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def get(self, key: str) -> Kept | None:
        """Return the newest value of a key, None if there is none."""
        with self._lock:
            entries = self._attempt(lambda opened: _read(opened.storage, key))
        return max(entries or [], key=lambda kept: kept.stored_at, default=None)

    def put(self, key: str, value: Json, *, stored_at: float, seconds: float) -> None:
        """Keep a value in place of the key's older ones, for at most so many seconds.

        A value with lone surrogates is not kept: it would come back as another text.
        """
        written = json.dumps({"stored_at": stored_at, "value": value}, ensure_ascii=False)
        try:
            body = written.encode("utf-8")
        except UnicodeEncodeError:
            return
        with self._lock:
            self._attempt(lambda opened: _write(opened.storage, key, body, seconds))

    def info(self) -> ShelfInfo:
        """Count what is kept."""
        with self._lock:
            found = self._attempt(_count) if self._path.exists() else None
        entries, oldest = found or (0, None)
        return ShelfInfo(entries, sum(_size(file) for file in self._files()), oldest)

    def trim(self, unused_since: float) -> int:
        """Forget what has expired and what was last used before a moment; give the room back.

        Args:
            unused_since: In seconds since 1970.

        Returns:
            How many values there were.
        """
        settled_since = time.time() - self._settle_seconds
        with self._lock:
            trimmed = (
                self._attempt(lambda opened: _trim(opened, unused_since, settled_since))
                if self._path.exists()
                else None
            )
        return trimmed or 0

    def clear(self) -> int:
        """Forget everything, give the room back, and return how many values there were."""
        with self._lock:
            cleared = self._attempt(_empty) if self._path.exists() else None
            for file in self._path.parent.glob(f"{self._path.name}.damaged-*"):
                with suppress(OSError):
                    file.unlink()
        return cleared or 0

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        with self._lock:
            opened, self._open = self._open, None
            if opened is not None:
                opened.storage.close()

    # --- Opening, and what may go wrong ---------------------------------------------------------

    def _attempt(self, work: Callable[[_Open], Done]) -> Done | None:
        """Do something with the open file; None if the file does not allow it."""
        for _ in range(2):  # the second time with a new file in place of a damaged one
            done, trouble = self._once(work)
            if trouble is None or not self._settle(trouble):
                return done
        return None

    def _once(self, work: Callable[[_Open], Done]) -> tuple[Done | None, Exception | None]:
        try:
            opened = self._opened()
        except (sqlite3.Error, OSError, RuntimeError) as error:
            return None, error
        opened.connection.trouble = None
        try:
            done = work(opened)
        except sqlite3.Error as error:
            return None, error
        except RuntimeError:  # hishel: the entry was evicted while it was read
            return None, None
        return done, opened.connection.trouble

    def _opened(self) -> _Open:
        """Return the open file.

        Raises:
            sqlite3.Error: It cannot be opened, or is no database.
            OSError: Its folder cannot be created.
            RuntimeError: hishel finds tables in it that are not its own.
        """
        if self._open is not None and _inode(self._path) == self._open.inode:
            return self._open
        self.close()  # another process has set the file aside
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = sqlite3.connect(
            self._path,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        storage = SqliteStorage(
            connection=connection,
            max_size=self._max_bytes,
            soft_delete_ttl=self._settle_seconds,
        )
        self._open = _Open(storage, connection, _inode(self._path))
        storage.get_entries("")  # creates the tables
        return self._open

    def _settle(self, trouble: Exception) -> bool:
        """Deal with what went wrong; return whether it is worth trying again."""
        if isinstance(trouble, RuntimeError):
            return self._set_aside("it is of another version or make")
        code = getattr(trouble, "sqlite_errorcode", 0) & _PRIMARY_CODE
        if code in _DAMAGED:
            return self._set_aside("it is damaged")
        if code not in _BUSY:
            self._say(
                f"The cache {self._path} cannot be used ({trouble}). Answers are not kept; nothing "
                "else is lost. Free some room on the disk, or check the folder's permissions."
            )
        return False

    def _set_aside(self, why: str) -> bool:
        """Rename the file, unless another process has; return whether it is out of the way."""
        inode = self._open.inode if self._open is not None else None
        self.close()
        aside = Path(f"{self._path}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        try:
            if _inode(self._path) == inode:
                for file in self._files():
                    with suppress(FileNotFoundError):
                        file.replace(f"{aside}{file.name.removeprefix(self._path.name)}")
        except OSError as error:
            return self._settle(error)
        self._say(
            f"The cache {self._path} was set aside as {aside.name}, because {why}. A new one is "
            "begun; what was kept is asked for again when it is needed."
        )
        return True

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _LOG.warning("%s", sentence)

    def _files(self) -> Sequence[Path]:
        return [self._path, *(Path(f"{self._path}{end}") for end in _COMPANIONS)]


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


# --- hishel's entries -------------------------------------------------------------------------


def _body(entry: Entry) -> bytes:
    stream = entry.response.stream
    return b"".join(stream) if isinstance(stream, Iterator) else b""


def _read(storage: SqliteStorage, key: str) -> list[Kept]:
    found: list[Kept] = []
    for entry in storage.get_entries(key):
        try:
            envelope = json.loads(_body(entry))
            found.append(Kept(envelope["value"], float(envelope["stored_at"])))
        except (ValueError, KeyError, TypeError):
            storage.remove_entry(entry.id)
    return found


def _write(storage: SqliteStorage, key: str, body: bytes, seconds: float) -> None:
    """Write the new entry before the old ones go, so that a kill in between loses nothing."""
    older = [entry.id for entry in storage.get_entries(key)]
    made = storage.create_entry(
        Request("GET", ""), Response(200, stream=iter((body,))), key, ttl=seconds
    )
    _body(made)  # an entry is complete once it was read to its end
    for entry_id in older:
        storage.remove_entry(entry_id)


# hishel offers no way to count or to empty. It refuses a file whose tables have other columns than
# it knows, so these statements fail loudly, and not silently, should a later version change them.


def _count(opened: _Open) -> tuple[int, float | None]:
    with closing(opened.connection.cursor()) as cursor:
        cursor.execute(
            "SELECT count(*), min(last_accessed_at) FROM entries"
            " WHERE chunk_count IS NOT NULL AND (expires_at IS NULL OR expires_at > ?)",
            (time.time(),),
        )
        entries, oldest = cursor.fetchone()
    return entries, oldest


def _trim(opened: _Open, unused_since: float, settled_since: float) -> int:
    with closing(opened.connection.cursor()) as cursor:
        cursor.execute(
            "DELETE FROM entries WHERE last_accessed_at < ?"
            " OR (expires_at < ? AND last_accessed_at < ?)",
            (unused_since, time.time(), settled_since),
        )
        trimmed: int = cursor.rowcount
        _give_back(cursor)
    return trimmed


def _empty(opened: _Open) -> int:
    entries, _ = _count(opened)
    with closing(opened.connection.cursor()) as cursor:
        cursor.execute("DELETE FROM entries")
        _give_back(cursor)
    return entries


def _give_back(cursor: sqlite3.Cursor) -> None:
    with suppress(sqlite3.OperationalError):  # another process reads: the room is reused later
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.fetchall()
