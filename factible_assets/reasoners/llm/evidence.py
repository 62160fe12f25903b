"""Reads the stances of pages with a language model: each page alone, or several per call.

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).

The model sees numbered sentences and quotes by number, so each stored quote is exact, the title
cannot be quoted, and answers are short. The quotes of a reading must concern the claim and must not
contradict the stance. If they fail, the model is asked once more.

By default each page has a call of its own. One call for six pages sends the rules once, but a small
model then copies summaries and quotes from page to page. Two signs reveal that: a sentence number
of another source, and the same summary twice. Then every page of the call is read again alone.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from factible_assets.reasoners.llm.answers import Reading, ReadingsAnswer, SourceReading
from factible_assets.reasoners.llm.conversation import UNUSABLE_ANSWER, Conversation
from factible_assets.reasoners.llm.plain_text import clip, plain
from factible_assets.reasoners.llm.prompts import Data, Piece, title_line
from factible_assets.reasoners.llm.shown_page import ShownPage, related_quotes
from factible_assets.reasoners.readers.plain import side_of_text
from factible_assets.records.stances import DEFINITE, SIDES
from factible_assets.records.tables import Claim, LlmCall, Query, Video
from factible_assets.stages.evidence import MIXED_UP
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import (
    EvidenceDraft,
    PageExcerpt,
    ReasonerError,
    ReasonerOutageError,
    WithCalls,
)
from resources.single_flight import SingleFlight

SUMMARY_WORDS = 60
_FRAME_TOKENS, _READING_TOKENS = 100, 220
_NO_QUOTE = "none of its sentences that you named bears that"
_CONTRARY = "the sentence that you named first says the contrary"


@dataclass(frozen=True, slots=True, eq=False)
class ReadingTask:
    """A page, the claim and video for which it is read, and the query that found it.

    `shown` is computed while other pages still load. It is None if no sentence concerns the claim.
    """

    video: Video
    claim: Claim
    query: Query
    page: PageExcerpt
    shown: Awaitable[ShownPage | None]


@dataclass(frozen=True, slots=True)
class _JointCall:
    """A call about several pages: their readings and the recorded calls.

    After a `failure` no page of the call is asked about again.
    """

    sources: Sequence[ReadingTask]
    readings: Mapping[ReadingTask, Reading] = field(default_factory=dict)
    calls: Sequence[LlmCall] = ()
    failure: ReasonerOutageError | None = None


@dataclass(eq=False, slots=True)
class _Group:
    """Pages of one claim that are read together, and the calls about them."""

    waiting: list[ReadingTask] = field(default_factory=list)
    calls: SingleFlight[list[_JointCall]] = field(default_factory=SingleFlight)


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads sources with a model: alone, or in calls of at most `size` pages if the page allows it.

    `converse` opens a conversation about some sources. Pages wait at most `patience` seconds for
    others of their claim. The order of arrival does not change the calls.
    """

    converse: Callable[[Sequence[ReadingTask]], Conversation]
    size: int
    patience: float
    _open: dict[str, _Group] = field(default_factory=dict)

    async def read(self, source: ReadingTask) -> WithCalls[EvidenceDraft | None]:
        """Read a page; the draft is None if the page does not concern the claim.

        Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
        """
        conversation, joint = self.converse([source]), _JointCall([source])
        if source.page.together and not source.page.sought:
            joint = await self._read_with_others(source)
        if joint.sources[0] is source:
            conversation.calls.extend(joint.calls)
        shown, draft = await source.shown, None
        if shown is not None:
            if (failure := joint.failure) is not None:
                calls = conversation.calls
                raise ReasonerOutageError(failure.reason, calls, lasting=failure.lasting)
            draft = await self._draft(conversation, source, shown, joint.readings.get(source))
        return WithCalls(draft, tuple(conversation.calls))

    # --- One page -------------------------------------------------------------------------------

    async def _draft(
        self,
        conversation: Conversation,
        source: ReadingTask,
        shown: ShownPage,
        reading: Reading | None,
    ) -> EvidenceDraft | None:
        material: dict[str, Piece | Sequence[Piece]] = {"source": shown.pieces()}
        if source.page.sought:
            material["sought"] = ("Looked for:\n", Data("looked for", source.page.sought))
        if reading is None:
            reading = await conversation.ask("User", Reading, material)
            if source.page.together:
                # If the run is killed and repeated, other pages may share the call.
                await _remember(conversation, shown, reading)
        quotes, problem = await asyncio.to_thread(self._check, source, shown, reading)
        if problem is not None:
            material |= {"stance": reading.stance, "problem": problem}
            reading = await conversation.ask("Repair", Reading, material)
            quotes, problem = await asyncio.to_thread(self._check, source, shown, reading)
        if reading.stance == "silent":
            return None
        return EvidenceDraft(
            stance=reading.stance,
            stance_confidence=reading.confidence,
            relevance=reading.relevance,
            summary=clip(plain(reading.summary), SUMMARY_WORDS),
            quotes=tuple(quotes),
            contradicted=problem == _CONTRARY,
        )

    def _check(
        self, source: ReadingTask, shown: ShownPage, reading: Reading
    ) -> tuple[list[str], str | None]:
        """Return the quotes of a reading, the best first, and its problem if it has one."""
        proposed = shown.quotes(reading.sentences)
        if reading.stance not in DEFINITE:
            return proposed, None
        claim, page = source.claim.text, source.page
        wanted = " ".join(filter(None, (claim, page.sought)))
        existing = [quote for quote in proposed if quote in page.text]
        invented = [quote for quote in proposed if quote not in page.text]
        quotes = related_quotes(wanted, existing, page.text, source.video.language or "")
        if not quotes:
            return invented, None if existing else _NO_QUOTE
        opposite = SIDES - {reading.stance} if reading.stance in SIDES else ()
        title = title_line(page.title)
        sides = {quote: side_of_text(claim, quote, title=title) for quote in quotes}
        # A quote that by itself has the stance of the reading comes first.
        quotes.sort(key=lambda quote: sides[quote] != reading.stance)
        is_contrary = sides[quotes[0]] in opposite
        return [*quotes, *invented], _CONTRARY if is_contrary else None

    # --- Several pages --------------------------------------------------------------------------

    async def _read_with_others(self, source: ReadingTask) -> _JointCall:
        claim_id = source.claim.claim_id
        group = self._open.setdefault(claim_id, _Group())
        group.waiting.append(source)
        try:
            calls = await group.calls.get(None, partial(self._ask_group, claim_id, group))
        finally:
            group.waiting.remove(source)
        return next(call for call in calls if source in call.sources)

    async def _ask_group(self, claim_id: str, group: _Group) -> list[_JointCall]:
        try:
            arrivals = group.waiting[0].page.arrivals
            if arrivals is not None:
                await arrivals.wait_for_all(self.patience)
        finally:
            if self._open.get(claim_id) is group:
                del self._open[claim_id]  # later pages form another group
        present = sorted(group.waiting, key=lambda source: source.page.canonical_url)
        count = math.ceil(len(present) / self.size)
        return await asyncio.gather(
            *(self._read_jointly(present[at::count]) for at in range(count))
        )

    async def _read_jointly(self, sources: Sequence[ReadingTask]) -> _JointCall:
        """Ask about some pages in one call, except those whose readings are stored."""
        conversation = self.converse(sources)
        asked, readings = list[tuple[ReadingTask, ShownPage]](), dict[ReadingTask, Reading]()
        for source in sources:
            if (shown := await source.shown) is None:
                continue
            known = await conversation.recall(
                "Together", ReadingsAnswer, {"sources": shown.pieces()}
            )
            if known is not None and known.readings:
                readings[source] = known.readings[0]
            else:
                asked.append((source, shown))
        failure = None
        try:
            readings |= await _ask_together(conversation, asked)
        except ReasonerError as error:
            unusable = conversation.calls and conversation.calls[-1].outcome in UNUSABLE_ANSWER
            if type(error) is ReasonerOutageError and not unusable:
                failure = error
        return _JointCall(sources, readings, conversation.calls, failure)


