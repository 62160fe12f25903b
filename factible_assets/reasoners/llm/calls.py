"""Asking on behalf of one judgement, or of several together, and the record of every call it takes.

What belongs here: which model and limits a stage has, what a call belongs to, turning a failed
question into an outage; gathering what waits for the same answer, and settling each item with its
own. What does not: what is asked (the judgements' own modules).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Generic, TypeVar
from uuid import uuid4

from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.prompts import Piece, Prompt, claim_pieces, video_data
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import CallStage, Claim, LlmCall, Query, Video
from factible_assets.stages.ports import Judged, ReasonerOutageError, ReasonerRefusalError
from resources.llm import base
from resources.llm.base import LanguageModel, Manner, ModelCall, ModelRequest, Part
from resources.once import Once

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Value = TypeVar("Value")


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
        output_type: type[base.Answer],
        *,
        max_tokens: int | None = None,
        most: int | None = None,
    ) -> ModelRequest[base.Answer]:
        """Return a question as this stage asks it, with its own limit if none is given.

        `most` items may stand in a list of the answer.
        """
        manner = {each.name: getattr(self, each.name) for each in fields(Manner)}
        manner["max_tokens"] = max_tokens or self.max_tokens
        return ModelRequest(system, parts, output_type, most, **manner)


@dataclass(slots=True)
class Desk:
    """Asks the questions of one judgement, one after another or at once, and keeps the calls.

    A prompt's places for the video, the claim, the month or the year, and the language to write in
    are filled in from what the judgement is about, if the question does not say otherwise.
    """

    stage: StageModel
    prompt: Prompt
    stage_name: CallStage
    video: Video
    claim: Claim | None = None
    query: Query | None = None
    url: str | None = None
    calls: list[LlmCall] = field(default_factory=list)

    async def ask(
        self,
        section: str,
        output_type: type[base.Answer],
        *,
        max_tokens: int | None = None,
        most: int | None = None,
        **values: Piece | Sequence[Piece],
    ) -> base.Answer:
        """Return a valid answer to a section of the prompt.

        Raises ReasonerRefusalError if the model declined, PromptTooLongOutageError if the question
        does not fit into its context window, ReasonerOutageError if there is no answer; each has
        all calls of the judgement so far. Reasons are kept as plain text, because a refusal is a
        model's words too.
        """
        places, month = self.prompt.places(section), prompts.this_month()
        usual: dict[str, Piece | Sequence[Piece]] = {
            "video": ("The video:\n", video_data(self.video)),
            "claim": claim_pieces(self.claim, self.video) if self.claim else "",
            "month": month,
            "year": month[-4:],  # for what is asked most often and kept longest: pages
            "language": prompts.in_language(self.video, self.stage.language),
        }
        material = {name: piece for name, piece in usual.items() if name in places} | values
        parts = self.prompt.fill(section, **material)
        request = self.stage.request(
            self.prompt.system, parts, output_type, max_tokens=max_tokens, most=most
        )
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


# --- Questions that are asked together ----------------------------------------------------------

Outcome = Judged[Value] | ReasonerOutageError | ReasonerRefusalError
"""What came of one item."""

ONES_FAULT = frozenset({"truncated", "invalid"})
"""What a call may have come to because of one item in it."""


@dataclass(eq=False, slots=True)
class _Batch(Generic[Item, Value]):
    waiting: list[Item]
    answers: Once[Sequence[tuple[Item, Outcome[Value]]]]
    """By whoever waits; asked for once for them all."""


@dataclass(frozen=True, slots=True)
class Batches(Generic[Item, Answer, Value]):
    """Items of one kind that wait, by what they belong to.

    No item is asked about more than twice: with whoever else is there, and alone, where its answer
    is missing or not borne out. The same items make the same groups, in which order ever they
    arrive, so that the same questions are asked again and a cache can answer them.

    `question` asks at a desk about some, `size` at most, in `order`, in one call; it returns
    what was answered, by their place. `settle` makes of an item's answer (None if there was none)
    what is believed, or asks once more about it `alone`, as is asked about some in any case.
    `gather` waits for further items after the first, beside those of the same moment.
    """

    open_desk: Callable[[Sequence[Item]], Desk]
    question: Callable[[Desk, Sequence[Item]], Awaitable[Mapping[int, Answer]]]
    settle: Callable[[Desk, Item, Answer | None], Awaitable[Value]]
    size: int
    order: Callable[[Item], str]
    gather: Callable[[Item], Awaitable[None]] | None = None
    alone: Callable[[Item], bool] = lambda _: False
    _open: dict[str, _Batch[Item, Value]] = field(default_factory=dict)

    async def ask(self, subject: str, item: Item) -> Judged[Value]:
        """Return the answer about an item, asked for with others of the same subject.

        Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
        """
        batch = self._open.get(subject)
        if batch is None:
            batch = self._open[subject] = _Batch([], Once())
        batch.waiting.append(item)
        try:
            answers = await batch.answers.get(None, partial(self._serve, subject))
        finally:
            batch.waiting[:] = [each for each in batch.waiting if each is not item]
            if not batch.waiting and self._open.get(subject) is batch:
                del self._open[subject]
        outcome = next(each for asked, each in answers if asked is item)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _serve(self, subject: str) -> Sequence[tuple[Item, Outcome[Value]]]:
        batch = self._open[subject]
        try:
            if self.gather is not None:
                await self.gather(batch.waiting[0])
        finally:
            # What comes from now on is another batch; one that all have left is none already.
            if self._open.get(subject) is batch:
                del self._open[subject]
        present = sorted(batch.waiting, key=self.order)
        singles = [each for each in present if self.alone(each)]
        rest = [each for each in present if not self.alone(each)]
        count = math.ceil(len(rest) / self.size)
        groups = [*(rest[at::count] for at in range(count)), *([each] for each in singles)]
        found = await asyncio.gather(*map(self._outcomes, groups))
        return [
            pair
            for group, outcomes in zip(groups, found, strict=True)
            for pair in zip(group, outcomes, strict=True)
        ]

    async def _outcomes(self, items: Sequence[Item]) -> Sequence[Outcome[Value]]:
        """Return what came of each item. The calls that they share are recorded with the first.

        A call that was declined, too long, cut off or never answered in shape may have failed for
        one of them: each is then asked about alone. If the service failed, all have that outage.
        """
        desk, single = self.open_desk(items), len(items) == 1
        answers: Mapping[int, Answer] = {}
        try:
            answers = await self.question(desk, items)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            if single:
                return [failure]
            ones = bool(desk.calls) and desk.calls[-1].outcome in ONES_FAULT
            if type(failure) is ReasonerOutageError and not ones:
                rest = (
                    ReasonerOutageError(failure.reason, lasting=failure.lasting) for _ in items[1:]
                )
                return [failure, *rest]

        async def settled(place: int, item: Item) -> Outcome[Value]:
            own = desk if single else self.open_desk([item])
            try:
                value = await self.settle(own, item, answers.get(place))
            except (ReasonerOutageError, ReasonerRefusalError) as failure:
                return failure
            return Judged(value, tuple(own.calls))

        first, *others = await asyncio.gather(*(settled(*each) for each in enumerate(items)))
        calls = tuple(desk.calls) if single else (*desk.calls, *first.calls)
        if isinstance(first, Judged):
            return [Judged(first.value, calls), *others]
        first.calls = calls
        return [first, *others]
