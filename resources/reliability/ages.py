"""How old a registered domain is.

What belongs here: the answer's shape, and its sources in their order. What does not: what an age is
worth, the registries' protocols (rdap.py, whois_registry.py), keeping ages on disk
(resources.cache.answers).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from resources.cache.flights import Flights
from resources.reliability.base import (
    DomainAge,
    NotRegisteredError,
    Registry,
    RegistryOutageError,
)

_YEAR = timedelta(days=365.25)
_DOMAIN = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*")
# RFC 2606, RFC 6761, RFC 6762, RFC 7686, RFC 3172 and ICANN's private-use TLD: never registered.
_RESERVED = frozenset(
    {"alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test"}
)


class UnknownAges:
    """Knows no ages, because no registry may be asked."""

    async def age(self, domain: str) -> DomainAge:
        """Answer that the age is unknown; asks nobody."""
        return DomainAge("unknown", reason="no domain registry is configured to be asked")


class RegistryAges:
    """Asks registries in turn until one says when a domain was registered.

    A domain is asked for once: who asks while that runs waits for the same answer, who asks later
    gets it again. Only outages are not remembered. It belongs to the event loop that uses it first.

    Args:
        registries: In the order in which they are asked, the fastest first: RDAP, then WHOIS.
        seconds: The time that one registry may take for one domain.
        concurrency: Domains asked for at once.
        now: The moment from which ages count back.
    """

    def __init__(
        self,
        registries: Sequence[Registry],
        *,
        seconds: float = 10.0,
        concurrency: int = 8,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._registries = tuple(registries)
        self._seconds = seconds
        self._slots = asyncio.Semaphore(concurrency)
        self._now = now
        self._flights: Flights[DomainAge] = Flights()
        self._known: dict[str, DomainAge] = {}

    async def age(self, domain: str) -> DomainAge:
        """Return a registrable domain's age. Never raises: it answers."""
        name = _ascii(domain)
        if name is None:
            return DomainAge("unknown", reason=f"{domain[:80]!r} is no domain that is registered")
        if name in self._known:
            return self._known[name]

        async def ask() -> DomainAge:
            async with self._slots:
                age = await self._ask(name)
            if age.outcome != "outage":
                self._known[name] = age
            return age

        return (await self._flights.join(name, ask))[0].result()

    async def _ask(self, name: str) -> DomainAge:
        outages = []
        for registry in self._registries:
            try:
                async with asyncio.timeout(self._seconds):
                    registered_at = await registry.registered_at(name)
            except NotRegisteredError as error:
                return DomainAge("unknown", reason=error.reason)
            except RegistryOutageError as error:
                outages.append(error.reason)
            except TimeoutError:
                outages.append(f"a registry was not done after {self._seconds:g} seconds")
            else:
                if registered_at is None:
                    continue
                years = (self._now() - registered_at) / _YEAR
                if years < 0:
                    reason = "the registry names a day that has not come yet"
                    return DomainAge("unknown", reason=reason)
                return DomainAge("ok", years=years)
        if outages:
            return DomainAge("outage", reason="; ".join(outages))
        return DomainAge("unknown", reason=f"no registry says when {name} was registered")


def _ascii(domain: str) -> str | None:
    """Return a domain as registries know it; None if nobody can have registered it."""
    try:
        name = domain.strip().rstrip(".").lower().encode("idna").decode("ascii")
    except UnicodeError:
        return None
    if _DOMAIN.fullmatch(name) is None or name.rpartition(".")[2] in _RESERVED:
        return None
    return name
