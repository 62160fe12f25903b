"""Serper, a web search service in Google's order (https://serper.dev, POST /search).

What belongs here: its wire format, and what each of its failures is called. What does not: HTTP
(resources.http), what services have in common (service.py), and judging hits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response
from resources.search.base import SearchHit, SearchRequest
from resources.search.service import (
    MAX_BYTES,
    Account,
    Findings,
    SearchService,
    checked_key,
    json_object,
    said,
    text,
    wrong_shape,
)

DEFAULT_BASE_URL = "https://google.serper.dev"

_ACCOUNT = Account(setting="SERPER_API_KEY", site="serper.dev")
_WITHOUT_CREDIT = "not enough credits"
_DATE_FORMATS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y-%m-%d")
_AGO = re.compile(r"(\d{1,3}) (minute|min|hour|day|week|month|year)s? ago")
_DAYS = {"minute": 0, "min": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}
_OPERAND = re.compile(r"[\w.-]+")


def _today() -> date:
    return datetime.now(UTC).date()


class SerperSearch(SearchService):
    """Searches by Serper, or by any server that speaks its format.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        api_key: Sent as X-API-KEY and shown nowhere.
        base_url: Where `/search` is, without a closing slash.
        provider: The name that answers carry, for another server of the format.
        today: The day from which relative dates ("3 days ago") count.

    Raises:
        ValueError: The key holds characters that no HTTP header may hold.
    """

    def __init__(
        self,
        http: HttpClient,
        *,
        api_key: str,
        base_url: str = DEFAULT_BASE_URL,
        provider: str = "serper",
        today: Callable[[], date] = _today,
    ) -> None:
        super().__init__(http)
        self.provider = provider
        self._api_key = checked_key(api_key, _ACCOUNT.setting)
        self._url = f"{base_url.rstrip('/')}/search"
        self._today = today

    async def _find(self, request: SearchRequest) -> Findings:
        response = await self._http.post(
            self._url,
            content=self._body(request),
            headers={"X-API-KEY": self._api_key, "Content-Type": "application/json"},
            max_bytes=MAX_BYTES,
        )
        return Findings(self._hits(response, first_rank=request.offset + 1))

    def _body(self, request: SearchRequest) -> bytes:
        wishes = {
            "gl": request.country,
            "hl": request.language,
            "tbs": _period(request.after, request.before),
        }
        body: dict[str, object] = {
            "q": " ".join([request.query, *_exclusions(request)]),
            "num": request.limit,
            "page": request.page,
            **{name: value for name, value in wishes.items() if value},
        }
        return json.dumps(body).encode("utf-8")

    def _hits(self, response: Response, *, first_rank: int) -> list[SearchHit]:
        failure = _failure(response)
        if failure is not None:
            raise failure
        organic = json_object(response).get("organic")
        if not isinstance(organic, list):
            raise wrong_shape("has no list of organic results")
        return [self._hit(entry, first_rank + place) for place, entry in enumerate(organic)]

    def _hit(self, entry: object, rank: int) -> SearchHit:
        link = entry.get("link") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(link, str) or not link:
            raise OutageError(f"its result {rank} has no link; has its format changed?")
        return SearchHit(
            rank=rank,
            title=text(entry.get("title")),
            url=link,
            snippet=text(entry.get("snippet")),
            published_on=parse_date(text(entry.get("date")), self._today()),
        )


def _exclusions(request: SearchRequest) -> list[str]:
    """Return Google's operators, so that a page of results is not filled with what is unwanted."""
    return [
        *(f"-site:{domain}" for domain in request.exclude_domains if _OPERAND.fullmatch(domain)),
        *(f"-filetype:{kind}" for kind in request.exclude_file_types if _OPERAND.fullmatch(kind)),
    ]


def _period(after: date | None, before: date | None) -> str:
    """Return Google's custom date range, whose first and last day both belong to it."""
    parts = [f"cd_min:{after:%m/%d/%Y}"] if after is not None else []
    if before is not None:
        parts.append(f"cd_max:{before - timedelta(days=1):%m/%d/%Y}")
    return ",".join(["cdr:1", *parts]) if parts else ""


def _failure(response: Response) -> HttpFailureError | None:
    if response.status == HTTPStatus.BAD_REQUEST and _WITHOUT_CREDIT in said(response):
        return _ACCOUNT.no_credits
    return _ACCOUNT.failure(response)


def parse_date(words: str, today: date) -> date | None:
    """Read a result's date: `Mar 5, 2021`, `5 Mar 2021`, `2021-03-05`, `3 days ago`; else None.

    Months and years of a relative date count 30 and 365 days, which is as exact as it is meant.
    """
    words = text(words)
    ago = _AGO.fullmatch(words)
    if ago is not None:
        return today - timedelta(days=int(ago.group(1)) * _DAYS[ago.group(2)])
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(words, form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None
