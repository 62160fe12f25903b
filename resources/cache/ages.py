"""Domain ages that are looked up only twice a year.

What belongs here: keeping what a registry said. What does not: asking it (resources.reliability).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from resources.cache.flights import Flights
from resources.cache.store import DiskCache
from resources.cache.values import cache_key, from_json, to_json
from resources.reliability.ages import DomainAge

_VERSION = 1
_YEAR = timedelta(days=365.25)


class AgeSource(Protocol):
    """Knows, or finds out, how old domains are."""

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age. Never raises: it answers."""
        ...


class CachingAges:
    """Keeps ages, and for a shorter time that an age is unknown. A kept age has grown meanwhile."""

    def __init__(self, ages: AgeSource, cache: DiskCache, *, identity: str) -> None:
        """Wrap a source.

        Args:
            ages: Who is asked for what is not kept.
            cache: Where ages are kept; its owner closes it.
            identity: Which registries the source asks.
        """
        self._ages = ages
        self._cache = cache
        self._identity = identity
        self._flights: Flights[DomainAge] = Flights()

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age in years. Never raises: it answers."""
        name = domain.lower().rstrip(".")
        key = cache_key("ages", _VERSION, self._identity, name)

        async def work() -> DomainAge:
            kept = await self._kept(key)
            if kept is not None:
                return kept
            found = await self._ages.age(domain)
            written = to_json(DomainAge, found) if found.outcome != "outage" else None
            if written is not None:
                await self._cache.put("ages", key, written, keep=self._limit(found))
            return found

        return (await self._flights.join(key, work)).result()

    def _limit(self, found: DomainAge) -> timedelta:
        policy = self._cache.policy
        return policy.ages if found.outcome == "ok" else policy.unknown_ages

    async def _kept(self, key: str) -> DomainAge | None:
        kept = await self._cache.get("ages", key)
        found = from_json(DomainAge, kept.value) if kept is not None else None
        if kept is None or found is None or not self._cache.is_fresh(kept, self._limit(found)):
            return None
        if found.years is None:
            return found
        return replace(found, years=found.years + self._cache.age(kept) / _YEAR)
