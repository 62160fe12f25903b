"""Asking on behalf of one judgement, and the record of every call that it takes.

What belongs here: which model and limits a stage has, what a call belongs to, and turning a failed
question into an outage. What does not: what is asked (the judgements' own modules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from uuid import uuid4

from factible_assets.reasoners.llm.prompts import (
    Piece,
    Prompt,
    StageName,
    claim_pieces,
    in_language,
    this_month,
    video_data,
)
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import Claim, LlmCall, Query, Video
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


@dataclass(slots=True)
class Desk:
    """Asks the questions of one judgement, one after another or at once, and keeps the calls.

    A prompt's places for the video, the claim, the month or the year, and the language to write in
    are filled in from what the judgement is about, if the question does not say otherwise.
    """

    stage: StageModel
    prompt: Prompt
    stage_name: StageName
    video: Video
    claim: Claim | None = None
    query: Query | None = None
    url: str | None = None
    calls: list[LlmCall] = field(default_factory=list)

    async def ask(
        self,
        section: str,
        output_type: type[Answer],
        *,
        max_tokens: int | None = None,
        **values: Piece | Sequence[Piece],
    ) -> Answer:
        """Return a valid answer to a section of the prompt.

        Reasons are kept as plain text, because a refusal is a model's words too.

        Raises:
            PromptTooLongOutageError: The question does not fit into the context window.
            ReasonerRefusalError: The model declined to answer.
            ReasonerOutageError: There is none; the error carries all calls of the judgement so far.
        """
        places, month = self.prompt.places(section), this_month()
        usual: dict[str, Piece | Sequence[Piece]] = {
            "video": ("The video:\n", video_data(self.video)),
            "claim": claim_pieces(self.claim, self.video) if self.claim else "",
            "month": month,
            # For what is asked most often and kept longest: pages.
            "year": month[-4:],
            "language": in_language(self.video, self.stage.language),
        }
        material = {name: piece for name, piece in usual.items() if name in places} | values
        parts = self.prompt.fill(section, **material)
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
                video_id=self.video.video_id,
                stage=self.stage_name,
                claim_id=self.claim and self.claim.claim_id,
                query_id=self.query and self.query.query_id,
                canonical_url=self.url,
                **call.model_dump() | {"attempt": len(self.calls) + 1, "reason": reason},
            )
            self.calls.append(row)
