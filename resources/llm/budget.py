"""Ceilings on what models may cost: per run, and per account within a run (say, a video).

What belongs here: reserving, settling, and saying that the money is spent. What does not: what a
call costs (registry.py), when to ask (structured.py).

A call's highest possible cost is reserved before it is sent and settled by its real usage
afterwards. A call that fits only once the calls in flight have settled waits for them, so that
concurrency does not change what a budget allows. A request whose answer was lost may have been
billed: its whole reservation stays spent.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Self

from resources.llm.base import BudgetExhaustedError, PriceUnknownError

_SLACK = 1e-9
"""Dollars by which sums of binary fractions may be off."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that may be spent; None for no limit. `setting` is what raises it, for sentences."""

    usd: float | None = None
    tokens: int | None = None
    setting: str = "the budget"

    def __post_init__(self) -> None:
        if (self.usd is not None and self.usd < 0) or (self.tokens is not None and self.tokens < 0):
            raise ValueError(f"The ceiling of {self.setting} is negative; set it to 0 or more.")


@dataclass(frozen=True, slots=True)
class Amount:
    """Dollars (None if the model's price is not known) and tokens, input and output together."""

    usd: float | None = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount((self.usd or 0.0) + (other.usd or 0.0), self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount((self.usd or 0.0) - (other.usd or 0.0), self.tokens - other.tokens)


class _Ledger:
    """What all accounts of one run share: a lock, and those who wait for a reservation to end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.accounts: dict[str, Budget] = {}
        self.waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []


class Budget:
    """The budget of a run. `account` gives the budget of one part of it, which counts to both.

    Safe to use from several tasks, event loops and threads. `name` is for sentences, as in "the
    budget of NAME"; `ceiling` is what all calls together may take, `per_account` those of each
    account.
    """

    def __init__(self, name: str, ceiling: Ceiling, *, per_account: Ceiling | None = None) -> None:
        self._name = name
        self._ceiling = ceiling
        self._per_account = per_account or Ceiling()
        self._ledger = _Ledger()
        self._lines: tuple[Budget, ...] = (self,)
        self._spent = Amount()
        self._reserved = Amount()
        self.calls = 0
        """How many calls were settled."""

    def account(self, name: str) -> Budget:
        """Return the account of this name, the same one each time."""
        with self._ledger.lock:
            found = self._ledger.accounts.get(name)
            if found is None:
                found = self._ledger.accounts[name] = Budget(name, self._per_account)
                found._lines = (found, *self._lines)
                found._ledger = self._ledger
            return found

    @property
    def spent(self) -> Amount:
        """What is settled so far, lost answers at their whole reservation."""
        return self._spent

    async def reserve(self, amount: Amount) -> Reservation:
        """Set an amount aside, waiting for the calls in flight if it fits only beside them.

        Raises:
            BudgetExhaustedError: It would pass a ceiling even if all in flight came to nothing.
            PriceUnknownError: The amount has no price, and there is a ceiling in dollars.
        """
        while True:
            with self._ledger.lock:
                for line in self._lines:
                    line._check(amount)
                if all(line._holds(line._spent + line._reserved + amount) for line in self._lines):
                    for line in self._lines:
                        line._reserved += amount
                    return Reservation(self, amount)
                settled = asyncio.Event()
                self._ledger.waiters.append((asyncio.get_running_loop(), settled))
            await settled.wait()

    def _holds(self, sum_of_all: Amount) -> bool:
        usd, tokens = self._ceiling.usd, self._ceiling.tokens
        return (usd is None or (sum_of_all.usd or 0.0) <= usd + _SLACK) and (
            tokens is None or sum_of_all.tokens <= tokens
        )

    def _check(self, amount: Amount) -> None:
        limit, already = self._ceiling, self._spent
        if amount.usd is None and limit.usd is not None:
            raise PriceUnknownError(
                f"The budget of {self._name} is in dollars, and the model's price is not known. "
                "Write its price into models.yaml in the data folder, or take "
                f"{limit.setting} out of the settings."
            )
        if self._holds(already + amount):
            return
        spent, next_call = [], []
        if limit.usd is not None:
            spent.append(f"${already.usd or 0.0:.4f} of ${limit.usd:.4f}")
            next_call.append(f"${amount.usd or 0.0:.4f}")
        if limit.tokens is not None:
            spent.append(f"{already.tokens:,} of {limit.tokens:,} tokens")
            next_call.append(f"{amount.tokens:,} tokens")
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        raise BudgetExhaustedError(
            f"The budget of {self._name} does not allow another model call: "
            f"{' and '.join(spent)} are spent in {calls}, and the next call may take "
            f"{' and '.join(next_call)}. Raise {limit.setting} to go on."
        )

    def _settle(self, reserved: Amount, spent: Amount) -> None:
        with self._ledger.lock:
            for line in self._lines:
                line._reserved -= reserved
                line._spent += spent
                line.calls += 1
            waiters, self._ledger.waiters = self._ledger.waiters, []
        # Each in whichever thread's loop it waits.
        for loop, settled in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settled.set)


class Reservation:
    """An amount set aside for one call. Left unsettled, all of it counts as spent."""

    def __init__(self, budget: Budget, amount: Amount) -> None:
        self._budget = budget
        self._amount = amount
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle(self._amount)

    def settle(self, spent: Amount) -> None:
        """Replace the reservation by what the call really took. Only the first time counts."""
        if self._open:
            self._open = False
            self._budget._settle(self._amount, spent)
