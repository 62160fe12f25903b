from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.http import retry_after_seconds
from resources.llm.limits import Permit, RateLimiter
from tests.resources.llm.servers import CHAT, PATIENT, ask, bound, fail, say
from tests.servers import Behaviour, Exchange, MisbehavingServer, hang


@given(
    st.lists(st.tuples(st.integers(0, 24), st.integers(1, 12)), min_size=1, max_size=40),
    st.integers(1, 10),
    st.integers(1, 5),
)
def test_no_minute_ever_holds_more_than_its_limits(
    asks: list[tuple[int, int]], tokens: int, requests: int
) -> None:
    limiter = RateLimiter(
        requests_per_minute=requests, tokens_per_minute=tokens, minute_seconds=1.0
    )
    now, booked = 1.0, list[Permit]()
    for pause, amount in asks:
        now += pause / 8
        booked.append(limiter._book(amount, now))
    for permit in booked:
        within = [each for each in booked if permit.moment - 1.0 < each.moment <= permit.moment]
        assert sum(each.tokens for each in within) <= tokens
        assert len(within) <= requests


async def test_requests_beyond_the_rate_wait_for_the_window_to_pass() -> None:
    limiter = RateLimiter(requests_per_minute=3, minute_seconds=0.2)
    moments: list[float] = []

    async def one() -> None:
        async with limiter.permit(1):
            moments.append(time.monotonic())

    # From before the first permit: a busy machine notices a permit late.
    began = time.monotonic()
    await asyncio.gather(*(one() for _ in range(7)))
    assert len(moments) == 7
    assert moments[3] - began >= 0.19
    assert moments[6] - began >= 0.39


async def test_tokens_over_the_rate_wait_and_actual_usage_frees_them() -> None:
    limiter = RateLimiter(tokens_per_minute=100, minute_seconds=24 * 3600.0)
    for _ in range(10):
        async with limiter.permit(90) as permit:
            permit.tokens = 1
    entering = limiter.permit(95).__aenter__()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(entering, 0.05)


async def test_a_refusal_halves_concurrency_and_answers_restore_it() -> None:
    limiter, waits = RateLimiter(max_concurrent=8), asyncio.Event()
    under_way = 0

    async def one(*, refused: bool) -> None:
        nonlocal under_way
        async with limiter.permit(1) as permit:
            under_way += 1
            await waits.wait()
            permit.refused = refused
        under_way -= 1

    async def given(*, refused: bool) -> int:
        """Return how many of twenty are in flight when no more can start; then let them finish."""
        waits.clear()
        asked = [asyncio.create_task(one(refused=refused)) for _ in range(20)]
        for _ in range(50):  # rounds of the loop, however long they take
            await asyncio.sleep(0)
        found = under_way
        for task in asked[found:]:
            task.cancel()
        waits.set()
        await asyncio.gather(*asked, return_exceptions=True)
        return found

    assert await given(refused=True) == 8
    assert await given(refused=True) == 4  # all eight said the same of one moment
    assert [await given(refused=False) for _ in range(8)] == [2, 3, 4, 5, 6, 7, 8, 8]


async def test_a_request_larger_than_the_rate_limit_goes_alone() -> None:
    limiter = RateLimiter(tokens_per_minute=100, minute_seconds=0.05)
    for _ in range(2):
        async with limiter.permit(5_000):
            pass


async def test_a_cancelled_wait_gives_its_turn_back() -> None:
    limiter = RateLimiter(requests_per_minute=1, max_concurrent=5, minute_seconds=600)
    async with limiter.permit(1) as first:
        pass

    async def wait() -> None:
        async with limiter.permit(1):
            pass

    waiting = asyncio.create_task(wait())
    while len(limiter._permits) < 2:  # noqa: ASYNC110 - until it has its permit
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    assert limiter._book(1, time.monotonic()).moment == first.moment + 600


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
    ],
)
def test_all_forms_of_retry_after_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_a_retry_date_becomes_seconds() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert retry_after_seconds({"retry-after": date}) == pytest.approx(3_600, abs=60)


@pytest.mark.parametrize("refusal", [fail(429), hang()], ids=["refuses", "keeps waiting"])
async def test_a_refusal_halves_the_number_of_concurrent_requests(
    refusal: Behaviour, server: MisbehavingServer
) -> None:
    under_way = later = 0
    crowd = asyncio.Event()

    async def answer(exchange: Exchange) -> None:
        nonlocal under_way, later
        under_way += 1
        if crowd.is_set():
            later = max(later, under_way)
            await asyncio.sleep(0.01)  # so that others may come
        elif under_way == 16:
            crowd.set()
        await crowd.wait()
        crowded = under_way > 4
        under_way -= 1
        await (refusal if crowded else say("openai"))(exchange)

    patient = replace(PATIENT, retry=replace(PATIENT.retry, attempts=200), answer_seconds=0.5)
    server.on(CHAT["openai"], answer)
    async with bound(server, limiter=RateLimiter(max_concurrent=16), policy=patient) as model:
        given = await asyncio.gather(*(model.complete(ask(str(at))) for at in range(16)))
    assert all(each.value.stance == "refutes" for each in given)
    assert 1 <= later <= 8
