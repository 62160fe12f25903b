"""Fetches pages, each by an isolated request, and names every reason why a page is not readable.

First it asks the site. If the text of the answer needs scripts, the browser draws the page
(Factible, section 1.3.4, step 3). If the page is gone, the Wayback Machine may have a copy. If that
second attempt fails for now, the page is an outage.
"""

from __future__ import annotations

import asyncio
import re
import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

import httpx
import protego

from resources.dates import read_day
from resources.http import (
    HttpClient,
    HttpFailureError,
    OutageError,
    Response,
    UnavailableError,
    attributed_to,
    elapsed_since,
    is_passing,
    parse_url,
    shown_url,
)
from resources.network_guard import ForbiddenTargetError, NetworkGuard, host_of
from resources.pages.base import FetchedPage, Via
from resources.pages.browser import Browser
from resources.pages.extract import Extract, clean, storable
from resources.pages.reading import BodyReader, ScriptedPageError, obstacle_error
from resources.promises import Promise, enforce
from resources.service import Service, at, text_at
from resources.single_flight import SingleFlight

_ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.1"
_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})

_ERROR_PAGE = 600
"""Characters below which a drawn page with failed scripts is probably their error message."""


class PageSource:
    """Fetches pages. A failure is a page with another outcome, no error."""

    async def fetch(
        self, url: str, stored: FetchedPage | None = None, *, promise: Promise | None = None
    ) -> FetchedPage:
        """Fetch and read one page.

        `stored` is an earlier result. If the site says that nothing changed, its text returns with
        the status 304. A page that breaks the `promise` of the search is an outage.
        """
        retrieved_at, started = datetime.now(UTC), time.perf_counter()
        try:
            page = await self._obtain(url, stored)
            page = await asyncio.to_thread(enforce, promise, page)
        except HttpFailureError as failure:
            is_absent = failure.outcome == "unavailable" and failure.http_status in _GONE
            page = FetchedPage(
                url,
                "absent" if is_absent else failure.outcome,
                retrieved_at,
                final_url=failure.final_url,
                http_status=failure.http_status,
                reason=failure.reason,
            )
        return replace(page, retrieved_at=retrieved_at, latency_seconds=elapsed_since(started))

    @abstractmethod
    async def _obtain(self, url: str, stored: FetchedPage | None) -> FetchedPage:
        """Fetch a page, or raise HttpFailureError."""


@dataclass
class PageFetcher(PageSource):
    """Fetches pages from their sites. `browser` draws pages that need scripts.

    `wayback` finds copies of pages that are gone. The owner closes client and browser.
    """

    http: HttpClient
    browser: Browser | None = None
    wayback: Wayback | None = None

    def __post_init__(self) -> None:
        self._reader = BodyReader()
        self._robots = Robots(self.http)

    async def _obtain(self, url: str, stored: FetchedPage | None) -> FetchedPage:
        try:
            return await self._scrape(url, stored)
        except HttpFailureError as failure:
            if isinstance(failure, ScriptedPageError) and self.browser is not None:
                name, attempt = "browser", self._draw(self.browser, url, failure.response)
            elif failure.http_status in _GONE and self.wayback is not None:
                name, attempt = "archive", self._find_copy(self.wayback, url, failure)
            else:
                raise
            reason = failure.reason
        try:
            return replace(await attempt, reason=reason)
        except HttpFailureError as failure:
            failure.reason = f"{reason}; {name}: {failure.reason}"
            raise

    async def _scrape(self, url: str, stored: FetchedPage | None) -> FetchedPage:
        await self._robots.check(url)
        conditions = stored.conditions() if stored is not None else {}
        response = await self._get(url, **conditions)
        if stored is not None and conditions and response.status == HTTPStatus.NOT_MODIFIED:
            if response.url == stored.final_url:
                return replace(
                    stored,
                    url=url,
                    http_status=response.status,
                    etag=response.headers.get("etag", stored.etag),
                    last_modified=response.headers.get("last-modified", stored.last_modified),
                )
            response = await self._get(url)  # the stored text belongs to another address
        with attributed_to(response):  # the target of a redirect may forbid robots too
            await self._robots.check(response.url)
        return _page(url, *await self._reader.read(response), response)

    async def _get(self, url: str, **conditions: str) -> Response:
        return await self.http.get(
            url, headers={"Accept": _ACCEPT, **conditions}, accepts=self._reader.accepts
        )

    async def _draw(self, browser: Browser, url: str, response: Response) -> FetchedPage:
        with attributed_to(response):
            drawn = await browser.draw(response)
        at_drawn = replace(response, url=drawn.url)
        with attributed_to(at_drawn):
            extract = await self._reader.read_html(drawn.html, drawn.url)
            failure = drawn.failure if len(extract.text) < _ERROR_PAGE else None
            failure = failure or (drawn.foreign_failure if extract.obstacle is not None else None)
            if failure is not None:
                raise OutageError(failure)
            if extract.obstacle == "needs a browser":
                raise UnavailableError("the page has no text even with its scripts")
            if extract.obstacle is not None:
                raise obstacle_error(extract.obstacle)
        return replace(
            _page(url, extract, "browser", at_drawn),
            byte_count=len(response.body) + drawn.byte_count,
            etag=None,
            last_modified=None,
        )

    async def _find_copy(self, wayback: Wayback, url: str, gone: HttpFailureError) -> FetchedPage:
        try:
            response = await wayback.fetch(url)
            extract, _ = await self._reader.read(response)
        except UnavailableError as failure:
            failure.http_status, failure.final_url = gone.http_status, gone.final_url
            raise
        return _page(url, extract, "archive", response)


