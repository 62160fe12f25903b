"""Wikipedia's search with the beginning of each article (MediaWiki's action API, /w/api.php).

What belongs here: its JSON format, and what each of its failures is called. What does not: HTTP
(resources.http), what services have in common (service.py), reading articles.

Sources: https://www.mediawiki.org/wiki/API:Search (as a generator) and
https://www.mediawiki.org/wiki/Extension:TextExtracts. Articles have no day of publication: they
change all the time, so restrictions to a period leave none out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response, status_failure
from resources.search.base import SearchHit, SearchRequest
from resources.search.service import (
    MAX_BYTES,
    Findings,
    SearchService,
    asked_wait,
    json_object,
    objects,
    text,
    whole_number,
    with_parameters,
    wrong_shape,
)

DEFAULT_BASE_URL = "https://{language}.wikipedia.org"

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,8}){0,2}")
_MOST_EXTRACTS = 20
_EXTRACT_CHARACTERS = 1_200
_LONGEST_QUERY = 300
_ERROR_CODE = re.compile(r"[\w-]{1,60}")


class WikipediaSearch(SearchService):
    """Searches Wikipedia; no key. The snippet is the beginning of the article, in plain text.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        language: The language edition, such as en; a search's own language wins.
        base_url: Where `/w/api.php` is; `{language}` stands for the edition.

    Raises:
        ValueError: The language is no language code.
    """

    provider = "wikipedia"

    def __init__(
        self,
        http: HttpClient,
        *,
        language: str = "en",
        base_url: str = DEFAULT_BASE_URL,
    ) -> None:
        super().__init__(http)
        if _edition(language) is None:
            raise ValueError(f"{language[:40]!r} is no language of Wikipedia; write it as en or de")
        self._language = language
        self._base_url = base_url.rstrip("/")

    async def _find(self, request: SearchRequest) -> Findings:
        edition = _edition(request.language or self._language) or self._language
        url = with_parameters(
            f"{self._base_url.replace('{language}', edition)}/w/api.php",
            {
                "action": "query",
                "format": "json",
                "formatversion": 2,
                "generator": "search",
                "gsrsearch": _cut(request.query),
                "gsrlimit": min(request.limit, _MOST_EXTRACTS),
                "gsroffset": request.offset,
                "prop": "extracts|info",
                "inprop": "url",
                "exintro": 1,
                "explaintext": 1,
                "exchars": _EXTRACT_CHARACTERS,
                "exlimit": "max",
            },
        )
        response = await self._http.get(url, max_bytes=MAX_BYTES)
        failure = _failure(response)
        if failure is not None:
            raise failure
        return Findings(_hits(json_object(response), request.offset))


def _edition(language: str) -> str | None:
    """Return the code of a language edition, which becomes a part of the host's name."""
    code = language.strip().lower()
    return code if _LANGUAGE.fullmatch(code) else None


def _cut(query: str) -> str:
    """Return as many words as the service accepts, in which operators mean nothing."""
    words = text(query)
    if len(words) <= _LONGEST_QUERY:
        return words
    return words[: _LONGEST_QUERY + 1].rpartition(" ")[0] or words[:_LONGEST_QUERY]


def _failure(response: Response) -> HttpFailureError | None:
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return OutageError(f"too many requests; ask less often{asked_wait(response)}")
    return status_failure(response)


def _hits(answer: Mapping[str, object], offset: int) -> list[SearchHit]:
    error = answer.get("error")
    if error is not None:
        code = text(error.get("code")) if isinstance(error, Mapping) else ""
        raise OutageError(f"it refused the search ({_shown_code(code)}); try again later")
    found = answer.get("query")
    if found is None:
        # The service leaves this out when no article was found, and only then says it is done.
        if "batchcomplete" not in answer:
            raise wrong_shape("has neither articles nor an end")
        return []
    if not isinstance(found, Mapping):
        raise wrong_shape("has no list of articles")
    pages = sorted(objects(found.get("pages"), "articles"), key=_place)
    return [_hit(page, offset + place) for place, page in enumerate(pages, start=1)]


def _shown_code(code: str) -> str:
    return code if _ERROR_CODE.fullmatch(code) else "no reason given"


def _place(page: Mapping[str, object]) -> int:
    place = whole_number(page.get("index"))
    if place is None:
        raise wrong_shape("gives an article no rank")
    return place


def _hit(page: Mapping[str, object], rank: int) -> SearchHit:
    url = text(page.get("canonicalurl")) or text(page.get("fullurl"))
    if not url:
        raise wrong_shape(f"gives article {rank} no URL")
    return SearchHit(
        rank=rank,
        title=text(page.get("title")),
        url=url,
        snippet=text(page.get("extract")),
    )
