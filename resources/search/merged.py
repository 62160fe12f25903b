"""Several search providers behind one door.

What belongs here: asking them together. What does not: merging hits of the same page, which needs
canonical URLs and is the domain's business; every provider's answer is handed on as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import Unpack

from resources.search.base import Restrictions, SearchAnswer, SearchProvider


class MergedSearch:
    """Asks all its providers at once; answers come in the order of the providers.

    Raises:
        ValueError: There is no provider; a search that asks nobody would look like no results.
    """

    def __init__(self, providers: Sequence[SearchProvider]) -> None:
        if not providers:
            raise ValueError("MergedSearch needs at least one search provider")
        self._providers = tuple(providers)

    async def search(
        self,
        query: str,
        *,
        limit: int,
        page: int = 1,
        before: date | None = None,
        **restrictions: Unpack[Restrictions],
    ) -> Sequence[SearchAnswer]:
        """Ask every provider for one page of results; one outage does not touch the others."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    provider.search(query, limit=limit, page=page, before=before, **restrictions)
                )
                for provider in self._providers
            ]
        return tuple(answer for task in tasks for answer in task.result())
