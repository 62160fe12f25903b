from __future__ import annotations

import asyncio
import random
import threading

import pytest

from resources.llm.base import BudgetExhaustedError
from resources.llm.limits import Budget, Ceiling


async def take(budget: Budget, reserved: float | None, spent: float) -> None:
    async with budget.reserve(reserved) as reservation:
        reservation.spent = spent


async def test_a_call_over_budget_is_refused_with_the_spending_and_the_remedy() -> None:
    budget = Budget("this run", Ceiling(0.01, "FACTIBLE_BUDGET_USD"))
    await take(budget, 0.008, 0.006)
    with pytest.raises(BudgetExhaustedError) as caught:
        await take(budget, 0.005, 0.0)
    assert str(caught.value) == (
        "The budget of this run does not allow another model call: $0.0060 of $0.0100 are spent in "
        "1 call, and the next call may take $0.0050. Raise FACTIBLE_BUDGET_USD to go on."
    )
    assert budget.spent == 0.006


async def test_settling_gives_back_what_was_not_used() -> None:
    budget = Budget("this run", Ceiling(1.00))
    for _ in range(10):
        await take(budget, 0.91, 0.01)
    assert budget.spent == pytest.approx(0.1)
    assert budget.calls == 10


@pytest.mark.parametrize(("settled", "fits"), [(0.05, True), (0.8, False)])
async def test_a_call_waits_if_it_may_fit_after_others_settle(settled: float, fits: bool) -> None:
    budget = Budget("this run", Ceiling(1.00))
    async with budget.reserve(0.8) as first:
        second = asyncio.create_task(take(budget, 0.8, 0.05))
        await asyncio.sleep(0.01)
        assert not second.done()
        first.spent = settled
    (failure,) = await asyncio.gather(second, return_exceptions=True)
    assert isinstance(failure, BudgetExhaustedError) is not fits
    assert budget.spent == pytest.approx(settled + 0.05 * fits)


async def test_an_unsettled_reservation_stays_spent() -> None:
    budget = Budget("this run", Ceiling(1.00))
    with pytest.raises(RuntimeError):
        async with budget.reserve(0.6):
            raise RuntimeError
    assert budget.spent == 0.6


async def test_an_account_has_its_own_ceiling_and_counts_to_the_run() -> None:
    run = Budget("this run", Ceiling(1.00, "RUN"), per_account=Ceiling(0.60, "ONE"))
    one, other = run.account("video one"), run.account("video two")
    assert run.account("video one") is one
    await take(one, 0.5, 0.5)
    with pytest.raises(BudgetExhaustedError, match=r"budget of video one .*Raise ONE"):
        await take(one, 0.2, 0.2)
    await take(other, 0.4, 0.4)
    with pytest.raises(BudgetExhaustedError, match=r"budget of this run .*Raise RUN"):
        await take(other, 0.2, 0.2)
    assert (one.spent, other.spent, run.spent) == (0.5, 0.4, 0.9)


async def test_a_ceiling_cannot_be_kept_without_a_price() -> None:
    with pytest.raises(BudgetExhaustedError, match=r"models\.yaml"):
        await take(Budget("this run", Ceiling(1.0)), None, 0.0)
    await take(Budget("this run", Ceiling()), None, 0.0)


async def test_a_ceiling_of_nothing_allows_free_models_only() -> None:
    budget = Budget("this run", Ceiling(0.0))
    await take(budget, 0.0, 0.0)
    with pytest.raises(BudgetExhaustedError):
        await take(budget, 0.0001, 0.0)


def test_calls_from_several_threads_and_loops_keep_the_budget() -> None:
    budget = Budget("this run", Ceiling(10.00), per_account=Ceiling(4.00))
    served: list[float] = []

    async def one(name: str, seed: int) -> None:
        choice = random.Random(seed)
        try:
            async with budget.account(name).reserve(0.50) as reservation:
                await asyncio.sleep(choice.random() / 500)
                reservation.spent = choice.randint(1, 50) / 100
                served.append(reservation.spent)
        except BudgetExhaustedError:
            pass

    async def many(thread: int) -> None:
        await asyncio.gather(*(one(f"video {i % 4}", thread * 100 + i) for i in range(40)))

    threads = [threading.Thread(target=asyncio.run, args=(many(t),)) for t in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent == pytest.approx(sum(served))
    assert 9 < budget.spent <= 10.0001, "what is left is less than one reservation"
    assert all(budget.account(f"video {i}").spent <= 4.0001 for i in range(4))
