"""Which prior fact checks belong to a claim, and that no verdict ever rests on one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records.tables import Claim, PriorFactCheck, Verdict
from factible_assets.stages import claim_check
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.ports import Observer, QueryDraft
from factible_assets.stages.prior_fact_checks import LEAST_SIMILARITY, look_up, question, similarity
from factible_assets.stages.progress import ALL_STAGES
from resources.search.base import FactCheckAnswer, FactCheckLookup, SearchRequest
from resources.search.base import FoundFactCheck as Found
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, reviewed, says

SUGAR = "Sugar makes children hyperactive."
ASKED = "Sugar makes children hyperactive"
CLAIM = make_claim(SUGAR)


async def rows(*checks: Found, claim: Claim = CLAIM, **limits: Any) -> list[PriorFactCheck]:
    world = World(checks={question(claim): list(checks)})
    lane = world.services().fact_checks
    assert lane is not None
    return list(await look_up(claim, VIDEO, lane, SearchConfig.model_validate(limits)))


def review(url: str, claim: str = "Eating sugar causes hyperactivity in children") -> Found:
    return reviewed(claim, url, reviewed_on=date(2020, 5, 1))


# --- The question and the reviews ---------------------------------------------------------------


async def test_a_review_keeps_all_columns_of_its_publisher() -> None:
    check = reviewed(
        claim="Sugar makes kids hyperactive",
        url="http://www.checkers.example/sugar?utm_source=x",
        rating="Mostly false",
        publisher="Checkers",
        title="No, sugar does not make children hyperactive",
        claimant="Viral post",
        language="en",
        reviewed_on=date(2019, 10, 31),
        claimed_on=date(2019, 10, 1),
    )
    (row,) = await rows(check)
    assert (row.status, row.rank, row.reason) == ("ok", 1, None)
    assert (row.url, row.canonical_url, row.domain) == (
        "http://www.checkers.example/sugar?utm_source=x",
        "https://checkers.example/sugar",
        "checkers.example",
    )
    assert (row.claim_id, row.video_id) == (CLAIM.claim_id, VIDEO.video_id)
    assert (row.publisher, row.textual_rating) == ("Checkers", "Mostly false")
    assert (row.claim_reviewed, row.claimant) == ("Sugar makes kids hyperactive", "Viral post")
    assert (row.reviewed_on, row.claimed_on) == (date(2019, 10, 31), date(2019, 10, 1))
    assert row.similarity == 1.0  # by its title


async def test_several_reviews_on_one_page_are_the_most_similar_one() -> None:
    found = await rows(
        review("https://checkers.example/sugar", "Sugar and children"),
        review("http://www.checkers.example/sugar/", "Sugar makes children hyperactive"),
        review("https://others.example/1"),
    )
    assert [row.canonical_url for row in found] == [
        "https://checkers.example/sugar",
        "https://others.example/1",
    ]
    assert found[0].claim_reviewed == "Sugar makes children hyperactive"
    assert [row.rank for row in found] == [1, 2]
    assert found[0].similarity == 1.0


@pytest.mark.parametrize(
    ("found", "limits", "reason"),
    [
        (review("https://c.example/1", "The sugar tax fell in 2019"), {}, "too few words"),
        (review(f"https://youtu.be/{VIDEO.video_id}"), {}, "the video itself"),
        (review(f"https://t.example/transcript/{VIDEO.video_id}"), {}, "the video itself"),
        (review("ftp://c.example/1"), {}, "no web address"),
        (review("https://c.example/1"), {"published_before": "2020-05-01"}, "not before"),
        (review("https://c.example/1"), {"published_after": "2020-05-02"}, "before 2020-05-02"),
        (review("https://de.c.example/1"), {"exclude_domains": "c.example"}, "leaves out c.exam"),
    ],
)
async def test_an_unfit_review_is_skipped_with_a_reason(
    found: Found, limits: dict[str, Any], reason: str
) -> None:
    (row,) = await rows(found, **limits)
    assert row.status == "skipped"
    assert reason in (row.reason or "")
    assert row.url == found.url


async def test_skipped_reviews_come_last() -> None:
    found = await rows(
        review(f"https://youtu.be/{VIDEO.video_id}", SUGAR), review("https://c.example/1")
    )
    assert [(row.status, row.rank) for row in found] == [("ok", 1), ("skipped", 2)]


async def test_the_runs_language_and_period_reach_the_lane() -> None:
    world = World(checks={})
    lane = world.services().fact_checks
    assert lane is not None
    limits = SearchConfig(language="de", published_after=date(2021, 1, 2))
    (row,) = await look_up(CLAIM, VIDEO, lane, limits)
    assert world.wishes == [("de", date(2021, 1, 2))]
    assert (row.status, row.url, row.reason) == ("no_evidence", None, None)


def test_the_look_up_asks_for_the_claims_words_on_one_line() -> None:
    assert question(make_claim("Sugar  makes\nchildren hyperactive.")) == ASKED
    long = question(make_claim("word " * 300))
    assert len(long) <= 400
    assert long.endswith("word")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Honey never spoils.", "Honey does not spoil", True),
        ("Vaccines cause autism", "The MMR vaccine is linked to autism", True),
        ("Vaccines cause autism", "Vaccines reduced measles in Europe by 2010", False),
        ("Lightning never strikes twice", "The election was stolen", False),
        ("疫苗会导致自闭症", "疫苗不会引起自闭症", True),
        ("2019年5月疫苗导致死亡", "疫苗导致死亡", True),
        ("What is it?", "What is it?", False),
    ],
)
def test_similar_statements_share_content_words(one: str, other: str, *, alike: bool) -> None:
    assert (similarity(one, other) >= LEAST_SIMILARITY) is alike


@given(st.text(), st.text())
def test_similarity_is_symmetric_and_within_its_range(one: str, other: str) -> None:
    assert 0.0 <= similarity(one, other) == similarity(other, one) <= 1.0


# --- In the flow --------------------------------------------------------------------------------


def two_claims() -> tuple[World, list[Claim]]:
    """Return two claims with one good source each, and no lane."""
    claims = [CLAIM, make_claim("Honey never spoils.", rank=2)]
    world = World(listed={"a.example": "high", "b.example": "high"})
    for claim, site in zip(claims, ("a", "b"), strict=True):
        url = f"https://{site}.example/page"
        world.queries[claim.text] = [QueryDraft(claim.text, "direct", 1)]
        world.results[claim.text] = [[Hit(1, "Found", url)]]
        world.texts[url] = says(claim.text, "supports", filler=own_words(site))
    return world, claims


async def check(world: World, claims: list[Claim], **stages: object) -> FlowResult:
    config = FactCheckConfig()
    return await check_claims(VIDEO, claims, world.services(), config, **stages)  # type: ignore[arg-type]


async def test_the_page_of_a_review_is_read_as_a_source_of_its_own_class() -> None:
    world, claims = two_claims()
    address, other = "https://checkers.example/sugar", "https://checkers.example/other"
    world.checks = {
        ASKED: [review(address), review(other, "Sugar cane was brought to the islands by sea")]
    }
    world.texts[address] = says(CLAIM.text, "refutes", filler=own_words("checkers"))
    world.listed["checkers.example"] = "high"
    result = await check(world, claims)
    rows = {row.canonical_url: row for row in result.evidence}
    assert (rows[address].stance, rows[address].source_class) == ("refutes", "fact_checker")
    # A review of another statement stays a pointer.
    assert other not in rows
    (verdict,) = [each for each in result.verdicts if each.claim_id == CLAIM.claim_id]
    assert (verdict.supporting, verdict.refuting, verdict.stance) == (1, 1, "mixed")
    # A run without fact-checkers skips their pages.
    config = FactCheckConfig(search=SearchConfig(exclude_kinds=("fact_checker",)))
    without = await check_claims(VIDEO, claims, world.services(), config)
    left = next(row for row in without.evidence if row.canonical_url == address)
    assert left.status == "skipped"


async def test_each_claim_is_looked_up_once() -> None:
    world, claims = two_claims()
    world.checks = {ASKED: [review("https://checkers.example/sugar")]}
    result = await check(world, claims)
    asked = {key: times for (kind, key), times in world.asked.items() if kind == "look up"}
    assert asked == {ASKED: 1, "Honey never spoils": 1}
    assert [(row.claim_id, row.status) for row in result.prior_fact_checks] == [
        (claims[0].claim_id, "ok"),
        (claims[1].claim_id, "no_evidence"),
    ]


async def test_a_failed_look_up_leaves_every_verdict_complete() -> None:
    world, claims = two_claims()
    world.checks = {}
    world.broken.add(("look up", ASKED))
    result = await check(world, claims)
    failed, empty = result.prior_fact_checks
    assert (failed.status, failed.reason) == ("infra_error", "the checkers are over quota")
    assert empty.status == "no_evidence"
    assert [verdict.status for verdict in result.verdicts] == ["complete", "complete"]
    assert {verdict.missing for verdict in result.verdicts} == {0}


@dataclass(frozen=True)
class Bell(Observer):
    """Is set at the last verdict."""

    missing: list[Claim]
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self.missing.remove(claim)
        if not self.missing:
            self.rung.set()


@dataclass(frozen=True)
class AfterTheVerdicts:
    """A look-up that answers only after all verdicts."""

    lane: FactCheckLookup
    bell: Bell

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        await self.bell.rung.wait()
        return await self.lane.prior_checks(request)


async def test_no_verdict_waits_long_for_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_check, "_FACT_CHECK_SECONDS", 0.1)
    world, claims = two_claims()
    world.checks = {}
    services = world.services()
    assert services.fact_checks is not None
    bell = Bell(list(claims))
    slow = replace(
        services, observer=bell, fact_checks=AfterTheVerdicts(services.fact_checks, bell)
    )
    result = await check_claims(VIDEO, claims, slow, FactCheckConfig())
    assert len(result.prior_fact_checks) == 2


async def test_only_the_search_looks_claims_up() -> None:
    world, claims = two_claims()
    world.checks = {}
    stages = tuple(stage for stage in ALL_STAGES if stage != "search_hits")
    result = await check(world, claims, stages=stages)
    assert result.prior_fact_checks == ()
    assert not [key for key in world.asked if key[0] == "look up"]


def test_a_row_without_a_review_has_no_address() -> None:
    bare = {"prior_fact_check_id": "f", "claim_id": "c", "video_id": "v", "provider": "p"}
    PriorFactCheck(**bare, rank=1, status="no_evidence")
    with pytest.raises(ValidationError, match="have a URL"):
        PriorFactCheck(**bare, rank=1, status="ok")
    with pytest.raises(ValidationError, match="needs a reason"):
        PriorFactCheck(**bare, rank=1, status="infra_error")
