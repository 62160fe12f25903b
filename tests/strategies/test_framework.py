"""The promises of the framework to every strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from factible_assets.config import BudgetConfig, StrategyName, config_of
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.flow import STANDARD, Strategy, StrategyError, check_claims
from factible_assets.stages.integrity import judge
from factible_assets.stages.ports import BudgetSpentError, ReasonerOutageError
from factible_assets.stages.progress import ALL_STAGES, Trace
from factible_assets.strategies import strategy_named
from tests.stages.world import VIDEO, Hit, World, make_claim, says

CLAIM = make_claim("Bees buzz")
SITE = "https://bees.example/"


def small_world() -> World:
    world = World(texts={SITE: says(CLAIM.text, "supports")}, listed={"bees.example": "high"})
    world.results[CLAIM.text] = [[Hit(1, "Bees", SITE)]]
    return world


@pytest.mark.parametrize("name", get_args(StrategyName))
def test_every_strategy_stands_in_the_module_of_its_name(name: StrategyName) -> None:
    assert strategy_named(name).name == name


async def test_the_standard_strategy_notes_no_steps_and_signs_its_verdicts() -> None:
    result = await check_claims(VIDEO, [CLAIM], small_world().services(), config_of({}))
    assert [verdict.strategy for verdict in result.verdicts] == ["standard"]
    assert result.steps == ()


async def test_an_unfit_run_is_refused_before_any_request() -> None:
    world = small_world()
    demanding = replace(STANDARD, needs_model=True, in_rounds=True)
    with pytest.raises(StrategyError, match="only together"):
        await check_claims(
            VIDEO,
            [CLAIM],
            world.services(),
            config_of({}),
            stages=ALL_STAGES[-1:],
            strategy=demanding,
        )
    world.basis = "embedded"
    with pytest.raises(StrategyError, match="needs a language model"):
        await check_claims(VIDEO, [CLAIM], world.services(), config_of({}), strategy=demanding)
    other = replace(STANDARD, name="another")
    with pytest.raises(StrategyError, match="names the strategy standard"):
        await check_claims(VIDEO, [CLAIM], world.services(), config_of({}), strategy=other)
    assert not world.asked


async def test_steps_record_their_cost_and_a_spent_budget_ends_them() -> None:
    left: list[str] = []

    async def twice(check: ClaimCheck) -> ClaimRows:
        with check.trace.step("query", "the claim's own words") as note:
            queries = await check.write_queries()
            note.made = [query.query_id for query in queries]
        try:
            with check.trace.step("retrieve", "once more"):
                left.append("never")
        except BudgetSpentError as spent:
            left.append(spent.reason)
        return check.open_case(queries), None

    strategy = replace(STANDARD, check=twice, in_rounds=True)
    world = small_world()
    result = await check_claims(
        VIDEO, [CLAIM], world.services(), config_of({"max_calls": 1}), strategy=strategy
    )
    assert left == ["The claim has used up its 1 model calls (max_calls)."]
    (step,) = result.steps
    assert (step.step, step.calls, step.tokens, step.status) == ("query", 1, 2, "ok")
    assert step.made == tuple(query.query_id for query in result.queries)


def test_a_step_that_fails_is_noted_with_the_reason() -> None:
    trace = Trace(CLAIM, "some", BudgetConfig(), [])
    with pytest.raises(ReasonerOutageError), trace.step("plan", "somehow", "what?"):
        raise ReasonerOutageError("the model is overloaded")
    (step,) = trace.steps
    assert (step.status, step.reason, step.asked) == (
        "infra_error",
        "the model is overloaded",
        "what?",
    )


@pytest.mark.parametrize("name", ["raw_evidence", "confidence"])
async def test_a_claim_without_a_query_has_a_row_that_says_so(name: StrategyName) -> None:
    prediction = make_claim("By 2050, sea levels will rise by one metre.")
    for options in ({}, {"max_seconds": 0.000_001}):
        result = await check_claims(
            VIDEO,
            [prediction],
            World().services(),
            config_of({"strategy": name, **options}),
            strategy=strategy_named(name),
        )
        rows = replace(result, videos=[VIDEO], claims=[prediction])
        assert [each for each in judge(ALL_STAGES, rows) if each.refuses] == []
        assert len(result.queries) == 1
        if options:
            assert result.verdicts[0].status == "incomplete"
            assert result.queries[0].status == "skipped"


async def test_a_strategy_adapts_the_options_to_the_video() -> None:
    world = small_world()
    strategy: Strategy = replace(
        STANDARD, adapt=lambda config, video: config_of({"exclude_domains": "bees.example"})
    )
    result = await check_claims(VIDEO, [CLAIM], world.services(), config_of({}), strategy=strategy)
    assert [row.status for row in result.evidence] == ["skipped"]
