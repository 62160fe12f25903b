"""Checks that begin while the reasoner still writes the claims of a video."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records.tables import Claim
from factible_assets.stages.flow import BeginChecks, FlowResult, check_claims, extract_claims
from factible_assets.stages.ports import ReasonerOutageError
from tests.stages.test_flow import furnished_world
from tests.stages.words import from_text
from tests.stages.world import VIDEO, World

CONFIG = FactCheckConfig(search=SearchConfig(max_results=3))


async def found_and_checked(world: World, claims: Sequence[Claim]) -> FlowResult:
    transcript = from_text(VIDEO.video_id, ". ".join(claim.text for claim in claims))
    services = world.services()

    async def find(begin: BeginChecks) -> Sequence[Claim]:
        options = CONFIG.claims
        found = await extract_claims(VIDEO, transcript, (), services, options, begin=begin)
        return found.claims

    return await check_claims(VIDEO, find, services, CONFIG)


async def until_asked(world: World, kind: str) -> None:
    while not any(each == kind for each, _ in world.asked):  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def rows(result: FlowResult) -> list[object]:
    """Return all rows; of the model's calls the order does not count."""
    kinds = ("queries", "hits", "ratings", "evidence", "verdicts", "page_texts")
    kept = [getattr(result, kind) for kind in kinds]
    return [*kept, {call.call_id for call in result.llm_calls}]


async def test_a_claim_is_searched_and_read_before_the_next_one_is_written() -> None:
    world, claims = furnished_world(claims=2)

    async def wait_until_read(claim: str) -> None:
        if claim == claims[0].text:
            await until_asked(world, "read")
            assert not world.verdicts

    world.stays = wait_until_read
    result = await found_and_checked(world, claims)
    assert [verdict.stance for verdict in result.verdicts] == ["supports", "supports"]
    assert len(world.verdicts) == 2


@pytest.mark.parametrize("pause", [0.0, 0.01])
async def test_the_rows_are_those_of_a_check_that_begins_with_all_claims(pause: float) -> None:
    world, claims = furnished_world(claims=4)

    async def wait(_: str) -> None:
        await asyncio.sleep(pause)

    alike, _ = furnished_world(claims=4)
    at_once = await found_and_checked(alike, claims)
    world.stays = wait
    streamed = await found_and_checked(world, claims)
    assert rows(streamed) == rows(at_once)
    assert world.asked == alike.asked


async def test_of_a_claim_that_drops_out_only_the_cost_stays() -> None:
    world, claims = furnished_world(claims=2)

    async def drop_the_first(_: str) -> Sequence[str]:
        await until_asked(world, "read")
        return [claims[1].text]

    world.stays = drop_the_first
    result = await found_and_checked(world, claims)
    alone, _ = furnished_world(claims=2)
    assert rows(result)[:-1] == rows(await found_and_checked(alone, claims[1:]))[:-1]
    assert {call.claim_id for call in result.llm_calls} == {None, claims[1].claim_id}
    assert [verdict.claim_id for verdict in world.verdicts] == [claims[1].claim_id]


async def test_an_outage_in_the_middle_ends_the_checks_and_names_their_cost() -> None:
    world, claims = furnished_world(claims=2)

    async def break_off(_: str) -> None:
        await until_asked(world, "search")
        raise ReasonerOutageError("the connection broke off")

    world.stays = break_off
    with pytest.raises(ReasonerOutageError, match="broke off") as outage:
        await found_and_checked(world, claims)
    assert [call.stage for call in outage.value.calls] == ["queries"]
    assert not world.verdicts
