"""Nobody who asks with others waits for an answer that will not come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from factible_assets.reasoners.llm.batches import Batches, Outcome
from factible_assets.stages.ports import Judged


async def echo(items: Sequence[str]) -> Sequence[Outcome[str]]:
    return [Judged(item) for item in items]


async def one_too_few(items: Sequence[str]) -> Sequence[Outcome[str]]:
    return [Judged(item) for item in items[1:]]


async def broken(_: str) -> None:
    raise RuntimeError("the gathering is broken")


async def ask_two(batches: Batches[str, str]) -> list[Judged[str] | BaseException]:
    asked = (batches.ask("a claim", item) for item in ("first", "second"))
    async with asyncio.timeout(10):
        return await asyncio.gather(*asked, return_exceptions=True)


async def test_each_gets_its_own_answer() -> None:
    found = await ask_two(Batches(echo, size=6, order=str))
    assert [each.value for each in found if isinstance(each, Judged)] == ["first", "second"]


@pytest.mark.parametrize(
    "batches",
    [
        Batches(echo, size=6, order=str, gather=broken),
        Batches(one_too_few, size=6, order=str),
    ],
    ids=["gathering fails", "an answer is missing"],
)
async def test_a_defect_reaches_whoever_waits(batches: Batches[str, str]) -> None:
    found = await ask_two(batches)
    assert any(isinstance(each, RuntimeError | ValueError) for each in found)
    again = await ask_two(batches)
    assert any(isinstance(each, RuntimeError | ValueError) for each in again)
