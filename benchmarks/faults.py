"""Runs the demo with random faults: a verdict may become incomplete, but never different.

The script checks the demo's claims once without faults and keeps the answers in memory. It then
repeats the check for each seed with faults everywhere: failing or slow searches, pages and domain
ages, and a reasoner that fails. Each verdict must have the fault-free stance, with the same
confidence or a pending re-check, or be incomplete. It prints the counts and exits with 1 if a
verdict differs. Nothing was chosen on these counts.

With `--wire` only pages fail, and on the wire: a real server answers 200 with an empty body, a
notice, binary data, half a page, a bomb or lost characters, and the real fetcher reads that.

    python -m benchmarks.faults --runs 1000
    python -m benchmarks.faults --runs 40 --wire
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar
from urllib.parse import urlsplit
from zlib import crc32

from factible_assets.config import ClaimsConfig, FactCheckConfig, Reasoners
from factible_assets.corpora.reading import load_corpora
from factible_assets.records.tables import (
    Claim,
    Maker,
    Query,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.services.models import new_budget
from factible_assets.services.ratings import rating_directory, rating_files
from factible_assets.services.reasoning import choose_reasoners, open_reasoner
from factible_assets.services.web import open_web
from factible_assets.settings import Settings
from factible_assets.stages.flow import check_claims, extract_claims
from factible_assets.stages.ports import (
    ClaimDrafts,
    DomainAges,
    EvidenceDraft,
    Fetcher,
    PageExcerpt,
    QueryDraft,
    RatingDirectory,
    Reasoner,
    ReasonerOutageError,
    Services,
    WithCalls,
)
from factible_assets.stages.transcript import stored_transcript
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.pages.base import FetchedPage
from resources.pages.scraper import PageFetcher
from resources.promises import Promise
from resources.ratings.base import DomainAge, ListedRating
from resources.search.base import SearchAnswer, SearchProvider, SearchRequest
from resources.storage.answers import DiskCache
from resources.transcripts.base import Found, TimedText
from resources.transcripts.file import FileTranscript
from tests.servers import Behaviour, Exchange, MisbehavingServer, head, respond, truncate

DEMO_VIDEO = "everyday-beliefs-talk"
DEMO_CLAIMS = 12
_MOST_CLAIMS = 0.8  # Share of claims whose verdict is complete without any fault.

Door = Literal["search", "page", "age", "queries", "reading"]
DOORS: tuple[Door, ...] = ("search", "page", "age", "queries", "reading")
Value = TypeVar("Value")


# --- Faults -------------------------------------------------------------------------------------


class Faults:
    """The failing questions of one run: the same for a seed, in any order."""

    def __init__(self, seed: int, doors: Sequence[Door] = DOORS) -> None:
        self._seed = seed
        chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        # Most runs have a few bad doors, each somewhere between a hiccup and dead.
        count = min(len(doors), chance.choice((1, 1, 1, 2, 2, 3, len(DOORS))))
        bad = chance.sample(doors, count)
        self.rates: dict[Door, float] = {
            door: chance.choice((0.02, 0.1, 0.3, 0.7, 1.0)) for door in bad
        }
        self.struck: Counter[Door] = Counter()

    def strikes(self, door: Door, question: Hashable) -> bool:
        struck = self._draw(door, question) < self.rates.get(door, 0.0)
        self.struck[door] += struck
        return struck

    async def linger(self, door: Door, question: Hashable) -> None:
        """Wait a different time per question, so that answers arrive in another order."""
        for _ in range(int(self._draw(f"{door} delay", question) * 8)):
            await asyncio.sleep(0)

    def _draw(self, door: str, question: Hashable) -> float:
        source = random.Random(f"{self._seed} {door} {question!r}")  # noqa: S311 - as above
        return source.random()


NO_FAULTS: Faults | None = None


# --- The doors, remembered and struck ------------------------------------------------------------


@dataclass
class Memory:
    """Answers of the real services, asked once for all runs."""

    answers: dict[Hashable, object] = field(default_factory=dict)

    async def recall(self, question: Hashable, ask: Callable[[], Awaitable[Value]]) -> Value:
        if question not in self.answers:
            self.answers[question] = await ask()
        known: Value = self.answers[question]  # type: ignore[assignment] # put there above
        return known


@dataclass
class FaultySearch:
    """A searcher with recorded answers that fails as the run's faults demand."""

    inner: SearchProvider
    memory: Memory
    faults: Faults | None

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        question = ("search", request)
        if self.faults is not None:
            await self.faults.linger("search", question)
            if self.faults.strikes("search", question):
                return (SearchAnswer("miniature", "outage", reason="miniature: it answered 503"),)
        return await self.memory.recall(question, lambda: self.inner.search(request))


