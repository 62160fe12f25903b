"""Stretches of stored text with the places that matter marked in them.

What belongs here: cutting raw text at raw offsets, for a quote in its page and for claims in their
transcript. What does not: markup; the template decides how a marked stretch looks.

Offsets count code points of the text as stored; nothing here normalises, strips or rewraps, so the
pieces of a passage always join to the very text that they were cut from.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from factible_assets.records import Claim, Evidence, TranscriptSegment

_CONTEXT_CHARACTERS = 220
_WORD_SEARCH_CHARACTERS = 40
_BLOCK_SECONDS = 30.0
_BLOCK_CHARACTERS = 600
WHOLE_CHARACTERS = 12_000
"""Up to this length a page's stored text is shown whole."""
_AROUND_QUOTE_CHARACTERS = 2_500

Span = tuple[int, int, str]
"""Where something stands in a text, and its id."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A quote in its surroundings.

    `located` is whether the stored text holds the quote at its offsets, character by character;
    where it does not, `before` and `after` are empty and the report says so.
    """

    before: str
    quote: str
    after: str
    starts_mid_text: bool
    ends_mid_text: bool
    located: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text inside the same marks, often none: claims made there, or quotes."""

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph of the transcript; `start_seconds` is unknown in untimed transcripts."""

    start_seconds: float | None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a stored page text. `omitted` counts the characters left out before it."""

    omitted: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored page text with its quotes marked, whole if it is short.

    `shown` and `length` count characters; `omitted_at_end` are those after the last excerpt.
    """

    excerpts: tuple[Excerpt, ...]
    omitted_at_end: int
    shown: int
    length: int


def quote_passage(evidence: Evidence, page_text: str | None) -> Passage | None:
    """Cut the quote out of its page with up to 220 characters around it, at word ends."""
    if evidence.quote is None or evidence.quote_start is None or evidence.quote_end is None:
        return None
    start, end = evidence.quote_start, evidence.quote_end
    if page_text is None or page_text[start:end] != evidence.quote:
        return Passage("", evidence.quote, "", False, False, located=False)
    first = _word_start(page_text, max(0, start - _CONTEXT_CHARACTERS), start)
    last = _word_end(page_text, min(len(page_text), end + _CONTEXT_CHARACTERS), end)
    return Passage(
        before=page_text[first:start],
        quote=evidence.quote,
        after=page_text[end:last],
        starts_mid_text=first > 0,
        ends_mid_text=last < len(page_text),
        located=True,
    )


def stored_text(text: str, quotes: Sequence[Span]) -> StoredText:
    """Lay out a page's stored text with its quotes marked; of a long one what is around them.

    A long text without a quote shows its beginning.
    """
    ranges: list[tuple[int, int]] = []
    if len(text) <= WHOLE_CHARACTERS:
        ranges = [(0, len(text))]
    elif not quotes:
        ranges = [(0, _word_end(text, WHOLE_CHARACTERS, 0))]
    else:
        for start, end, _ in sorted(quotes):
            first = _word_start(text, max(0, start - _AROUND_QUOTE_CHARACTERS), start)
            last = _word_end(text, min(len(text), end + _AROUND_QUOTE_CHARACTERS), end)
            if ranges and first <= ranges[-1][1]:
                # Stretches that touch are one.
                first, last = ranges[-1][0], max(last, ranges.pop()[1])
            ranges.append((first, last))
    excerpts = []
    position = 0
    for first, last in ranges:
        excerpts.append(Excerpt(first - position, _runs(text, first, last, quotes)))
        position = last
    shown = sum(last - first for first, last in ranges)
    return StoredText(tuple(excerpts), len(text) - position, shown, len(text))


def _word_start(text: str, position: int, limit: int) -> int:
    """Return the first word start at or after `position`; `position` if none is near."""
    if position == 0 or text[position - 1].isspace():
        return position
    stop = min(limit, position + _WORD_SEARCH_CHARACTERS)
    return next((at + 1 for at in range(position, stop) if text[at].isspace()), position)


def _word_end(text: str, position: int, limit: int) -> int:
    """Return the last word end at or before `position`; `position` if none is near."""
    if position == len(text) or text[position].isspace():
        return position
    stop = max(limit, position - _WORD_SEARCH_CHARACTERS)
    return next((at for at in range(position - 1, stop - 1, -1) if text[at].isspace()), position)


def transcript_blocks(
    text: str, segments: Sequence[TranscriptSegment], claims: Iterable[Claim]
) -> tuple[Block, ...]:
    """Cut a transcript into paragraphs of about half a minute, with the claims marked in them.

    Untimed transcripts are cut at line breaks. The runs of all blocks join to `text`.
    """
    spans = [
        (claim.char_start, min(claim.char_end, len(text)), claim.claim_id)
        for claim in claims
        if claim.char_start is not None and claim.char_end is not None
    ]
    starts: list[tuple[int, float | None]] = [(0, None)]
    if segments:
        ordered = sorted(segments, key=lambda segment: segment.position)
        opened_at = ordered[0].start_seconds
        starts = [(0, opened_at)]
        for segment in ordered:
            is_due = segment.start_seconds - opened_at >= _BLOCK_SECONDS
            if is_due and starts[-1][0] < segment.char_start < len(text):
                starts.append((segment.char_start, segment.start_seconds))
                opened_at = segment.start_seconds
    else:
        position = 0
        for line in text.splitlines(keepends=True):
            position += len(line)
            if position - starts[-1][0] >= _BLOCK_CHARACTERS and position < len(text):
                starts.append((position, None))
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(
        Block(seconds, _runs(text, start, end, spans))
        for (start, seconds), end in zip(starts, ends, strict=True)
        if start < end
    )


def _runs(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[Run, ...]:
    within = [span for span in spans if span[0] < end and span[1] > start]
    cuts = {start, end}
    for first, last, _ in within:
        cuts.update(cut for cut in (first, last) if start < cut < end)
    edges = sorted(cuts)
    return tuple(
        Run(
            text[left:right],
            tuple(name for first, last, name in within if first <= left and right <= last),
        )
        for left, right in itertools.pairwise(edges)
    )
