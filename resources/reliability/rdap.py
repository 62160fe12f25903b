"""Registration dates by RDAP, the registries' JSON protocol over HTTP.

What belongs here: finding the registry of a domain, and reading its answer. What does not: HTTP
(resources.http), WHOIS (whois_registry.py), ages (ages.py).

Sources: RFC 9224, sections 3 and 4 (bootstrap file, longest match), RFC 9082, section 3.1.3 (path
of a domain), RFC 9083, sections 4.5 and 5.3 (events of a domain), RFC 7480, section 5.3 (404).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response, status_failure
from resources.reliability.base import NotRegisteredError, RegistryOutageError

BOOTSTRAP_URL = "https://data.iana.org/rdap/dns.json"

_MAX_BYTES = 3_000_000
_RETRY_BOOTSTRAP_SECONDS = 60.0
_ACCEPT = {"Accept": "application/rdap+json, application/json"}


class RdapRegistry:
    """Asks each domain's own registry; the list of registries is fetched once and kept.

    Args:
        http: The client; its owner closes it. Its guard must allow the bootstrap's host.
        bootstrap_url: Where IANA's list of registries is.
    """

    def __init__(self, http: HttpClient, *, bootstrap_url: str = BOOTSTRAP_URL) -> None:
        self._http = http
        self._bootstrap_url = bootstrap_url
        self._services: Mapping[str, str] | None = None
        self._fetching = asyncio.Lock()
        self._failed = 0.0, ""

    async def registered_at(self, domain: str) -> datetime | None:
        """Return when a domain was registered; see Registry.registered_at."""
        services, suffix = await self._bootstrap(), domain.partition(".")[2]
        while suffix and suffix not in services:
            suffix = suffix.partition(".")[2]
        base_url = services.get(suffix)
        if base_url is None:
            return None
        try:
            response = await self._http.get(
                f"{base_url.rstrip('/')}/domain/{domain}", headers=_ACCEPT, max_bytes=_MAX_BYTES
            )
            if response.status == HTTPStatus.NOT_FOUND:
                raise NotRegisteredError(f"the registry knows no domain {domain}")
            return _registered(_read(response), domain)
        except OutageError as failure:
            raise RegistryOutageError(f"RDAP: {failure.reason}") from failure
        except HttpFailureError:
            # The registry does not answer such questions; WHOIS may.
            return None

    async def _bootstrap(self) -> Mapping[str, str]:
        """Return each listed suffix's registry.

        A list that is down is not asked for again by every domain that waits for it.
        """
        async with self._fetching:
            if self._services is None:
                failed_at, reason = self._failed
                if reason and time.monotonic() - failed_at < _RETRY_BOOTSTRAP_SECONDS:
                    raise RegistryOutageError(reason)
                try:
                    response = await self._http.get(self._bootstrap_url, max_bytes=_MAX_BYTES)
                    self._services = _services(_read(response))
                except HttpFailureError as failure:
                    reason = f"RDAP: the list of registries is missing: {failure.reason}"
                    self._failed = time.monotonic(), reason
                    raise RegistryOutageError(reason) from failure
            return self._services


def _read(response: Response) -> Mapping[str, object]:
    failure = status_failure(response)
    if failure is not None:
        raise failure
    try:
        answer = json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise OutageError("the answer is not JSON") from error
    if not isinstance(answer, dict):
        raise OutageError("the answer is no JSON object")
    return answer


def _services(bootstrap: Mapping[str, object]) -> Mapping[str, str]:
    """Return each listed suffix's registry, by TLS where it offers that."""
    services = bootstrap.get("services")
    if not isinstance(services, list):
        raise OutageError("the answer lists no services")
    found: dict[str, str] = {}
    for service in services:
        match service:
            case [list() as suffixes, list() as urls]:
                usable = [url for url in urls if isinstance(url, str) and url.startswith("http")]
                usable.sort(key=lambda url: not url.startswith("https:"))
                names = (name for name in suffixes if isinstance(name, str) and usable)
                found.update((name.lower(), usable[0]) for name in names)
            case _:
                raise OutageError("the answer lists a service of another shape")
    return found


def _registered(answer: Mapping[str, object], domain: str) -> datetime | None:
    """Read the registration event of exactly this domain."""
    name = answer.get("ldhName")
    if isinstance(name, str) and name.lower().rstrip(".") != domain:
        return None
    events = answer.get("events", [])
    if not isinstance(events, list):
        raise OutageError("the answer has no list of events")
    moments = []
    for event in events:
        if isinstance(event, dict) and event.get("eventAction") == "registration":
            with suppress(ValueError, TypeError):
                moment = datetime.fromisoformat(event.get("eventDate", ""))
                moments.append(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return min(moments, default=None)
