"""Several search providers behind one door.

What belongs here: asking them together, and taking the words from a snippet that is but the notice
of a missing page ("410 Gone", a consent form). What does not: merging hits of the same page, which
needs canonical URLs and is the domain's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Unpack

from resources.scraping.notices import notice_in
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
        return tuple(
            replace(
                answer,
                hits=tuple(
                    replace(hit, snippet="") if notice_in([hit.title], hit.snippet) else hit
                    for hit in answer.hits
                ),
            )
            for task in tasks
            for answer in task.result()
        )
