"""Several pages of a claim in one call, where a run asks for that.

What belongs here: which pages go together, telling readings apart and noticing that a model mixed
them up. What does not: what is believed of a single reading (evidence.py).

One call for six pages pays the rules once, and a model that reads pages so may mix them up. Two
signs of that can be checked: a sentence of another source of the same call, and the same summary
twice. Then every page of the call is read again, alone. Each reading is kept by itself, under its
claim, its page and the prompt, so that other company does not pay for it again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from factible_assets.reasoners.llm.answers import Reading, ReadingsAnswer, SourceReading
from factible_assets.reasoners.llm.calls import ONES_FAULT, Conversation
from factible_assets.reasoners.llm.evidence import ReadingTask, ShownPage, read_alone, settle
from factible_assets.reasoners.llm.prompts import Piece
from factible_assets.records import LlmCall
from factible_assets.stages.evidence import MIXED_UP
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import (
    EvidenceDraft,
    QuoteReader,
    ReasonerError,
    ReasonerOutageError,
    ReasonerRefusalError,
    WithCalls,
)
from resources.llm.base import ModelRequest, RememberingModel
from resources.once import Once

_FRAME_TOKENS, _READING_TOKENS = 100, 220

Outcome = WithCalls[EvidenceDraft | None] | ReasonerError


@dataclass(eq=False, slots=True)
class _Group:
    waiting: list[ReadingTask] = field(default_factory=list)
    outcomes: Once[dict[int, Outcome]] = field(default_factory=Once)
    """By the identity of each source; asked for once for all who wait."""


@dataclass(frozen=True, slots=True)
class JointReader:
    """Reads the pages of a claim in calls of at most `size` pages.

    Pages wait at most `patience` seconds for others of their claim. The same pages make the same
    calls, in whichever order they arrive. `converse` opens a conversation about some sources.
    """

    converse: Callable[[Sequence[ReadingTask]], Conversation]
    side_of: QuoteReader
    size: int
    patience: float
    _open: dict[str, _Group] = field(default_factory=dict)

    async def read(self, source: ReadingTask) -> WithCalls[EvidenceDraft | None]:
        """Read a page with others of its claim.

        Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
        """
        subject = source.claim.claim_id
        group = self._open.setdefault(subject, _Group())
        group.waiting.append(source)
        try:
            outcomes = await group.outcomes.get(None, partial(self._serve, subject, group))
        finally:
            group.waiting[:] = [each for each in group.waiting if each is not source]
            if not group.waiting:
                self._close(subject, group)
        outcome = outcomes[id(source)]
        if isinstance(outcome, ReasonerError):
            raise outcome
        return outcome

    def _close(self, subject: str, group: _Group) -> None:
        if self._open.get(subject) is group:
            del self._open[subject]

    async def _serve(self, subject: str, group: _Group) -> dict[int, Outcome]:
        try:
            arrivals = group.waiting[0].page.arrivals
            if arrivals is not None:
                await arrivals.all_in(self.patience)
        finally:
            self._close(subject, group)  # later pages are another group
        present = sorted(group.waiting, key=lambda each: each.page.canonical_url)
        count = math.ceil(len(present) / self.size)
        groups = (present[at::count] for at in range(count))
        parts = await asyncio.gather(*map(self._read_group, groups))
        return {key: each for part in parts for key, each in part.items()}

    async def _read_alone(self, source: ReadingTask) -> Outcome:
        talk = self.converse([source])
        try:
            draft = await read_alone(talk, source, self.side_of)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            return failure
        return WithCalls(draft, tuple(talk.calls))

    async def _read_group(self, sources: Sequence[ReadingTask]) -> dict[int, Outcome]:
        """Read some pages in one call, and those alone that it told nothing of.

        The calls that pages share are recorded with the first of them.
        """
        talk = self.converse(sources)
        seen = [(source, await source.shown) for source in sources]
        outcomes: dict[int, Outcome] = {
            id(source): WithCalls(None) for source, shown in seen if shown is None
        }
        pages = [(source, shown) for source, shown in seen if shown is not None]
        kept = [(id(source), await self._kept(talk, shown)) for source, shown in pages]
        readings = {key: reading for key, reading in kept if reading is not None}
        asked = [each for each in pages if id(each[0]) not in readings]
        try:
            readings |= await self._asked_together(talk, asked)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            ones = bool(talk.calls) and talk.calls[-1].outcome in ONES_FAULT
            if type(failure) is ReasonerOutageError and not ones:
                # The service failed: nobody else has to find that out again.
                again = partial(ReasonerOutageError, failure.reason, lasting=failure.lasting)
                outcomes |= {id(source): again() for source, _ in asked}
        left = [each for each in pages if id(each[0]) not in outcomes]
        found = await asyncio.gather(
            *(self._settled(*each, readings.get(id(each[0]))) for each in left)
        )
        outcomes |= {id(source): each for (source, _), each in zip(left, found, strict=True)}
        if pages:
            _add_calls(outcomes, id(pages[0][0]), talk.calls)
        return outcomes

    async def _settled(
        self, source: ReadingTask, shown: ShownPage, reading: Reading | None
    ) -> Outcome:
        if reading is None:
            return await self._read_alone(source)
        talk = self.converse([source])
        try:
            draft = await settle(talk, source, shown, reading, self.side_of)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            return failure
        return WithCalls(draft, tuple(talk.calls))

    async def _asked_together(
        self, talk: Conversation, asked: Sequence[tuple[ReadingTask, ShownPage]]
    ) -> dict[int, Reading]:
        """Ask about several pages; return the readings, none if the pages were mixed up.

        A single page is left to be read alone.
        """
        if len(asked) < 2:  # noqa: PLR2004
            return {}
        firsts, last = list[int](), 0
        pieces: list[Piece] = []
        for number, (_, shown) in enumerate(asked, start=1):
            firsts.append(last)
            pieces += shown.pieces(number, last)
            last += max(shown.sentences)
        room = max(talk.stage.max_tokens, _FRAME_TOKENS + _READING_TOKENS * len(asked))
        answer = await talk.ask(
            "Together", ReadingsAnswer, {"sources": pieces}, max_tokens=room, most=len(asked)
        )
        given: dict[int, SourceReading] = {}
        for each in answer.readings:
            if 1 <= each.source <= len(asked):
                given.setdefault(each.source - 1, each)
        own = {
            at: [each - firsts[at] for each in reading.sentences] for at, reading in given.items()
        }
        strayed = any(
            not 1 <= each <= max(asked[at][1].sentences) and 1 <= each + firsts[at] <= last
            for at, numbers in own.items()
            for each in numbers
        )
        if strayed or _repeats([each.summary for each in given.values()]):
            talk.calls[-1] = talk.calls[-1].model_copy(update={"reason": MIXED_UP})
            return {}
        readings: dict[int, Reading] = {}
        for at, reading in given.items():
            source, shown = asked[at]
            believed = reading.model_copy(update={"source": 1, "sentences": own[at]})
            readings[id(source)] = believed
            await self._keep(talk, shown, believed)
        return readings

    # --- Readings that were made before, in whatever company ------------------------------------

    def _key(self, talk: Conversation, shown: ShownPage) -> ModelRequest[ReadingsAnswer]:
        return talk.request("Together", ReadingsAnswer, {"sources": shown.pieces()})

    async def _kept(self, talk: Conversation, shown: ShownPage) -> Reading | None:
        model = talk.stage.model
        if not isinstance(model, RememberingModel):
            return None
        found = await model.recall(self._key(talk, shown))
        return found.readings[0] if found is not None and found.readings else None

    async def _keep(self, talk: Conversation, shown: ShownPage, reading: SourceReading) -> None:
        model = talk.stage.model
        if isinstance(model, RememberingModel):
            await model.remember(self._key(talk, shown), ReadingsAnswer(readings=[reading]))


def _add_calls(outcomes: dict[int, Outcome], key: int, calls: Sequence[LlmCall]) -> None:
    outcome = outcomes[key]
    if isinstance(outcome, WithCalls):
        outcomes[key] = WithCalls(outcome.value, (*calls, *outcome.calls))
    else:
        outcome.calls = (*calls, *outcome.calls)


def _repeats(summaries: Sequence[str]) -> bool:
    """Tell whether two summaries are the same, as a model copies them from page to page."""
    folded = [each for each in map(normalise_text, summaries) if each]
    return len(folded) > len(set(folded))
