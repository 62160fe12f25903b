"""The progress of a check: stage times, the log, and each claim's steps and budget."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal, get_args

from factible_assets.config import BudgetConfig
from factible_assets.records.tables import Claim, LlmCall, Query, Status, Step, StepKind, Verdict
from factible_assets.stages import ports
from factible_assets.wording import claims_words, clock, verdict_words

Stage = Literal["queries", "search_hits", "reliability_ratings", "evidence", "verdicts"]
"""The assets that one flow fills."""
ALL_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """Seconds of a stage: its work, from first start to last end, and to its first result."""

    work_seconds: float
    span_seconds: float
    first_result_seconds: float


class Stopwatch:
    """Measures stages that overlap; it starts when it is created."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._spans: dict[Stage, list[tuple[float, float]]] = {}
        self._reached: dict[Stage, float] = {}

    @contextmanager
    def time(self, stage: Stage) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._spans.setdefault(stage, []).append((started, perf_counter()))

    def reach(self, stage: Stage) -> None:
        """Record a stage's first result; work on the stage may have ended earlier."""
        self._reached.setdefault(stage, perf_counter())

    def timings(self) -> dict[Stage, StageTiming]:
        """Return the times of the stages that had any work, in their order."""
        timings = {}
        for stage in ALL_STAGES:
            if spans := self._spans.get(stage):
                starts, ends = zip(*spans, strict=True)
                work = sum(ends) - sum(starts)
                first = self._reached.get(stage, min(ends)) - self._started
                timings[stage] = StageTiming(work, max(ends) - min(starts), first)
        return timings


class LogObserver(ports.Observer):
    """Logs slow transcripts, claims and verdicts, and forwards the events of a flow."""

    def __init__(self, log: logging.Logger, then: ports.Observer | None = None) -> None:
        self._log, self._then = log, then or ports.Observer()

    def transcript_progressed(self, words: str, share: float) -> None:
        self._log.info("%s", words)
        self._then.transcript_progressed(words, share)

    def claim_begun(self, claim: Claim) -> None:
        self._then.claim_begun(claim)

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        self._log.info("%s", claims_words(len(claims), left_out))
        for claim in claims:
            self._log.info("claim %d at %s: %s", claim.rank, clock(claim.start_seconds), claim.text)
        self._then.claims_found(claims, left_out)

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        # Not logged: each line is a row in Dagster's event log, and progress comes often.
        self._then.stage_progressed(stage, claim, done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        self._log.info("claim %d is %s: %s", claim.rank, verdict_words(verdict), claim.text)
        self._then.verdict_reached(claim, verdict)

    def remarked(self, sentence: str) -> None:
        self._log.warning("%s", sentence)
        self._then.remarked(sentence)


# --- The steps of a claim ------------------------------------------------------------------------


@dataclass(slots=True)
class StepResult:
    """The result of a step; `used` and `made` are ids of rows."""

    got: str = ""
    used: Sequence[str] = ()
    made: Sequence[str] = ()
    status: Status = "ok"
    reason: str | None = None

    def record_queries(self, queries: Sequence[Query]) -> None:
        """Record the queries of the step, and the failure of the first one that failed."""
        self.made = [query.query_id for query in queries]
        failed = next((query for query in queries if query.status != "ok"), None)
        if failed is not None:
            self.status, self.reason = failed.status, failed.reason


@dataclass(slots=True)
class Trace:
    """The steps of one claim, one after the other, and the budget that limits them.

    The strategy increases `round`; `calls` are all model calls for the claim. Without a `budget`
    there is no limit.
    """

    claim: Claim
    strategy: str
    budget: BudgetConfig | None
    calls: list[LlmCall] = field(default_factory=list)
    round: int = 1
    steps: list[Step] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def step(
        self, kind: StepKind, technique: str, asked: str = "", *, always: bool = False
    ) -> Iterator[StepResult]:
        """Record the body as one step, with its model calls and its failure, if any.

        With `always`, the body runs even after the budget is spent: it keeps to the budget itself.

        Raises BudgetSpentError: The budget was spent before the body, or in it.
        """
        if not always:
            self.refuse_beyond_budget()
        note, before, started = StepResult(), len(self.calls), perf_counter()
        try:
            yield note
        except ports.ReasonerError as failure:
            declined = isinstance(failure, ports.ReasonerRefusalError)
            note.reason = f"The model declined: {failure.reason}" if declined else failure.reason
            is_outage = isinstance(failure, ports.ReasonerOutageError)
            note.status = "infra_error" if is_outage else "skipped"
            raise
        finally:
            seconds = perf_counter() - started
            self.record_step(kind, technique, note, asked, self.calls[before:], seconds)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """Ask a model in the body; cancel it when the claim's seconds are over.

        Raises BudgetSpentError: The budget was spent before the body, or its seconds ran out.
        """
        self.refuse_beyond_budget()
        seconds = self.budget.max_seconds if self.budget else math.inf
        try:
            async with asyncio.timeout(self.started + seconds - perf_counter()) as deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise _spent(seconds, "seconds (max_seconds)") from None

    def record_step(
        self,
        kind: StepKind,
        technique: str,
        note: StepResult,
        asked: str = "",
        calls: Sequence[LlmCall] = (),
        seconds: float = 0.0,
    ) -> None:
        """Record a step without running anything; the budget never refuses it."""
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
        """Raise BudgetSpentError if a limit of the budget is reached."""
        if self.budget is None:
            return
        tokens = sum(call.input_tokens + call.output_tokens for call in self.calls)
        cost = sum(call.cost_usd for call in self.calls)
        for used, limit, unit in (
            (len(self.calls), self.budget.max_calls, "model calls (max_calls)"),
            (tokens, self.budget.max_tokens, "tokens (5,000 for each of max_calls)"),
            (cost, self.budget.max_cost_usd, "US dollars (max_cost_usd)"),
            (perf_counter() - self.started, self.budget.max_seconds, "seconds (max_seconds)"),
        ):
            if used >= limit:
                raise _spent(limit, unit)


def _spent(limit: float, unit: str) -> ports.BudgetSpentError:
    return ports.BudgetSpentError(f"The claim has used up its {limit:,} {unit}.")
