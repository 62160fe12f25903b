"""The trace of one claim: which steps were taken for it, what each asked, got, took and cost.

What belongs here: noting steps, and the budget that is looked at before each. What does not: any
step (strategies/), what a call costs (the client says so).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from factible_assets.config import BudgetConfig
from factible_assets.records import Claim, LlmCall, Status, Step, StepKind
from factible_assets.stages.ports import ReasonerOutageError, ReasonerRefusalError


class BudgetSpentError(Exception):
    """A claim has used up what it may cost. `reason` is a sentence that names the limit."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Note:
    """What is to be said of a step once it is done. `used` and `made` are ids of rows."""

    got: str = ""
    used: Sequence[str] = ()
    made: Sequence[str] = ()
    status: Status = "ok"
    reason: str | None = None


@dataclass(slots=True)
class Trace:
    """The steps of one claim, in order; they are taken one after the other.

    `round` is counted up by who goes round. `calls` is the claim's own list, which grows.
    """

    claim: Claim
    strategy: str
    budget: BudgetConfig
    calls: Sequence[LlmCall]
    round: int = 1
    steps: list[Step] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def step(self, kind: StepKind, technique: str, asked: str = "") -> Iterator[Note]:
        """Note the body as one step, with the calls that were made in it.

        A service's failure is noted, and goes on to who takes the steps.

        Raises:
            BudgetSpentError: The claim may cost no more; the body is not run.
        """
        self._refuse_beyond_budget()
        note, before, started = Note(), len(self.calls), perf_counter()
        try:
            yield note
        except ReasonerOutageError as outage:
            note.status, note.reason = "infra_error", outage.reason
            raise
        except ReasonerRefusalError as refusal:
            note.status, note.reason = "skipped", f"The model declined: {refusal.reason}"
            raise
        finally:
            seconds = perf_counter() - started
            self._enter(kind, technique, asked, note, self.calls[before:], seconds)

    def remark(
        self,
        kind: StepKind,
        technique: str,
        got: str = "",
        used: Sequence[str] = (),
        *,
        ended: str | None = None,
    ) -> None:
        """Note what was found, or why it ended, beside the steps: at no cost and never refused."""
        note = Note(got, used, status="skipped" if ended else "ok", reason=ended)
        self._enter(kind, technique, "", note, (), 0.0)

    def _enter(
        self,
        kind: StepKind,
        technique: str,
        asked: str,
        note: Note,
        made: Sequence[LlmCall],
        seconds: float,
    ) -> None:
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
                calls=len(made),
                tokens=sum(call.input_tokens + call.output_tokens for call in made),
                cost_usd=sum(call.cost_usd for call in made),
                seconds=seconds,
                status=note.status,
                reason=note.reason,
            )
        )

    def _refuse_beyond_budget(self) -> None:
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
                raise BudgetSpentError(f"The claim has used up its {limit:,} {unit}.")
