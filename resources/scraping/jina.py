"""Reads pages through Jina's Reader: another machine fetches, draws and extracts them.

What belongs here: one question to the service, and the meaning of its answers. What does not: own
fetching (pages.py). It answers in the same shape, so that it can stand in its place.

Jina learns which pages are read. A URL is checked by its form before it is handed over, so that no
name of a private network leaves the machine. The text comes as Markdown, whose marks are taken off.
Pages are marked `scraped`: which way Jina went, it does not say. Without a key, Jina answers 20
questions a minute; the key appears in no reason.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx

from resources.http import (
    HttpClient,
    HttpFailureError,
    OutageError,
    UnavailableError,
    is_passing,
    shown,
)
from resources.network_guard import ForbiddenTargetError, NetworkGuard
from resources.scraping.base import FetchedPage
from resources.scraping.extract import clean, storable
from resources.scraping.notices import notice_in
from resources.scraping.pages import Fetching
from resources.scraping.reading import hindered

BASE_URL = "https://r.jina.ai/"

_PAGE_SECONDS = 12  # below the client's own patience, so that Jina's sentence arrives
_HEADERS = {
    "Accept": "application/json",
    "Content-Type": "application/json",
    "X-Retain-Images": "none",
    "X-Retain-Links": "text",
    "X-Timeout": str(_PAGE_SECONDS),
}
_REFUSALS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Jina's reader does not accept the key; check JINA_API_KEY",
    HTTPStatus.PAYMENT_REQUIRED: "Jina's reader says that the key has no credits left",
    HTTPStatus.FORBIDDEN: "Jina's reader refuses this key; check JINA_API_KEY",
    HTTPStatus.TOO_MANY_REQUESTS: "Jina's reader asks for fewer questions",
}
_UNREADABLE = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS})
_PAGE_STATUS = re.compile(r"returned error (\d{3})")
_MARKS = (
    (re.compile(r"^\s{0,3}#{1,6}\s+", re.MULTILINE), ""),
    (re.compile(r"^\s{0,3}>\s?", re.MULTILINE), ""),
    (re.compile(r"^[=\-*_]{3,}\s*$", re.MULTILINE), ""),
    (re.compile(r"!\[[^\]]*\]\([^)\s]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\n\s*\n+"), "\n"),
)


@dataclass(frozen=True)
class JinaReader(Fetching):
    """Fetches pages through Jina's Reader, which knows no conditions. The client's owner closes it.

    `guard` checks by its form each URL that is handed over.
    """

    http: HttpClient
    api_key: str | None = field(default=None, repr=False)
    base_url: str = BASE_URL
    guard: NetworkGuard = field(default_factory=NetworkGuard)

    async def _obtain(
        self, url: str, known: FetchedPage | None, tried: list[tuple[str, str]]
    ) -> FetchedPage:
        del known
        try:
            data = await self._ask(url)
            text = _text(data)
        except HttpFailureError as failure:
            tried.append(("scraped", failure.reason))
            raise
        final_url, title = str(data.get("url")), data.get("title")
        return FetchedPage(
            url,
            "ok",
            datetime.now(UTC),
            final_url=final_url if final_url.startswith(("http://", "https://")) else url,
            http_status=HTTPStatus.OK,
            via="scraped",
            title=clean(title) if isinstance(title, str) else None,
            published_on=_day(data.get("publishedTime")),
            text=text,
            byte_count=len(text.encode()),
        )

    async def _ask(self, url: str) -> dict[str, Any]:
        """Return the page's part of an answer, or name why there is none."""
        try:
            self.guard.check_url(httpx.URL(url))
        except (httpx.InvalidURL, ValueError) as error:
            raise UnavailableError("this is not a URL that can be fetched") from error
        except ForbiddenTargetError as error:
            raise UnavailableError(f"{shown(url)} is not fetched: {error.reason}") from error
        headers = _HEADERS | ({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})
        content = json.dumps({"url": url}).encode()
        response = await self.http.post(self.base_url, content=content, headers=headers)
        status = response.status
        if status in _REFUSALS:
            raise OutageError(_REFUSALS[status])
        if status in _UNREADABLE:
            raise UnavailableError(f"Jina's reader does not read this page (status {status})")
        if status != HTTPStatus.OK:
            raise OutageError(f"Jina's reader could not read the page (status {status})")
        try:
            data = json.loads(response.body)["data"]
        except (ValueError, LookupError, TypeError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("content"), str):
            raise OutageError("Jina's answer could not be understood")
        return data


def _text(data: dict[str, Any]) -> str:
    """Return the page's text, unless the page was an error."""
    seen = _PAGE_STATUS.search(str(data.get("warning") or ""))
    if seen is not None:
        status = int(seen.group(1))
        kind = OutageError if is_passing(status) else UnavailableError
        raise kind(f"the site answered {status} to Jina's reader", http_status=status)
    text = storable(data["content"])
    for mark, replacement in _MARKS:
        text = mark.sub(replacement, text)
    title = data.get("title")
    headings = [title] if isinstance(title, str) else []
    obstacle = notice_in(headings, text) if text.strip() else "empty"
    if obstacle is not None:
        raise hindered(obstacle)
    return text.strip()


def _day(value: object) -> date | None:
    # In ISO 8601 or in the form of mail.
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            return read(value).date() if isinstance(value, str) else None
    return None
