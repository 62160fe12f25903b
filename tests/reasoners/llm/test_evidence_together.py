"""Several pages in one call: each reading belongs to its page, and none costs twice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from factible_assets.reasoners.llm.engine import LlmReasoner, ReadingLimits
from factible_assets.stages.evidence import MIXED_UP
from factible_assets.stages.ports import Arrivals, PageExcerpt, ReasonerRefusalError
from resources.llm.base import ModelOutageError, RefusedError
from resources.storage.answers import DiskCache
from resources.storage.caching import CachingModel
from tests.reasoners.llm.scripted import Script, ScriptedModel, report, sentence, staged
from tests.reasoners.material import CLAIM, DENIAL, PAGE, QUERY, VIDEO, reasoner
from tests.resources.llm.servers import CHAT, bodies, bound, depending, say
from tests.servers import MisbehavingServer

COUNTED = "A trial of 2012 counted hyperactive children after sugar at the clinic of"


def pages(*names: str, **other: Any) -> list[PageExcerpt]:
    arrivals = Arrivals(0)
    return [
        replace(
            PAGE,
            canonical_url=f"https://{name}.example/",
            text=f"{PAGE.text}\n{COUNTED} {name}.\n",
            arrivals=arrivals,
            together=True,
            **other,
        )
        for name in names
    ]


def read_by_its_words(prompt: str, *, stance: str = "refutes", offset: int = 0) -> dict[str, Any]:
    """Answer about each source by its own words; `offset` strays into another source."""
    names = re.findall(rf"{COUNTED} (\w+)\.", prompt)
    readings = [
        {
            "source": number,
            "sentences": [sentence(prompt, f"{COUNTED} {name}") - 2 + offset],
            "summary": f"The clinic of {name} found nothing of the kind.",
            "stance": stance,
            "confidence": 0.8,
            "relevance": 0.9,
        }
        for number, name in enumerate(names, start=1)
    ]
    return {"readings": readings} if "several pages" in prompt else readings[0]


async def read_together(
    found: Sequence[PageExcerpt], *answers: Script, llm: LlmReasoner | None = None
) -> tuple[list[Any], ScriptedModel]:
    other, model = reasoner(*answers)
    tasks = [(llm or other).read_evidence(VIDEO, CLAIM, QUERY, page) for page in found]
    return await asyncio.gather(*tasks, return_exceptions=True), model


async def test_pages_are_read_alone_by_default() -> None:
    found = [replace(page, together=False) for page in pages("a", "b", "c")]
    _, model = await read_together(found, read_by_its_words)
    assert len(model.questions) == 3


async def test_the_pages_of_a_claim_are_read_in_one_call() -> None:
    (first, second), model = await read_together(pages("b", "a"), read_by_its_words)
    assert len(model.questions) == 1
    assert [each.value.quotes for each in (first, second)] == [(DENIAL,), (DENIAL,)]
    assert "clinic of b" in first.value.summary
    calls = [*first.calls, *second.calls]
    assert [(call.claim_id, call.query_id, call.canonical_url) for call in calls] == [
        ("c1", None, None)
    ]


async def test_the_order_of_arrival_does_not_change_the_question() -> None:
    found = pages("a", "b")
    _, model = await read_together(found, read_by_its_words)
    _, other = await read_together(found[::-1], read_by_its_words)
    assert model.prompts == other.prompts


@pytest.mark.parametrize("sign", ["a sentence of another source", "the same summary twice"])
async def test_mixed_up_pages_are_read_again_alone(sign: str) -> None:
    def mixed_up(prompt: str) -> dict[str, Any]:
        strays = 40 if sign.startswith("a sentence") else 0
        answer = read_by_its_words(prompt)
        if "readings" in answer:
            if strays:
                # The first source gets a sentence of the last one.
                answer["readings"][0]["sentences"] = answer["readings"][-1]["sentences"]
            else:
                answer["readings"][2]["summary"] = answer["readings"][0]["summary"]
        return answer

    outcomes, model = await read_together(pages("a", "b", "c"), mixed_up)
    assert len(model.questions) == 1 + 3
    assert [each.value.quotes for each in outcomes] == [(DENIAL,)] * 3
    assert {each.value.summary.split()[3] for each in outcomes} == {"a", "b", "c"}
    calls = [call for each in outcomes for call in each.calls]
    assert [call.reason for call in calls].count(MIXED_UP) == 1


async def test_a_reading_that_is_missing_is_asked_for_alone() -> None:
    def forgetful(prompt: str) -> dict[str, Any]:
        answer = read_by_its_words(prompt)
        if "readings" in answer:
            del answer["readings"][1]
        return answer

    outcomes, model = await read_together(pages("a", "b", "c"), forgetful)
    assert len(model.questions) == 2
    assert [each.value.stance for each in outcomes] == ["refutes"] * 3


async def test_a_refusal_for_one_page_leaves_the_others_their_readings() -> None:
    one, two = pages("a", "b")
    two = replace(two, text=f"Something unspeakable.\n{two.text}")

    def answer(prompt: str) -> Any:
        if "unspeakable" in prompt:
            raise RefusedError("It declined.", [report(outcome="refused")])
        return read_by_its_words(prompt)

    (first, second), model = await read_together([one, two], answer)
    assert first.value.stance == "refutes"
    assert isinstance(second, ReasonerRefusalError)
    assert len(model.questions) == 3
    assert [call.outcome for call in first.calls] == ["refused", "ok"]


async def test_an_outage_reaches_all_pages_after_one_call() -> None:
    down = ModelOutageError("It is down.", [report(outcome="infra_error")])
    outcomes, model = await read_together(pages("a", "b", "c"), down)
    assert [each.reason for each in outcomes] == ["It is down."] * 3
    assert [len(each.calls) for each in outcomes] == [1, 0, 0]
    assert len(model.questions) == 1


async def test_a_reading_is_cached_under_its_page_alone(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    def answer(asked: dict[str, Any]) -> Any:
        return say("openai", read_by_its_words(asked["messages"][1]["content"]))

    server.on(CHAT["openai"], depending(answer))
    cache = DiskCache(tmp_path)
    async with bound(server) as client:
        llm = LlmReasoner(staged(CachingModel(client, cache)))
        first, _ = await read_together(pages("a", "b", "c"), llm=llm)
        # A resumed run has other pages; the cached readings cost no call.
        again, _ = await read_together(pages("b", "c", "d", "e"), llm=llm)
    assert [each.value for each in again[:2]] == [each.value for each in first[1:]]
    second = bodies(server)[1]["messages"][1]["content"]
    assert [name in second for name in ("of b.", "of c.", "of d.", "of e.")] == [0, 0, 1, 1]
    assert len(bodies(server)) == 2


async def test_a_reading_after_a_mix_up_is_cached_for_calls_about_other_pages(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    def answer(asked: dict[str, Any]) -> Any:
        said = read_by_its_words(asked["messages"][1]["content"])
        for each in said.get("readings", ()):
            each["summary"] = "The same of every page."
        return say("openai", said)

    server.on(CHAT["openai"], depending(answer))
    async with bound(server) as client:
        llm = LlmReasoner(staged(CachingModel(client, DiskCache(tmp_path))))
        await read_together(pages("a", "b"), llm=llm)
        assert len(bodies(server)) == 1 + 2
        await read_together(pages("a", "b", "c"), llm=llm)
    assert len(bodies(server)) == 1 + 2 + 1


@pytest.mark.parametrize("patience", [3_600, 0.1])
async def test_pages_wait_for_others_up_to_their_patience(patience: float) -> None:
    is_patient = patience > 1
    arrivals = Arrivals(2 if is_patient else 3)
    found = pages("a", "b", "c")
    first, second, third = (replace(page, arrivals=arrivals) for page in found)
    llm, model = reasoner(read_by_its_words, limits=ReadingLimits(patience=patience))

    async def arrive(page: PageExcerpt) -> Any:
        arrivals.count_one()
        return await llm.read_evidence(VIDEO, CLAIM, QUERY, page)

    async with asyncio.timeout(60):
        early = asyncio.create_task(arrive(first))
        if is_patient:  # time for the first page to go on alone, if it would
            await asyncio.sleep(0.05)
        await asyncio.gather(early, arrive(second))
        if not is_patient:
            await arrive(third)
    assert [prompt.count("Source 2") for prompt in model.prompts] == [1, 0][: 2 - is_patient]


async def test_the_call_ends_only_with_its_last_page() -> None:
    arrivals = Arrivals(3)
    first, second = (replace(page, arrivals=arrivals) for page in pages("a", "b"))
    llm, model = reasoner(read_by_its_words)
    one = asyncio.create_task(llm.read_evidence(VIDEO, CLAIM, QUERY, first))
    two = asyncio.create_task(llm.read_evidence(VIDEO, CLAIM, QUERY, second))
    await asyncio.sleep(0)
    one.cancel()
    for _ in range(3):
        arrivals.count_one()
    read_second = (await two).value
    assert read_second is not None
    assert read_second.stance == "refutes"
    three = asyncio.create_task(
        llm.read_evidence(VIDEO, CLAIM, QUERY, replace(first, arrivals=Arrivals(9)))
    )
    await asyncio.sleep(0)
    three.cancel()
    await asyncio.gather(three, return_exceptions=True)
    assert len(asyncio.all_tasks()) == 1
    assert len(model.questions) == 1


async def test_a_defect_of_the_client_reaches_all_pages() -> None:
    outcomes, _ = await read_together(pages("a", "b"), {"readings": "none"})
    assert all(isinstance(each, ValueError) for each in outcomes)
