"""Work that several ask for and that is done once."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import pytest

from resources.single_flight import SingleFlight


async def test_work_runs_once_for_simultaneous_and_later_callers() -> None:
    done: Counter[str] = Counter()

    async def work(key: str) -> str:
        done[key] += 1
        await asyncio.sleep(0.01)
        return key.upper()

    once = SingleFlight[str]()
    assert await asyncio.gather(*(once.get(key, partial(work, key)) for key in "aab")) == [
        "A",
        "A",
        "B",
    ]
    assert await once.get("a", partial(work, "a")) == "A"
    assert done == {"a": 1, "b": 1}


async def test_work_is_cancelled_with_its_last_caller() -> None:
    ended: list[str] = []
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work(key: str) -> str:
        begun.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        ended.append("finished")
        return key

    once = SingleFlight[str]()
    first, second = (asyncio.create_task(once.get("a", partial(work, "a"))) for _ in range(2))
    await begun.wait()
    first.cancel()
    await asyncio.wait([first])
    may_end.set()
    assert await second == "a"
    assert ended == ["finished"]

    begun.clear()
    may_end.clear()
    alone = asyncio.create_task(once.get("b", partial(work, "b")))
    await begun.wait()
    alone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await alone
    assert ended == ["finished", "cancelled"]
    may_end.set()
    assert await once.get("b", partial(work, "b")) == "b"


async def test_a_failure_reaches_every_caller() -> None:
    async def work(key: str) -> str:
        await asyncio.sleep(0)
        raise LookupError(key)

    once = SingleFlight[str]()
    results = await asyncio.gather(
        once.get("a", partial(work, "a")), once.get("a", partial(work, "a")), return_exceptions=True
    )
    assert [type(result) for result in results] == [LookupError, LookupError]
