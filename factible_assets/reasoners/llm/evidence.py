"""What pages say of one claim, as a language model reads them: several in one call.

What belongs here: asking, holding each reading against its own page, and asking again, alone, for
one that is missing or quotes what its page does not say. What does not: which pages are read
together (batches.py), the words of the prompts (prompts/evidence.md, and prompts/condense.md where
something is sought beside the claim), what becomes of a stance without a quote (stages.evidence,
which counts and rejects).

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import partial

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.llm.answers import EvidenceAnswer, Reading
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.excerpt import excerpt
from factible_assets.reasoners.llm.prompts import Data, Piece, ShownText, cut, title_line
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Claim, Query, Video
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt, ReasonerOutageError
from factible_assets.stages.verdict import DEFINITE

SUMMARY_WORDS = 60
_MOST_QUOTES = 3
_FRAME_TOKENS, _READING_TOKENS = 100, 320
"""A reading has a summary and two quotes, of 60 words each at most."""


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


def begin_excerpt(
    claim: Claim, page: PageExcerpt, limit: int, embedder: Embedder | None
) -> Awaitable[str | None]:
    """Begin to choose, in a thread, what of a page a model is given: `limit` characters of it."""
    wanted = " ".join(filter(None, (claim.text, page.sought)))
    choose = partial(excerpt, limit=limit, snippet=page.snippet, embedder=embedder)
    return asyncio.get_running_loop().run_in_executor(None, choose, wanted, page.text)


async def ask_readings(
    desk: Desk, sources: Sequence[Source], repaired: tuple[Reading, Sequence[str]] | None = None
) -> dict[int, Reading]:
    """Ask about the sources of one claim in one call.

    Returns:
        The readings by the place of their source; of two with one number the first.
    """
    shown = [(place, await source.shown) for place, source in enumerate(sources)]
    readable = [(place, words) for place, words in shown if words is not None]
    if not readable:
        return {}
    pieces: list[Piece] = []
    for number, (place, words) in enumerate(readable, start=1):
        page = sources[place].page
        day = f"of {page.published_on.isoformat()}" if page.published_on else "of unknown date"
        title, gap = title_line(page.title) or "(none)", "\n" if number > 1 else ""
        pieces += [
            f"{gap}Source {number}, {day}:\n",
            Data(f"source {number}", f"Title: {title}\n{words}", trimmable=True),
        ]
    section, material = "User", dict[str, Piece | Sequence[Piece]](sources=pieces)
    if sought := sources[0].page.sought:
        material["sought"] = ("Looked for:\n", Data("looked for", sought))
    if repaired is not None:
        reading, misquotes = repaired
        quoted = "\n".join(cut(plain(quote)) for quote in misquotes) or "(none)"
        section, material["stance"] = "Repair", reading.stance
        material["misquotes"] = Data("what you quoted", quoted)
    room = max(desk.stage.max_tokens, _FRAME_TOKENS + _READING_TOKENS * len(readable))
    answer = await desk.ask(section, EvidenceAnswer, max_tokens=room, **material)
    readings: dict[int, Reading] = {}
    for given in answer.readings:
        if 1 <= given.source <= len(readable):
            readings.setdefault(readable[given.source - 1][0], given)
    return readings


async def settle_reading(
    desk: Desk, source: Source, reading: Reading | None, *, repair: bool
) -> EvidenceDraft | None:
    """Hold a reading against its page; None if the page does not speak of the claim.

    A reading that is missing, or takes a side with no quote that stands in its page, is asked for
    once more and alone.

    Raises:
        ReasonerOutageError: There is none.
    """
    if await source.shown is None:
        return None
    text, misquotes, again = source.page.text, list[str](), reading is None
    if reading is None and not desk.calls:  # it was not asked about alone
        reading = (await ask_readings(desk, [source])).get(0)
    if reading is None:
        raise ReasonerOutageError("The model gave no reading of the page.", desk.calls)
    standing, missing = await asyncio.to_thread(_looked_up, reading, text)
    takes_side = reading.addresses_claim and reading.stance in DEFINITE
    if repair and takes_side and not standing and not again:
        misquotes = missing
        readings = await ask_readings(desk, [source], (reading, misquotes))
        reading = readings.get(0, reading)
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