def _page(url: str, extract: Extract, via: Via, response: Response) -> FetchedPage:
    return FetchedPage(
        url,
        "ok",
        datetime.now(UTC),
        final_url=response.url,
        http_status=response.status,
        via=via,
        title=extract.title,
        author=extract.author,
        published_on=extract.published_on,
        text=extract.text,
        byte_count=len(response.body),
        etag=response.headers.get("etag"),
        last_modified=response.headers.get("last-modified"),
    )


# --- The Internet Archive's Wayback Machine ------------------------------------------------------
#
# The availability API names the nearest capture. The `id_` form of its address returns the original
# bytes, without the archive's banner and rewritten links. Only the capture's time comes from the
# API's answer, so that no server decides which URL is fetched.

_TIMESTAMP = re.compile(r"\d{14}")


class Wayback(Service):
    """Fetches copies of pages that are gone.

    The archive's robots.txt does not apply: it is about crawling, and this is its API. A `base_url`
    replaces archive.org, which lists captures, and web.archive.org, which has them.
    """

    provider = "wayback"
    address = "https://archive.org"

    async def fetch(self, url: str) -> Response:
        """Return a page's newest copy. UnavailableError: there is none; OutageError: no answer."""
        # Without a time, the API often wrongly reports that there is nothing.
        now = f"{datetime.now(UTC):%Y%m%d}"
        try:
            answer = await self._get("/wayback/available", url=url, timestamp=now)
        except HttpFailureError as failure:
            raise OutageError(f"the Wayback Machine: {failure.reason}") from failure
        snapshots = answer.get("archived_snapshots")
        if isinstance(snapshots, dict) and not at(snapshots, "closest.available"):
            raise UnavailableError("the Wayback Machine holds no copy")
        timestamp = text_at(snapshots, "closest.timestamp")
        if _TIMESTAMP.fullmatch(timestamp) is None:
            raise OutageError("the Wayback Machine's answer has an unknown form")
        captures = "https://web.archive.org" if self._base == self.address else self._base
        return await self._http.get(f"{captures}/web/{timestamp}id_/{url}")


# --- robots.txt (RFC 9309) -----------------------------------------------------------------------
#
# The parser is Protego, because urllib.robotparser supports neither the longest match nor wildcards
# (sections 2.2.2 and 2.2.3). Without a file (4xx, or too many redirects) all pages are allowed.
# If the server fails (5xx, no connection) or asks to slow down (429), the page is an outage
# (section 2.3.1). Crawl-delay is no part of the RFC; a site can ask for pauses by Retry-After.

TOKEN = "factible-assets"  # noqa: S105 - a product token (RFC 9309, section 2.2.1), no secret
"""The name of this client in a robots.txt."""
_READ_BYTES = 512_000  # RFC 9309, section 2.5: at least 500 kibibytes are parsed
_MAX_BYTES = 4_000_000
_Rules: TypeAlias = protego.Protego | str | None
"""The rules of a site, the reason why they are unknown, or None if it allows everything."""


