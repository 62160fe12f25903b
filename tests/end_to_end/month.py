"""Simulates thirty nights with ten videos and a web on loopback that changes between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from factible_assets.config import FactCheckConfig
from factible_assets.pipeline.assets.claim_checks import asset_rows
from factible_assets.pipeline.schedules import RECHECK_ASSETS, RENEWED
from factible_assets.records.tables import Claim, LlmCall, Query, Stance, Video
from factible_assets.stages.flow import check_claims
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import QueryDraft, Reasoner, Services, WithCalls
from factible_assets.stages.progress import ALL_STAGES
from resources.cache.answers import CachingFetcher, CachingSearch
from resources.cache.store import CachePolicy, DiskCache
from resources.http import HttpClient, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.pages.scraper import PageFetcher
from resources.search.providers import SerperSearch
from tests.servers import Exchange, MisbehavingServer, respond, respond_json
from tests.stages.world import Directory, Mind, Registry, World, own_words, says
from warehouse.rechecks import Launch
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

NIGHTS = 30
VIDEOS = tuple(f"video-{number:02}" for number in range(1, 11))
CLAIMS_PER_VIDEO = 2
FIRST_DAY = datetime(2026, 3, 1, tzinfo=UTC)
COST_OF_READING = 0.001

TURNING, LOSING, GONE, OUTAGE, WEAK, UNWRITTEN, BUSY = (
    "video-05",
    "video-06",
    "video-07",
    "video-08",
    "video-09",
    "video-10",
    "video-04",
)
TURNS_ON, LOSES_ON, GONE_ON = 10, 5, 8
OUTAGE_FROM, OUTAGE_TO = 3, 20

STRONG = ("alpha.example", "beta.example", "gamma.example")
EXTRA = "delta.example"
LISTED = {**dict.fromkeys((*STRONG, EXTRA), "high")}


def tick_of(night: int) -> datetime:
    """The tick of a night, at two in the morning; the videos are first checked on day 0."""
    return FIRST_DAY + timedelta(days=night, hours=2)


def claims_of(video_id: str) -> list[Claim]:
    texts = [f"Fact {number} of {video_id}" for number in range(1, CLAIMS_PER_VIDEO + 1)]
    return [
        Claim(
            claim_id=claim_id(video_id, text),
            video_id=video_id,
            rank=rank,
            text=text,
            importance=0.9,
            extraction_confidence=0.9,
            basis="llm",
        )
        for rank, text in enumerate(texts, start=1)
    ]


def hosts_of(video_id: str, night: int) -> tuple[str, ...]:
    """Where the search finds something on a claim of a video."""
    if video_id == WEAK:
        return STRONG[:1]
    if video_id == LOSING and night >= LOSES_ON:
        return (*STRONG[:2], EXTRA)
    return STRONG


def stance_of(video_id: str, night: int) -> Stance:
    return "refutes" if video_id == TURNING and night >= TURNS_ON else "supports"


def url_of(host: str, claim: Claim) -> str:
    return f"https://{host}/{claim.video_id}/{claim.rank}"


@dataclass
class ChangingWeb:
    """A search service and pages, as they are on a night."""

    server: MisbehavingServer
    night: int = 0
    broken: set[str] = field(default_factory=set)
    answered: dict[int, int] = field(default_factory=dict)
    """How often pages answered with each status."""
    searches: int = 0

    def open(self) -> None:
        self.server.on("/search", self._search)
        self.server.on("*", self._page)

    @property
    def _claims(self) -> Mapping[str, Claim]:
        return {claim.text: claim for video in VIDEOS for claim in claims_of(video)}

    async def _search(self, exchange: Exchange) -> None:
        asked: Any = exchange.asked.json
        self.searches += 1
        claim = self._claims[asked["q"].removeprefix("evidence on ")]
        if claim.video_id in self.broken:
            await respond("over capacity", status=500)(exchange)
            return
        hosts = hosts_of(claim.video_id, self.night) if asked["page"] == 1 else ()
        found = [
            {"title": host, "link": url_of(host, claim).replace("https", "http"), "snippet": ""}
            for host in hosts
        ]
        await respond_json({"organic": found})(exchange)

    async def _page(self, exchange: Exchange) -> None:
        asked = exchange.asked
        status, body, tag = self._state(asked.host.partition(":")[0], asked.path)
        if asked.headers.get("if-none-match") == tag:
            status, body = 304, ""
        self.answered[status] = self.answered.get(status, 0) + 1
        await respond(body, status=status, headers={"ETag": tag})(exchange)

    def _state(self, host: str, path: str) -> tuple[int, str, str]:
        _, video_id, rank = path.split("/")
        if video_id == GONE and host == STRONG[2] and self.night >= GONE_ON:
            return 404, "gone", '"gone"'
        claim = claims_of(video_id)[int(rank) - 1]
        confidence = 0.4 if video_id == WEAK else 0.9
        words = says(
            claim.text, stance_of(video_id, self.night), confidence, own_words(host + path)
        )
        body = (
            f"<!doctype html><html><head><title>{host}</title></head><body><article>"
            f"<h1>On the matter</h1><p>{words}</p></article></body></html>"
        )
        return 200, body, f'"{sha256(body.encode()).hexdigest()[:16]}"'


class PricedMind(Mind):
    """The reasoner of the domain's tests, whose reading has a price."""

    async def write_queries(
        self, video: Video, claim: Claim, *, max_queries: int
    ) -> WithCalls[tuple[QueryDraft, ...]]:
        await self._may_fail("queries", claim.text, "queries", claim)
        return WithCalls((QueryDraft(f"evidence on {claim.text}", "direct", 1),))

    async def read_evidence(
        self, video: Video, claim: Claim, query: Query, page: Any
    ) -> WithCalls[Any]:
        read = await super().read_evidence(video, claim, query, page)
        return WithCalls(read.value, tuple(_priced(call) for call in read.calls))


