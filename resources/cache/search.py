"""Search providers and lanes of prior fact checks that are asked the same only once a day.

What belongs here: keeping their answers. What does not: asking (resources.search).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Unpack

from resources.cache.answers import Answers
from resources.cache.store import DiskCache
from resources.search.base import (
    FactCheckAnswer,
    FactCheckLane,
    Restrictions,
    SearchAnswer,
    SearchProvider,
)

_VERSION = 2
"""Raise it whenever the same question would now get another answer."""

_Answers = tuple[SearchAnswer, ...]


class CachingSearch:
    """Keeps whole answers; what is an outage, or lacks something, is asked for again.

    Wrap each provider on its own, inside a merged search: one provider's outage then costs the
    others nothing.
    """

    def __init__(
        self, provider: SearchProvider, cache: DiskCache, *, identity: str, renew: bool = False
    ) -> None:
        """Wrap a provider.

        Args:
            provider: Who is asked for what is not kept.
            cache: Where answers are kept; its owner closes it.
            identity: Everything about the provider that changes its answers: its name, its
                address, its standing country and language. Never a key.
            renew: Whether what was kept before this wrapper was made is asked for anew.
        """

        def is_whole(answers: _Answers) -> bool:
            return bool(answers) and all(
                answer.outcome == "ok" and answer.reason is None for answer in answers
            )

        self._provider = provider
        self._answers = Answers[_Answers](
            cache,
            "search",
            _Answers,
            version=_VERSION,
            identity=[identity],
            counts_for=lambda answers: cache.policy.search if is_whole(answers) else None,
            recalled=lambda answers, _: _at_once(answers),
            renew=renew,
        )

    async def search(
        self,
        query: str,
        *,
        limit: int,
        page: int = 1,
        before: date | None = None,
        **restrictions: Unpack[Restrictions],
    ) -> Sequence[SearchAnswer]:
        """Ask for one page of results; see SearchProvider.search. A kept answer took 0 seconds."""
        asked = {"query": query, "limit": limit, "page": page, "before": before, **restrictions}

        async def work(_: object) -> _Answers:
            return tuple(
                await self._provider.search(
                    query, limit=limit, page=page, before=before, **restrictions
                )
            )

        written = {name: _plain(value) for name, value in asked.items()}
        landed = await self._answers.ask(written, work)
        # Whoever waits for another's question has sent none: nothing is counted twice.
        return landed.result() if landed.first else _at_once(landed.result())


class CachingFactChecks:
    """Keeps whole answers of a lane of prior fact checks; an outage is asked again."""

    def __init__(
        self, lane: FactCheckLane, cache: DiskCache, *, identity: str, renew: bool = False
    ) -> None:
        """Wrap a lane; `identity` is its name and address. For the rest see CachingSearch."""
        self._lane = lane
        self._answers = Answers[FactCheckAnswer](
            cache,
            "search",
            FactCheckAnswer,
            version=_VERSION,
            identity=["fact checks", identity],
            counts_for=lambda answer: cache.policy.search if answer.outcome == "ok" else None,
            recalled=lambda answer, _: replace(answer, latency_seconds=0.0),
            renew=renew,
        )

    async def prior_checks(
        self,
        claim: str,
        *,
        limit: int = 10,
        language: str | None = None,
        after: date | None = None,
    ) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLane.prior_checks. A kept answer took 0 seconds."""

        async def work(_: object) -> FactCheckAnswer:
            return await self._lane.prior_checks(claim, limit=limit, language=language, after=after)

        # The page that was once asked for stays in the key: what was kept counts on.
        asked = [claim, limit, 1, language, _plain(after)]
        return (await self._answers.ask(asked, work)).result()


def _at_once(answers: _Answers) -> _Answers:
    return tuple(replace(answer, latency_seconds=0.0) for answer in answers)


def _plain(value: object) -> object:
    """Return a restriction as JSON; the order of what is excluded means nothing."""
    if isinstance(value, date):
        return value.isoformat()
    return sorted(value) if isinstance(value, (list, tuple, set, frozenset)) else value