@dataclass
class FaultyPages:
    """A fetcher with recorded pages that fails as the run's faults demand."""

    inner: Fetcher
    memory: Memory
    faults: Faults | None

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        if self.faults is not None:
            await self.faults.linger("page", url)
            if self.faults.strikes("page", url):
                reason = "it was not done after 45 seconds"
                return FetchedPage(
                    url=url, outcome="outage", retrieved_at=datetime.now(UTC), reason=reason
                )
        return await self.memory.recall(
            ("page", url), lambda: self.inner.fetch(url, promise=promise)
        )


@dataclass
class FaultyAges:
    """Domain ages that fail as the run's faults demand."""

    inner: DomainAges
    faults: Faults | None

    async def age(self, domain: str) -> DomainAge:
        if self.faults is not None and self.faults.strikes("age", domain):
            return DomainAge("outage", reason="the registry did not answer")
        return await self.inner.age(domain)


@dataclass
class FaultyReasoner:
    """A reasoner with recorded judgements whose service fails as the run's faults demand."""

    inner: Reasoner
    memory: Memory
    faults: Faults | None

    @property
    def basis(self) -> Maker:
        return self.inner.claims.basis

    async def extract_claims(
        self,
        video: Video,
        transcript: Transcript,
        segments: Sequence[TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ClaimDrafts], None] | None = None,
    ) -> WithCalls[ClaimDrafts]:
        """Extract claims. Never fails, because without claims there is no verdict to compare."""
        return await self.inner.claims.extract_claims(
            video, transcript, segments, max_claims=max_claims
        )

    async def write_queries(
        self, video: Video, claim: Claim, *, max_queries: int
    ) -> WithCalls[tuple[QueryDraft, ...]]:
        await self._strike("queries", claim.claim_id)
        return await self.memory.recall(
            ("queries", claim.claim_id, max_queries),
            lambda: self.inner.queries.write_queries(video, claim, max_queries=max_queries),
        )

    async def read_evidence(
        self, video: Video, claim: Claim, query: Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        await self._strike("reading", (claim.claim_id, page.canonical_url))
        return await self.memory.recall(
            ("reading", claim.claim_id, page),
            lambda: self.inner.evidence.read_evidence(video, claim, query, page),
        )

    async def _strike(self, door: Door, question: Hashable) -> None:
        if self.faults is None:
            return
        await self.faults.linger(door, question)
        if self.faults.strikes(door, question):
            raise ReasonerOutageError(f"The model gave no answer ({door}): it failed (status 503).")


# --- Pages that fail on the wire ----------------------------------------------------------------

_NOTICES = (
    "<h1>Error establishing a database connection</h1>",
    "<title>Site maintenance</title><h1>We'll be back soon!</h1><p>We are performing maintenance.",
    "<title>502 Bad Gateway</title><center><h1>502 Bad Gateway</h1></center><hr>nginx",
    "<title>Fehler</title><p>Die Seite ist vor\u00fcbergehend nicht erreichbar.",
    "Service temporarily unavailable, please try again later.",
    '{"error": "upstream timed out"}',
)


def _unframed(body: bytes) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await exchange.send(head(200, {"Content-Type": "text/html", "Connection": "close"}))
        await exchange.send(body)

    return behave


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(40_000_000))


