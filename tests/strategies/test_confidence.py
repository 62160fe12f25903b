"""confidence classes a claim, searches for its class, and says how sure it is by the calculus."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from factible_assets.config import config_of
from factible_assets.reasoners.llm.answers import ThreeWayAnswer
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.records.tables import Claim
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.strategies import strategy_named
from factible_assets.strategies.calculus import SEARCH, ScoredSource, corrected, published
from tests.reasoners.llm.scripted import staged
from tests.stages.world import VIDEO, Hit, World, make_claim, one_for_all, own_words, says
from tests.strategies.test_raw_evidence import Told, broken_rules

HEALTH = make_claim("Honey cures a cough")


def world_of(claim: Claim, sides: str = "++-") -> World:
    hosts = [f"s{at}.example" for at in range(len(sides))]
    world = World(listed=dict.fromkeys(hosts, "high"))
    hits = []
    for at, (host, side) in enumerate(zip(hosts, sides, strict=True), start=1):
        url = f"https://{host}/"
        stance = {"+": "supports", "-": "refutes"}[side]
        world.texts[url] = says(claim.text, stance, 1.0, own_words(host))  # type: ignore[arg-type]
        hits.append(Hit(at, host, url, citation_count=200 if at == 1 else None))
    world.results[claim.text] = [hits]
    world.basis = "embedded"
    return world


async def checked(
    world: World, claim: Claim, model: Told | None = None, **options: object
) -> FlowResult:
    services = world.services()
    if model is not None:
        services = replace(services, reasoner=one_for_all(LlmReasoner(staged(model))))
    config = config_of({"strategy": "confidence", **options})
    return await check_claims(
        VIDEO, [claim], services, config, strategy=strategy_named("confidence")
    )


async def test_the_class_is_noted_and_adds_a_search_for_its_sources() -> None:
    result = await checked(world_of(HEALTH), HEALTH)
    assert broken_rules(result, HEALTH, VIDEO) == set()
    assert (result.steps[0].step, result.steps[0].got) == ("plan", "health")
    assert any("systematic review" in query.text for query in result.queries)


async def test_a_prediction_gets_a_note_and_nothing_is_searched() -> None:
    claim = make_claim("Prices will double by 2040")
    world = world_of(claim)
    result = await checked(world, claim)
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("complete", "unclear", False)
    assert verdict.summary.startswith("This is a prediction.")
    assert not world.asked
    assert broken_rules(result, claim, VIDEO) == set()
    assert [step.status for step in result.steps] == ["skipped"]


async def test_the_confidence_of_a_verdict_is_that_of_the_calculus() -> None:
    world = world_of(HEALTH, "+++")
    queries = await checked(world, HEALTH)
    extra = next(query.text for query in queries.queries if "systematic" in query.text)
    world.results[extra] = world.results[HEALTH.text]
    (verdict,) = (await checked(world, HEALTH)).verdicts
    # The first is a paper with more than a hundred citations; the set states no score for the rest.
    sources = [ScoredSource(0.90, True), ScoredSource(0.85, True), ScoredSource(0.85, True)]
    assert verdict.confidence_score == corrected(sources, verdict.summary).percent / 100
    assert verdict.confidence in {"low", "medium"}
    (as_published,) = (await checked(world, HEALTH, calculus="published")).verdicts
    assert as_published.confidence_score == published(sources, verdict.summary).percent / 100


async def test_a_source_has_the_credibility_of_the_site_that_it_led_to() -> None:
    world = world_of(HEALTH, "+++")
    world.results[f"{HEALTH.text} {SEARCH['health']}"] = world.results[HEALTH.text]
    world.redirects = {"https://s0.example/": "https://unlisted.example/"}
    (verdict,) = (await checked(world, HEALTH, calculus="published")).verdicts
    sources = [ScoredSource(0.50, True), ScoredSource(0.85, True), ScoredSource(0.85, True)]
    assert verdict.confidence_score == published(sources, verdict.summary).percent / 100


async def test_published_classes_go_by_letters() -> None:
    claim = make_claim("Williams eats honey")
    steps = (await checked(world_of(claim), claim, claim_classes="published")).steps
    assert (steps[0].got, steps[0].status) == ("predictive", "skipped")


TOLD = {
    "QueriesAnswer": {"searches": [HEALTH.text]},
    "Reading": {
        "sentences": [1],
        "summary": "It says so.",
        "stance": "supports",
        "confidence": 0.9,
        "relevance": 0.9,
    },
    "ThreeWayAnswer": {"reasoning": "Trials show it.", "verdict": "**False.**"},
}


@pytest.mark.parametrize("said", ["CAN'T SAY", "Can\u2019t say.", " **can't say** "])
def test_a_models_verdict_is_one_of_three_labels(said: str) -> None:
    answer = ThreeWayAnswer.model_validate({"reasoning": "", "verdict": said})
    assert answer.verdict == "can't say"
    for none in ("NOT TRUE", "TRUE or FALSE", ""):
        with pytest.raises(ValidationError):
            ThreeWayAnswer.model_validate({"reasoning": "", "verdict": none})


async def test_a_model_says_true_or_false_and_the_vote_decides() -> None:
    result = await checked(world_of(HEALTH, "+++"), HEALTH, Told(TOLD))
    (verdict,) = result.verdicts
    assert verdict.stance == verdict.vote_stance
    judged = [step.got for step in result.steps if step.step == "judge"]
    assert verdict.stance == "supports"
    assert judged == ["FALSE"]
    assert (verdict.reasoner_stance, verdict.disagreement) == ("refutes", True)
    # One call too few: the vote stands, and no reason mentions a refusal.
    calls = len(result.llm_calls) - 1
    (short,) = (
        await checked(world_of(HEALTH, "+++"), HEALTH, Told(TOLD), max_calls=calls)
    ).verdicts
    assert (short.status, short.stance, short.reasoner_stance) == ("complete", "supports", None)
    assert "has used up its" in str(short.reason)
    assert "declined" not in str(short.reason)


@pytest.mark.parametrize("claim", [HEALTH, make_claim("Prices will double by 2040")])
async def test_a_budget_that_is_spent_before_the_search_ends_in_a_sentence(claim: Claim) -> None:
    result = await checked(world_of(claim), claim, max_seconds=1e-9)
    (verdict,) = result.verdicts
    assert verdict.status == "incomplete"
    assert "has used up its" in (verdict.reason or "")
