"""The disk cache: which kinds of answers are kept, how long, how much room they have, and as what.

What belongs here: kinds, ages, limits, keys, values as JSON and back, and the door that the
wrappers use. What does not: files (table.py), and which answers are kept (answers.py, models.py).

Each kind has a file of its own, so that pages, which are large, never push out model calls, which
are dear. An outage is never put here: whoever wraps a client hands over answers only.

A key is a SHA-256, so that no query, address or prompt stands in it. A value is JSON and nothing
else: reading one can build only the type that the reader names, whoever wrote the file.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from resources.cache.table import AnswerTable, Json, Kept

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
_CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two machines on one folder may differ."""
_VECTORS_VERSION = 1
"""Raise it whenever the same model would now give the same text another vector."""

Value = TypeVar("Value")


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


class DiskCache:
    """Answers kept in a folder, for all processes that use it; nothing is opened before its use.

    Close it with `aclose`, or open it with `async with`. Reading and writing happen on a thread of
    the cache's own, in the order in which they were asked for. Nothing that goes wrong with the
    disk is raised: what cannot be read is asked for again, and what cannot be written is not kept.

    Args:
        folder: Created if need be, for this user alone.
        policy: Ages and room.
        clock: The present, in seconds since 1970.
        settle_seconds: How long a value is safe from making room after its last use.
    """

    def __init__(
        self,
        folder: Path,
        policy: CachePolicy | None = None,
        *,
        clock: Callable[[], float] = time.time,
        settle_seconds: float = 10.0,
    ) -> None:
        self.policy = policy or CachePolicy()
        self.now = clock
        self._tables = {
            kind: AnswerTable(
                folder / f"{kind}.sqlite",
                max_bytes=int(self.policy.max_bytes * _SHARES[kind]),
                settle_seconds=settle_seconds,
            )
            for kind in KINDS
        }
        self._thread: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all files, after what is still being written."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Do the same where no event loop runs."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True)
        for table in self._tables.values():
            table.close()

    async def get(self, kind: Kind, key: str) -> Kept | None:
        """Return what is kept under a key, however old, or None."""
        return await self._run(lambda: self._tables[kind].get(key))

    async def put(self, kind: Kind, key: str, value: Json, *, keep: timedelta) -> None:
        """Keep a value, for at most so long. Once begun, it is finished even if cancelled."""
        if keep > timedelta(0):
            table, seconds = self._tables[kind], keep.total_seconds()
            write = self._run(lambda: table.put(key, value, stored_at=self.now(), seconds=seconds))
            await asyncio.shield(write)

    def _run(self, work: Callable[[], Value]) -> asyncio.Future[Value]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def age(self, kept: Kept) -> timedelta:
        """Return how long ago a value was put away."""
        return timedelta(seconds=self.now() - kept.stored_at)

    def is_fresh(self, kept: Kept, limit: timedelta) -> bool:
        """Tell whether a value is younger than a limit, and not from the future."""
        return timedelta(seconds=-_CLOCK_SLACK) <= self.age(kept) < limit

    def find(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of those texts that have one, at once, on the thread of who asks.

        Vectors are bytes; with MiniLM 768 each, 1 KiB in the file. `model` is the hash of its
        files.
        """
        keys = {cache_key("vectors", _VECTORS_VERSION, model, text): text for text in texts}
        found = self._tables["vectors"].get_many(keys)
        return {keys[key]: base64.b64decode(kept.value) for key, kept in found.items()}

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors of texts, likewise."""
        self._tables["vectors"].put_many(
            {
                cache_key("vectors", _VECTORS_VERSION, model, text): base64.b64encode(
                    vector
                ).decode("ascii")
                for text, vector in vectors.items()
            },
            stored_at=self.now(),
            seconds=self.policy.vectors.total_seconds(),
        )

    def info(self) -> list[KindInfo]:
        """Say what is kept, kind by kind."""
        found = []
        for kind, table in self._tables.items():
            entries, oldest = table.count()
            size = table.bytes_on_disk()
            found.append(KindInfo(kind, table.path, entries, size, table.max_bytes, oldest))
        return found

    def clear(self, kind: Kind | None = None) -> dict[Kind, int]:
        """Forget one kind, or everything; return how many values that were."""
        return {each: self._tables[each].clear() for each in KINDS if kind in {None, each}}

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
