"""Limits on requests to a provider: rates, concurrency, and budgets in dollars.

A budget reserves a call's highest possible cost before the call and settles it afterwards. A call
that fits only after calls in flight have settled waits for them, so that concurrency does not
change which calls a budget allows. A lost answer may cost money: its whole reservation stays spent.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from resources.llm.base import BudgetExhaustedError


@dataclass(slots=True, eq=False)
class Permit:
    """Permission to send one request at a moment. `tokens` are first expected, then actual.

    Set `refused` if the provider reports too many requests.
    """

    moment: float
    tokens: float
    refused: bool = False


class RateLimiter:
    """Gives permits in the order of the requests. All models of a provider share one per loop.

    Rates are None for no limit; tokens are input and output together. At most `max_concurrent`
    requests are in flight. A refused permit halves that number; it grows by one after as many
    answers as it allows, like congestion avoidance in TCP (RFC 5681, section 3.1). Rates count over
    `minute_seconds`. Before the first permit the limiter calls `slots`, which may lower
    `max_concurrent` to the server's own limit.
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        max_concurrent: int = 16,
        minute_seconds: float = 60.0,
        slots: Callable[[], Awaitable[int | None]] | None = None,
    ) -> None:
        self._max_requests = requests_per_minute or math.inf
        self._max_tokens = tokens_per_minute or math.inf
        self._minute = minute_seconds
        self._permits: list[Permit] = []  # of the last minute and of the future, by moment
        self._paused_until = 0.0
        self._max_concurrent, self._slots = max_concurrent, asyncio.Semaphore(max_concurrent)
        # Slots now withheld, slots to withhold when they become free, and answers since then.
        self._withheld = self._to_withhold = self._answered = 0
        self._halved_at = 0.0
        self._count_slots, self._counting = slots, asyncio.Lock()

    async def _apply_slots(self) -> None:
        """Ask once for the server's own limit, and withhold the slots beyond it for good."""
        async with self._counting:
            count_slots, self._count_slots = self._count_slots, None
            server_slots = await count_slots() if count_slots is not None else None
            while server_slots is not None and self._max_concurrent > server_slots:
                await self._slots.acquire()
                self._max_concurrent -= 1

    @asynccontextmanager
    async def permit(self, tokens: int) -> AsyncIterator[Permit]:
        """Wait for a permit for at most `tokens`, and hold a slot until the block ends."""
        await self._apply_slots()
        await self._slots.acquire()
        permit = self._book(tokens, time.monotonic())
        try:
            try:
                await asyncio.sleep(max(0.0, permit.moment - time.monotonic()))
                # The provider may have asked for a pause in the meantime.
                await asyncio.sleep(max(0.0, self._paused_until - time.monotonic()))
            except BaseException:
                self._permits = [other for other in self._permits if other is not permit]
                raise
            yield permit
            self._answered += not permit.refused
            if self._withheld and self._answered >= self._max_concurrent - self._withheld:
                self._answered, self._withheld = 0, self._withheld - 1
                self._slots.release()
        finally:
            # The refusals of requests that went out before the last halving do not halve again.
            if permit.refused and permit.moment >= self._halved_at:
                in_use = self._max_concurrent - self._withheld - self._to_withhold
                self._to_withhold += in_use // 2
                self._halved_at, self._answered = time.monotonic(), 0
            if self._to_withhold:
                self._to_withhold, self._withheld = self._to_withhold - 1, self._withheld + 1
            else:
                self._slots.release()

    def pause(self, seconds: float) -> None:
        """Give no permit for so many seconds, at the provider's request."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def _book(self, tokens: float, now: float) -> Permit:
        """Reserve the first moment at which the preceding minute has room for this request.

        A request larger than the limit would never fit, so it goes alone.
        """
        permit = Permit(max(now, self._paused_until), min(tokens, self._max_tokens))
        if self._max_requests == self._max_tokens == math.inf:
            return permit
        self._permits = [past for past in self._permits if past.moment > now - self._minute]
        if self._permits:  # first come, first served
            permit.moment = max(permit.moment, self._permits[-1].moment)
        recent = [past for past in self._permits if past.moment > permit.moment - self._minute]
        while recent and (
            len(recent) >= self._max_requests
            or sum(past.tokens for past in recent) + permit.tokens > self._max_tokens
        ):
            permit.moment = max(permit.moment, recent.pop(0).moment + self._minute)
        self._permits.append(permit)
        return permit


# --- Budgets -----------------------------------------------------------------------------------

_SLACK = 1e-9  # Dollars by which sums of binary fractions may be off.


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most US dollars to spend; None for no limit. `setting` names the setting to raise."""

    usd: float | None = None
    setting: str = "the budget"


