"""Domain ages that are looked up only twice a year.

What belongs here: keeping what a registry said. What does not: asking it (resources.reliability).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from resources.cache.answers import Answers
from resources.cache.store import DiskCache
from resources.reliability.base import DomainAge

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
        """Wrap a source; `identity` says which registries it asks."""
        policy = cache.policy
        limits = {"ok": policy.ages, "unknown": policy.unknown_ages}
        self._ages = ages
        self._answers = Answers[DomainAge](
            cache,
            "ages",
            DomainAge,
            version=_VERSION,
            identity=[identity],
            counts_for=lambda found: limits.get(found.outcome),
            recalled=_grown,
        )

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age in years. Never raises: it answers."""
        landed = await self._answers.ask(
            domain.lower().rstrip("."), lambda _: self._ages.age(domain)
        )
        return landed.result()


def _grown(found: DomainAge, age: timedelta) -> DomainAge:
    return found if found.years is None else replace(found, years=found.years + age / _YEAR)
