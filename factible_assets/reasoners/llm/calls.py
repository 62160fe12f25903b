"""Asking on behalf of one judgement, and the record of every call that it takes.

What belongs here: which model and limits a stage has, what a call belongs to, and turning a failed
question into an outage. What does not: what is asked (the judgements' own modules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from uuid import uuid4

from factible_assets.reasoners.llm.prompts import Prompt, StageName
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import LlmCall
from factible_assets.stages.ports import ReasonerOutageError, ReasonerRefusalError
from resources.llm.base import (
    Answer,
    ContextTooLongError,
    LanguageModel,
    Manner,
    ModelCall,
    ModelError,
    ModelRequest,
    Part,
    RefusedError,
)


class PromptTooLongOutageError(ReasonerOutageError):
    """The prompt does not fit into the model's context window; a shorter one may."""


@dataclass(frozen=True, slots=True)
class StageModel(Manner):
    """The model of one stage, and the manner in which it is asked.

    `language` is the code of the one in which it writes for its reader; None: the claim's.
    """

    model: LanguageModel
    language: str | None = None

    def request(
        self,
        system: str,
        parts: tuple[Part, ...],
        output_type: type[Answer],
        *,
        max_tokens: int | None = None,
    ) -> ModelRequest[Answer]:
        """Return a question as this stage asks it, with its own limit if none is given."""
        manner = {each.name: getattr(self, each.name) for each in fields(Manner)}
        manner["max_tokens"] = max_tokens or self.max_tokens
        return ModelRequest(system, parts, output_type, **manner)


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
        parts: tuple[Part, ...],
        output_type: type[Answer],
        *,
        max_tokens: int | None = None,
    ) -> Answer:
        """Return a valid answer.

        Reasons are kept as plain text, because a refusal is a model's words too.

        Raises:
            PromptTooLongOutageError: The question does not fit into the context window.
            ReasonerRefusalError: The model declined to answer.
            ReasonerOutageError: There is none; the error carries all calls of the judgement so far.
        """
        request = self.stage.request(self.prompt.system, parts, output_type, max_tokens=max_tokens)
        try:
            answer = await self.stage.model.complete(request)
        except ModelError as failure:
            self._record(failure.calls)
            reason = plain(failure.reason)
            if isinstance(failure, RefusedError):
                raise ReasonerRefusalError(reason, self.calls) from failure
            too_long = isinstance(failure, ContextTooLongError)
            outage = PromptTooLongOutageError if too_long else ReasonerOutageError
            raise outage(reason, self.calls, lasting=failure.lasting) from failure
        self._record(answer.calls)
        return answer.value

    def _record(self, calls: Sequence[ModelCall]) -> None:
        for call in calls:
            reason = plain(call.reason) if call.reason else None
            row = LlmCall(
                call_id=uuid4().hex,
                prompt_version=self.prompt.version,
                **asdict(self.subject),
                **call.model_dump() | {"attempt": len(self.calls) + 1, "reason": reason},
            )
            self.calls.append(row)
