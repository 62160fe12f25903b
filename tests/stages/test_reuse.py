"""A claim takes over the sources of a check that another video's claim had."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Video
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.ids import claim_id
from factible_assets.stages.integrity import judge
from factible_assets.stages.ports import EarlierCheck, QueryDraft
from factible_assets.stages.progress import ALL_STAGES, Stage
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, reviewed, says

OTHER = Video(video_id="AAAAAAAAAAA", title="Another talk", url="https://youtu.be/AAAAAAAAAAA")
SENTENCE = "Taken over from the video dQw4w9WgXcQ."
PAGES = [f"https://site{number}.example/page" for number in range(3)]


def world_of(claim: Claim) -> World:
    """Return a world in which three good pages support a claim, and one published check."""
    world = World(listed={f"site{number}.example": "high" for number in range(3)})
    world.queries[claim.text] = [QueryDraft("query", "direct", 1)]
    world.results["query"] = [[Hit(at, url, url) for at, url in enumerate(PAGES, start=1)]]
    world.texts = {url: says(claim.text, "supports", filler=own_words(url)) for url in PAGES}
    world.checks = {claim.text: [reviewed(claim.text, "https://checkers.example/no")]}
    world.texts["https://checkers.example/no"] = says(claim.text, "refutes")
    return world


def same_in_other(claim: Claim) -> Claim:
    own = {"claim_id": claim_id(OTHER.video_id, claim.text), "video_id": OTHER.video_id}
    return claim.model_copy(update=own)


async def checked_again(
    world: World, claim: Claim, first: FlowResult, config: FactCheckConfig | None = None
) -> FlowResult:
    """Check the same claim of another video, which takes over the first check."""

    async def earlier(_: Claim) -> EarlierCheck:
        return EarlierCheck(first, SENTENCE)

    services = replace(world.services(), earlier_check=earlier)
    return await check_claims(OTHER, [same_in_other(claim)], services, config or FactCheckConfig())


async def test_a_claim_of_another_video_is_judged_without_a_search_a_page_or_a_model() -> None:
    claim = make_claim("claim one")
    world = world_of(claim)
    first = await check_claims(VIDEO, [claim], world.services(), FactCheckConfig())
    world.asked.clear()
    second = await checked_again(world, claim, first)
    assert {kind for kind, _ in world.asked} <= {"age"}
    (before,), (after,) = first.verdicts, second.verdicts
    assert (after.stance, after.confidence_score) == (before.stance, before.confidence_score)
    assert SENTENCE in (after.reason or "")
    assert {row.reused_from for row in second.evidence} == {SENTENCE}
    assert {row.reused_claim_id for row in second.evidence} == {claim.claim_id}
    assert [row.quote for row in second.evidence] == [row.quote for row in first.evidence]
    assert not any(row.latency_seconds for row in second.searches)
    assert not any(row.latency_seconds for row in second.pages)
    whole = VideoRows(**{**second.parts(), "videos": (OTHER,), "claims": (same_in_other(claim),)})
    assert not [each for each in judge(ALL_STAGES, whole) if each.violations]


async def test_the_limits_and_ratings_of_today_apply() -> None:
    claim = make_claim("claim one")
    world = world_of(claim)
    world.dates[PAGES[0]] = date(2026, 5, 1)
    first = await check_claims(VIDEO, [claim], world.services(), FactCheckConfig())
    world.listed["site1.example"] = "medium"
    config = FactCheckConfig(search=SearchConfig(published_before=date(2026, 5, 1)))
    second = await checked_again(world, claim, first, config)
    rows = {row.canonical_url: row for row in second.evidence}
    assert (rows[PAGES[0]].status, rows[PAGES[0]].stance) == ("skipped", None)
    assert (rows[PAGES[1]].rating, rows[PAGES[1]].stance) == ("medium", "supports")


async def test_a_page_that_is_the_other_video_is_no_source() -> None:
    claim = make_claim("claim one")
    world = world_of(claim)
    watch = f"https://www.youtube.com/watch?v={OTHER.video_id}"
    world.results["query"][0].append(Hit(4, "A talk", watch))
    world.texts[watch] = says(claim.text, "supports")
    config = FactCheckConfig(search=SearchConfig(max_results=9))
    first = await check_claims(VIDEO, [claim], world.services(), config)
    assert "ok" in {row.status for row in first.evidence if OTHER.video_id in row.canonical_url}
    second = await checked_again(world, claim, first, config)
    (row,) = (row for row in second.evidence if OTHER.video_id in row.canonical_url)
    assert (row.status, row.reason) == ("skipped", "It is the video itself.")


@pytest.mark.parametrize("stages", [ALL_STAGES[-1:], ALL_STAGES[-2:]])
async def test_single_assets_are_made_anew(stages: tuple[Stage, ...]) -> None:
    claim = make_claim("claim one")
    world = world_of(claim)
    first = await check_claims(VIDEO, [claim], world.services(), FactCheckConfig())

    async def earlier(_: Claim) -> EarlierCheck:
        raise AssertionError("nobody asks for it")

    services = replace(world.services(), earlier_check=earlier)
    config = FactCheckConfig()
    again = await check_claims(VIDEO, [claim], services, config, stages=stages, known=first)
    assert [row.stance for row in again.verdicts] == [row.stance for row in first.verdicts]