@dataclass
class Robots:
    """The rules of all sites, each fetched once per check (RFC 9309, section 2.4, allows a day)."""

    http: HttpClient
    _once: SingleFlight[_Rules] = field(default_factory=SingleFlight)

    async def check(self, url: str) -> None:
        """Raise UnavailableError if a site forbids robots to read a page.

        OutageError if its rules are unknown. A forbidden URL passes, because fetching it names the
        fault.
        """
        parsed = parse_url(url)
        origin = f"{parsed.scheme}://{parsed.netloc.decode('ascii', 'replace')}"
        rules = await self._once.get(origin, partial(self._rules, origin))
        if isinstance(rules, str):
            raise OutageError(f"{shown_url(url)} is not read while robots.txt is unknown: {rules}")
        if rules is not None and not rules.can_fetch(str(parsed), TOKEN):
            reason = f"{host_of(parsed)} asks robots not to read this page (its robots.txt)"
            raise UnavailableError(reason)

    async def _rules(self, origin: str) -> _Rules:
        try:
            response = await self.http.get(f"{origin}/robots.txt", max_bytes=_MAX_BYTES)
            response.raise_for_status()
            text = response.body[:_READ_BYTES].decode("utf-8-sig", "replace")
            return await asyncio.to_thread(protego.Protego.parse, text)
        except OutageError as error:
            return error.reason
        except UnavailableError:
            return None  # no such file, or no such site


# --- Jina's Reader, a service that fetches, draws and extracts pages ------------------------------
#
# Jina learns which pages this project reads. A check of each URL keeps names of private networks on
# this machine. The text comes as Markdown; its marks are removed. Pages count as `scraped`, because
# Jina does not report its way. Without a key, Jina answers 20 requests a minute.

_PAGE_SECONDS = 12  # less than the client's own limit, so that Jina's error message arrives
_JINA_HEADERS = {
    "Accept": "application/json",
    "X-Retain-Images": "none",
    "X-Retain-Links": "text",
    "X-Timeout": str(_PAGE_SECONDS),
}
_UNREADABLE = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS})
_PAGE_STATUS = re.compile(r"returned error (\d{3})")
# All patterns take linear time.
_MARKS = (
    (re.compile(r"^\s{0,3}#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"^\s{0,3}>\s?", re.MULTILINE), ""),
    (re.compile(r"^[=\-*_]{3,}\s*$", re.MULTILINE), ""),
    (re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\n\s*\n+"), "\n"),
)


def without_marks(text: str) -> str:
    """Remove the marks of Markdown."""
    for mark, replacement in _MARKS:
        text = mark.sub(replacement, text)
    return text


class JinaReader(Service, PageSource):
    """Fetches pages through Jina's Reader, always unconditionally."""

    provider = "jina"
    address = "https://r.jina.ai"
    setting, site = "JINA_API_KEY", "jina.ai"
    key_header = ("Authorization", "Bearer ")

    async def _obtain(self, url: str, stored: FetchedPage | None) -> FetchedPage:
        del stored
        try:
            NetworkGuard().check_url(parse_url(url))
        except ForbiddenTargetError as error:
            raise UnavailableError(f"{shown_url(url)} is not fetched: {error.reason}") from error
        try:
            answer = await self._post("", {"url": url}, headers=_JINA_HEADERS)
        except HttpFailureError as failure:
            kind = UnavailableError if failure.http_status in _UNREADABLE else OutageError
            raise kind(f"Jina's reader: {failure.reason}") from failure
        data = answer.get("data")
        content = at(data, "content")
        if not isinstance(content, str):
            raise OutageError("Jina's answer has an unknown form")
        if stated := _PAGE_STATUS.search(text_at(data, "warning")):
            status = int(stated[1])
            kind = OutageError if is_passing(status) else UnavailableError
            raise kind(f"the site answered {status} to Jina's reader", http_status=status)
        text = without_marks(storable(content)).strip()
        if not text:
            raise obstacle_error("empty")
        published_on = read_day(text_at(data, "publishedTime"), datetime.now(UTC))
        final_url = text_at(data, "url")
        final_url = final_url if final_url.startswith(("http://", "https://")) else url
        site = Response(final_url, HTTPStatus.OK, httpx.Headers(), text.encode())
        title = clean(text_at(data, "title"))
        return _page(url, Extract(text, title, None, published_on), "scraped", site)


PAGE_SERVICES = {JinaReader.provider: JinaReader}
"""The services that fetch pages, by their names in settings: slow, and billed by the request."""
