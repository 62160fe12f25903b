"""Asking a model on behalf of one judgement, and the record of every call that this takes.

What belongs here: the model and the limits of a stage, what a call belongs to, turning a failed
question into an outage. What does not: the questions themselves (the judgements' own modules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TypeAlias
from uuid import uuid4

from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.prompts import Piece, Prompt, claim_pieces, video_data
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import CallStage, Claim, LlmCall, Query, Video
from factible_assets.stages.ports import ReasonerOutageError, ReasonerRefusalError
from resources.llm import base
from resources.llm.base import CallOptions, LanguageModel, ModelCall, ModelRequest, Part

ONES_FAULT = frozenset({"truncated", "invalid"})
"""Outcomes of a call that the question itself may be the reason for, not the service."""


Material: TypeAlias = Mapping[str, Piece | Sequence[Piece]]
"""The pieces that a section of a prompt is filled in with, by the names of its places."""
NOTHING: Material = MappingProxyType({})


class PromptTooLongOutageError(ReasonerOutageError):
    """The prompt does not fit into the model's context window; a shorter one may."""


@dataclass(frozen=True, slots=True)
class StageModel(CallOptions):
    """The model of one stage, and the options of its calls.

    `language` is the code of the language in which it writes for its reader; None: the claim's.
    """

    model: LanguageModel
    language: str | None = None

    def request(
        self,
        system: str,
        parts: tuple[Part, ...],
        output_type: type[base.Answer],
        *,
        max_tokens: int | None = None,
        most: int | None = None,
    ) -> ModelRequest[base.Answer]:
        """Return a question as this stage asks it, with its own limit if none is given.

        A list of the answer may have `most` items.
        """
        options = {each.name: getattr(self, each.name) for each in fields(CallOptions)}
        options["max_tokens"] = max_tokens or self.max_tokens
        return ModelRequest(system, parts, output_type, most, **options)


@dataclass(slots=True)
class Conversation:
    """Asks the questions of one judgement, one after another or at once, and keeps the calls.

    It fills in a prompt's places for the video, the claim, the month or the year, and the language
    to write in, unless the question gives them.
    """

    stage: StageModel
    prompt: Prompt
    stage_name: CallStage
    video: Video
    claim: Claim | None = None
    query: Query | None = None
    url: str | None = None
    calls: list[LlmCall] = field(default_factory=list)

    def request(
        self,
        section: str,
        output_type: type[base.Answer],
        material: Material = NOTHING,
        *,
        max_tokens: int | None = None,
        most: int | None = None,
    ) -> ModelRequest[base.Answer]:
        """Return a section of the prompt, filled in, as a question; see `StageModel.request`."""
        places, month = self.prompt.places(section), prompts.this_month()
        usual: dict[str, Piece | Sequence[Piece]] = {
            "video": ("The video:\n", video_data(self.video)),
            "claim": claim_pieces(self.claim, self.video) if self.claim else "",
            "month": month,
            "year": month[-4:],  # for what is asked most often and kept longest: pages
            "language": prompts.in_language(self.video, self.stage.language),
        }
        filled = {name: piece for name, piece in usual.items() if name in places} | {**material}
        parts = self.prompt.fill(section, **filled)
        return self.stage.request(
            self.prompt.system, parts, output_type, max_tokens=max_tokens, most=most
        )

    async def ask(
        self,
        section: str,
        output_type: type[base.Answer],
        material: Material = NOTHING,
        *,
        max_tokens: int | None = None,
        most: int | None = None,
    ) -> base.Answer:
        """Return a valid answer to a section of the prompt; see `request`.

        Raises ReasonerRefusalError if the model declined, PromptTooLongOutageError if the question
        does not fit into its context window, ReasonerOutageError if there is no answer; each has
        all calls of the judgement so far. Reasons are kept as plain text, because a refusal is a
        model's words too.
        """
        request = self.request(section, output_type, material, max_tokens=max_tokens, most=most)
        try:
            answer = await self.stage.model.complete(request)
        except base.ModelError as failure:
            self.record(failure.calls)
            reason = plain(failure.reason)
            if isinstance(failure, base.RefusedError):
                raise ReasonerRefusalError(reason, self.calls) from failure
            too_long = isinstance(failure, base.ContextTooLongError)
            outage = PromptTooLongOutageError if too_long else ReasonerOutageError
            raise outage(reason, self.calls, lasting=failure.lasting) from failure
        self.record(answer.calls)
        return answer.value

    def record(self, calls: Sequence[ModelCall]) -> None:
        """Add calls of the model to those of this judgement."""
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
