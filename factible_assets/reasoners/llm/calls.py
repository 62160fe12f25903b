"""Asking on behalf of one judgement, and the record of every call that it takes.

What belongs here: which model and limits a stage has, what a call belongs to, and turning a failed
question into an outage. What does not: what is asked (the judgements' own modules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from factible_assets.reasoners.llm.model import (
    Answer,
    CallReport,
    LanguageModel,
    ModelFailureError,
    PromptPart,
    PromptTooLongError,
    Question,
)
from factible_assets.reasoners.llm.prompts import Prompt, StageName
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import LlmCall
from factible_assets.stages.ports import ReasonerOutageError


class PromptTooLongOutageError(ReasonerOutageError):
    """The prompt does not fit into the model's context window; a shorter one may."""


@dataclass(frozen=True, slots=True)
class StageModel:
    """The model of one stage and how it is asked. `max_tokens` bounds one answer."""

    model: LanguageModel
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What the calls of a judgement belong to."""

    video_id: str
    stage: StageName
    claim_id: str | None = None
    query_id: str | None = None
    canonical_url: str | None = None


@dataclass(slots=True)
class Desk:
    """Asks the questions of one judgement, one after another or at once, and keeps the calls."""

    stage: StageModel
    prompt: Prompt
    subject: Subject
    calls: list[LlmCall] = field(default_factory=list)

    async def ask(
        self,
        parts: tuple[PromptPart, ...],
        output_type: type[Answer],
        *,
        max_tokens: int | None = None,
    ) -> Answer:
        """Return a valid answer.

        Reasons are kept as plain text, because a refusal is a model's words too.

        Raises:
            PromptTooLongOutageError: The question does not fit into the context window.
            ReasonerOutageError: There is none; the error carries all calls of the judgement so far.
        """
        question = Question(
            system=self.prompt.system,
            parts=parts,
            output_type=output_type,
            max_tokens=max_tokens or self.stage.max_tokens,
            temperature=self.stage.temperature,
            seed=self.stage.seed,
        )
        try:
            reply = await self.stage.model.ask(question)
        except ModelFailureError as failure:
            self._record(failure.calls)
            too_long = isinstance(failure, PromptTooLongError)
            outage = PromptTooLongOutageError if too_long else ReasonerOutageError
            raise outage(plain(failure.reason), self.calls) from failure
        self._record(reply.calls)
        return reply.value

    def _record(self, reports: Sequence[CallReport]) -> None:
        made = len(self.calls)
        self.calls.extend(
            self._row(report, attempt) for attempt, report in enumerate(reports, start=made + 1)
        )

    def _row(self, report: CallReport, attempt: int) -> LlmCall:
        return LlmCall(
            call_id=uuid4().hex,
            video_id=self.subject.video_id,
            stage=self.subject.stage,
            claim_id=self.subject.claim_id,
            query_id=self.subject.query_id,
            canonical_url=self.subject.canonical_url,
            provider=report.provider,
            model=report.model,
            prompt_version=self.prompt.version,
            attempt=attempt,
            input_tokens=report.input_tokens,
            output_tokens=report.output_tokens,
            cost_usd=report.cost_usd,
            price_known=report.price_known,
            latency_seconds=report.latency_seconds,
            cache_hit=report.cache_hit,
            outcome=report.outcome,
            reason=plain(report.reason) if report.reason else None,
        )


@dataclass(slots=True)
class Desks:
    """The desks of one judgement that asks several questions at once."""

    stage: StageModel
    prompt: Prompt
    subject: Subject
    opened: list[Desk] = field(default_factory=list)

    def open(self) -> Desk:
        """Return a new desk. The order of opening is the order of the calls."""
        desk = Desk(self.stage, self.prompt, self.subject)
        self.opened.append(desk)
        return desk

    def calls(self) -> tuple[LlmCall, ...]:
        """Return the calls of all desks in order, counted through."""
        made = (call for desk in self.opened for call in desk.calls)
        return tuple(
            call.model_copy(update={"attempt": attempt})
            for attempt, call in enumerate(made, start=1)
        )
