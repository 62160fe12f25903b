"""What pages say of one claim, as a language model reads them: several in one call.

What belongs here: asking, holding each reading against its own page, and asking again, alone, for
those that are missing or quote what their page does not say. What does not: which pages are read
together (batches.py), the words of the prompts (prompts/evidence.md, and prompts/condense.md where
something is sought beside the claim), what becomes of a stance without a quote (stages.evidence,
which counts and rejects).

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.llm.answers import EvidenceAnswer, Reading
from factible_assets.reasoners.llm.batches import Outcome, together_then_alone
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.excerpt import excerpt
from factible_assets.reasoners.llm.fences import Data, Piece, ShownText
from factible_assets.reasoners.llm.material import (
    claim_pieces,
    cut,
    in_language,
    this_year,
    title_line,
)
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Claim, Query, Video
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ports import (
    EvidenceDraft,
    Judged,
    PageExcerpt,
    ReasonerOutageError,
    ReasonerRefusalError,
)
from factible_assets.stages.verdict import DEFINITE

SUMMARY_WORDS = 60
_MOST_QUOTES = 3
_FRAME_TOKENS, _READING_TOKENS = 100, 320
"""A reading has a summary and two quotes, of 60 words each at most."""

Outcomes = list[Outcome[EvidenceDraft | None]]


@dataclass(frozen=True, slots=True)
class Source:
    """One page, the claim that it is read for and its video, and the query that found it.

    `shown` is what of the page a model is given; None if there is nothing to read. It is worked
    out while other pages are still on their way.
    """

    video: Video
    claim: Claim
    query: Query
    page: PageExcerpt
    shown: Awaitable[str | None]


@dataclass(frozen=True, slots=True)
class Reader:
    """How sources are read: `open_desk` for some of them, `limit` characters of each page."""

    open_desk: Callable[[Sequence[Source]], Desk]
    limit: int
    repair: bool
    embedder: Embedder | None = None

    def shown(self, claim: Claim, page: PageExcerpt) -> Awaitable[str | None]:
        """Begin to choose, in a thread, what of a page a model is given."""
        wanted = " ".join(filter(None, (claim.text, page.sought)))
        choose = partial(excerpt, limit=self.limit, snippet=page.snippet, embedder=self.embedder)
        return asyncio.get_running_loop().run_in_executor(None, choose, wanted, page.text)

    async def read(self, sources: Sequence[Source]) -> Outcomes:
        """Return what came of each source of one claim: None if it does not speak of it.

        All are asked about in one call. A source whose reading is missing, or takes a side with
        no quote that stands in its page, is asked about once more and alone; so is each one after
        a call that was declined, too long or never answered in shape, for the fault may be one's.
        """
        shown = await asyncio.gather(*(source.shown for source in sources))
        speaking = [at for at, words in enumerate(shown) if words is not None]
        asked = [_Shown(sources[at], shown[at] or "") for at in speaking]
        outcomes: Outcomes = [Judged(None) for _ in sources]
        read = await together_then_alone(
            asked,
            lambda some: self.open_desk([each.source for each in some]),
            _ask,
            self._read_alone,
        )
        for at, outcome in zip(speaking, read, strict=True):
            outcomes[at] = outcome
        return outcomes

    async def _read_alone(
        self, shown: _Shown, reading: Reading | None
    ) -> Outcome[EvidenceDraft | None]:
        """Take a reading if its page bears it out; else, or without one, ask about it alone."""
        desk = self.open_desk([shown.source])
        try:
            if reading is None:
                reading = (await _ask(desk, [shown])).get(1)
            if reading is None:
                raise ReasonerOutageError("The model gave no reading of the page.", desk.calls)
            draft = await self._borne_out(desk, shown, reading)
        except (ReasonerOutageError, ReasonerRefusalError) as failure:
            return failure
        return Judged(draft, tuple(desk.calls))

    async def _borne_out(self, desk: Desk, shown: _Shown, reading: Reading) -> EvidenceDraft | None:
        text = shown.source.page.text
        standing, missing = await asyncio.to_thread(_looked_up, reading, text)
        misquotes: list[str] = []
        takes_side = reading.addresses_claim and reading.stance in DEFINITE
        if self.repair and takes_side and not standing:
            misquotes = missing
            again = await _ask(desk, [shown], repaired=(reading, misquotes))
            reading = again.get(1, reading)
            standing, missing = await asyncio.to_thread(_looked_up, reading, text)
        if not reading.addresses_claim:
            return None
        # What stands nowhere is offered all the same, so that the stage rejects and counts it.
        offered = dict.fromkeys((*standing, *missing, *misquotes))
        return EvidenceDraft(
            stance=reading.stance,
            stance_confidence=reading.stance_confidence,
            relevance=reading.relevance,
            summary=clip(plain(reading.summary), SUMMARY_WORDS),
            quotes=tuple(offered),
        )


@dataclass(frozen=True, slots=True)
class _Shown:
    source: Source
    words: str


async def _ask(
    desk: Desk,
    asked: Sequence[_Shown],
    *,
    repaired: tuple[Reading, Sequence[str]] | None = None,
) -> dict[int, Reading]:
    """Return the readings by the number of their source; of two with one number the first."""
    source = asked[0].source
    material: dict[str, Piece | Sequence[Piece]] = {
        "claim": claim_pieces(source.claim, source.video),
        "sources": [
            piece for number, each in enumerate(asked, 1) for piece in _pieces(number, each)
        ],
        "year": this_year(),
        "language": in_language(source.video, desk.stage.language),
    }
    if source.page.sought:
        material["sought"] = ("Looked for:\n", Data("looked for", source.page.sought))
    if repaired is None:
        parts = desk.prompt.fill("User", **material)
    else:
        reading, misquotes = repaired
        words = "\n".join(cut(plain(quote)) for quote in misquotes) or "(none)"
        misquoted = Data("what you quoted", words)
        parts = desk.prompt.fill("Repair", **material, stance=reading.stance, misquotes=misquoted)
    room = max(desk.stage.max_tokens, _FRAME_TOKENS + _READING_TOKENS * len(asked))
    answer = await desk.ask(parts, EvidenceAnswer, max_tokens=room)
    readings: dict[int, Reading] = {}
    for given in answer.readings:
        if 1 <= given.source <= len(asked):
            readings.setdefault(given.source, given)
    return readings


def _pieces(number: int, shown: _Shown) -> tuple[Piece, ...]:
    page = shown.source.page
    day = "of unknown date" if page.published_on is None else f"of {page.published_on.isoformat()}"
    title = title_line(page.title) or "(none)"
    gap = "\n" if number > 1 else ""
    return (
        f"{gap}Source {number}, {day}:\n",
        Data(f"source {number}", f"Title: {title}\n{shown.words}", trimmable=True),
    )


def _looked_up(reading: Reading, text: str) -> tuple[list[str], list[str]]:
    """Look quotes up in the whole stored text, also as the model was shown it.

    Returns:
        Raw text of the page, and the quotes that stand nowhere in it.
    """
    finder, shown = QuoteFinder(text), None
    standing, missing = [], []
    for quote in [quote for quote in reading.quotes if quote.strip()][:_MOST_QUOTES]:
        place = finder.find(quote)
        if place is None:
            shown = shown or ShownText(text)
            place = shown.find(quote)
        if place is None:
            missing.append(quote)
        else:
            standing.append(text[slice(*place)])
    return standing, missing
