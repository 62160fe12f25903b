"""A search provider that is asked the same only once a day.

What belongs here: keeping one provider's answers. What does not: asking (resources.search).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Unpack

from resources.cache.flights import Flights
from resources.cache.store import DiskCache
from resources.cache.values import cache_key, from_json, to_json
from resources.search.base import Restrictions, SearchAnswer, SearchProvider

_VERSION = 1
"""Raise it whenever the same question would now get another answer."""

_Answers = tuple[SearchAnswer, ...]


class CachingSearch:
    """Keeps whole answers; what is an outage, or lacks something, is asked for again.

    Wrap each provider on its own, inside a merged search: one provider's outage then costs the
    others nothing.
    """

    def __init__(
        self, provider: SearchProvider, cache: DiskCache, *, identity: str, renew: bool = False
    ) -> None:
        """Wrap a provider.

        Args:
            provider: Who is asked for what is not kept.
            cache: Where answers are kept; its owner closes it.
            identity: Everything about the provider that changes its answers: its name, its
                address, its standing country and language. Never a key.
            renew: Whether what was kept before this wrapper was made is asked for anew.
        """
        self._provider = provider
        self._cache = cache
        self._identity = identity
        self._since = cache.now() if renew else None
        self._flights: Flights[_Answers] = Flights()

    async def search(
        self,
        query: str,
        *,
        limit: int,
        page: int = 1,
        before: date | None = None,
        **restrictions: Unpack[Restrictions],
    ) -> Sequence[SearchAnswer]:
        """Ask for one page of results; see SearchProvider.search. A kept answer took 0 seconds."""
        asked = {"query": query, "limit": limit, "page": page, "before": before, **restrictions}
        written = {name: _plain(value) for name, value in asked.items()}
        key = cache_key("search", _VERSION, self._identity, written)

        async def work() -> _Answers:
            kept = await self._kept(key)
            if kept is not None:
                return kept
            answers = tuple(
                await self._provider.search(
                    query, limit=limit, page=page, before=before, **restrictions
                )
            )
            await self._keep(key, answers)
            return answers

        landed = await self._flights.join(key, work)
        # Whoever waits for another's question has sent none: nothing is counted twice.
        return landed.result() if landed.first else _at_once(landed.result())

    async def _kept(self, key: str) -> _Answers | None:
        kept = await self._cache.get("search", key)
        if kept is None or not self._cache.is_fresh(kept, self._cache.policy.search):
            return None
        if self._since is not None and kept.stored_at < self._since:
            return None
        answers = from_json(_Answers, kept.value)
        return answers and _at_once(answers)

    async def _keep(self, key: str, answers: _Answers) -> None:
        whole = all(answer.outcome == "ok" and answer.reason is None for answer in answers)
        written = to_json(_Answers, answers) if answers and whole else None
        if written is not None:
            await self._cache.put("search", key, written, keep=self._cache.policy.search)


def _at_once(answers: _Answers) -> _Answers:
    return tuple(replace(answer, latency_seconds=0.0) for answer in answers)


def _plain(value: object) -> object:
    """Return a restriction as JSON; the order of what is excluded means nothing."""
    if isinstance(value, date):
        return value.isoformat()
    return sorted(value) if isinstance(value, (list, tuple, set, frozenset)) else value
