"""A cache on disk for answers of services and models, shared by all processes that use its folder.

Each kind of answer has its own SQLite file in WAL mode, so that large pages never push out
expensive model answers. One transaction writes an answer, so it is there whole or not at all. The
callers store answers only, never outages. Keys are SHA-256 hashes and hold no query, address or
prompt. Values are JSON: a file from elsewhere can build only the type that the reader names.

No library does this: diskcache has had no release since 2023 and unpickles its files
(CVE-2025-69872); sqlitedict pickles too, and has neither ages nor limits; hishel stores HTTP
responses, and these are parsed answers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from resources.statements import OtherFileError, compact, open_tables, statements

Json: TypeAlias = Any
"""A value that json.dumps accepts."""

_LOG = logging.getLogger(__name__)
_SQL = statements("resources.storage", "answers.sql")

_VERSION = 1
_PRIMARY_CODE = 0xFF
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_WAIT_SECONDS = 5.0
_TOUCH_SECONDS = 5.0
"""The precision of the time of last use. A read that changes it also has to write."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored value. `stored_at` is in seconds since 1970."""

    value: Json
    stored_at: float


class AnswerTable:
    """Values in one SQLite file, for all threads and processes. The first use opens the file.

    Failures of the file are logged once and never raised: a new file replaces a damaged one, and
    a read-only file stores nothing. If the file exceeds `max_bytes`, it loses its least recently
    used values before it takes new ones.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._logged: set[str] = set()

    def get(self, keys: Collection[str]) -> dict[str, Kept]:
        """Return the stored values by key, without the keys that have none."""

        def read(connection: sqlite3.Connection) -> dict[str, Kept]:
            now = time.time()
            asked = {"keys": json.dumps(list(keys)), "now": now}
            rows = connection.execute(_SQL["find"], asked).fetchall()
            if any(now - row["used_at"] >= _TOUCH_SECONDS for row in rows):
                with suppress(sqlite3.OperationalError):  # a full disk must not prevent reading
                    connection.execute(_SQL["touch"], asked)
            return {row["key"]: Kept(json.loads(row["value"]), row["stored_at"]) for row in rows}

        return self._attempt(read) or {}

    def put(self, values: Mapping[str, Json], *, stored_at: float, seconds: float) -> None:
        """Store or replace values for some seconds.

        It skips a value with lone surrogates, because that would change.
        """
        now = time.time()
        written = []
        for key, value in values.items():
            text = json.dumps(value, ensure_ascii=False)
            with suppress(UnicodeEncodeError):
                text.encode("utf-8")
                written.append((key, text, stored_at, now + seconds, now))

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SQL["forget_expired"], {"now": now})
                if connection.execute(_SQL["size"]).fetchone()[0] > self.max_bytes:
                    connection.execute(_SQL["forget_longest_unused"])
                connection.executemany(_SQL["keep"], written)

        self._attempt(write)

    def count(self) -> tuple[int, float | None]:
        """Return the number of values, and the oldest time of last use (seconds since 1970)."""
        found = self._ask_existing("count", {"now": time.time()})
        return (found[0], found[1]) if found else (0, None)

    def bytes_on_disk(self) -> int:
        return sum(file.stat().st_size for file in self._files() if file.exists())

    def trim(self, unused_since: float) -> int:
        """Delete expired values, and those not used since a time; return their number."""
        moments = {"unused_since": unused_since, "now": time.time()}
        return self._forget("forget_unused", "forget_expired", values=moments) or 0

    def clear(self) -> int | None:
        """Delete all values; return their number, None if it failed."""
        found, _ = self.count()
        is_stuck = self.path.exists() and self._forget("forget_all") is None
        return None if is_stuck else found

    def forget_about(self, texts: Collection[str], *, dry_run: bool) -> int:
        """Delete the values that contain one of some texts as a string; return their number.

        With `dry_run`, only count.
        """
        asked = {"texts": json.dumps(list(texts))}
        if not dry_run:
            return self._forget("forget_about", values=asked) or 0
        found = self._ask_existing("count_about", asked)
        return found[0] if found else 0

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _ask_existing(self, name: str, values: Mapping[str, Any]) -> sqlite3.Row | None:
        def ask(connection: sqlite3.Connection) -> sqlite3.Row | None:
            row: sqlite3.Row | None = connection.execute(_SQL[name], values).fetchone()
            return row

        return self._attempt(ask) if self.path.exists() else None

    def _forget(self, *names: str, values: Mapping[str, float | str] | None = None) -> int | None:
        def forget(connection: sqlite3.Connection) -> int:
            gone = sum(connection.execute(_SQL[name], values or {}).rowcount for name in names)
            with suppress(sqlite3.OperationalError):  # another process reads the file
                compact(connection)
            return gone

        return self._attempt(forget) if self.path.exists() else None

    def _attempt(self, work: Callable[[sqlite3.Connection], Value]) -> Value | None:
        """Use the open file; return None if that fails."""
        with self._lock:
            for _ in range(2):  # the second time with a new file in place of a damaged one
                try:
                    return work(self._opened())
                except (sqlite3.Error, OSError, OtherFileError) as trouble:
                    if not self._recover(trouble):
                        return None
        return None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None or self._on_disk() != self._inode:
            self.close()  # another process may have replaced the file
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = open_tables(
                self.path, _SQL["schema"], _VERSION, wait_seconds=_WAIT_SECONDS
            )
            self._inode = self._on_disk()
        return self._connection

    def _recover(self, trouble: Exception) -> bool:
        """Delete a damaged file; return whether another attempt may succeed. Logs the failure."""
        code = getattr(trouble, "sqlite_errorcode", 0) & _PRIMARY_CODE
        if code in _DAMAGED:
            self.close()
            with suppress(OSError):
                for file in self._files():
                    file.unlink(missing_ok=True)
                self._log("is damaged, so a new one begins. Lost answers are requested again.")
                return True
        if code not in _BUSY:
            self._log(
                f"cannot be used ({trouble}). Answers are not stored; nothing else is lost. Free "
                "some room on the disk, check the folder's permissions, or delete the file."
            )
        return False

    def _log(self, sentence: str) -> None:
        if sentence not in self._logged:
            self._logged.add(sentence)
            _LOG.warning("The cache %s %s", self.path, sentence)

    def _on_disk(self) -> int | None:
        return self.path.stat().st_ino if self.path.exists() else None

    def _files(self) -> list[Path]:
        return [Path(f"{self.path}{end}") for end in ("", "-wal", "-shm")]


Kind = Literal["search", "pages", "models", "ages", "vectors"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SHARES: dict[Kind, float] = {
    "pages": 0.5,
    "models": 0.2,
    "vectors": 0.15,
    "search": 0.1,
    "ages": 0.05,
}
"""The share of each kind in `max_bytes`."""
_CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two machines that share a folder may differ."""
_VECTORS_VERSION = 1
"""Raise it if the same model would now give the same text another vector."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How long answers are fresh, and how much room they get. An age of 0 stores none."""

    search: timedelta = timedelta(days=1)
    pages: timedelta = timedelta(days=1)
    unavailable_pages: timedelta = timedelta(hours=6)
    """A site may give out a page later that it refuses now."""
    kept_pages: timedelta = timedelta(days=30)
    """An old page saves most of a conditional request, so it stays this long."""
    models: timedelta = timedelta(days=90)
    ages: timedelta = timedelta(days=180)
    unknown_ages: timedelta = timedelta(days=30)
    vectors: timedelta = timedelta(days=365)
    max_bytes: int = 1024**3
    """For all kinds together: pages .5, model answers .2, vectors .15, searches .1, ages .05."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """The answers of one kind. `oldest_use` is in seconds since 1970, None if empty."""

    kind: Kind
    path: Path
    entries: int
    bytes_on_disk: int
    max_bytes: int
    oldest_use: float | None


class DiskCache(AbstractAsyncContextManager["DiskCache"]):
    """The cache in a folder. The first use creates the folder, for this user alone.

    Open it with `async with`, or call `close`. A thread of its own reads and writes, in order.
    Failures of the disk never raise: the caller requests an unreadable answer again. `clock`
    returns the present in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        policy: CachePolicy | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy or CachePolicy()
        self.now = clock
        self.renewed_at = 0.0
        """Searches and pages stored before this time count as old; see `renew`."""
        self._tables = {
            kind: AnswerTable(
                folder / f"{kind}.sqlite", max_bytes=int(self.policy.max_bytes * _SHARES[kind])
            )
            for kind in KINDS
        }
        self._thread: ThreadPoolExecutor | None = None

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Finish all writes and close all files."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True)
        for table in self._tables.values():
            table.close()

    async def get(self, kind: Kind, key: str) -> Kept | None:
        """Return the stored value of a key, however old, or None."""
        return (await self._run(lambda: self._tables[kind].get([key]))).get(key)

    async def put(self, kind: Kind, key: str, value: Json, *, keep: timedelta) -> None:
        """Store a value. A cancelled caller does not interrupt the write."""
        if keep > timedelta(0):
            put, seconds = self._tables[kind].put, keep.total_seconds()
            write = self._run(lambda: put({key: value}, stored_at=self.now(), seconds=seconds))
            await asyncio.shield(write)

    def _run(self, work: Callable[[], Value]) -> asyncio.Future[Value]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def renew(self) -> None:
        """From now on, return no older search, and no older page unless its site confirms it."""
        self.renewed_at = self.now()

    def age(self, kept: Kept) -> timedelta:
        return timedelta(seconds=self.now() - kept.stored_at)

    def is_fresh(self, kept: Kept, limit: timedelta) -> bool:
        """Tell whether a value is younger than a limit, and not from the future."""
        return timedelta(seconds=-_CLOCK_SLACK) <= self.age(kept) < limit

    def find(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the stored vectors of texts, as bytes, on the caller's thread.

        `model` is the hash of the model's files.
        """
        keys = {cache_key("vectors", _VECTORS_VERSION, model, text): text for text in texts}
        found = self._tables["vectors"].get(keys)
        return {keys[key]: base64.b64decode(kept.value) for key, kept in found.items()}

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Store the vectors of texts, on the caller's thread."""
        values = {
            cache_key("vectors", _VECTORS_VERSION, model, text): base64.b64encode(vector).decode()
            for text, vector in vectors.items()
        }
        seconds = self.policy.vectors.total_seconds()
        self._tables["vectors"].put(values, stored_at=self.now(), seconds=seconds)

    def info(self) -> list[KindInfo]:
        return [
            KindInfo(kind, table.path, count, table.bytes_on_disk(), table.max_bytes, oldest)
            for kind, table in self._tables.items()
            for count, oldest in [table.count()]
        ]

    def clear(self, kind: Kind | None = None) -> dict[Kind, int | None]:
        """Delete one kind, or everything; return the number of values, None where it failed."""
        return {each: self._tables[each].clear() for each in KINDS if kind in {None, each}}

    def forget_about(self, texts: Collection[str], *, dry_run: bool = False) -> dict[Kind, int]:
        """Delete answers that contain one of some texts; return their numbers by kind.

        With `dry_run`, only count. Vectors stay, because they reveal no text.
        """
        kinds = [kind for kind in KINDS if kind != "vectors"]
        return {kind: self._tables[kind].forget_about(texts, dry_run=dry_run) for kind in kinds}

    def trim(self, unused_for: timedelta) -> dict[Kind, int]:
        """Delete expired and long unused answers; return their numbers by kind.

        Times of last use are by the machine's clock, so `clock` does not count here.
        """
        unused_since = time.time() - unused_for.total_seconds()
        return {kind: table.trim(unused_since) for kind, table in self._tables.items()}


# --- Keys and values ----------------------------------------------------------------------------


def cache_key(*parts: Json) -> str:
    """Return a question's key, 64 hexadecimal digits: the hash of all that changes its answer.

    The first part is the kind, the second the version of the code that stores the answers.
    """
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(kind: type[Value], value: Value) -> Json | None:
    """Convert a dataclass or model to JSON; None if a value has no form in JSON."""
    try:
        return _adapter(kind).dump_python(value, mode="json")
    except PydanticSerializationError:
        return None


def from_json(kind: type[Value], written: Json) -> Value | None:
    """Convert JSON to a dataclass or model; None if the shape has changed since."""
    try:
        built: Value = _adapter(kind).validate_python(written)
    except ValidationError:
        return None
    return built
