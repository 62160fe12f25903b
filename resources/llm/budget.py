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


class _Line:
    """One ceiling, with what is spent and what is reserved under it."""

    def __init__(self, name: str, ceiling: Ceiling) -> None:
        self.name = name
        self.ceiling = ceiling
        self.spent_usd = 0.0
        self.spent_tokens = 0
        self.reserved_usd = 0.0
        self.reserved_tokens = 0
        self.calls = 0

    def fits(self, amount: Amount, *, beside_reserved: bool) -> bool:
        usd = self.spent_usd + (amount.usd or 0.0) + (self.reserved_usd if beside_reserved else 0)
        tokens = (
            self.spent_tokens + amount.tokens + (self.reserved_tokens if beside_reserved else 0)
        )
        return (self.ceiling.usd is None or usd <= self.ceiling.usd + _SLACK) and (
            self.ceiling.tokens is None or tokens <= self.ceiling.tokens
        )

    def reserve(self, amount: Amount, sign: int) -> None:
        self.reserved_usd += sign * (amount.usd or 0.0)
        self.reserved_tokens += sign * amount.tokens

    def spend(self, amount: Amount) -> None:
        self.spent_usd += amount.usd or 0.0
        self.spent_tokens += amount.tokens
        self.calls += 1

    def sentence(self, amount: Amount) -> str:
        limit = self.ceiling
        spent, next_call = [], []
        if limit.usd is not None:
            spent.append(f"${self.spent_usd:.4f} of ${limit.usd:.4f}")
            next_call.append(f"${amount.usd or 0.0:.4f}")
        if limit.tokens is not None:
            spent.append(f"{self.spent_tokens:,} of {limit.tokens:,} tokens")
            next_call.append(f"{amount.tokens:,} tokens")
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return (
            f"The budget of {self.name} does not allow another model call: "
            f"{' and '.join(spent)} are spent in {calls}, and the next call may take "
            f"{' and '.join(next_call)}. Raise {limit.setting} to go on."
        )


class _Ledger:
    """What all accounts of one run share: a lock, and those who wait for a reservation to end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.accounts: dict[str, Budget] = {}
        self.waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def wake(self) -> None:
        """Wake all who wait, in whichever thread's loop they do. Call with the lock held."""
        waiters, self.waiters = self.waiters, []
        for loop, waiter in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_finish, waiter)


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Budget:
    """The budget of a run. `account` gives the budget of one part of it, which counts to both.

    Safe to use from several tasks, event loops and threads.
    """

    def __init__(self, name: str, ceiling: Ceiling, *, per_account: Ceiling | None = None) -> None:
        """Set the ceilings.

        Args:
            name: For sentences, as in "the budget of NAME".
            ceiling: What all calls together may take.
            per_account: What the calls of each account may take.
        """
        self._lines: tuple[_Line, ...] = (_Line(name, ceiling),)
        self._per_account = per_account or Ceiling()
        self._ledger = _Ledger()

    def account(self, name: str) -> Budget:
        """Return the account of this name, the same one each time."""
        with self._ledger.lock:
            found = self._ledger.accounts.get(name)
            if found is None:
                found = Budget(name, self._per_account)
                found._lines = (*found._lines, *self._lines)
                found._ledger = self._ledger
                self._ledger.accounts[name] = found
            return found

    @property
    def spent(self) -> Amount:
        """What is settled so far, lost answers at their whole reservation."""
        with self._ledger.lock:
            return Amount(self._lines[0].spent_usd, self._lines[0].spent_tokens)

    @property
    def calls(self) -> int:
        """How many calls were settled."""
        return self._lines[0].calls

    async def reserve(self, amount: Amount) -> Reservation:
        """Set an amount aside, waiting for the calls in flight if it fits only beside them.

        Raises:
            BudgetExhaustedError: It would pass a ceiling even if all in flight came to nothing.
            PriceUnknownError: The amount has no price, and there is a ceiling in dollars.
        """
        while True:
            with self._ledger.lock:
                self._check(amount)
                if all(line.fits(amount, beside_reserved=True) for line in self._lines):
                    for line in self._lines:
                        line.reserve(amount, +1)
                    return Reservation(self, amount)
                loop = asyncio.get_running_loop()
                waiter = loop.create_future()
                self._ledger.waiters.append((loop, waiter))
            await waiter

    def _check(self, amount: Amount) -> None:
        for line in self._lines:
            if amount.usd is None and line.ceiling.usd is not None:
                raise PriceUnknownError(
                    f"The budget of {line.name} is in dollars, and the model's price is not known. "
                    "Write its price into models.yaml in the data folder, or take "
                    f"{line.ceiling.setting} out of the settings."
                )
            if not line.fits(amount, beside_reserved=False):
                raise BudgetExhaustedError(line.sentence(amount))

    def _settle(self, reserved: Amount, spent: Amount) -> None:
        with self._ledger.lock:
            for line in self._lines:
                line.reserve(reserved, -1)
                line.spend(spent)
            self._ledger.wake()


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
