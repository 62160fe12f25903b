"""What is known of a check while it runs: its stages and their time, each claim's steps, who hears.

What belongs here: the names of the stages, measuring time, the observer that writes to a run's log,
noting a claim's steps, and the budget that is looked at before each step and each question to a
model. What does not: the work; any step (strategies/); terminal output (cli/).
"""

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
from factible_assets.records import Claim, LlmCall, Query, Status, Step, StepKind, Verdict
from factible_assets.stages import ports
from factible_assets.wording import claims_words, clock, verdict_words

Stage = Literal["queries", "search_hits", "reliability_ratings", "evidence", "verdicts"]
"""The assets that one flow fills, named as the warehouse's assets are."""
ALL_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """How long a stage took: its work, from first start to last end, and up to its first result."""

    work_seconds: float
    span_seconds: float
    first_result_seconds: float


class Stopwatch:
    """Measures stages that overlap, from its making on."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._spans: dict[Stage, list[tuple[float, float]]] = {}
        self._reached: dict[Stage, float] = {}

    @contextmanager
    def time(self, stage: Stage) -> Iterator[None]:
        """Measure the body as work on a stage."""
        started = perf_counter()
        try:
            yield
        finally:
            self._spans.setdefault(stage, []).append((started, perf_counter()))

    def reach(self, stage: Stage) -> None:
        """Note a stage's result, if it is the first: work on it may have ended before."""
        self._reached.setdefault(stage, perf_counter())

    def timings(self) -> dict[Stage, StageTiming]:
        """Return what was measured, in the order of the stages, without those never worked on."""
        found = {}
        for stage in ALL_STAGES:
            if spans := self._spans.get(stage):
                starts, ends = zip(*spans, strict=True)
                work = sum(ends) - sum(starts)
                first = self._reached.get(stage, min(ends)) - self._started
                found[stage] = StageTiming(work, max(ends) - min(starts), first)
        return found


class LogObserver(ports.Observer):
    """Writes slow transcripts, claims and verdicts to a log, and passes everything on."""

    def __init__(self, log: logging.Logger, then: ports.Observer | None = None) -> None:
        self._log, self._then = log, then or ports.Observer()

    def transcript_progressed(self, words: str, share: float) -> None:
        """Log how far a transcript has come that takes minutes."""
        self._log.info("%s", words)
        self._then.transcript_progressed(words, share)

    def claims_found(self, claims: Sequence[Claim], left_out: int = 0) -> None:
        """Log how many claims there are, and each with its time."""
        self._log.info("%s", claims_words(len(claims), left_out))
        for claim in claims:
            self._log.info("claim %d at %s: %s", claim.rank, clock(claim.start_seconds), claim.text)
        self._then.claims_found(claims, left_out)

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Log nothing: every line is a row in Dagster's event log, and progress comes often."""
        self._then.stage_progressed(stage, claim, done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Log a verdict as soon as it is reached."""
        self._log.info("claim %d is %s: %s", claim.rank, verdict_words(verdict), claim.text)
        self._then.verdict_reached(claim, verdict)

    def remarked(self, sentence: str) -> None:
        """Log a remark."""
        self._log.warning("%s", sentence)
        self._then.remarked(sentence)


# --- The steps of a claim ------------------------------------------------------------------------


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

    `round` is counted up by who goes round, `calls` are those that were made for the claim. Without
    a `budget` nothing is limited.
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
        except ports.ReasonerError as failure:
            declined = isinstance(failure, ports.ReasonerRefusalError)
            note.reason = f"The model declined: {failure.reason}" if declined else failure.reason
            note.status = (
                "infra_error" if isinstance(failure, ports.ReasonerOutageError) else "skipped"
            )
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
        tokens = sum(call.input_tokens + call.output_tokens for call in self.calls)
        for used, limit, unit in (
            (len(self.calls), "max_calls", "model calls"),
            (tokens, "max_tokens", "tokens"),
            (sum(call.cost_usd for call in self.calls), "max_cost_usd", "US dollars"),
            (perf_counter() - self.started, "max_seconds", "seconds"),
        ):
            if self.budget is not None and used >= (most := getattr(self.budget, limit)):
                raise _spent(most, f"{unit} ({limit})")


def _spent(limit: float, unit: str) -> ports.BudgetSpentError:
    return ports.BudgetSpentError(f"The claim has used up its {limit:,} {unit}.")
