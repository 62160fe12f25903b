"""A cache on disk for answers of services and models, shared by all processes that use its folder.

Callers store answers only, never outages. Keys are hashes and hold no query, address or prompt.
Values are JSON, because libraries such as diskcache unpickle their files.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from resources.statements import statements
from resources.storage.sqlite import SharedFile

Json: TypeAlias = Any
"""A value that json.dumps accepts."""
Kind = Literal["search", "pages", "models", "ages", "vectors"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Value = TypeVar("Value")

_LOG = logging.getLogger(__name__)
_SQL = statements("resources.storage", "answers.sql")

_VERSION = 1
_VECTORS_VERSION = 1
"""Raise it if the same model would now give the same text another vector."""
_PRIMARY_CODE = 0xFF
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_WAIT_SECONDS = 60.0
"""Compacting a full file takes 20 seconds, and an answer that is not stored is paid again."""
_TOUCH_SECONDS = 3600.0
"""The precision of the time of last use. A read that changes it also has to write."""
_WRITES_PER_CLEANING = 32
_CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two machines that share a folder may differ."""
_SHARES: Mapping[Kind, float] = {
    "models": 0.4,
    "vectors": 0.3,
    "search": 0.2,
    "pages": 0.05,
    "ages": 0.05,
}
"""The share of each kind in `max_bytes`."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How long answers are fresh (0: they are not stored), and how much room they get."""

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
    max_bytes: int = 512 * 1024**2
    """For all kinds together. The texts of pages are in the archive."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A stored value. `stored_at` is in seconds since 1970."""

    value: Json
    stored_at: float


@dataclass(frozen=True, slots=True)
class KindInfo:
    """The answers of one kind. `oldest_use` is in seconds since 1970, None if empty."""

    kind: Kind
    max_bytes: int
    entries: int
    bytes: int
    oldest_use: float | None


