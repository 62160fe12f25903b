"""Splits a raw transcript into sentences with exact offsets.

Sentences end at punctuation, or where the boundary model finds their end. A sentence is a span of
the raw text; its `text` is for reading, without markers such as [Music].
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from factible_assets.reasoners.embedded.claims.boundaries import Gap, find_sentences
from factible_assets.reasoners.embedded.text import fold, is_abbreviation, word_set
from factible_assets.records.tables import TranscriptSegment

# Sounds and speakers in brackets, notes around song, arrows at a change of speaker. Brackets hold
# words of the sentence if they open with a word of grammar ("[not]", "[the vaccine]") or are one
# letter ("[t]he").
_MARKER = re.compile(
    r"""
      \[(?!(?:\w|no|not|never|none|no[ ]longer)\]
           |(?-i:(?:the|an?|this|that|these|those|it|its|s?he|they|we|his|her|their|our|is|are|was
             |were|be|has|have|had|does|do|did|will|would|can|cannot|could|should|must|may|might|and
             |or|but|if|because|not|never)(?:n['\u2019]t)?(?:[ ][a-z'\u2019 -]{1,60})?)\])
      [^\[\]\n]{1,60}\]:?
    | \((?:applause|cheering|crying|gasps?|laughs?|laughter|music|sighs?|silence)[^()\n]{0,30}\)
    | [♪♫]+
    | >>+
    | (?:\A|(?<=\n)|(?<=>>)|(?<=>>\s)|(?<=[.!?)\]]\s)|(?<=[.!?]["'\u201d\u2019]\s))
      (?:host|interviewer|moderator|narrator|presenter|reporter|speaker(?:[ ]\d)?
        |(?-i:[A-Z][A-Z.]*(?:[ ][A-Z][A-Z.]*){0,3})
        |(?-i:(?:Dr|Mr|Mrs|Ms|Prof)\.(?:[ ][A-Z][a-z.]*){1,3})):(?=\s)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SPEAKER = re.compile(r"(?:>>+|.*:)\Z", re.DOTALL)
_DIRECTIONS = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], " ")
"""Marks of writing direction, replaced by white space."""
_TOKEN = re.compile(r"\S+")
_STOPS, _CLOSING_MARKS = ".!?\u2026", "\"'\u201d\u2019)]"
_OPENING_MARKS = "\"'\u201c\u2018([-\u2013\u2014\u2022*"
_PARAGRAPH = re.compile(r"\n[ \t]*\n")

_PUNCTUATED_RATE = 0.02  # stops per word; English prose has about 0.06
_LONGEST_PUNCTUATED = 60
_LONGEST_RAW = 14
_BY_WIDTH = 0.15  # of all lines
_GOES_ON = word_set(
    """
    the a an of to in on and i my your our their his her its that is are was for with at or but from
    by as if so because which who we they you it he she this when than
    """
)


CERTAIN = 1.0
"""The certainty of sentences with punctuation."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: `raw[start:end]`, and its text for reading.

    `certainty` is the probability that it is one whole sentence: CERTAIN with punctuation, less if
    the boundary model cut it.
    """

    text: str
    start: int
    end: int
    certainty: float = CERTAIN


@dataclass(frozen=True, slots=True)
class _Token:
    """A run of characters without white space or markers; whether a stop or an end follows."""

    start: int
    end: int
    norm: str
    has_stop: bool = False
    ends_sentence: bool = False


def split_sentences(text: str, segments: Sequence[TranscriptSegment] = ()) -> list[Sentence]:
    """Split a transcript into sentences that cover every word outside markers, in order.

    The line ends and pauses of the timed `segments` help where punctuation is missing; offsets
    outside the text are ignored.
    """
    markers = list(_MARKER.finditer(text))
    tokens = _tokens_of(text, markers)
    # A change of speaker ends a sentence, but does not make a text punctuated.
    stops = sum(token.has_stop for token in tokens)
    is_punctuated = stops >= _PUNCTUATED_RATE * len(tokens)
    limit = _LONGEST_PUNCTUATED if is_punctuated else _LONGEST_RAW
    gaps = _read_gaps(tokens, markers, segments)
    ends = [at for at, token in enumerate(tokens) if token.ends_sentence]
    runs = list(zip([0, *(end + 1 for end in ends)], ends, strict=False))
    return [
        Sentence(
            " ".join(text[token.start : token.end] for token in tokens[first : last + 1]),
            tokens[first].start,
            tokens[last].end,
            certainty,
        )
        for first, last, certainty in _cut(tokens, gaps, runs, limit)
    ]


def reading_text(raw: str) -> str:
    """Return a raw span without markers, with single spaces."""
    return " ".join(_MARKER.sub(" ", raw).split())


def changes_speaker(raw: str, start: int, end: int) -> bool:
    """Whether `raw[start:end]` marks a change of speaker."""
    return any(_SPEAKER.match(marker.group()) for marker in _MARKER.finditer(raw, start, end))


# --- Tokens and stops ---------------------------------------------------------------------------


