"""Cuts texts into runs, with marked passages: claims in transcripts, quotes in pages.

Offsets count code points of the stored text. Nothing here normalises, strips or rewraps it, so the
pieces always join to the text that they come from.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from factible_assets.records import tables as records

_LONGEST_WORD = 40
_SPACE = re.compile(r"\s")
_PARAGRAPH_SECONDS = 30.0
_PARAGRAPH_CHARACTERS = 600
WHOLE_CHARACTERS = 12_000
"""The longest stored text that is shown whole."""
_CONTEXT_CHARACTERS = 2_500

Span = tuple[int, int, str]
"""Start, end and id of a passage."""


@dataclass(frozen=True, slots=True)
class TextRun:
    """A stretch of text that the same marks cover (ids of claims or quotes), often none.

    A gap has no text; `omitted` counts its characters.
    """

    text: str
    ids: tuple[str, ...] = ()
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of the transcript. Transcripts without times have no `start_seconds`."""

    start_seconds: float | None
    runs: tuple[TextRun, ...]


def quote_place(row: records.Evidence, text: str) -> tuple[int, int] | None:
    """Return start and end of the quote if the stored text has it there, letter by letter."""
    if row.quote is None or row.quote_start is None or row.quote_end is None:
        return None
    is_there = text[row.quote_start : row.quote_end] == row.quote
    return (row.quote_start, row.quote_end) if is_there else None


def excerpt(
    text: str,
    passages: Sequence[Span],
    around: int = _CONTEXT_CHARACTERS,
    whole: int = WHOLE_CHARACTERS,
) -> tuple[TextRun, ...]:
    """Mark passages in a text, and cut a text longer than `whole` characters.

    Of a longer text it keeps about `around` characters on each side of a passage, to the ends of
    words, or the beginning of a text without passages.
    """
    ranges: list[tuple[int, int]] = []
    if len(text) <= whole:
        ranges = [(0, len(text))]
    elif not passages:
        ranges = [(0, _word_end(text, whole, 0))]
    else:
        for start, end, _ in sorted(passages):
            first = _word_start(text, max(0, start - around), start)
            last = _word_end(text, min(len(text), end + around), end)
            if ranges and first <= ranges[-1][1]:
                first, earlier_last = ranges.pop()
                last = max(last, earlier_last)
            ranges.append((first, last))
    runs, position = list[TextRun](), 0
    for first, last in (*ranges, (len(text), len(text))):
        runs += [TextRun("", omitted=first - position)] if first > position else []
        runs += _runs(text, first, last, passages)
        position = last
    return tuple(runs)


def _word_start(text: str, position: int, limit: int) -> int:
    """Return the first word start from `position` on, or `position` if none is near."""
    gap = _SPACE.search(text, max(0, position - 1), min(limit, position + _LONGEST_WORD))
    return gap.end() if gap and position else position


def _word_end(text: str, position: int, limit: int) -> int:
    """Return the last word end up to `position`, or `position` if none is near."""
    start = max(limit, position - _LONGEST_WORD)
    gaps = [gap.start() for gap in _SPACE.finditer(text, start, position + 1)]
    return gaps[-1] if gaps and position < len(text) else position


def transcript_paragraphs(
    text: str, segments: Sequence[records.TranscriptSegment], claims: Iterable[records.Claim]
) -> tuple[Paragraph, ...]:
    """Cut a transcript into paragraphs of about half a minute, with the claims marked.

    Line breaks cut a transcript without times. The runs of all paragraphs join to `text`.
    """
    spans = [
        (claim.char_start, min(claim.char_end, len(text)), claim.claim_id)
        for claim in claims
        if claim.char_start is not None and claim.char_end is not None
    ]
    starts: list[tuple[int, float | None]] = [(0, None)]
    ordered = sorted(segments, key=lambda segment: segment.position)
    if ordered and ordered[0].start_seconds is not None:
        opened_at = ordered[0].start_seconds
        starts = [(0, opened_at)]
        for segment in ordered:
            is_due = (segment.start_seconds or 0.0) - opened_at >= _PARAGRAPH_SECONDS
            if is_due and starts[-1][0] < segment.char_start < len(text):
                starts.append((segment.char_start, segment.start_seconds))
                opened_at = segment.start_seconds or 0.0
    else:
        position = 0
        for line in text.splitlines(keepends=True):
            position += len(line)
            if position - starts[-1][0] >= _PARAGRAPH_CHARACTERS and position < len(text):
                starts.append((position, None))
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(
        Paragraph(seconds, _runs(text, start, end, spans))
        for (start, seconds), end in zip(starts, ends, strict=True)
        if start < end
    )


def _runs(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[TextRun, ...]:
    """Cut a stretch of text wherever a span begins or ends."""
    within = [span for span in spans if span[0] < end and span[1] > start]
    inner = {cut for first, last, _ in within for cut in (first, last) if start < cut < end}
    edges = sorted({start, end} | inner)
    return tuple(
        TextRun(
            text[left:right],
            tuple(name for first, last, name in within if first <= left and right <= last),
        )
        for left, right in itertools.pairwise(edges)
    )