@dataclass(slots=True)
class Reservation:
    """Dollars reserved for one call. `spent` starts at the full amount; the caller may lower it."""

    spent: float


class Budget:
    """The budget of a run, with accounts for its parts; spending counts in both.

    Several tasks, event loops and threads may use it. `name` completes messages: "the budget of
    NAME". `ceiling` limits all calls together, `per_account` those of each account. `spent` are
    the US dollars of the settled `calls`, with lost answers at their whole reservation.
    """

    def __init__(
        self,
        name: str,
        ceiling: Ceiling,
        *,
        per_account: Ceiling | None = None,
        run: Budget | None = None,
    ) -> None:
        self.spent, self.calls = 0.0, 0
        self._name, self._ceiling = name, ceiling
        self._per_account = per_account or Ceiling()
        self._accounts: dict[str, Budget] = {}
        self._reserved = 0.0
        # An account shares its run's lock and list of waiting tasks.
        self._budgets: tuple[Budget, ...] = (self, run) if run else (self,)
        self._lock: threading.Lock = run._lock if run else threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = (
            run._waiting if run else []
        )

    def account(self, name: str) -> Budget:
        with self._lock:
            if name not in self._accounts:
                self._accounts[name] = Budget(name, self._per_account, run=self)
            return self._accounts[name]

    @asynccontextmanager
    async def reserve(self, usd: float | None) -> AsyncIterator[Reservation]:
        """Reserve dollars; wait for calls in flight if there is only enough after they settle.

        Raises BudgetExhaustedError if there would not be enough even if they cost nothing, or if
        there is a ceiling and the price is unknown (`usd` None).
        """
        amount = usd or 0.0
        while call_settled := self._set_aside(usd):
            await call_settled.wait()
        reservation = Reservation(amount)
        try:
            yield reservation
        finally:
            with self._lock:
                for budget in self._budgets:
                    budget._reserved -= amount
                    budget.spent += reservation.spent
                    budget.calls += 1
                waiting = self._waiting[:]
                self._waiting.clear()
            # Each task waits in its own thread's loop.
            for loop, call_settled in waiting:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(call_settled.set)

    def _set_aside(self, usd: float | None) -> asyncio.Event | None:
        """Reserve dollars, or return an event that a call in flight sets when it settles."""
        amount = usd or 0.0
        with self._lock:
            for budget in self._budgets:
                budget._check(usd)
            totals = [budget.spent + budget._reserved + amount for budget in self._budgets]
            if all(map(Budget._allows, self._budgets, totals)):
                for budget in self._budgets:
                    budget._reserved += amount
                return None
            call_settled = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), call_settled))
            return call_settled

    def _allows(self, total: float) -> bool:
        return self._ceiling.usd is None or total <= self._ceiling.usd + _SLACK

    def _check(self, usd: float | None) -> None:
        """Raise BudgetExhaustedError if a call of this price could never go out."""
        limit = self._ceiling
        if limit.usd is None:
            return
        if usd is None:
            raise BudgetExhaustedError(
                f"The budget of {self._name} is in dollars, and the model's price is not known. "
                "Write its price into models.yaml in the data folder, or take "
                f"{limit.setting} out of the settings."
            )
        if not self._allows(self.spent + usd):
            calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
            raise BudgetExhaustedError(
                f"The budget of {self._name} does not allow another model call: "
                f"${self.spent:.4f} of ${limit.usd:.4f} are spent in {calls}, and the next call "
                f"may take ${usd:.4f}. Raise {limit.setting} to go on."
            )
