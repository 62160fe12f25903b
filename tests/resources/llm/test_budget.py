from __future__ import annotations

import asyncio
import random
import threading

import pytest

from resources.llm.base import BudgetExhaustedError, PriceUnknownError
from resources.llm.limits import Amount, Budget, Ceiling


async def test_a_call_beyond_the_ceiling_is_refused_with_what_was_spent_and_the_remedy() -> None:
    budget = Budget("this run", Ceiling(usd=0.01, setting="FACTIBLE_BUDGET_USD"))
    (await budget.reserve(Amount(0.008, 100))).settle(Amount(0.006, 90))
    with pytest.raises(BudgetExhaustedError) as caught:
        await budget.reserve(Amount(0.005, 100))
    sentence = str(caught.value)
    assert "budget of this run" in sentence
    assert "$0.0060 of $0.0100" in sentence
    assert "in 1 call" in sentence
    assert "$0.0050" in sentence
    assert "Raise FACTIBLE_BUDGET_USD" in sentence
    assert budget.spent == Amount(0.006, 90)


async def test_settling_gives_back_what_was_not_used() -> None:
    budget = Budget("this run", Ceiling(tokens=100))
    for _ in range(10):
        (await budget.reserve(Amount(None, 91))).settle(Amount(None, 1))
    assert budget.spent.tokens == 10


async def test_a_call_that_fits_once_the_others_have_settled_waits_for_them() -> None:
    budget = Budget("this run", Ceiling(tokens=100))
    first = await budget.reserve(Amount(0.0, 80))
    second = asyncio.create_task(budget.reserve(Amount(0.0, 80)))
    await asyncio.sleep(0.01)
    assert not second.done()
    first.settle(Amount(0.0, 5))
    (await second).settle(Amount(0.0, 5))
    assert budget.spent.tokens == 10


async def test_a_call_that_waited_in_vain_is_refused() -> None:
    budget = Budget("this run", Ceiling(tokens=100))
    first = await budget.reserve(Amount(0.0, 80))
    second = asyncio.create_task(budget.reserve(Amount(0.0, 80)))
    await asyncio.sleep(0)
    first.settle(Amount(0.0, 80))
    with pytest.raises(BudgetExhaustedError):
        await second


async def test_a_reservation_left_without_settling_stays_spent() -> None:
    budget = Budget("this run", Ceiling(tokens=100))
    with pytest.raises(RuntimeError), await budget.reserve(Amount(0.0, 60)):
        raise RuntimeError
    assert budget.spent.tokens == 60


async def test_only_the_first_settlement_counts() -> None:
    budget = Budget("this run", Ceiling(tokens=100))
    with await budget.reserve(Amount(0.0, 60)) as reservation:
        reservation.settle(Amount(0.0, 10))
    assert (budget.spent.tokens, budget.calls) == (10, 1)


async def test_an_account_has_its_own_ceiling_and_counts_to_the_run() -> None:
    run = Budget(
        "this run",
        Ceiling(tokens=100, setting="RUN"),
        per_account=Ceiling(tokens=60, setting="ONE"),
    )
    one, other = run.account("video one"), run.account("video two")
    assert run.account("video one") is one
    (await one.reserve(Amount(0.0, 50))).settle(Amount(0.0, 50))
    with pytest.raises(BudgetExhaustedError, match=r"budget of video one .*Raise ONE"):
        await one.reserve(Amount(0.0, 20))
    (await other.reserve(Amount(0.0, 40))).settle(Amount(0.0, 40))
    with pytest.raises(BudgetExhaustedError, match=r"budget of this run .*Raise RUN"):
        await other.reserve(Amount(0.0, 20))
    assert (one.spent.tokens, other.spent.tokens, run.spent.tokens) == (50, 40, 90)


async def test_a_ceiling_in_dollars_cannot_be_kept_without_a_price() -> None:
    with pytest.raises(PriceUnknownError, match=r"models\.yaml"):
        await Budget("this run", Ceiling(usd=1.0)).reserve(Amount(None, 10))
    await Budget("this run", Ceiling(tokens=100)).reserve(Amount(None, 10))


def test_a_negative_ceiling_is_refused() -> None:
    with pytest.raises(ValueError, match="MAX is negative"):
        Ceiling(usd=-1, setting="MAX")


async def test_a_ceiling_of_nothing_allows_free_models_only() -> None:
    budget = Budget("this run", Ceiling(usd=0.0))
    await budget.reserve(Amount(0.0, 1_000_000))
    with pytest.raises(BudgetExhaustedError):
        await budget.reserve(Amount(0.0001, 1))


def test_no_ceiling_is_passed_by_calls_from_several_threads_and_loops() -> None:
    budget = Budget("this run", Ceiling(tokens=1_000), per_account=Ceiling(tokens=400))
    served: list[int] = []

    async def one(name: str, seed: int) -> None:
        choice = random.Random(seed)
        account = budget.account(name)
        try:
            with await account.reserve(Amount(0.0, 50)) as reservation:
                await asyncio.sleep(choice.random() / 500)
                real = choice.randint(1, 50)
                reservation.settle(Amount(0.0, real))
                served.append(real)
        except BudgetExhaustedError:
            pass

    async def many(thread: int) -> None:
        await asyncio.gather(*(one(f"video {i % 4}", thread * 100 + i) for i in range(40)))

    threads = [threading.Thread(target=asyncio.run, args=(many(t),)) for t in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert not any(thread.is_alive() for thread in threads)
    assert budget.spent.tokens == sum(served) <= 1_000
    assert sum(served) > 900, "what is left is less than one reservation"
    assert all(budget.account(f"video {i}").spent.tokens <= 400 for i in range(4))
