"""Every strategy against servers whose model loops, raves, invents, repeats, dawdles or declines.

The server is a real one. It makes its answers from the schema that it is sent, so that they are
valid in form and bad in content, and it knows no strategy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter
from typing import Any, get_args

import pytest

from factible_assets.config import StrategyName, config_of
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.stages import progress
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import judge
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.strategies import strategy_named
from resources.http import RetryPolicy
from resources.llm.backend import CallPolicy
from tests.reasoners.llm.scripted import staged
from tests.resources.llm.servers import bound
from tests.servers import Behaviour, Exchange, MisbehavingServer, hang, respond_json
from tests.stages.world import VIDEO, Hit, World, make_claim, one_for_all, own_words

CLAIM = make_claim("The blue whale is the largest animal that has ever lived")
SITES = [f"https://s{number}.example/" for number in range(4)]
ROUNDS = [name for name in get_args(StrategyName) if name != "standard"]


class Everywhere(dict[str, list[list[Hit]]]):
    """Every search finds the same pages."""

    def get(self, query: str, other: Any = None) -> Any:
        return [[Hit(at, f"Page {at}", site) for at, site in enumerate(SITES, start=1)]]


def ocean() -> World:
    world = World(results=Everywhere())
    for at, site in enumerate(SITES):
        world.texts[site] = f"{own_words(f'n{at}')}. {CLAIM.text}. {own_words(f'm{at}')}."
        world.listed[site[8:-1]] = "high"
    return world


@dataclass
class Persona:
    """How a model behaves: words, numbers and lists by the name of their field."""

    words: str = "words"
    is_new: bool = True
    """Whether it says each thing in other words than before."""
    size: int = 2
    number: int = 1
    label: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    """Said in place of any answer."""
    refusal: str | None = None
    _serial: count[int] = field(default_factory=count)

    async def behave(self, exchange: Exchange) -> None:
        schema = exchange.asked.json["response_format"]["json_schema"]["schema"]  # type: ignore[index]
        await respond_json(self.answer(schema))(exchange)

    def answer(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        content = json.dumps(self._made(schema, schema.get("$defs", {}), ""))
        message: dict[str, Any] = {"content": content if self.raw is None else self.raw}
        if self.refusal:
            message = {"content": None, "refusal": self.refusal}
        return {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        }

    def _made(self, schema: Mapping[str, Any], defs: Mapping[str, Any], name: str) -> Any:
        if "$ref" in schema or "anyOf" in schema:
            place = schema.get("$ref", "").rpartition("/")[2]
            return self._made(defs[place] if place else schema["anyOf"][0], defs, name)
        if "enum" in schema:
            return self.label.get(name, schema["enum"][0])
        if schema["type"] == "object":
            return {each: self._made(of, defs, each) for each, of in schema["properties"].items()}
        if schema["type"] == "array":
            return [self._made(schema["items"], defs, name) for _ in range(self.size)]
        said = f"{self.words} {next(self._serial)}?" if self.is_new else f"{self.words}?"
        return {"integer": self.number, "number": 0.9, "boolean": True}.get(schema["type"], said)


UNSURE = {"label": "unproven", "stance": "unclear", "veracity": "unsettled"}
SURE = {"label": "true", "stance": "supports", "veracity": "true", "confidence": "high"}
PERSONAS = {
    "plans anew for ever": Persona(label=UNSURE, size=4),
    "repeats itself for ever": Persona(is_new=False, label=UNSURE),
    "cites what does not exist": Persona("The Moon is 384,000 km away", number=97, label=SURE),
    "counts backwards": Persona(number=-3, label=SURE),
    "says nothing": Persona(size=0),
    "says far too much": Persona("more and more " * 30, size=60, label=UNSURE),
    "raves": Persona(raw="Purple monkey {] TRUE FALSE dishwasher"),
    "is silent": Persona(raw=""),
    "declines": Persona(refusal="I cannot help with that."),
}


async def checked(
    behaviour: Behaviour, name: StrategyName, world: World | None = None, **options: object
) -> FlowResult:
    policy = CallPolicy(RetryPolicy(attempts=1), answer_seconds=24 * 3600.0)
    config = config_of({"strategy": name, **options})
    async with MisbehavingServer() as server, bound(server, window=30_000, policy=policy) as model:
        server.on("/v1/chat/completions", behaviour)
        services = replace(
            (world or ocean()).services(), reasoner=one_for_all(LlmReasoner(staged(model)))
        )
        result = await check_claims(VIDEO, [CLAIM], services, config, strategy=strategy_named(name))
    rows = replace(result, videos=[VIDEO], claims=[CLAIM])
    assert [each for each in judge(ALL_STAGES, rows) if each.refuses] == []
    return result


def known_ids(result: FlowResult) -> set[str]:
    return {
        *(row.query_id for row in result.queries),
        *(row.hit_id for row in result.hits),
        *(row.evidence_id for row in result.evidence),
    }


def told(steps: Sequence[Any]) -> set[str]:
    return {each for step in steps for each in (*step.used, *step.made)}


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("persona", PERSONAS)
async def test_it_ends_within_its_budget_with_a_clear_status_and_invents_nothing(
    persona: str, name: StrategyName
) -> None:
    result = await checked(PERSONAS[persona].behave, name, max_calls=15)
    (verdict,) = result.verdicts
    # A started step ends: four pages, with two questions each if an answer is invalid.
    assert len(result.llm_calls) <= 15 + 8
    assert verdict.status == "complete" or verdict.reason
    assert told(result.steps) <= known_ids(result)
    assert {hit.canonical_url for hit in result.hits} <= {
        row.canonical_url for row in result.evidence
    }
    if persona in {"plans anew for ever", "repeats itself for ever"}:
        assert (verdict.stance, verdict.status) == ("unclear", "complete")


@pytest.mark.parametrize("name", ROUNDS)
async def test_a_server_that_never_answers_takes_no_more_than_the_claims_seconds(
    name: StrategyName,
) -> None:
    # Only the claim's budget can end this: the answer would take longer than the test.
    result = await checked(hang(3_600), name, max_seconds=0.4)
    (verdict,) = result.verdicts
    assert verdict.status == "incomplete"
    assert "0.4 seconds (max_seconds)" in str([verdict.reason, *(q.reason for q in result.queries)])


@pytest.mark.parametrize("name", ROUNDS)
async def test_pages_left_unread_by_the_budget_say_so(
    name: StrategyName, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ocean()
    began = perf_counter()
    # The clock of the budget stands still, and jumps with the first search.
    monkeypatch.setattr(
        progress,
        "perf_counter",
        lambda: began + 7_200 * any(kind == "search" for kind, _ in world.asked),
    )
    result = await checked(Persona(label=UNSURE).behave, name, world, max_seconds=3_600.0)
    assert {row.canonical_url for row in result.evidence} == set(SITES)
    chosen = [row for row in result.evidence if "limit of 3" not in str(row.reason)]
    assert {row.reason for row in chosen} == {
        "The claim has used up its 3,600.0 seconds (max_seconds)."
    }
    assert {row.status for row in result.evidence} == {"skipped"}
    (verdict,) = result.verdicts
    assert verdict.status == "incomplete"
    assert "No source that was found had been read in time." in str(verdict.reason)
