"""Answers on disk: which kinds are kept, how long, how much room they have, and as what.

What belongs here: kinds, ages, limits, keys, values as JSON and back, the door that the wrappers
use, and the files: making room in them, and telling a damaged file from a full disk. What does not:
which answers are kept (answers.py), SQL (answers.sql).

Each kind has an SQLite file of its own (one table, in WAL mode), so that pages, which are large,
never push out model calls, which are dear. A write is one transaction: an answer is there whole or
not at all, and the one before it stays until then. An outage is never put here: whoever wraps a
client hands over answers only. A key is a SHA-256, so that no query, address or prompt stands in
it. A value is JSON and nothing else: reading one can build only the type that the reader names,
whoever wrote the file.

Why no library: diskcache has had no release since 2023 and unpickles what it finds in its files
(CVE-2025-69872); sqlitedict pickles too, and knows neither ages nor limits; hishel keeps HTTP
responses, and what is kept here are answers that were read already.
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

from resources.statements import connect, statements, switch_to_wal

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
_MOST_EVICTIONS = 20  # Rounds of ten for one new answer; what is larger than that is not kept.
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Kept:
    """A value and when it was put away, in seconds since 1970."""

    value: Json
    stored_at: float


class AnswerTable:
    """Keeps values in one SQLite file, for all threads and processes; opened on first use.

    No failure of the file is raised. A damaged one is set aside beside itself and a new one begun;
    one that cannot be opened or written keeps nothing; what is wrong is logged once, as a sentence.
    Beyond `max_bytes` the longest unused make room, unless used in the last `settle_seconds`.
    """

    def __init__(self, path: Path, *, max_bytes: int, settle_seconds: float = 10.0) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._settle_seconds = settle_seconds
        self._touch_seconds = settle_seconds / 2
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._said: set[str] = set()

    def get(self, keys: Collection[str]) -> dict[str, Kept]:
        """Return the values of those keys that have one."""

        def read(connection: sqlite3.Connection) -> dict[str, Kept]:
            now = time.time()
            asked = {"keys": json.dumps(list(keys)), "now": now}
            rows = connection.execute(_SQL["find"], asked).fetchall()
            if any(now - row["used_at"] >= self._touch_seconds for row in rows):
                with suppress(sqlite3.OperationalError):  # a full disk keeps nobody from reading
                    connection.execute(_SQL["touch"], asked)
            return {row["key"]: Kept(json.loads(row["value"]), row["stored_at"]) for row in rows}

        return self._attempt(read) or {}

    def put(self, values: Mapping[str, Json], *, stored_at: float, seconds: float) -> None:
        """Keep values in place of their keys' older ones, for at most so many seconds.

        A value with lone surrogates is not kept: it would come back as another text.
        """
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
        if not self.path.exists():
            return 0, None
        now = {"now": time.time()}
        found = self._attempt(lambda connection: connection.execute(_SQL["count"], now).fetchone())
        return (found[0], found[1]) if found else (0, None)

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
        return self._forget("forget_unused", "forget_expired", moments=moments) or 0

    def clear(self) -> int | None:
        """Forget everything, give the room back; return how many values there were, None if not."""
        found, _ = self.count()
        if self.path.exists() and self._forget("forget_all", moments={}) is None:
            return None
        for file in self.path.parent.glob(f"{self.path.name}.damaged-*"):
            with suppress(OSError):
                file.unlink()
        return found

    def forget_about(self, texts: Collection[str], *, dry_run: bool) -> int:
        """Forget the values that hold one of some texts; return how many, with `dry_run` only that.

        A text is held where it is one of the value's own: an address, an id or a sentence.
        """
        asked = {"texts": json.dumps(list(texts))}
        if not dry_run:
            # A damaged file that was set aside cannot be searched.
            for file in self.path.parent.glob(f"{self.path.name}.damaged-*"):
                file.unlink(missing_ok=True)
            return self._forget("forget_about", moments=asked) or 0
        if not self.path.exists():
            return 0
        found = self._attempt(lambda held: held.execute(_SQL["count_about"], asked).fetchone())
        return found[0] if found else 0

    def _forget(self, *statements: str, moments: Mapping[str, float | str]) -> int | None:
        def forget(connection: sqlite3.Connection) -> int:
            gone = sum(connection.execute(_SQL[name], moments).rowcount for name in statements)
            with suppress(sqlite3.OperationalError):  # another process reads: it is reused later
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return gone

        return self._attempt(forget) if self.path.exists() else None

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _attempt(self, work: Callable[[sqlite3.Connection], Value]) -> Value | None:
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
        """Return the open file; raises sqlite3.Error or OSError if it cannot be used."""
        if self._connection is not None and self._on_disk() == self._inode:
            return self._connection
        self.close()  # another process has set the file aside
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._connection = connection = connect(self.path, wait_seconds=_WAIT_SECONDS)
        self._inode = self._on_disk()
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            switch_to_wal(connection)
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SQL["schema"].split(";"):
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
            if self._on_disk() == self._inode:  # else another process has set it aside
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
"""How the room is divided."""
_CLOCK_SLACK = 60.0  # Seconds by which the clocks of two machines on one folder may differ.
_VECTORS_VERSION = 1
"""Raise it whenever the same model would now give the same text another vector."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How long answers count as fresh, and how much room they have. An age of 0 keeps none."""

    search: timedelta = timedelta(days=1)
    pages: timedelta = timedelta(days=1)
    unavailable_pages: timedelta = timedelta(hours=6)
    """A page that its site does not give out may be given out later."""
    kept_pages: timedelta = timedelta(days=30)
    """How long a page stays to be asked after with a condition, which costs next to nothing."""
    models: timedelta = timedelta(days=90)
    ages: timedelta = timedelta(days=180)
    unknown_ages: timedelta = timedelta(days=30)
    vectors: timedelta = timedelta(days=365)
    """A text's vector never changes; those that nobody asks for make room."""
    max_bytes: int = 1024**3
    """For all kinds together: pages .5, model calls .2, vectors .15, searches .1, ages .05."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """What is kept of one kind. `oldest_use` is in seconds since 1970, None if nothing is kept."""

    kind: Kind
    path: Path
    entries: int
    bytes_on_disk: int
    max_bytes: int
    oldest_use: float | None


class DiskCache(AbstractAsyncContextManager["DiskCache"]):
    """Answers kept in a folder, for all processes that use it; nothing is opened before its use.

    Open it with `async with`, or `close` it. Reading and writing happen on a thread of the cache's
    own, in the order in which they were asked for. Nothing that goes wrong with the
    disk is raised: what cannot be read is asked for again, and what cannot be written is not kept.
    The folder is created for this user alone; `clock` is the present, in seconds since 1970.
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
        """Searches and pages from before are asked for anew, however fresh; see `renew`."""
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
        """Close all files, after what is still being written."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True)
        for table in self._tables.values():
            table.close()

    async def get(self, kind: Kind, key: str) -> Kept | None:
        """Return what is kept under a key, however old, or None."""
        return (await self._run(lambda: self._tables[kind].get([key]))).get(key)

    async def put(self, kind: Kind, key: str, value: Json, *, keep: timedelta) -> None:
        """Keep a value, for at most so long. Once begun, it is finished even if cancelled."""
        if keep > timedelta(0):
            put, seconds = self._tables[kind].put, keep.total_seconds()
            write = self._run(lambda: put({key: value}, stored_at=self.now(), seconds=seconds))
            await asyncio.shield(write)

    def _run(self, work: Callable[[], Value]) -> asyncio.Future[Value]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def renew(self) -> None:
        """Give out no search and no page from before this moment, unless its site confirms it."""
        self.renewed_at = self.now()

    def age(self, kept: Kept) -> timedelta:
        """Return how long ago a value was put away."""
        return timedelta(seconds=self.now() - kept.stored_at)

    def is_fresh(self, kept: Kept, limit: timedelta) -> bool:
        """Tell whether a value is younger than a limit, and not from the future."""
        return timedelta(seconds=-_CLOCK_SLACK) <= self.age(kept) < limit

    def find(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors, as bytes, of those texts that have one, on the thread of who asks.

        `model` is the hash of its files.
        """
        keys = {cache_key("vectors", _VECTORS_VERSION, model, text): text for text in texts}
        found = self._tables["vectors"].get(keys)
        return {keys[key]: base64.b64decode(kept.value) for key, kept in found.items()}

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors of texts, likewise."""
        values = {
            cache_key("vectors", _VECTORS_VERSION, model, text): base64.b64encode(vector).decode()
            for text, vector in vectors.items()
        }
        seconds = self.policy.vectors.total_seconds()
        self._tables["vectors"].put(values, stored_at=self.now(), seconds=seconds)

    def info(self) -> list[KindInfo]:
        """Say what is kept, kind by kind."""
        return [
            KindInfo(kind, table.path, count, table.bytes_on_disk(), table.max_bytes, oldest)
            for kind, table in self._tables.items()
            for count, oldest in [table.count()]
        ]

    def clear(self, kind: Kind | None = None) -> dict[Kind, int | None]:
        """Forget one kind, or everything; return how many values that were, None: still there."""
        return {each: self._tables[each].clear() for each in KINDS if kind in {None, each}}

    def forget_about(self, texts: Collection[str], *, dry_run: bool = False) -> dict[Kind, int]:
        """Forget answers that hold one of some texts, by kind; with `dry_run` count them.

        Vectors stay: they hold no text, and nobody can read one out of them.
        """
        kinds = [kind for kind in KINDS if kind != "vectors"]
        return {kind: self._tables[kind].forget_about(texts, dry_run=dry_run) for kind in kinds}

    def trim(self, unused_for: timedelta) -> dict[Kind, int]:
        """Forget what has expired, and what nobody has asked for so long; return how many.

        By the clock of the machine, whatever clock the cache was opened with: last uses are kept
        in it.
        """
        unused_since = time.time() - unused_for.total_seconds()
        return {kind: table.trim(unused_since) for kind, table in self._tables.items()}


# --- Keys and values ----------------------------------------------------------------------------


def cache_key(*parts: Json) -> str:
    """Return the key of a question, 64 hexadecimal digits, from all that changes its answer.

    First its kind, then the version of what reads and writes the answers.
    """
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(kind: type[Value], value: Value) -> Json | None:
    """Return a dataclass or model as JSON; None if it holds what JSON cannot carry."""
    try:
        return _adapter(kind).dump_python(value, mode="json")
    except PydanticSerializationError:
        return None


def from_json(kind: type[Value], written: Json) -> Value | None:
    """Build a dataclass or model from JSON; None if it does not have that shape any more."""
    try:
        built: Value = _adapter(kind).validate_python(written)
    except ValidationError:
        return None
    return built