def spoilt(body: bytes, chance: random.Random) -> Behaviour:
    """Answer 200 with something that is not the page, or with a part of it."""
    half = body[: len(body) // 2]
    return chance.choice(
        (
            respond(b""),
            respond("<html><body></body></html>"),
            respond(chance.choice(_NOTICES)),
            respond(chance.randbytes(20_000)),
            respond(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 500),
            _unframed(half),
            truncate(half),
            respond(body.decode("utf-8", "replace").encode("utf-16-le")),
            respond(body.decode("utf-8", "replace").encode("cp037", "replace")),
            respond(_bomb(), headers={"Content-Encoding": "gzip"}),
            respond(gzip.compress(body)[:-30], headers={"Content-Encoding": "gzip"}),
            respond(gzip.compress(body)),
        )
    )


@dataclass
class WirePages:
    """A fetcher with recorded pages, some of which arrive spoilt from a server."""

    inner: Fetcher
    memory: Memory
    faults: Faults | None
    server: MisbehavingServer
    wire: Fetcher
    folder: Path

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        right = await self.memory.recall(
            ("page", url), lambda: self.inner.fetch(url, promise=promise)
        )
        if self.faults is None or not self.faults.strikes("page", url) or right.outcome != "ok":
            return right
        parts = urlsplit(right.final_url or url)
        path = self.folder / (parts.hostname or "") / parts.path.strip("/")
        file = path.with_name(f"{path.name}.html") if path.name else path / "index.html"
        body = file.read_bytes() if file.is_file() else right.text.encode()
        self.server.on(parts.path or "/", spoilt(body, random.Random(url)))  # noqa: S311 - as above
        return await self.wire.fetch(right.final_url or url, promise=promise)


# --- Runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """The demo's claims, the real services, their answers, and the right verdicts."""

    video: Video
    claims: tuple[Claim, ...]
    services: Services
    memory: Memory
    config: FactCheckConfig
    expected: dict[str, Verdict]

    async def run(self, seed: int) -> Outcome:
        faults = Faults(seed)
        services = struck(self.services, self.memory, faults)
        found = await check_claims(self.video, self.claims, services, self.config)
        return Outcome(seed, faults.struck, compared(self.expected, found.verdicts))

    async def run_on_the_wire(self, seed: int) -> Outcome:
        """Check all claims while some pages answer 200 with something else."""
        faults = Faults(seed, doors=("page",))
        async with MisbehavingServer() as server:
            limits = HttpLimits(read_seconds=2.0, attempt_seconds=5.0)
            retry = RetryPolicy(attempts=1)
            guard = NetworkGuard(server.names)
            async with HttpClient(guard=guard, limits=limits, retry=retry) as http:
                pages = WirePages(
                    self.services.fetcher,
                    self.memory,
                    faults,
                    server,
                    PageFetcher(http),
                    Settings(home=Path("nowhere")).project_corpora / "miniature_web",
                )
                services = struck(self.services, self.memory, None)
                services = replace(services, fetcher=pages)
                found = await check_claims(self.video, self.claims, services, self.config)
        return Outcome(seed, faults.struck, compared(self.expected, found.verdicts))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run per claim: same, less sure, incomplete, or the difference."""

    seed: int
    struck: Counter[Door]
    claims: tuple[str, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        return tuple(
            each for each in self.claims if each not in {"same", "less sure", "incomplete"}
        )


def struck(services: Services, memory: Memory, faults: Faults | None) -> Services:
    """Put recorded answers, and faults if any, in front of all services."""
    reasoner = FaultyReasoner(services.reasoner, memory, faults)
    return replace(
        services,
        searcher=FaultySearch(services.searcher, memory, faults),
        fetcher=FaultyPages(services.fetcher, memory, faults),
        ages=FaultyAges(services.ages, faults),
        reasoner=Reasoner(reasoner, reasoner, reasoner),
    )


def compared(expected: dict[str, Verdict], found: Sequence[Verdict]) -> tuple[str, ...]:
    """Compare a run's verdicts with the right ones; every claim needs one."""
    by_claim = {verdict.claim_id: verdict for verdict in found}
    return tuple(_compare(right, by_claim.get(claim)) for claim, right in expected.items())


def _compare(right: Verdict, found: Verdict | None) -> str:
    if found is None:
        return f"{right.claim_id} has no verdict"
    if found.status == "incomplete":
        empty = found.stance is None and found.confidence is None
        return "incomplete" if empty else f"{right.claim_id} is incomplete and has a stance"
    if found.status == right.status and found.stance == right.stance:
        if found.confidence == right.confidence:
            return "same"
        if found.recheck_due and (found.confidence_score or 0) < (right.confidence_score or 0):
            return "less sure"
    return (
        f"{right.claim_id} is {found.stance} ({found.confidence}) instead of {right.stance} "
        f"({right.confidence})"
    )


@dataclass
class ThirdUnlisted:
    """Rating sets without every third domain, so that the check asks for the ages of those."""

    inner: RatingDirectory

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        return () if crc32(domain.encode()) % 3 == 0 else self.inner.lookup(domain)


async def prepare(stack: AsyncExitStack, *, max_claims: int = DEMO_CLAIMS) -> Case:
    """Open the miniature web and check the demo's claims once without faults."""
    settings = Settings(home=Path("nowhere"))
    video, transcript, segments = await _demo_transcript(settings)
    folder = Path(stack.enter_context(TemporaryDirectory()))
    cache = DiskCache(folder)
    web = await open_web("miniature", settings, stack, cache)
    services = Services(
        reasoner=await open_reasoner(
            settings,
            choose_reasoners(Reasoners(reasoner="embedded"), settings),
            stack,
            cache,
            new_budget("this run", settings),
        ),
        searcher=web.searcher,
        fetcher=web.fetcher,
        ratings=ThirdUnlisted(rating_directory(rating_files(settings))),
        ages=web.ages,
    )
    config = FactCheckConfig(claims=ClaimsConfig(max_claims=max_claims))
    claims = (await extract_claims(video, transcript, segments, services, config.claims)).claims
    memory = Memory()
    right = await check_claims(video, claims, struck(services, memory, NO_FAULTS), config)
    # A demo page that blocks readers leaves its claim incomplete: nothing to compare.
    whole = (verdict for verdict in right.verdicts if verdict.status == "complete")
    expected = {verdict.claim_id: verdict for verdict in whole}
    claims = tuple(claim for claim in claims if claim.claim_id in expected)
    if len(claims) < _MOST_CLAIMS * max_claims:
        raise RuntimeError("Most verdicts of the demo are incomplete without any fault.")
    return Case(video, claims, services, memory, config, expected)


async def _demo_transcript(
    settings: Settings,
) -> tuple[Video, Transcript, tuple[TranscriptSegment, ...]]:
    listed = load_corpora([settings.project_corpora]).find(DEMO_VIDEO)
    if listed is None or listed.transcript is None:
        raise RuntimeError("The demo's corpus is not there; install factible-assets again.")
    found = await FileTranscript(listed.transcript).transcript(DEMO_VIDEO)
    if not isinstance(found, Found):
        raise RuntimeError(found.reason)
    transcript, segments = stored_transcript(
        DEMO_VIDEO, TimedText(found.transcript.cues), provider="file"
    )
    return listed.video, transcript, segments


# --- Figures ------------------------------------------------------------------------------------


async def measure(runs: int, first_seed: int, *, wire: bool) -> int:
    """Print the counts of all runs; return 1 if a verdict differs."""
    async with AsyncExitStack() as stack:
        case = await prepare(stack)
        began = time.perf_counter()
        run = case.run_on_the_wire if wire else case.run
        outcomes = [await run(seed) for seed in range(first_seed, first_seed + runs)]
        seconds = time.perf_counter() - began
    verdicts = [each for outcome in outcomes for each in outcome.claims]
    faults: Counter[Door] = sum((outcome.struck for outcome in outcomes), Counter())
    print(f"{runs} runs of {len(case.claims)} claims in {seconds:.0f} s (seeds from {first_seed})")
    print("faults: " + ", ".join(f"{faults[door]:,} {door}" for door in DOORS))
    print(f"verdicts as without faults: {verdicts.count('same'):,}")
    print(f"less sure:                  {verdicts.count('less sure'):,}")
    print(f"incomplete:                 {verdicts.count('incomplete'):,}")
    different = [(outcome.seed, each) for outcome in outcomes for each in outcome.differences]
    print(f"different:                  {len(different):,}")
    for seed, words in different[:20]:
        print(f"  seed {seed}: {words}")
    return 1 if different else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="How many seeds.")
    parser.add_argument("--seed", type=int, default=0, help="The first of them.")
    parser.add_argument("--wire", action="store_true", help="Pages fail on the wire, with 200.")
    options = parser.parse_args()
    return asyncio.run(measure(options.runs, options.seed, wire=options.wire))


if __name__ == "__main__":
    sys.exit(main())
