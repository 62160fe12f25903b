"""Semantic Scholar's Academic Graph: scholarly papers (GET /graph/v1/paper/search).

What belongs here: its JSON format, papers as hits, and what each of its failures is called. What
does not: HTTP (resources.http), what services have in common (service.py), reading papers.

Source: https://api.semanticscholar.org/api-docs/graph, "Paper relevance search".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response, status_failure
from resources.search.base import SearchHit, SearchRequest
from resources.search.service import (
    MAX_BYTES,
    Account,
    Findings,
    SearchService,
    asked_wait,
    checked_key,
    iso_day,
    json_object,
    objects,
    text,
    whole_number,
    with_parameters,
    wrong_shape,
)

DEFAULT_BASE_URL = "https://api.semanticscholar.org"

_ACCOUNT = Account(setting="SEMANTIC_SCHOLAR_API_KEY", site="semanticscholar.org/product/api")
_FIELDS = "title,abstract,citationCount,openAccessPdf,url,publicationDate"
_LARGEST_PAGE = 100
_RANKED_RESULTS = 1_000
"""The service ranks no more than these and refuses to look beyond."""


class SemanticScholarSearch(SearchService):
    """Searches papers.

    A hit's URL is the paper's open-access PDF if it has one, else its page; its snippet is the
    abstract. The day of publication is often unknown; it is not made up.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        api_key: Sent as x-api-key and shown nowhere. Without one, all users of the world share
            one small limit, and refusals are common.
        base_url: Where `/graph/v1` is, without a closing slash.

    Raises:
        ValueError: The key holds characters that no HTTP header may hold.
    """

    provider = "semantic_scholar"

    def __init__(
        self,
        http: HttpClient,
        *,
        api_key: str | None = None,
        base_url: str = DEFAULT_BASE_URL,
    ) -> None:
        super().__init__(http)
        self._headers = (
            {} if api_key is None else {"x-api-key": checked_key(api_key, _ACCOUNT.setting)}
        )
        self._url = f"{base_url.rstrip('/')}/graph/v1/paper/search"

    async def _find(self, request: SearchRequest) -> Findings:
        wanted = min(request.limit, _LARGEST_PAGE, _RANKED_RESULTS - request.offset)
        if wanted <= 0:
            return Findings([])  # it ranks no more, so nothing is missing
        url = with_parameters(
            self._url,
            {
                # The service finds nothing for hyphenated words.
                "query": request.query.replace("-", " "),
                "offset": request.offset,
                "limit": wanted,
                "fields": _FIELDS,
                "publicationDateOrYear": _period(request),
            },
        )
        response = await self._http.get(url, headers=self._headers, max_bytes=MAX_BYTES)
        failure = self._failure(response)
        if failure is not None:
            raise failure
        answer = json_object(response)
        if whole_number(answer.get("total")) is None:
            raise wrong_shape("has no total")
        # The list is left out where it would be empty.
        papers = objects(answer.get("data", []), "papers")
        return Findings(
            [_paper(entry, request.offset + place) for place, entry in enumerate(papers, start=1)]
        )

    def _failure(self, response: Response) -> HttpFailureError | None:
        if self._headers:
            return _ACCOUNT.failure(response)
        if response.status == HTTPStatus.TOO_MANY_REQUESTS:
            return OutageError(
                "too many requests at the moment by all who ask without a key; set "
                f"{_ACCOUNT.setting} or try again later{asked_wait(response)}"
            )
        return status_failure(response)


def _period(request: SearchRequest) -> str | None:
    """Return the service's range of days, of which both ends belong to it; None for no bound."""
    if request.after is None and request.before is None:
        return None
    first = request.after.isoformat() if request.after else ""
    last = (request.before - timedelta(days=1)).isoformat() if request.before else ""
    return f"{first}:{last}"


def _paper(entry: Mapping[str, object], rank: int) -> SearchHit:
    paper_id = text(entry.get("paperId"))
    page_url = text(entry.get("url")) or (
        f"https://www.semanticscholar.org/paper/{paper_id}" if paper_id else ""
    )
    if not page_url:
        raise wrong_shape(f"gives paper {rank} neither an id nor a URL")
    pdf = entry.get("openAccessPdf")
    pdf_url = text(pdf.get("url")) if isinstance(pdf, Mapping) else ""
    return SearchHit(
        rank=rank,
        title=text(entry.get("title")),
        url=pdf_url or page_url,
        snippet=text(entry.get("abstract")),
        published_on=iso_day(entry.get("publicationDate")),
        citation_count=whole_number(entry.get("citationCount")),
    )
