"""Asks each site's robots.txt before a page is fetched (RFC 9309).

What belongs here: fetching, keeping and applying the rules. What does not: fetching pages.

The parser is Protego: urllib.robotparser knows neither the longest match nor wildcards, which
RFC 9309 (sections 2.2.2 and 2.2.3) asks for.

What an answer means (section 2.3.1): rules if it is a success; everything allowed if the file is
not there (4xx, or too many redirects); an outage of the page, and no refusal, if the server failed
(5xx, no connection) or asks to slow down (429). Crawl-delay is no part of the RFC and is not
applied; a site that wants pauses asks by Retry-After.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakValueDictionary

import httpx
import protego

from resources.http import HttpClient, OutageError, UnavailableError, shown, status_failure

TOKEN = "factible-assets"  # noqa: S105 - a product token (RFC 9309, section 2.2.1), no secret
"""The name by which a robots.txt addresses this client."""

_READ_BYTES = 512_000  # RFC 9309, section 2.5: at least 500 kibibytes are parsed
_MAX_BYTES = 4_000_000
_KEPT_SITES = 5_000
_KEEP_SECONDS = 86_400.0  # RFC 9309, section 2.4: at most a day


@dataclass(frozen=True, slots=True)
class _Rules:
    """What one site allows: by rules, everything (None), or unknown because of a failure."""

    until: float
    rules: protego.Protego | None = None
    failure: str | None = None


class Robots:
    """The rules of all sites, each fetched once while they are kept.

    The client's owner closes it. A site whose rules could not be read is left alone for a while.
    """

    def __init__(self, http: HttpClient, *, retry_seconds: float = 60.0) -> None:
        self._http = http
        self._retry_seconds = retry_seconds
        self._sites: OrderedDict[str, _Rules] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self, url: str) -> None:
        """Return if a page may be fetched; raise UnavailableError if robots are asked not to.

        Raises OutageError while the site's rules cannot be read. A URL that is malformed or
        forbidden is let through: fetching it says what is wrong.
        """
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, ValueError):
            return
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            return
        site = await self._site(f"{parsed.scheme}://{parsed.netloc.decode('ascii', 'replace')}")
        if site.failure is not None:
            raise OutageError(
                f"{shown(url)} is not read while robots.txt is unknown: {site.failure}"
            )
        if site.rules is not None and not site.rules.can_fetch(str(parsed), TOKEN):
            raise UnavailableError(
                f"{parsed.host} asks robots not to read this page (its robots.txt)"
            )

    async def _site(self, origin: str) -> _Rules:
        async with self._locks.setdefault(origin, asyncio.Lock()):
            known = self._sites.get(origin)
            if known is None or known.until < time.monotonic():
                known = self._sites[origin] = await self._fetch(origin)
                self._sites.move_to_end(origin)
                if len(self._sites) > _KEPT_SITES:
                    self._sites.popitem(last=False)
            return known

    async def _fetch(self, origin: str) -> _Rules:
        now = time.monotonic()
        try:
            response = await self._http.get(f"{origin}/robots.txt", max_bytes=_MAX_BYTES)
            failure = status_failure(response)
            if failure is not None:
                raise failure
        except OutageError as error:
            return _Rules(now + self._retry_seconds, failure=error.reason)
        except UnavailableError:
            return _Rules(now + _KEEP_SECONDS)
        text = response.body[:_READ_BYTES].decode("utf-8-sig", "replace")
        rules = await asyncio.to_thread(protego.Protego.parse, text)
        return _Rules(now + _KEEP_SECONDS, rules)
