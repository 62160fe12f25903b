"""Helpers for the tests of search services: one answer, and the request behind it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from resources.search.base import SearchAnswer, SearchProvider, SearchRequest
from tests.servers import MisbehavingServer


async def ask(
    provider: SearchProvider, query: str = "sugar", *, limit: int = 3, **wishes: Any
) -> SearchAnswer:
    (answer,) = await provider.search(SearchRequest(query, limit, **wishes))
    return answer


def parameters(server: MisbehavingServer) -> dict[str, str]:
    """Return the query parameters of the only request."""
    (asked,) = server.asked
    return dict(parse_qsl(urlsplit(asked.target).query, keep_blank_values=True))
