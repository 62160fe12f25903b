"""How fast, how many at once, and for how much a provider may be asked.

What belongs here: limits on requests and tokens per minute and on concurrency, shared by all
models of a provider; ceilings on cost, per run and per account within a run (say, a video). What
does not: what a call costs (registry.py), when to ask, and when to ask again (structured.py).

A call's highest possible cost is reserved before it is sent and settled by its real usage
afterwards. A call that fits only once the calls in flight have settled waits for them, so that
concurrency does not change what a budget allows. A request whose answer was lost may have been
billed: its whole reservation stays spent.
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
class Turn:
    """The right to send one request at a moment. `tokens` are expected, then what it took.

    `refused`: the provider said that it is asked too much.
    """

    moment: float
    tokens: float
    refused: bool = False


class RateLimiter:
    """Hands out turns in the order of asking. One per provider, shared by its models in one loop.

    Rates are None for no limit; tokens are input and output together. `max_concurrent` requests
    are under way at most: halved by a turn that was refused, one more after as many answers as
    there are slots, as TCP avoids congestion (RFC 5681, section 3.1). `minute_seconds` is the
    length of the minute that rates are counted over. `slots` is asked once, before the first turn,
    how many requests the server takes at once, so that none waits inside the server.
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
        self._requests = requests_per_minute or math.inf
        self._tokens = tokens_per_minute or math.inf
        self._minute = minute_seconds
        self._turns: list[Turn] = []
        self._not_before = 0.0
        self._most, self._free = max_concurrent, asyncio.Semaphore(max_concurrent)
        # Slots that are withheld for a while, that will be once they are free, and answers since.
        self._withheld = self._owed = self._answered = 0
        self._slowed_at = 0.0
        self._slots, self._learning = slots, asyncio.Lock()

    async def _learn(self) -> None:
        async with self._learning:
            find, self._slots = self._slots, None
            most = await find() if find is not None else None
            while most is not None and self._most > most:
                await self._free.acquire()
                self._most -= 1

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[Turn]:
        """Wait for a turn, and hold a slot while it lasts; the request may take so many tokens."""
        await self._learn()
        await self._free.acquire()
        turn = self._book(tokens, time.monotonic())
        try:
            try:
                await asyncio.sleep(max(0.0, turn.moment - time.monotonic()))
                # The provider may have asked for a pause since the turn was booked.
                await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            except BaseException:
                self._turns = [each for each in self._turns if each is not turn]
                raise
            yield turn
            self._answered += not turn.refused
            if self._withheld and self._answered >= self._most - self._withheld:
                self._answered, self._withheld = 0, self._withheld - 1
                self._free.release()
        finally:
            if turn.refused and turn.moment >= self._slowed_at:
                self._owed += (self._most - self._withheld - self._owed) // 2
                self._slowed_at, self._answered = time.monotonic(), 0
            if self._owed:
                self._owed, self._withheld = self._owed - 1, self._withheld + 1
            else:
                self._free.release()

    def pause(self, seconds: float) -> None:
        """Give no turn for so many seconds, because the provider said so."""
        self._not_before = max(self._not_before, time.monotonic() + seconds)

    def _book(self, tokens: float, now: float) -> Turn:
        """Book the first moment at which the minute before it has room for one request more.

        One that is larger than the limit would never fit: it goes alone.
        """
        turn = Turn(max(now, self._not_before), min(tokens, self._tokens))
        if self._requests == self._tokens == math.inf:
            return turn
        self._turns = [each for each in self._turns if each.moment > now - self._minute]
        if self._turns:  # in the order of asking
            turn.moment = max(turn.moment, self._turns[-1].moment)
        before = [each for each in self._turns if each.moment > turn.moment - self._minute]
        while before and (
            len(before) >= self._requests
            or sum(each.tokens for each in before) + turn.tokens > self._tokens
        ):
            turn.moment = max(turn.moment, before.pop(0).moment + self._minute)
        self._turns.append(turn)
        return turn


# --- Ceilings -----------------------------------------------------------------------------------

_SLACK = 1e-9  # Dollars by which sums of binary fractions may be off.


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most US dollars to spend, from 0; None for no limit. `setting` is what raises it."""

    usd: float | None = None
    setting: str = "the budget"


@dataclass(slots=True)
class Reservation:
    """Dollars that are set aside for one call. `spent` is all of them until somebody says less."""

    spent: float


class Budget:
    """The budget of a run. `account` gives the budget of one part of it, which counts to both.

    Safe to use from several tasks, event loops and threads. `name` is for sentences, as in "the
    budget of NAME"; `ceiling` is what all calls together may take, `per_account` those of each
    account. `spent` are the US dollars of the `calls` that are settled, lost answers at their whole
    reservation.
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
        # An account shares its run's lock, and those who wait for a reservation to end.
        self._lines: tuple[Budget, ...] = (self, run) if run else (self,)
        self._lock: threading.Lock = run._lock if run else threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = (
            run._waiting if run else []
        )

    def account(self, name: str) -> Budget:
        """Return the account of this name, the same one each time."""
        with self._lock:
            if name not in self._accounts:
                self._accounts[name] = Budget(name, self._per_account, run=self)
            return self._accounts[name]

    @asynccontextmanager
    async def reserve(self, usd: float | None) -> AsyncIterator[Reservation]:
        """Set dollars aside, waiting for the calls in flight if they fit only beside them.

        Raises BudgetExhaustedError if they would pass a ceiling even if all in flight came to
        nothing, or if there is a ceiling and `usd` is None: the price is not known.
        """
        amount = usd or 0.0
        while settled := self._set_aside(usd):
            await settled.wait()
        reservation = Reservation(amount)
        try:
            yield reservation
        finally:
            with self._lock:
                for line in self._lines:
                    line._reserved -= amount
                    line.spent += reservation.spent
                    line.calls += 1
                waiting = self._waiting[:]
                self._waiting.clear()
            # Each in whichever thread's loop it waits.
            for loop, settled in waiting:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(settled.set)

    def _set_aside(self, usd: float | None) -> asyncio.Event | None:
        """Return what to wait for, None if the dollars are set aside."""
        amount = usd or 0.0
        with self._lock:
            for line in self._lines:
                line._check(usd)
            if all(line._holds(line.spent + line._reserved + amount) for line in self._lines):
                for line in self._lines:
                    line._reserved += amount
                return None
            settled = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), settled))
            return settled

    def _holds(self, usd: float) -> bool:
        return self._ceiling.usd is None or usd <= self._ceiling.usd + _SLACK

    def _check(self, usd: float | None) -> None:
        limit = self._ceiling
        if limit.usd is None:
            return
        if usd is None:
            raise BudgetExhaustedError(
                f"The budget of {self._name} is in dollars, and the model's price is not known. "
                "Write its price into models.yaml in the data folder, or take "
                f"{limit.setting} out of the settings."
            )
        if not self._holds(self.spent + usd):
            calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
            raise BudgetExhaustedError(
                f"The budget of {self._name} does not allow another model call: "
                f"${self.spent:.4f} of ${limit.usd:.4f} are spent in {calls}, and the next call "
                f"may take ${usd:.4f}. Raise {limit.setting} to go on."
            )
