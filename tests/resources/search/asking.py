"""What the tests of all search services share: reading one answer and the request behind it."""

from __future__ import annotations

from datetime import date
from typing import Unpack
from urllib.parse import parse_qsl, urlsplit

from resources.search.base import Restrictions, SearchAnswer, SearchProvider
from tests.servers import MisbehavingServer


async def ask(
    provider: SearchProvider,
    query: str = "sugar",
    *,
    limit: int = 3,
    page: int = 1,
    before: date | None = None,
    **restrictions: Unpack[Restrictions],
) -> SearchAnswer:
    (answer,) = await provider.search(query, limit=limit, page=page, before=before, **restrictions)
    return answer


def parameters(server: MisbehavingServer) -> dict[str, str]:
    """Return the query parameters of the only request."""
    (asked,) = server.asked
    return dict(parse_qsl(urlsplit(asked.target).query, keep_blank_values=True))
