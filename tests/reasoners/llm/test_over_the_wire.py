"""The reasoner and the real client together, against a server that speaks OpenAI's format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from factible_assets.reasoners.llm.claims import Windowing
from factible_assets.reasoners.llm.engine import LlmReasoner, ReadingLimits
from factible_assets.stages.claims import build_claims
from factible_assets.stages.ports import ClaimDrafts, ReasonerOutageError, ReasonerRefusalError
from resources.llm.limits import Budget, Ceiling
from resources.storage.answers import DiskCache
from resources.storage.caching import CachingModel
from tests.reasoners.llm.scripted import staged, take_apart
from tests.reasoners.material import CLAIM, DENIAL, DENIAL_AT, PAGE, QUERY, VIDEO, transcript
from tests.resources.llm.servers import CHAT, bodies, bound, depending, say
from tests.resources.llm.test_streaming import slices, streamed
from tests.servers import Exchange, MisbehavingServer, respond

READING: Mapping[str, Any] = {
    "sentences": [DENIAL_AT],
    "summary": "The review found nothing.",
    "stance": "refutes",
    "confidence": 0.8,
    "relevance": 0.9,
}


async def test_a_page_is_read_over_the_wire_and_its_call_recorded(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["openai"], say("openai", "not JSON"), say("openai", dict(READING)))
    async with bound(server) as client:
        llm = LlmReasoner(staged(client))
        judged = await llm.read_evidence(VIDEO, CLAIM, QUERY, PAGE)
    assert judged.value is not None
    assert (judged.value.stance, judged.value.quotes) == ("refutes", (DENIAL,))
    assert [(call.attempt, call.outcome) for call in judged.calls] == [(1, "invalid"), (2, "ok")]
    assert judged.calls[1].input_tokens == 120
    assert judged.calls[1].cost_usd > 0
    asked = bodies(server)[0]
    assert (asked["temperature"], asked["max_tokens"]) == (0, 600)
    assert DENIAL in take_apart(asked["messages"][1]["content"]).data("source 1")


@pytest.mark.parametrize(
    ("behaviour", "outcome", "lasting"),
    [
        (say("openai", None, finish="length"), "truncated", True),
        (say("openai", '{"stance": "perhaps"}'), "invalid", True),
        (respond("{}", status=401, content_type="application/json"), "infra_error", True),
        (respond("{}", status=503, content_type="application/json"), "infra_error", False),
    ],
)
async def test_a_failure_of_the_server_is_an_outage(
    server: MisbehavingServer, behaviour: Any, outcome: str, lasting: bool
) -> None:
    server.on(CHAT["openai"], behaviour)
    async with bound(server) as client:
        llm = LlmReasoner(staged(client))
        with pytest.raises(ReasonerOutageError) as outage:
            await llm.read_evidence(VIDEO, CLAIM, QUERY, PAGE)
    assert outage.value.reason.endswith((".", "not."))
    assert (outage.value.calls[-1].outcome, outage.value.lasting) == (outcome, lasting)


async def test_a_model_that_declines_is_no_outage(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], say("openai", None, refusal="I will not."))
    async with bound(server) as client:
        with pytest.raises(ReasonerRefusalError, match="I will not") as refusal:
            await LlmReasoner(staged(client)).read_evidence(VIDEO, CLAIM, QUERY, PAGE)
    assert [call.outcome for call in refusal.value.calls] == ["refused"]


async def test_a_spent_budget_is_an_outage(server: MisbehavingServer, tmp_path: Path) -> None:
    server.on(CHAT["openai"], say("openai", dict(READING)))
    cache = DiskCache(tmp_path)
    async with bound(server) as client:
        asked = CachingModel(client, cache, Budget("this run", Ceiling(0.0001)))
        with pytest.raises(ReasonerOutageError) as outage:
            await LlmReasoner(staged(asked)).read_evidence(VIDEO, CLAIM, QUERY, PAGE)
    assert outage.value.lasting
    assert bodies(server) == []


async def test_a_long_page_is_trimmed_inside_its_fence_to_a_small_window(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["openai"], say("openai", dict(READING)))
    page = replace(PAGE, text=f"{PAGE.text}\n" + "Children were seen to eat sugar there. " * 190)
    async with bound(server, window=2_450) as client:
        await LlmReasoner(staged(client)).read_evidence(VIDEO, CLAIM, QUERY, page)
    opened = take_apart(bodies(server)[0]["messages"][1]["content"])
    assert opened.data("source 1").endswith("[…]")
    assert opened.outside.endswith("in the claim's language.")


async def test_a_long_transcript_is_read_in_smaller_windows_by_a_small_model(
    server: MisbehavingServer,
) -> None:
    def read(asked: dict[str, Any]) -> Any:
        text = take_apart(asked["messages"][1]["content"]).data("transcript")
        claim = {
            "source": "Honey keeps for three thousand years",
            "text": "Honey keeps for 3,000 years.",
            "context": None,
            "category": "food",
            "kind": "fact",
            "bears_on_thesis": True,
            "tier": "pillar",
            "importance": 0.9,
            "confidence": 0.9,
        }
        claims = [claim] if "Honey" in text else []
        return say("openai", {"thesis": "T", "thesis_is_about_expertise": False, "claims": claims})

    server.on(CHAT["openai"], depending(read))
    said = "The weather was fine that day, and so it went on. " * 400
    async with bound(server, window=6_000) as client:
        llm = LlmReasoner(staged(client))
        judged = await llm.extract_claims(
            VIDEO, transcript(f"{said}Honey keeps for three thousand years."), (), max_claims=5
        )
    assert [claim.text for claim in judged.value.claims] == ["Honey keeps for 3,000 years."]
    assert len(bodies(server)) > 2


async def test_the_first_claims_of_each_window_are_announced_before_all_are_ranked(
    server: MisbehavingServer,
) -> None:
    honey = stated("Honey keeps for three thousand years")
    bees = stated("Bees dance to show the way to flowers")
    ants = stated("Ants carry fifty times their own weight")
    announced: set[str] = set()
    answer = {"thesis": "T", "thesis_is_about_expertise": False, "claims": []}

    async def rank(exchange: Exchange) -> None:
        while len(announced) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await say("openai", answer)(exchange)

    def read(asked: dict[str, Any]) -> Any:
        opened = take_apart(asked["messages"][1]["content"])
        if "Stretch 1" in opened.outside:
            return rank
        text = opened.data("transcript")
        claims = [each for each in (honey, ants, bees) if each["source"] in text]
        return streamed("openai", slices(json.dumps({**answer, "claims": claims}), 20))

    server.on(CHAT["openai"], depending(read))
    said = f"{honey['text']} {ants['text']} {'It went on and on. ' * 60}{bees['text']}"
    async with bound(server) as client:
        llm = LlmReasoner(staged(client), ReadingLimits(transcript=Windowing(800, 50)))
        found = await llm.extract_claims(
            VIDEO,
            transcript(said),
            (),
            max_claims=2,
            found=lambda drafts: announced.update(each.text for each in drafts.claims),
        )
    assert announced == {honey["text"], bees["text"]}
    assert len(found.value.claims) == 2


SAID = "Honey keeps for three thousand years. Bees dance to show the way to flowers."


def stated(source: str, *searches: str) -> dict[str, Any]:
    return {
        "source": source, "text": f"{source}.", "context": None, "category": "food",
        "kind": "fact", "bears_on_thesis": True, "tier": "pillar", "importance": 0.9,
        "confidence": 0.9, "searches": list(searches),
    }  # fmt: skip


async def test_claims_of_a_broken_stream_are_announced_and_nothing_is_asked_for_them_twice(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    honey = stated("Honey keeps for three thousand years", "how long honey keeps", "honey spoils")
    bees = stated("Bees dance to show the way to flowers", "why bees dance", "bees do not dance")
    text = json.dumps({"thesis": "T", "thesis_is_about_expertise": False, "claims": [honey, bees]})
    half = text[: text.index("Bees")]
    server.on(
        CHAT["openai"],
        streamed("openai", slices(half, 20), ends=False),
        streamed("openai", slices(text, 20)),
    )
    announced: list[list[str]] = []

    def hear(drafts: ClaimDrafts) -> None:
        announced.append([each.text for each in drafts.claims])

    cache = DiskCache(tmp_path)
    async with bound(server) as client:
        llm = LlmReasoner(staged(CachingModel(client, cache)))
        found = await llm.extract_claims(VIDEO, transcript(SAID), (), max_claims=2, found=hear)
        first, _ = build_claims(found.value, transcript(SAID), (), None, basis="llm")
        queries = await llm.write_queries(VIDEO, first, max_queries=3)
    assert announced[0] == [honey["text"]]
    assert [each.text for each in found.value.claims] == [honey["text"], bees["text"]]
    assert [call.outcome for call in found.calls] == ["infra_error", "ok"]
    assert "how long honey keeps" in [each.text for each in queries.value]
    assert queries.calls == ()
    assert len(bodies(server)) == 2
