"""A small world in memory for the domain's tests: searches, pages, ratings and a reasoner.

Pages state their stance on a claim in plain markers, `[claim-text=stance@confidence]`, which the
reasoner here reads. Any part can fail, be slow, or count its requests.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Literal

from factible_assets.records.tables import (
    Claim,
    LlmCall,
    Maker,
    Query,
    Rating,
    Stance,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import (
    ClaimDraft,
    ClaimDrafts,
    EvidenceDraft,
    Observer,
    PageExcerpt,
    QueryDraft,
    Reasoner,
    ReasonerOutageError,
    ReasonerRefusalError,
    Services,
    WithCalls,
)
from resources.pages.base import FetchedPage, Via
from resources.promises import Promise
from resources.ratings.base import DomainAge, ListedRating
from resources.search.base import (
    FactCheckAnswer,
    FoundFactCheck,
    FoundHit,
    SearchAnswer,
    SearchRequest,
)

VIDEO = Video(
    video_id="dQw4w9WgXcQ", title="Ten beliefs", url="https://youtu.be/dQw4w9WgXcQ", channel="Talks"
)


def make_claim(text: str, rank: int = 1) -> Claim:
    return Claim(
        claim_id=claim_id(VIDEO.video_id, text),
        video_id=VIDEO.video_id,
        rank=rank,
        text=text,
        importance=0.9,
        extraction_confidence=0.9,
        basis="llm",
    )


Hit = FoundHit


def answer(
    provider: str,
    outcome: Literal["ok", "outage"] = "ok",
    reason: str | None = None,
    hits: Sequence[Hit] = (),
) -> SearchAnswer:
    return SearchAnswer(provider, outcome, tuple(hits), reason)


def page(
    url: str,
    outcome: Literal["ok", "absent", "unavailable", "outage"] = "ok",
    *,
    via: Via | None = "scraped",
    **more: Any,
) -> FetchedPage:
    return FetchedPage(url, outcome, datetime(2026, 1, 2, tzinfo=UTC), via=via, **more)


def reviewed(
    claim: str,
    url: str,
    rating: str = "False",
    publisher: str = "Checkers",
    *,
    claimant: str = "",
    language: str = "en",
    **more: Any,
) -> FoundFactCheck:
    return FoundFactCheck(claim, claimant, rating, publisher, url, language=language, **more)


def listed(dataset: str, domain: str, rating: Rating, **more: Any) -> ListedRating:
    return ListedRating(dataset, domain, rating, "news", "Stated by the set.", **more)


@dataclass
class World:
    """The answers of all services. `broken` names the failures, `delays` the slow parts."""

    results: dict[str, list[list[Hit]]] = field(default_factory=dict)
    """Query text to pages of results."""
    texts: dict[str, str] = field(default_factory=dict)
    """URL to page text; a URL without one is unavailable."""
    redirects: dict[str, str] = field(default_factory=dict)
    dates: dict[str, date] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    queries: dict[str, list[QueryDraft]] = field(default_factory=dict)
    """Claim text to drafts."""
    listed: dict[str, Rating] = field(default_factory=dict)
    years: dict[str, float] = field(default_factory=dict)
    broken: set[tuple[str, str]] = field(default_factory=set)
    """Such as ("search", query), ("fetch", url), ("age", domain), ("read", url)
    or ("queries", claim)."""
    declined: set[tuple[str, str]] = field(default_factory=set)
    """The same for refusals of the model."""
    partial: dict[str, str] = field(default_factory=dict)
    """Query text to the gap in its answer."""
    stays: Callable[[str], Awaitable[Sequence[str] | None]] | None = None
    """Called with each claim that was written; it may return the claims that stay in the end."""
    delays: dict[str, float] = field(default_factory=dict)
    """Seconds per kind of work."""
    basis: Maker = "llm"
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    verdicts: list[Verdict] = field(default_factory=list)
    steps: list[tuple[str, str]] = field(default_factory=list)
    before: list[date | None] = field(default_factory=list)
    requests: list[SearchRequest] = field(default_factory=list)
    checks: dict[str, list[FoundFactCheck]] | None = None
    """Prior fact checks by question; None: switched off."""
    wishes: list[tuple[str | None, date | None]] = field(default_factory=list)

    def services(self) -> Services:
        return Services(
            reasoner=one_for_all(Mind(self)),
            searcher=Engine(self),
            fetcher=Web(self),
            ratings=Directory(self),
            ages=Registry(self),
            observer=Witness(self),
            fact_checks=None if self.checks is None else Checkers(self),
        )

    async def work(self, kind: str, key: str) -> bool:
        """Take the time that this kind of work takes; return whether it fails."""
        self.asked[kind, key] += 1
        await asyncio.sleep(self.delays.get(f"{kind} {key}", self.delays.get(kind, 0)))
        return (kind, key) in self.broken


def one_for_all(mind: Any) -> Reasoner:
    """The reasoner in which one mind makes all judgements."""
    return Reasoner(mind, mind, mind)


@dataclass(frozen=True)
class Witness(Observer):
    world: World

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        self.world.steps.append((stage, claim.text))

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self.world.verdicts.append(verdict)


@dataclass(frozen=True)
class Engine:
    world: World

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        query, page = request.query, request.page
        self.world.before.append(request.before)
        self.world.requests.append(request)
        if await self.world.work("search", query if page == 1 else f"{query} #{page}"):
            return [answer("engine", "outage", "the engine is over quota")]
        pages = self.world.results.get(query, [])
        hits = pages[page - 1][: request.limit] if page <= len(pages) else []
        return [answer("engine", reason=self.world.partial.get(query), hits=hits)]


@dataclass(frozen=True)
class Checkers:
    world: World

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        self.world.wishes.append((request.language, request.after))
        if await self.world.work("look up", request.query):
            return FactCheckAnswer("checkers", "outage", reason="the checkers are over quota")
        checks = (self.world.checks or {}).get(request.query, [])[: request.limit]
        return FactCheckAnswer("checkers", "ok", tuple(checks))


@dataclass(frozen=True)
class Web:
    world: World

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        if await self.world.work("fetch", url):
            return page(url, "outage", reason="the connection was reset", via=None)
        if url not in self.world.texts:
            return page(url, "absent", reason="the page is gone", via=None)
        return page(
            url,
            text=self.world.texts[url],
            final_url=self.world.redirects.get(url),
            title=self.world.titles.get(url),
            published_on=self.world.dates.get(url),
        )


@dataclass(frozen=True)
class Directory:
    world: World

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        rating = self.world.listed.get(domain)
        return [listed("set", domain, rating)] if rating else []


@dataclass(frozen=True)
class Registry:
    world: World

    async def age(self, domain: str) -> DomainAge:
        if await self.world.work("age", domain):
            return DomainAge("outage", reason="the registry timed out")
        years = self.world.years.get(domain)
        return DomainAge("ok", years) if years is not None else DomainAge("unknown")


_MARKER = re.compile(r"\[([^\[\]=]+)=(supports|refutes|mixed|unclear)@([\d.]+)\]")
_STANCES: dict[str, Stance] = {
    "supports": "supports",
    "refutes": "refutes",
    "mixed": "mixed",
    "unclear": "unclear",
}


@dataclass(frozen=True)
class Mind:
    world: World

    @property
    def basis(self) -> Maker:
        return self.world.basis

    async def extract_claims(
        self,
        video: Video,
        transcript: Transcript,
        segments: Sequence[TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ClaimDrafts], None] | None = None,
    ) -> WithCalls[ClaimDrafts]:
        sentences = [part.strip() for part in transcript.text.split(".") if part.strip()]
        drafts = [ClaimDraft(each, 0.5, 0.5) for each in sentences]
        for count, each in enumerate(sentences, start=1):
            if found is not None and self.world.stays is not None:
                found(ClaimDrafts("A thesis", tuple(drafts[:count])))
                sentences = [*(await self.world.stays(each) or sentences)]
        return WithCalls(ClaimDrafts("A thesis", tuple(ClaimDraft(s, 0.5, 0.5) for s in sentences)))

    async def write_queries(
        self, video: Video, claim: Claim, *, max_queries: int
    ) -> WithCalls[tuple[QueryDraft, ...]]:
        await self._may_fail("queries", claim.text, "queries", claim)
        return WithCalls(tuple(self.world.queries.get(claim.text, ())), (_call("queries", claim),))

    async def read_evidence(
        self, video: Video, claim: Claim, query: Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        await self._may_fail("read", page.canonical_url, "evidence", claim)
        for match in _MARKER.finditer(page.text):
            if match[1] == claim.text:
                return WithCalls(
                    EvidenceDraft(
                        _STANCES[match[2]], float(match[3]), 0.8, "Says so.", (match[0],)
                    ),
                    (_call("evidence", claim, page.canonical_url),),
                )
        return WithCalls(None, (_call("evidence", claim, page.canonical_url),))

    async def _may_fail(
        self, kind: str, key: str, stage: Literal["queries", "evidence", "verdicts"], claim: Claim
    ) -> None:
        if (kind, key) in self.world.declined:
            raise ReasonerRefusalError("I would rather not.", (_call(stage, claim),))
        if await self.world.work(kind, key):
            raise ReasonerOutageError("the model is overloaded", (_call(stage, claim),))


def _call(
    stage: Literal["queries", "evidence", "verdicts"], claim: Claim, url: str | None = None
) -> LlmCall:
    return LlmCall(
        call_id=f"{stage} {claim.claim_id} {url}",
        video_id=claim.video_id,
        stage=stage,
        claim_id=claim.claim_id,
        canonical_url=url,
        provider="memory",
        model="markers",
        prompt_version="1",
        attempt=1,
        input_tokens=1,
        output_tokens=1,
        cost_usd=0.0,
        latency_seconds=0.0,
        outcome="ok",
    )


def says(claim: str, stance: Stance, confidence: float = 0.9, filler: str = "") -> str:
    """Return a page text that says one thing about one claim."""
    return f"{filler} An account of the matter. [{claim}={stance}@{confidence}] The end. {filler}"


def own_words(seed: str) -> str:
    """Return words that no other seed has, so that texts with them tell different stories."""
    return " ".join(f"{seed}-{number}" for number in range(20))