def _priced(call: LlmCall) -> LlmCall:
    return call.model_copy(update={"cost_usd": COST_OF_READING})


@dataclass
class Month:
    """The warehouse, the web and the clock."""

    store: Warehouse
    web: ChangingWeb
    mind: World
    cache: DiskCache
    http: HttpClient
    clock: list[float]
    runs: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    """Night, video, and assets of every re-check that ran."""

    async def check(
        self, video_id: str, moment: datetime, stages: Sequence[str], *, first: bool = False
    ) -> None:
        """Run the flow over the real clients, and write its rows."""
        self.clock[0] = moment.timestamp()
        config = FactCheckConfig(renew=not first)
        if config.renew:
            self.cache.renew()
        selected = tuple(stage for stage in ALL_STAGES if stage in stages)
        claims = claims_of(video_id)
        known = self.store.read_video(video_id, ["queries"])
        result = await check_claims(
            Video(video_id=video_id, title=video_id),
            claims,
            self._services(),
            config,
            stages=selected,
            known=known,
        )
        sets: dict[str, AssetRows] = {stage: asset_rows(stage, result) for stage in selected}
        if first:
            sets["transcripts"] = AssetRows([Video(video_id=video_id, title=video_id)], "1")
            sets["claims"] = AssetRows(claims, "1")
        run_id = f"{moment:%m-%d} {video_id}"
        self.store.write_assets(video_id, sets, stamp=Stamp(run_id, moment))

    async def recheck(self, night: int, launches: Sequence[Launch]) -> None:
        """Run a night's launches, one after the other, some minutes apart."""
        self.web.night = night
        for place, launch in enumerate(launches, start=1):
            assets = RECHECK_ASSETS if launch.with_queries else RENEWED
            await self.check(launch.video_id, tick_of(night) + timedelta(minutes=5 * place), assets)
            self.runs.append((night, launch.video_id, assets))

    def _services(self) -> Services:
        base = f"http://127.0.0.1:{self.web.server.port}"
        search = SerperSearch(self.http, api_key="a-key", base_url=base)
        pages = PageFetcher(self.http, respect_robots=False)
        return Services(
            reasoner=Reasoner.of(PricedMind(self.mind)),
            searcher=CachingSearch(search, self.cache, identity="month"),
            fetcher=CachingFetcher(pages.fetch, self.cache, identity="month"),
            ratings=Directory(self.mind),
            ages=Registry(self.mind),
        )


def http_client(server: MisbehavingServer) -> HttpClient:
    names = server.names | type(server.names).for_service(f"http://127.0.0.1:{server.port}")
    return HttpClient(guard=NetworkGuard(names=names), retry=replace(RetryPolicy(), attempts=1))


def month_cache(folder: Any, clock: list[float]) -> DiskCache:
    return DiskCache(folder, CachePolicy(), clock=lambda: clock[0])


def nights() -> Iterator[int]:
    yield from range(1, NIGHTS + 1)


def as_json(value: object) -> str:
    return json.dumps(value, default=str, sort_keys=True)
