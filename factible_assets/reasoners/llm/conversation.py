"""A conversation with a language model about one judgement, and the record of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeAlias, TypedDict, Unpack
from uuid import uuid4

from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.plain_text import plain
from factible_assets.reasoners.llm.prompts import Piece, Prompt, claim_pieces, video_data
from factible_assets.records.tables import CallStage, Claim, LlmCall, Query, Video
from factible_assets.stages.ports import ReasonerOutageError, ReasonerRefusalError
from resources.llm import base
from resources.llm.base import CallOptions, LanguageModel, ModelCall, ModelRequest, Part

UNUSABLE_ANSWER = frozenset({"truncated", "invalid"})
"""Outcomes of a call that the question may have caused, not the service."""

Material: TypeAlias = Mapping[str, Piece | Sequence[Piece]]
"""The pieces that fill the places of a prompt section, by the name of the place."""
NOTHING: Material = MappingProxyType({})


class PromptTooLongOutageError(ReasonerOutageError):
    """The prompt does not fit into the model's context window; a shorter one may."""


class Limits(TypedDict, total=False):
    """Limits on the answer to one question, and the listener to it; see `ModelRequest`.

    `max_tokens` may raise the limit of the stage, but not lower it.
    """

    max_tokens: int
    most: int
    listen: Callable[[Any], None] | None


@dataclass(frozen=True, slots=True)
class StageModel(CallOptions):
    """The model of one stage and the options of its calls.

    `language` is the code of the language in which the model writes for its reader; None means the
    language of the claim.
    """

    model: LanguageModel
    language: str | None = None

    def request(
        self,
        system: str,
        parts: tuple[Part, ...],
        output_type: type[base.Answer],
        **limits: Unpack[Limits],
    ) -> ModelRequest[base.Answer]:
        limits["max_tokens"] = max(self.max_tokens, limits.get("max_tokens", 0))
        options = {option.name: getattr(self, option.name) for option in fields(CallOptions)}
        return ModelRequest(system, parts, output_type, **{**options, **limits})


@dataclass(slots=True)
class Conversation:
    """Asks the questions of one judgement, in turn or at once, and keeps the calls.

    It fills the places `video`, `claim`, `month`, `year` and `language` of a prompt by itself;
    `material` fills the others and may override these.
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
        **limits: Unpack[Limits],
    ) -> ModelRequest[base.Answer]:
        """Build the request for a section of the prompt."""
        places, month = self.prompt.places(section), prompts.this_month()
        defaults: dict[str, Piece | Sequence[Piece]] = {
            "video": ("The video:\n", video_data(self.video, self.claim)),
            "claim": claim_pieces(self.claim, self.video) if self.claim else "",
            "month": month,
            "year": month[-4:],  # cached longer than the month: for pages, the most frequent prompt
            "language": prompts.in_language(self.video, self.stage.language),
        }
        filling = {name: defaults[name] for name in defaults if name in places} | {**material}
        parts = self.prompt.fill(section, **filling)
        return self.stage.request(self.prompt.system, parts, output_type, **limits)

    async def ask(
        self,
        section: str,
        output_type: type[base.Answer],
        material: Material = NOTHING,
        **limits: Unpack[Limits],
    ) -> base.Answer:
        """Ask a section of the prompt and return the valid answer.

        Raises ReasonerRefusalError if the model declined, PromptTooLongOutageError if the prompt
        exceeds the context window, ReasonerOutageError for any other failure. Each error carries
        all calls of the judgement so far. Its reason is plain text, because a model may have
        written it.
        """
        request = self.request(section, output_type, material, **limits)
        try:
            answer = await self.stage.model.complete(request)
        except base.ModelError as failure:
            self._record(failure.calls)
            reason = plain(failure.reason)
            if isinstance(failure, base.RefusedError):
                raise ReasonerRefusalError(reason, self.calls) from failure
            too_long = isinstance(failure, base.ContextTooLongError)
            outage = PromptTooLongOutageError if too_long else ReasonerOutageError
            raise outage(reason, self.calls, lasting=failure.lasting) from failure
        self._record(answer.calls)
        return answer.value

    async def recall(
        self, section: str, output_type: type[base.Answer], material: Material
    ) -> base.Answer | None:
        """Return the stored answer to a question, None without one."""
        model = self.stage.model
        if not isinstance(model, base.RememberingModel):
            return None
        return await model.recall(self.request(section, output_type, material))

    async def remember(
        self, section: str, answer: base.Answer, material: Material, **limits: Unpack[Limits]
    ) -> None:
        """Store an answer that came with the answer to another question."""
        model = self.stage.model
        if isinstance(model, base.RememberingModel):
            request = self.request(section, type(answer), material, **limits)
            await model.remember(request, answer)

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
