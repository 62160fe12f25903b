"""The trace of one claim: which steps were taken for it, what each asked, got, took and cost.

What belongs here: noting steps, and the budget that is looked at before each step and each question
to a model. What does not: any step (strategies/), what a call costs (the client says so).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from factible_assets.config import BudgetConfig
from factible_assets.records import Claim, LlmCall, Query, Status, Step, StepKind
from factible_assets.stages.ports import (
    BudgetSpentError,
    ReasonerError,
    ReasonerOutageError,
    ReasonerRefusalError,
)


@dataclass(slots=True)
class Note:
    """What is to be said of a step once it is done. `used` and `made` are ids of rows."""

    got: str = ""
    used: Sequence[str] = ()
    made: Sequence[str] = ()
    status: Status = "ok"
    reason: str | None = None

    def worded(self, queries: Sequence[Query]) -> None:
        """Say which searches came of it; one that could not be worded is told as its row has it."""
        self.made = [query.query_id for query in queries]
        failed = next((query for query in queries if query.status != "ok"), None)
        if failed is not None:
            self.status, self.reason = failed.status, failed.reason


@dataclass(slots=True)
class Trace:
    """The steps of one claim, in order; they are taken one after the other.

    `round` is counted up by who goes round. `calls` is the claim's own list, which grows. Without a
    `budget` nothing is limited.
    """

    claim: Claim
    strategy: str
    budget: BudgetConfig | None
    calls: Sequence[LlmCall]
    round: int = 1
    steps: list[Step] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def step(
        self, kind: StepKind, technique: str, asked: str = "", *, always: bool = False
    ) -> Iterator[Note]:
        """Note the body as one step, with the calls that were made in it.

        A service's failure is noted, and goes on to who takes the steps. What is done `always` asks
        nothing beyond the budget by itself, and makes rows that say what was left out for it.

        Raises BudgetSpentError: The claim may cost no more; the body is not run, or was broken off.
        """
        if not always:
            self.refuse_beyond_budget()
        note, before, started = Note(), len(self.calls), perf_counter()
        try:
            yield note
        except ReasonerError as failure:
            declined = isinstance(failure, ReasonerRefusalError)
            note.reason = f"The model declined: {failure.reason}" if declined else failure.reason
            is_outage = isinstance(failure, ReasonerOutageError)
            note.status = "infra_error" if is_outage else "skipped"
            raise
        finally:
            seconds = perf_counter() - started
            self.remark(kind, technique, note, asked, self.calls[before:], seconds)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """Ask a model in the body, which is broken off when the claim's seconds are over.

        Raises BudgetSpentError where it is, or is not run: the claim may cost no more.
        """
        self.refuse_beyond_budget()
        seconds = self.budget.max_seconds if self.budget else math.inf
        try:
            async with asyncio.timeout(self.started + seconds - perf_counter()) as clock:
                yield
        except TimeoutError:
            if not clock.expired():
                raise
            raise _spent(seconds, "seconds (max_seconds)") from None

    def remark(
        self,
        kind: StepKind,
        technique: str,
        note: Note,
        asked: str = "",
        calls: Sequence[LlmCall] = (),
        seconds: float = 0.0,
    ) -> None:
        """Note what was done or found, or why it ended; by itself at no cost and never refused."""
        self.steps.append(
            Step(
                claim_id=self.claim.claim_id,
                video_id=self.claim.video_id,
                strategy=self.strategy,
                round=self.round,
                position=len(self.steps) + 1,
                step=kind,
                technique=technique,
                asked=asked,
                got=note.got,
                used=tuple(note.used),
                made=tuple(note.made),
                calls=len(calls),
                tokens=sum(call.input_tokens + call.output_tokens for call in calls),
                cost_usd=sum(call.cost_usd for call in calls),
                seconds=seconds,
                status=note.status,
                reason=note.reason,
            )
        )

    def refuse_beyond_budget(self) -> None:
        """Raise BudgetSpentError if the claim has used up its budget."""
        if self.budget is None:
            return
        tokens = sum(call.input_tokens + call.output_tokens for call in self.calls)
        cost = sum(call.cost_usd for call in self.calls)
        spent = (
            (len(self.calls), self.budget.max_calls, "model calls (max_calls)"),
            (tokens, self.budget.max_tokens, "tokens (max_tokens)"),
            (cost, self.budget.max_cost_usd, "US dollars (max_cost_usd)"),
            (perf_counter() - self.started, self.budget.max_seconds, "seconds (max_seconds)"),
        )
        for used, limit, unit in spent:
            if used >= limit:
                raise _spent(limit, unit)


def _spent(limit: float, unit: str) -> BudgetSpentError:
    return BudgetSpentError(f"The claim has used up its {limit:,} {unit}.")
