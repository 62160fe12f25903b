"""Nobody who asks with others waits for an answer that will not come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from factible_assets.reasoners.llm.calls import Batches, Desk, StageModel
from factible_assets.reasoners.llm.prompts import load_prompt
from factible_assets.stages.ports import Judged
from tests.reasoners.llm.material import VIDEO
from tests.reasoners.llm.scripted import ScriptedModel


def no_desk(_: Sequence[str]) -> Desk:
    stage = StageModel(model=ScriptedModel([]), max_tokens=1)
    return Desk(stage, load_prompt("evidence"), "evidence", VIDEO)


async def echo(_: Desk, items: Sequence[str]) -> Mapping[int, str]:
    return dict(enumerate(items))


async def take(_: Desk, __: str, answer: str | None) -> str:
    if answer is None:
        raise ValueError("there is no answer")
    return answer


async def none_at_all(_: Desk, __: Sequence[str]) -> Mapping[int, str]:
    return {}


async def broken(_: str) -> None:
    raise RuntimeError("the gathering is broken")


async def ask_two(batches: Batches[str, str, str]) -> list[Judged[str] | BaseException]:
    asked = (batches.ask("a claim", item) for item in ("first", "second"))
    async with asyncio.timeout(10):
        return await asyncio.gather(*asked, return_exceptions=True)


async def test_each_gets_its_own_answer() -> None:
    found = await ask_two(Batches(no_desk, echo, take, size=6, order=str))
    assert [each.value for each in found if isinstance(each, Judged)] == ["first", "second"]


@pytest.mark.parametrize(
    "batches",
    [
        Batches(no_desk, echo, take, size=6, order=str, gather=broken),
        Batches(no_desk, none_at_all, take, size=6, order=str),
    ],
    ids=["gathering fails", "an answer is missing"],
)
async def test_a_defect_reaches_whoever_waits(batches: Batches[str, str, str]) -> None:
    found = await ask_two(batches)
    assert any(isinstance(each, RuntimeError | ValueError) for each in found)
    again = await ask_two(batches)
    assert any(isinstance(each, RuntimeError | ValueError) for each in again)
