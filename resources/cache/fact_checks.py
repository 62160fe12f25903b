"""A lane of prior fact checks that is asked the same only once a day.

What belongs here: keeping its answers, among those of the searches. What does not: asking
(resources.search.fact_checks).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from resources.cache.flights import Flights
from resources.cache.store import DiskCache
from resources.cache.values import cache_key, from_json, to_json
from resources.search.fact_checks import FactCheckAnswer, FactCheckLane

_VERSION = 1
"""Raise it whenever the same question would now get another answer."""


class CachingFactChecks:
    """Keeps whole answers; an outage is asked again."""

    def __init__(
        self, lane: FactCheckLane, cache: DiskCache, *, identity: str, renew: bool = False
    ) -> None:
        """Wrap a lane.

        Args:
            lane: Who is asked for what is not kept.
            cache: Where answers are kept; its owner closes it.
            identity: The lane's name and address. Never a key.
            renew: Whether what was kept before this wrapper was made is asked for anew.
        """
        self._lane = lane
        self._cache = cache
        self._identity = identity
        self._since = cache.now() if renew else None
        self._flights: Flights[FactCheckAnswer] = Flights()

    async def prior_checks(
        self,
        claim: str,
        *,
        limit: int = 10,
        page: int = 1,
        language: str | None = None,
        after: date | None = None,
    ) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLane.prior_checks. A kept answer took 0 seconds."""
        day = after.isoformat() if after else None
        asked = [claim, limit, page, language, day]
        key = cache_key("fact checks", _VERSION, self._identity, asked)

        async def work() -> FactCheckAnswer:
            kept = await self._kept(key)
            if kept is not None:
                return kept
            answer = await self._lane.prior_checks(
                claim, limit=limit, page=page, language=language, after=after
            )
            written = to_json(FactCheckAnswer, answer) if answer.outcome == "ok" else None
            if written is not None:
                await self._cache.put("search", key, written, keep=self._cache.policy.search)
            return answer

        return (await self._flights.join(key, work)).result()

    async def _kept(self, key: str) -> FactCheckAnswer | None:
        kept = await self._cache.get("search", key)
        if kept is None or not self._cache.is_fresh(kept, self._cache.policy.search):
            return None
        if self._since is not None and kept.stored_at < self._since:
            return None
        answer = from_json(FactCheckAnswer, kept.value)
        return answer and replace(answer, latency_seconds=0.0)
