"""A second round of searches, only if the first leaves the claim open."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import pytest

from factible_assets.config import config_of
from factible_assets.stages import progress
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import judge
from factible_assets.stages.ports import QueryDraft
from factible_assets.strategies import strategy_named
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, says

CLAIM = make_claim("Bees buzz")


def world_with(first: str, second: str) -> World:
    """The writer words two searches, and a third on request; each finds a page."""
    world = World()
    drafts = [QueryDraft("bees buzz", "direct", 1), QueryDraft("bees silent", "context", 2, True)]
    world.queries[CLAIM.text] = [*drafts, QueryDraft("bees sound", "context", 5)]
    for query, stance in (("bees buzz", first), ("bees silent", first), ("bees sound", second)):
        name = query.replace(" ", "-")
        url = f"https://{name}.example/"
        world.results[query] = [[Hit(1, name, url)]]
        world.texts[url] = says(CLAIM.text, stance, filler=own_words(name))  # type: ignore[arg-type]
        world.listed[f"{name}.example"] = "high"
    return world


async def check(world: World, **options: object) -> FlowResult:
    config = config_of({"strategy": "best", "max_queries": 2, **options})
    strategy = strategy_named("best")
    result = await check_claims(VIDEO, [CLAIM], world.services(), config, strategy=strategy)
    rows = replace(result, videos=[VIDEO], claims=[CLAIM])
    assets = ("queries", "search_hits", "evidence", "verdicts")
    assert [each for each in judge(assets, rows) if each.refuses] == []
    return result


async def test_an_open_vote_gets_a_second_round() -> None:
    result = await check(world_with("unclear", "refutes"))
    (verdict,) = result.verdicts
    assert (verdict.stance, verdict.strategy) == ("refutes", "best")
    assert [query.text for query in result.queries] == ["bees buzz", "bees silent", "bees sound"]
    assert [(step.round, step.step) for step in result.steps] == [
        (2, "query"),
        (2, "retrieve"),
        (2, "read"),
    ]
    assert set(result.steps[-1].made) <= {row.evidence_id for row in result.evidence}


async def test_a_settled_claim_gets_no_second_round() -> None:
    result = await check(world_with("supports", "refutes"))
    assert result.steps == ()
    assert len(result.queries) == 2


async def test_a_second_round_beyond_the_budget_leaves_the_first_and_one_that_fails_is_told() -> (
    None
):
    world = world_with("unclear", "refutes")
    poor = await check(world, max_calls=3)
    assert len(poor.queries) == 2
    assert "max_calls" in str(poor.steps[-1].reason)
    asked, original = 0, world.work

    async def fails_the_second_time(kind: str, key: str) -> bool:
        nonlocal asked
        asked += kind == "queries"
        return await original(kind, key) or (kind == "queries" and asked > 1)

    world.work = fails_the_second_time  # type: ignore[method-assign]
    cut_off = await check(world)
    (verdict,) = cut_off.verdicts
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("incomplete", None, True)
    assert "queries could not be written" in str(verdict.reason)
    assert "infra_error" in {step.status for step in cut_off.steps}


@pytest.mark.parametrize("slow", ["search bees sound", "read https://bees-sound.example/"])
async def test_pages_found_before_the_budget_ended_have_rows(
    slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with("unclear", "refutes")
    world.delays[slow] = 0.6
    kind, _, key = slow.partition(" ")
    began = perf_counter()
    # The clock of the budget stands still, and jumps with this question.
    monkeypatch.setattr(
        progress, "perf_counter", lambda: began + 3_600 * ((kind, key) in world.asked)
    )
    result = await check(world, max_seconds=0.5)
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.stance) == ("complete", "unclear")
    assert "max_seconds" in str(verdict.reason)
    late = [row for row in result.evidence if row.canonical_url == "https://bees-sound.example/"]
    assert [(row.status, "max_seconds" in str(row.reason)) for row in late] == [("skipped", True)]
    assert len(result.queries) == len(result.hits) == 3
