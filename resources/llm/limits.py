"""How fast, how many at once, and for how much a provider may be asked.

What belongs here: limits on requests and tokens per minute and on concurrency, shared by all
models of a provider; ceilings on cost, per run and per account within a run (say, a video):
reserving, settling, and saying that the money is spent. What does not: what a call costs
(registry.py), when to ask, and when to ask again (structured.py).

A call's highest possible cost is reserved before it is sent and settled by its real usage
afterwards. A call that fits only once the calls in flight have settled waits for them, so that
concurrency does not change what a budget allows. A request whose answer was lost may have been
billed: its whole reservation stays spent.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self
from weakref import WeakKeyDictionary

from resources.llm.base import BudgetExhaustedError, PriceUnknownError


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a provider allows; None for no limit. Tokens are input and output together."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_concurrent: int = 16


@dataclass(slots=True, eq=False)
class _Entry:
    moment: float
    amount: float


class _Window:
    """Never more than `limit` in any window of so many seconds. Not safe without a lock."""

    def __init__(self, limit: float, seconds: float, counts_tokens: bool = False) -> None:
        self.counts_tokens = counts_tokens
        self._limit = limit
        self._seconds = seconds
        self._entries: deque[_Entry] = deque()

    def earliest(self, amount: float, moment: float) -> float:
        """Return the first moment from the given one at which the amount fits.

        Moments must not go back from one entry to the next. An amount beyond the limit could
        never fit: it goes alone.
        """
        amount = min(amount, self._limit)
        used = sum(e.amount for e in self._entries if e.moment > moment - self._seconds)
        for entry in self._entries:
            if used + amount <= self._limit:
                break
            if entry.moment > moment - self._seconds:
                used -= entry.amount
                leaving = entry.moment + self._seconds
                moment = max(moment, leaving)
        return moment

    def add(self, amount: float, moment: float) -> _Entry:
        while self._entries and self._entries[0].moment <= moment - self._seconds:
            self._entries.popleft()
        entry = _Entry(moment, min(amount, self._limit))
        self._entries.append(entry)
        return entry

    def drop(self, entry: _Entry) -> None:
        if entry in self._entries:
            self._entries.remove(entry)


class Turn:
    """The right to send one request. `used` corrects the tokens that were expected."""

    def __init__(self, booked: list[_Entry]) -> None:
        self._booked = booked

    def used(self, tokens: int) -> None:
        """Count what the request really took."""
        for entry in self._booked:
            entry.amount = tokens


class RateLimiter:
    """Hands out turns in the order of asking. One per provider, shared by its models.

    Rates hold over all event loops and threads of the process; `max_concurrent` holds per loop.
    `minute_seconds` is the length of the minute that rates are counted over.
    """

    def __init__(self, limits: RateLimits | None = None, *, minute_seconds: float = 60.0) -> None:
        self.limits = limits or RateLimits()
        self._lock = threading.Lock()
        self._windows = [
            _Window(limit, minute_seconds, counts_tokens)
            for limit, counts_tokens in (
                (self.limits.requests_per_minute, False),
                (self.limits.tokens_per_minute, True),
            )
            if limit is not None
        ]
        self._not_before = 0.0
        self._last = 0.0
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[Turn]:
        """Wait for a turn, and hold a slot while it lasts; the request may take so many tokens."""
        loop = asyncio.get_running_loop()
        with self._lock:
            slot = self._slots.setdefault(loop, asyncio.Semaphore(self.limits.max_concurrent))
        async with slot:
            moment, booked = self._book(tokens)
            try:
                await asyncio.sleep(max(0.0, moment - time.monotonic()))
                # The provider may have asked for a pause since the turn was booked.
                await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            except BaseException:
                with self._lock:
                    for window, entry in booked:
                        window.drop(entry)
                raise
            yield Turn([entry for window, entry in booked if window.counts_tokens])

    def pause(self, seconds: float) -> None:
        """Give no turn for so many seconds, because the provider said so."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def _book(self, tokens: int) -> tuple[float, list[tuple[_Window, _Entry]]]:
        """Return the first moment at which all windows have room, and what was booked in them."""
        with self._lock:
            moment, later = -1.0, max(time.monotonic(), self._last, self._not_before)
            while later != moment:
                moment = later
                for window in self._windows:
                    later = window.earliest(tokens if window.counts_tokens else 1, later)
            self._last = moment
            return moment, [
                (window, window.add(tokens if window.counts_tokens else 1, moment))
                for window in self._windows
            ]


# --- Ceilings -----------------------------------------------------------------------------------

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
