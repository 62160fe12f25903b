"""The age of a registered domain, from its registry by RDAP.

RFC 9224, sections 3 and 4 (bootstrap file, longest match), RFC 9082, section 3.1.3 (path of a
domain), RFC 9083, sections 4.5 and 5.3 (events of a domain), RFC 7480, section 5 (statuses). Some
countries' registries have no RDAP: the ages of their domains are unknown.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from resources import http
from resources.http import HttpClient
from resources.ratings.base import DomainAge
from resources.single_flight import SingleFlight

BOOTSTRAP_URL = "https://data.iana.org/rdap/dns.json"
_YEAR = timedelta(days=365.25)
_AT_ONCE = 8
_DOMAIN = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*")
# RFC 2606, RFC 6761, RFC 6762, RFC 7686, RFC 3172 and ICANN's private-use TLD: never registered.
_RESERVED = frozenset(
    {"alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test"}
)
_RDAP_BYTES = 3_000_000
_ACCEPT = {"Accept": "application/rdap+json, application/json"}


class RegistryAges:
    """Asks each domain's own registry for its age, and fetches the list of registries once.

    The guard of the client must allow the host of the list (`bootstrap_url`). Without a client all
    ages are unknown. An answer may take `seconds`; ages count back from `now`.
    """

    def __init__(
        self,
        http: HttpClient | None = None,
        *,
        bootstrap_url: str = BOOTSTRAP_URL,
        seconds: float = 10.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._http = http
        self._bootstrap_url = bootstrap_url
        self._seconds = seconds
        self._now = now
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._once: SingleFlight[Mapping[str, str]] = SingleFlight()

    async def age(self, domain: str) -> DomainAge:
        """Return the age of a registrable domain. A failure is an answer, no error."""
        if self._http is None:
            return DomainAge("unknown", reason="no domain registry is configured")
        name = registrable_name(domain)
        if name is None:
            return DomainAge("unknown", reason=f"nobody can register {domain[:80]!r}")
        try:
            async with self._slots, asyncio.timeout(self._seconds):
                moment = await self._registered_at(self._http, name)
        except http.UnavailableError as error:
            return DomainAge("unknown", reason=error.reason)
        except (http.OutageError, TimeoutError) as error:
            late = f"the registry was not done after {self._seconds:g} seconds"
            reason = error.reason if isinstance(error, http.OutageError) else late
            return DomainAge("outage", reason=f"RDAP: {reason}")
        if moment is None:
            return DomainAge(
                "unknown", reason=f"no registry says by RDAP when {name} was registered"
            )
        years = (self._now() - moment) / _YEAR
        future = "the registry names a day in the future"
        return DomainAge("unknown", reason=future) if years < 0 else DomainAge("ok", years)

    async def _registered_at(self, client: HttpClient, domain: str) -> datetime | None:
        """Return the time of registration, None if the registry does not say it.

        Raises UnavailableError if the domain is free, OutageError if a server failed or refused.
        """
        services = await self._once.get(self._bootstrap_url, lambda: self._bootstrap(client))
        suffix = domain.partition(".")[2]
        while suffix and suffix not in services:
            suffix = suffix.partition(".")[2]
        if suffix not in services:
            return None
        record = f"{services[suffix].rstrip('/')}/domain/{domain}"
        response = await client.get(record, headers=_ACCEPT, max_bytes=_RDAP_BYTES)
        if response.status == HTTPStatus.NOT_FOUND:
            raise http.UnavailableError(f"the registry knows no domain {domain}")
        try:
            answer = http.read_object(response)
        except http.UnavailableError as failure:
            raise http.OutageError(failure.reason) from failure
        events = answer.get("events", [])
        if "errorCode" in answer or not isinstance(events, list):
            raise http.OutageError("the answer is an error, or has no list of events")
        name = answer.get("ldhName")
        if isinstance(name, str) and name.lower().rstrip(".") != domain:
            return None
        moments = []
        for event in events:
            if isinstance(event, dict) and event.get("eventAction") == "registration":
                with suppress(ValueError, TypeError):
                    moment = datetime.fromisoformat(event.get("eventDate", ""))
                    moments.append(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        return min(moments, default=None)

    async def _bootstrap(self, client: HttpClient) -> Mapping[str, str]:
        """Return the registry's address of each suffix, by TLS if available; OutageError."""
        try:
            response = await client.get(self._bootstrap_url, max_bytes=_RDAP_BYTES)
            return _services(http.read_object(response))
        except http.HttpFailureError as failure:
            reason = f"the list of registries is missing: {failure.reason}"
            raise http.OutageError(reason) from failure


def registrable_name(domain: str) -> str | None:
    """Return a domain in the form of registries; None if nobody can register it."""
    try:
        name = domain.strip().rstrip(".").lower().encode("idna").decode("ascii")
    except UnicodeError:
        return None
    is_reserved = name.rpartition(".")[2] in _RESERVED
    return None if is_reserved or _DOMAIN.fullmatch(name) is None else name


def _services(bootstrap: Mapping[str, Any]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    try:
        for suffixes, urls in bootstrap["services"]:
            usable = [url for url in urls if url.startswith("http")]
            usable.sort(key=lambda url: not url.startswith("https:"))
            found.update((name.lower(), usable[0]) for name in suffixes if usable)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise http.OutageError("the answer lists services of another shape") from error
    return found
