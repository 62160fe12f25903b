"""SearXNG, a metasearch engine that one runs oneself (https://docs.searxng.org, GET /search).

What belongs here: its JSON format, and what each of its failures is called. What does not: HTTP
(resources.http), what services have in common (service.py).

It asks other engines and says which of them did not answer: with results that is a caveat, without
any it is an outage, because nobody can tell whether there was something to find.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response, status_failure
from resources.search.base import SearchHit, SearchRequest
from resources.search.service import (
    MAX_BYTES,
    Findings,
    SearchService,
    asked_wait,
    iso_day,
    json_object,
    objects,
    text,
    with_parameters,
    wrong_shape,
)

_MAX_NAMED = 8
_MAX_CAUSE = 60


class SearxngSearch(SearchService):
    """Searches by a SearXNG instance; no key.

    The instance decides how many results a page has and offers neither dates nor exclusions, so
    its page is cut to the limit, and what is unwanted is left out here. A result's rank is its
    place on the instance's page, after `limit` places for every page before.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host: for an
            own network by `NameTable.for_service(base_url)`.
        base_url: Where `/search` is, such as http://127.0.0.1:8888.
    """

    provider = "searxng"

    def __init__(self, http: HttpClient, *, base_url: str) -> None:
        super().__init__(http)
        self._url = f"{base_url.rstrip('/').removesuffix('/search')}/search"

    async def _find(self, request: SearchRequest) -> Findings:
        url = with_parameters(
            self._url,
            {
                "q": request.query,
                "format": "json",
                "pageno": request.page,
                "language": request.language,
            },
        )
        response = await self._http.get(url, max_bytes=MAX_BYTES)
        failure = _failure(response)
        if failure is not None:
            raise failure
        answer = json_object(response)
        hits = [
            _hit(entry, request.offset + place)
            for place, entry in enumerate(objects(answer.get("results"), "results"), start=1)
        ]
        silent = _silent_engines(answer.get("unresponsive_engines", []))
        if silent and not hits:
            raise OutageError(f"it found nothing, and not all of its engines answered: {silent}")
        return Findings(
            [hit for hit in hits if request.admits_day(hit.published_on)],
            caveat=f"not all of its engines answered: {silent}" if silent else None,
        )


def _failure(response: Response) -> HttpFailureError | None:
    match response.status:
        case HTTPStatus.FORBIDDEN:
            return OutageError(
                "the instance does not offer JSON; add json to search.formats in its settings.yml"
            )
        case HTTPStatus.TOO_MANY_REQUESTS:
            return OutageError(
                "the instance's limiter refused; ask less often, or allow this address in its "
                f"limiter.toml{asked_wait(response)}"
            )
    return status_failure(response)


def _hit(entry: Mapping[str, object], rank: int) -> SearchHit:
    url = text(entry.get("url"))
    if not url:
        raise wrong_shape(f"gives result {rank} no URL")
    return SearchHit(
        rank=rank,
        title=text(entry.get("title")),
        url=url,
        snippet=text(entry.get("content")),
        published_on=iso_day(entry.get("publishedDate")),
    )


def _silent_engines(value: object) -> str:
    """Return `engine (cause)` for each engine that did not answer; empty if all did."""
    if not isinstance(value, list):
        raise wrong_shape("has no list of unresponsive engines")
    named = [_silent_engine(entry) for entry in value]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return ", ".join(named[:_MAX_NAMED]) + more


def _silent_engine(entry: object) -> str:
    parts = entry if isinstance(entry, list) else [entry]
    name, *causes = [text(part)[:_MAX_CAUSE] for part in parts] or [""]
    cause = " ".join(filter(None, causes))
    return f"{name or 'unnamed'} ({cause})" if cause else name or "unnamed"