class DiskCache:
    """The cache in a folder. The first answer creates the folder, for this user alone.

    Failures of the file are logged once and never raised: a new file replaces a damaged one, and
    the caller requests an unreadable answer again. If a kind exceeds its room, it loses its least
    recently used answers. `clock` returns the present in seconds since 1970.
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
        self._file = SharedFile(
            folder / "answers.sqlite", _SQL["schema"], _VERSION, wait_seconds=_WAIT_SECONDS
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        self._writes = count()
        self._logged: set[str] = set()

    async def get(self, key: str) -> StoredValue | None:
        """Return the stored value of a key, however old, or None."""
        return (await self._run(lambda: self._find([key]))).get(key)

    async def put(self, kind: Kind, key: str, value: Json, *, keep: timedelta) -> None:
        """Store a value. A cancelled caller does not interrupt the write."""
        if keep > timedelta(0):
            await asyncio.shield(self._run(lambda: self._store(kind, {key: value}, keep)))

    def _run(self, work: Callable[[], Value]) -> asyncio.Future[Value]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def renew(self) -> None:
        """From now on, return no older search, and no older page unless its site confirms it."""
        self.renewed_at = self.now()

    def age(self, stored: StoredValue) -> timedelta:
        return timedelta(seconds=self.now() - stored.stored_at)

    def is_fresh(self, stored: StoredValue, limit: timedelta) -> bool:
        """Tell whether a value is younger than a limit, and not from the future."""
        return timedelta(seconds=-_CLOCK_SLACK) <= self.age(stored) < limit

    def find_vectors(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the stored vectors of texts, as bytes, on the caller's thread.

        `model` is the hash of the model's files.
        """
        keys = {cache_key("vectors", _VECTORS_VERSION, model, text): text for text in texts}
        found = self._find(keys)
        return {keys[key]: base64.b64decode(stored.value) for key, stored in found.items()}

    def keep_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Store the vectors of texts, on the caller's thread."""
        values = {
            cache_key("vectors", _VECTORS_VERSION, model, text): base64.b64encode(vector).decode()
            for text, vector in vectors.items()
        }
        self._store("vectors", values, self.policy.vectors)

    def info(self) -> list[KindInfo]:
        rows = self._rows("count", {"now": time.time()})
        stored = {row["kind"]: (row["entries"], row["bytes"], row["oldest"]) for row in rows or ()}
        return [KindInfo(kind, self._room(kind), *stored.get(kind, (0, 0, None))) for kind in KINDS]

    def clear(self, kind: Kind | None = None) -> dict[Kind, int] | None:
        """Delete one kind, or everything; return the numbers by kind, None if it failed."""
        deleted = self._delete("clear", {"kind": kind})
        return deleted and {name: deleted[name] for name in KINDS if kind in {None, name}}

    def trim(self, unused_for: timedelta) -> dict[Kind, int]:
        """Delete expired and long unused answers; return their numbers by kind.

        Times of last use are by the machine's clock, so `clock` does not count here.
        """
        now = time.time()
        moments = {"now": now, "unused_since": now - unused_for.total_seconds()}
        return self._delete("forget_unused", moments) or {}

    def forget_about(
        self, texts: Collection[str], *, dry_run: bool = False
    ) -> dict[Kind, int] | None:
        """Delete answers with one of these texts as a JSON string; return their numbers by kind.

        None if it failed. With `dry_run`, only count. Vectors stay, because they reveal no text.
        """
        # Writers need not wait while it reads all answers.
        rows = self._rows("about", {"texts": json.dumps(list(texts))})
        if rows is None or dry_run:
            return None if rows is None else _counted(rows)
        return self._delete("forget", {"keys": json.dumps([row["key"] for row in rows])})

    def delete_former_files(self) -> None:
        """Delete the cache files of earlier versions, which this one does not read."""
        for file in self._file.path.parent.glob("*.sqlite*"):
            if not file.name.startswith(self._file.path.name):
                file.unlink(missing_ok=True)

    # --- The file -------------------------------------------------------------------------------

    def _room(self, kind: Kind) -> int:
        return int(self.policy.max_bytes * _SHARES[kind])

    def _find(self, keys: Iterable[str]) -> dict[str, StoredValue]:
        values = {"keys": json.dumps(list(keys)), "now": time.time()}
        rows = self._attempt(lambda opened: opened.execute(_SQL["find"], values).fetchall()) or []
        if any(values["now"] - row["used_at"] >= _TOUCH_SECONDS for row in rows):
            self._attempt(lambda opened: opened.execute(_SQL["touch"], values), "BEGIN IMMEDIATE")
        return {row["key"]: StoredValue(json.loads(row["value"]), row["stored_at"]) for row in rows}

    def _store(self, kind: Kind, values: Mapping[str, Json], keep: timedelta) -> None:
        now = time.time()
        common = {"kind": kind, "stored_at": self.now(), "now": now, "max_bytes": self._room(kind)}
        common["expires_at"] = now + keep.total_seconds()
        texts = {key: json.dumps(value) for key, value in values.items()}
        written = [
            {**common, "key": key, "value": text, "size": len(text)} for key, text in texts.items()
        ]
        cleaning = next(self._writes) % _WRITES_PER_CLEANING == 0

        def write(connection: sqlite3.Connection) -> None:
            for step in ("forget_expired", "forget_longest_unused") if cleaning else ():
                connection.execute(_SQL[step], common)
            connection.executemany(_SQL["keep"], written)

        self._attempt(write, "BEGIN IMMEDIATE")

    def _delete(self, name: str, values: Mapping[str, Json]) -> dict[Kind, int] | None:
        """Delete answers, and return their numbers by kind; None if that fails."""
        rows = self._rows(name, values, "BEGIN IMMEDIATE")
        if rows:
            with suppress(sqlite3.OperationalError):  # another process reads the file
                self._file.compact()
        return None if rows is None else _counted(rows)

    def _rows(
        self, name: str, values: Mapping[str, Json], begin: str = "BEGIN"
    ) -> list[sqlite3.Row] | None:
        """Return the rows of a statement, without a file none; None if it failed."""
        if not self._file.path.exists():
            return []
        return self._attempt(lambda opened: opened.execute(_SQL[name], values).fetchall(), begin)

    def _attempt(
        self, work: Callable[[sqlite3.Connection], Value], begin: str = "BEGIN"
    ) -> Value | None:
        """Return the result of some work on the file; log a failure, and return None."""
        for _ in range(2):  # the second time with a new file in place of a damaged one
            try:
                with self._file.opened(begin) as connection:
                    return work(connection)
            except (sqlite3.Error, OSError) as trouble:
                code = getattr(trouble, "sqlite_errorcode", 0) & _PRIMARY_CODE
                if code in _DAMAGED:
                    with suppress(OSError):
                        self._file.delete()
                    self._log("is damaged, so a new one begins. Lost answers are requested again.")
                    continue
                self._log(
                    f"cannot be used ({trouble}). Answers are not stored; nothing else is "
                    "lost. Free some room on the disk, check the folder's permissions, or "
                    "delete the file."
                )
                return None
        return None

    def _log(self, sentence: str) -> None:
        if sentence not in self._logged:
            self._logged.add(sentence)
            _LOG.warning("The cache %s %s", self._file.path, sentence)


def _counted(rows: Iterable[sqlite3.Row]) -> dict[Kind, int]:
    numbers = Counter(row["kind"] for row in rows)
    return {kind: numbers[kind] for kind in KINDS}


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