def _tokens_of(text: str, markers: Sequence[re.Match[str]]) -> list[_Token]:
    """List the tokens outside markers.

    A sentence ends at a stop, a paragraph, a change of speaker, and with the text.
    """
    masked = _MARKER.sub(lambda marker: " " * len(marker.group()), text.translate(_DIRECTIONS))
    spans = [(*found.span(), text[slice(*found.span())]) for found in _TOKEN.finditer(masked)]
    speakers = [marker.start() for marker in markers if _SPEAKER.match(marker.group())]
    tokens = []
    before = ""
    for (start, end, word), following in zip(spans, [*spans, None][1:], strict=True):
        has_stop = _is_stop(before, word, following[2] if following else "")
        ends = (
            has_stop
            or following is None
            or _has_any(speakers, end, following[0])
            or _PARAGRAPH.search(text, end, following[0]) is not None
        )
        tokens.append(_Token(start, end, _bare(word), has_stop, ends))
        before = word
    return tokens


def _has_any(places: Sequence[int], start: int, end: int) -> bool:
    """Whether an ascending sequence has a value from `start` up to `end`."""
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def _bare(token: str) -> str:
    return fold(token).strip("\"'\u201c\u201d\u2018\u2019()[]{}.,;:!?\u2026-\u2013\u2014*")


def _is_stop(before: str, token: str, following: str) -> bool:
    """Whether a sentence ends between two tokens, by their punctuation."""
    unquoted = token.rstrip(_CLOSING_MARKS)
    stop = unquoted[len(unquoted.rstrip(_STOPS)) :]
    opening = following.lstrip(_OPENING_MARKS)
    if not stop or opening[:1].islower():
        return False
    word = unquoted.lstrip(_OPENING_MARKS)[:-1]
    return stop != "." or not opening or not is_abbreviation(word, before, opening)


# --- Runs without punctuation -------------------------------------------------------------------


def _cut(
    tokens: Sequence[_Token], gaps: Sequence[Gap], runs: Sequence[tuple[int, int]], limit: int
) -> Iterator[tuple[int, int, float]]:
    """Yield each run as one sentence, or the sentences that the model finds if it is too long.

    Runs and sentences are pairs of the first and the last token; sentences have their certainty.
    """
    long = [run for run in runs if run[1] - run[0] >= limit]
    words = [
        ([token.norm for token in tokens[first : last + 1]], gaps[first:last])
        for first, last in long
    ]
    cuts = dict(zip(long, find_sentences(words), strict=True)) if long else {}
    for run in runs:
        if run not in cuts:
            yield (*run, CERTAIN)
        for begin, end, certainty in cuts.get(run, ()):
            yield run[0] + begin, run[0] + end, certainty


def _read_gaps(
    tokens: Sequence[_Token],
    markers: Sequence[re.Match[str]],
    segments: Sequence[TranscriptSegment],
) -> list[Gap]:
    pauses = _pauses_by_line_end(tokens, segments)
    are_broken_by_sense = bool(pauses) and not _is_broken_by_width(tokens, pauses)
    starts = [marker.start() for marker in markers]
    return [
        Gap(
            line_end=(at in pauses) if are_broken_by_sense else None,
            pause=pauses.get(at, 0.0),
            marker=_has_any(starts, token.end, following.start),
        )
        for at, (token, following) in enumerate(pairwise(tokens))
    ]


def _is_broken_by_width(tokens: Sequence[_Token], line_ends: Collection[int]) -> bool:
    """Whether the captions are from a speech recogniser, whose lines end anywhere, even after "of".

    People break lines by sense, often at the end of a sentence: in eight talks at most .11 of the
    lines end with such a word, in ten recognised talks at least .19.
    """
    return sum(tokens[end].norm in _GOES_ON for end in line_ends) > _BY_WIDTH * len(line_ends)


def _pauses_by_line_end(
    tokens: Sequence[_Token], segments: Sequence[TranscriptSegment]
) -> dict[int, float]:
    """Map the last token of each caption to the pause after it, in seconds.

    Captions of a speech recogniser overlap in time, so a pause is also the time to the next caption
    minus the time of the words at the median pace of the video.
    """
    lines: list[tuple[int, int, float, float]] = []
    index = 0
    for segment in sorted(segments, key=lambda segment: segment.char_start):
        if segment.start_seconds is None:
            continue
        first = index
        while index < len(tokens) and tokens[index].start < segment.char_end:
            index += 1
        if index > first:
            length = tokens[index - 1].end - tokens[first].start
            lines.append((index - 1, length, segment.start_seconds, segment.duration_seconds))
    paces = [
        (later - start) / length
        for (_, length, start, _), (_, _, later, _) in pairwise(lines)
        if later > start
    ]
    if not paces:
        return {end: 0.0 for end, *_ in lines}
    pace = median(paces)
    pauses = {lines[-1][0]: 0.0}
    for (end, length, start, duration), (_, _, later, _) in pairwise(lines):
        spoken_for = later - start
        silent = spoken_for - duration
        pauses[end] = max(0.0, silent, spoken_for - length * pace)
    return pauses
