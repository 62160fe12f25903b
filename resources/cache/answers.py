"""Questions of one kind that are asked once: answered from the cache, or asked and kept.

What belongs here: what every wrapper of a client does. What does not: what a kind's questions and
answers are (search.py, pages.py, ages.py), model calls, which keep what was paid on the way
(models.py), files (table.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Generic, TypeVar

from resources.cache.flights import Flights, Landed
from resources.cache.store import DiskCache, Kind
from resources.cache.values import Json, cache_key, from_json, to_json

Value = TypeVar("Value")


class Answers(Generic[Value]):
    """Answers of one client, shared by all who ask the same at once."""

    def __init__(
        self,
        cache: DiskCache,
        kind: Kind,
        shape: type[Value],
        *,
        version: int,
        identity: Sequence[Json],
        counts_for: Callable[[Value], timedelta | None],
        stays_for: Callable[[Value], timedelta] | None = None,
        recalled: Callable[[Value, timedelta], Value],
        renew: bool = False,
    ) -> None:
        """Describe the questions.

        Args:
            cache: Where answers are kept; its owner closes it.
            kind: With what they are kept.
            shape: The type of an answer.
            version: Raised whenever the same question would now get another answer.
            identity: Everything about the client that changes its answers. Never a key.
            counts_for: How long an answer is given out; None for one that is not kept.
            stays_for: How long it stays to be asked after, if longer.
            recalled: Makes of an answer that was kept so long what is given out.
            renew: Whether what was kept before now is asked for anew, however fresh.
        """
        self._cache = cache
        self._kind: Kind = kind
        self._shape = shape
        self._version = version
        self._identity = identity
        self._counts_for = counts_for
        self._stays_for = stays_for
        self._recalled = recalled
        self._since = cache.now() if renew else None
        self._flights: Flights[Value] = Flights()

    async def ask(
        self, question: Json, work: Callable[[Value | None], Awaitable[Value]]
    ) -> Landed[Value]:
        """Return the answer to a question.

        Args:
            question: What is asked, as JSON.
            work: Asks the client; given what is kept and counts no more, if there is any.
        """
        key = cache_key(self._kind, self._version, *self._identity, question)

        async def answer() -> Value:
            old = await self._cache.get(self._kind, key)
            known = from_json(self._shape, old.value) if old is not None else None
            if old is not None and known is not None:
                limit = self._counts_for(known) or timedelta(0)
                is_new = self._since is None or old.stored_at >= self._since
                if is_new and self._cache.is_fresh(old, limit):
                    return self._recalled(known, self._cache.age(old))
            found = await work(known)
            counts = self._counts_for(found)
            written = to_json(self._shape, found) if counts else None
            if counts and written is not None:
                keep = max(counts, self._stays_for(found)) if self._stays_for else counts
                await self._cache.put(self._kind, key, written, keep=keep)
            return found

        return await self._flights.join(key, answer)
