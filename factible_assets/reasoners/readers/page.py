"""From one page to a draft of evidence: its relevance, its stance and the sentences to quote."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.text import content_stems, is_english
from factible_assets.reasoners.readers.base import (
    GROUNDS,
    PageReading,
    ReadingOutageError,
    StanceReader,
)
from factible_assets.reasoners.readers.page_text import PageSentence, is_statement
from factible_assets.reasoners.readers.passages import Selection, select_passages
from factible_assets.records import tables as records
from factible_assets.stages.ports import (
    EvidenceDraft,
    PageExcerpt,
    ReasonerOutageError,
    ReasonerRefusalError,
    WithCalls,
)
from resources.llm.base import ModelCall

LEAST_RELEVANCE = 0.36
"""Relevance below which a page without a stance does not concern the claim. Readers are asked
from `_LEAST_ASKED` on, because some report the bearing themselves. No verdict rests on either."""
_LEAST_ASKED = 0.2
_LEAST_BEARING = 0.5

_QUOTES = 3
_LONGEST_QUOTE = 400
"""Characters of the quote of a page without a side: its two nearest sentences, if adjacent."""
_SNIPPET_TRUST = 0.7
"""Factor on the confidence of a reading of a snippet, which lacks its context."""


class PageReader:
    """The `stages.ports.EvidenceReader` that asks a `StanceReader` for the side of a page.

    It reads English claims on English pages, because the embedder knows no other language.
    """

    def __init__(self, embedder: Embedder, reader: StanceReader, basis: records.Basis) -> None:
        self._embedder = embedder
        self.reader = reader
        self.basis = basis
        # One per processor, so that the event loop stays free.
        self._threads = ThreadPoolExecutor(os.cpu_count())

    async def read_evidence(
        self, video: records.Video, claim: records.Claim, query: records.Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        """Read a page against a claim; the draft is None if the page does not concern it.

        Quotes are exact substrings of the page, never of the search snippet. Without a side, it
        raises ReasonerRefusalError if the claim or the page is in another language than English.
        """
        answer = await self._read(claim, query, page)
        foreign = None
        if answer.value is None or answer.value.stance == "unclear":
            foreign = _foreign_part(claim.text, video.language or "", page.text)
        if foreign is not None:
            raise ReasonerRefusalError(
                f"the {foreign} is not in English, and this reader reads English claims on English "
                "pages only",
                answer.calls,
            )
        return answer

    async def _read(
        self, claim: records.Claim, query: records.Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        text, loop = claim.text, asyncio.get_running_loop()
        select = partial(select_passages, title=page.title, snippet=page.snippet)
        selection = await loop.run_in_executor(
            self._threads, select, text, page.text, self._embedder
        )
        if selection.relevance < _LEAST_ASKED:
            return WithCalls(None)

        rows = partial(_call_rows, claim, query, page)
        try:
            reading = await self.reader.read(text, selection, title=page.title)
        except ReadingOutageError as outage:
            raise ReasonerOutageError(
                outage.reason,
                rows(outage.model_calls, outage.prompt_version),
                lasting=outage.lasting,
            ) from outage
        bearing = reading.bearing
        is_off_topic = (
            selection.relevance < LEAST_RELEVANCE if bearing is None else bearing < _LEAST_BEARING
        )
        if reading.stance == "unclear" and is_off_topic:
            return WithCalls(None, rows(reading.calls, reading.prompt_version))
        quotes, nearness = await loop.run_in_executor(
            self._threads, self._quotes, text, page.text, reading, selection
        )
        summary, trust = "", 1.0 if reading.in_page else _SNIPPET_TRUST
        if reading.ground is not None:
            summary = GROUNDS.get((reading.ground, reading.stance), "")
            summary += "" if reading.in_page else " Only the search snippet says so."
        draft = EvidenceDraft(
            stance=reading.stance,
            stance_confidence=round(reading.confidence * trust, 4),
            relevance=round(min(nearness, selection.relevance if bearing is None else bearing), 4),
            summary=summary.strip(),
            quotes=quotes,
            ground=reading.ground,
        )
        return WithCalls(draft, rows(reading.calls, reading.prompt_version))

    def _quotes(
        self, claim: str, text: str, reading: PageReading, selection: Selection
    ) -> tuple[tuple[str, ...], float]:
        """Quote the deciding sentences, else the sentences nearest to the claim.

        Returns the quotes and the cosine of the nearest sentence with the claim (1 for deciding
        quotes). The nearest sentence extends to the next nearest one if both are close together and
        only statements separate them. Headings and questions are a last resort.
        """
        if reading.quotes:
            deciding = dict.fromkeys(text[start:end] for start, end in reading.quotes)
            return tuple(deciding)[:_QUOTES], 1.0
        sentences = [sentence for passage in selection.passages for sentence in passage.sentences]
        if not sentences:
            return (), 1.0
        wanted = {*content_stems(claim)}
        statements = [sentence for sentence in sentences if is_statement(sentence.text)]
        candidates = [
            statement for statement in statements if wanted & {*content_stems(statement.text)}
        ] or sentences
        vectors = self._embedder.embed([claim, *(sentence.text for sentence in candidates)])
        cosines = (vectors[1:] @ vectors[0]).tolist()
        order = sorted(range(len(cosines)), key=lambda at: -cosines[at])
        first, *others = (candidates[at] for at in order)
        spans = ((min(first.start, other.start), max(first.end, other.end)) for other in others)
        joined = (
            text[start:end]
            for start, end in spans
            if end - start <= _LONGEST_QUOTE and _holds_only(text, start, end, statements)
        )
        return (next(joined, text[first.start : first.end]),), max(0.0, *cosines)


def _call_rows(
    claim: records.Claim,
    query: records.Query,
    page: PageExcerpt,
    calls: Sequence[ModelCall],
    version: str,
) -> tuple[records.LlmCall, ...]:
    """Return the rows of the model calls for a page, with the version of their prompt."""
    return tuple(
        records.LlmCall(
            call_id=uuid4().hex,
            prompt_version=version,
            video_id=claim.video_id,
            stage="evidence",
            claim_id=claim.claim_id,
            query_id=query.query_id,
            canonical_url=page.canonical_url,
            **call.model_dump() | {"attempt": attempt},
        )
        for attempt, call in enumerate(calls, start=1)
    )


def _holds_only(text: str, start: int, end: int, sentences: Sequence[PageSentence]) -> bool:
    """Whether a part of a page consists of these sentences and white space only."""
    for sentence in sorted(sentences, key=lambda sentence: sentence.start):
        if sentence.start >= start and not text[start : sentence.start].strip():
            start = max(start, sentence.end)
    return start >= end


def _foreign_part(claim: str, spoken: str, page: str) -> str | None:
    """Return "claim" or "page" if that one is not in English; `spoken` is the video's language."""
    if is_english(claim, spoken) is False:
        return "claim"
    return "page" if is_english(page) is False else None