async def _remember(conversation: Conversation, shown: ShownPage, reading: Reading) -> None:
    """Store a reading as the answer to the question about its page alone."""
    answer = ReadingsAnswer(readings=[SourceReading(**reading.model_dump() | {"source": 1})])
    await conversation.remember("Together", answer, {"sources": shown.pieces()})


async def _ask_together(
    conversation: Conversation, asked: Sequence[tuple[ReadingTask, ShownPage]]
) -> dict[ReadingTask, Reading]:
    """Ask about several pages; return their readings.

    Returns nothing for fewer than two pages, or if the model mixed pages up.
    """
    if len(asked) <= 1:
        return {}
    # The sentences of all pages are numbered in one sequence; a page's numbers follow its offset.
    offsets, pieces, last = list[int](), list[Piece](), 0
    for number, (_, shown) in enumerate(asked, start=1):
        offsets.append(last)
        pieces += shown.pieces(number, last)
        last += max(shown.sentences)
    room = _FRAME_TOKENS + _READING_TOKENS * len(asked)
    answer = await conversation.ask(
        "Together", ReadingsAnswer, {"sources": pieces}, max_tokens=room, most=len(asked)
    )
    by_page: dict[int, SourceReading] = {}
    for reading in answer.readings:
        if 1 <= reading.source <= len(asked):
            by_page.setdefault(reading.source - 1, reading)
    summaries = [*filter(None, (normalise_text(reading.summary) for reading in by_page.values()))]
    names_another_page = any(
        1 <= number <= last and bisect_left(offsets, number) - 1 != page
        for page, reading in by_page.items()
        for number in reading.sentences
    )
    if names_another_page or len(summaries) > len(set(summaries)):
        conversation.calls[-1] = conversation.calls[-1].model_copy(update={"reason": MIXED_UP})
        return {}
    readings = dict[ReadingTask, Reading]()
    for page, reading in by_page.items():
        source, shown = asked[page]
        numbers = [number - offsets[page] for number in reading.sentences]
        readings[source] = reading.model_copy(update={"sentences": numbers})
        await _remember(conversation, shown, readings[source])
    return readings
