"""WebVTT and SRT: captions between timing lines, without markup, and not rolling.

What belongs here: these two formats, and what every timed format shares (clean lines, order,
repeated lines). What does not: files and encodings (file.py), JSON (json_captions.py).

Sources of the rules: WebVTT as in the W3C candidate recommendation of 4 April 2019 (section 4.1
for blocks, 4.2.2 for cue text, 4.3 for settings), SRT as SubRip writes it, rolling captions as
YouTube serves them.

Own code instead of a caption library, because of three things: errors must name the line, a
caption that an editor damaged (blank lines inside, a missing number) must not lose words, and
rolling captions repeat every line up to three times, which must be undone.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from resources.transcripts.base import (
    Cue,
    EmptyTranscriptError,
    Source,
    TimedText,
    TranscriptKind,
    UnreadableTimestampError,
    no_times,
)

_ARROW = "-->"
TIMING_LINE = re.compile(r"^[ \t]*-?\d[\d:.,]*[ \t]*-->", re.MULTILINE)
_TIMING_LIKE = re.compile(r"\s*-?\d[^\s>]*[:.,][^\s>]*\s*-->|[^>]*-->\s*-?\d+:\d\d")
_TIME = re.compile(r"(-?)(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.,](\d{1,9}))?")
_HEADER_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*(\S.*)")
_METADATA_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_TAG = re.compile(
    r"</?(?:b|i|u|s|c|v|font|ruby|rt|lang|span|em|strong)(?:[.\s][^<>]*)?/?>|<\d+:[\d:.]+>",
    re.IGNORECASE,
)
_LINE_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_WORD_TIME = re.compile(r"<\d+:[\d:.]+>")
_SUBSTATION_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
INVISIBLE = re.compile("[\u0000-\u0008\u000e-\u001f\u007f\u200b\u2060\ud800-\udfff\ufeff]")
"""Control and zero-width characters, and halves of surrogate pairs, which no file can hold."""

_MINUTE = 60
_MAX_TIMING_LINE = 400


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption as it is displayed: several lines, markup removed."""

    lines: tuple[str, ...]
    start: float
    end: float
    timed_by_word: bool = False


def parse_webvtt(text: str, source: Source) -> TimedText:
    """Parse a WebVTT file, its header included."""
    captions = captions_of(text, source, numbered=False)
    blocks = re.split(r"\n\s*\n", text.strip())[1:]
    has_words = any(block.strip() and not _METADATA_BLOCK.match(block) for block in blocks)
    if not captions and has_words:
        raise no_times(source)
    header, title = _webvtt_header(text)
    kind: TranscriptKind = "unknown"
    if any(caption.timed_by_word for caption in captions):
        # Only YouTube's recogniser times every word.
        kind = "generated"
    transcript = timed(undo_rolling(captions), source)
    return replace(transcript, language=header.get("language"), title=title, kind=kind)


def _webvtt_header(text: str) -> tuple[dict[str, str], str | None]:
    first, *rest = text.lstrip().split("\n\n", 1)[0].split("\n")
    named = _HEADER_TITLE.match(first)
    title = named[1].strip() if named else None
    fields: dict[str, str] = {}
    for line in rest:
        key, colon, value = line.partition(":")
        if colon and _ARROW not in line and value.strip():
            fields[key.strip().lower()] = value.strip()
    return fields, fields.get("title", title)


def captions_of(text: str, source: Source, *, numbered: bool) -> list[Caption]:
    """Collect captions from the lines between one timing line and the next.

    `numbered`: SRT, in which the line before a timing line is a number. In WebVTT it may be any
    identifier after a blank line, and comment blocks are skipped.
    """
    lines = text.split("\n")
    if not numbered:
        lines = _without_metadata_blocks(lines)
    timing_lines = [
        (index, times)
        for index, line in enumerate(lines)
        if (times := _read_timing(line, index + 1, source)) is not None
    ]
    captions = []
    for position, (index, (start, end)) in enumerate(timing_lines):
        if position + 1 < len(timing_lines):
            stop = _drop_identifier(lines, index + 1, timing_lines[position + 1][0], numbered)
        else:
            stop = len(lines)
        captions.append(_caption(lines[index + 1 : stop], start, end))
    return sorted(captions, key=lambda caption: caption.start)


def _without_metadata_blocks(lines: Sequence[str]) -> list[str]:
    """Blank out comments, styles and regions; line numbers stay what they are."""
    kept: list[str] = []
    inside = False
    after_blank = False
    for line in lines:
        blank = not line.strip()
        if inside and blank:
            inside = False
        elif after_blank and _METADATA_BLOCK.match(line) and _ARROW not in line:
            inside = True
        kept.append("" if inside else line)
        after_blank = blank
    return kept


def _drop_identifier(lines: Sequence[str], first: int, timing: int, numbered: bool) -> int:
    before = timing - 1
    if before < first:
        return timing
    is_identifier = (
        lines[before].strip().isdigit()
        if numbered
        else before > first and lines[before].strip() != "" and lines[before - 1] == ""
    )
    return before if is_identifier else timing


def _caption(payload: Iterable[str], start: float, end: float) -> Caption:
    raw = "\n".join(payload)
    without_tags = _TAG.sub("", _LINE_BREAK_TAG.sub("\n", _SUBSTATION_OVERRIDE.sub("", raw)))
    decoded = (
        one_line(_ENTITY.sub(lambda match: html.unescape(match[0]), line))
        for line in without_tags.split("\n")
    )
    lines = tuple(line for line in decoded if line)
    return Caption(lines, start, max(start, end), _WORD_TIME.search(raw) is not None)


def one_line(text: str) -> str:
    """Drop invisible characters and fold white space, line breaks included, into spaces."""
    return " ".join(INVISIBLE.sub("", text).split())


def _read_timing(line: str, number: int, source: Source) -> tuple[float, float] | None:
    """Return start and end in seconds of a timing line, None if the line is none."""
    if _ARROW not in line or not _TIMING_LIKE.match(line[:_MAX_TIMING_LINE]):
        return None
    before, _, after = line.partition(_ARROW)
    settings = after.split()
    start = _seconds(before.strip())
    end = _seconds(settings[0]) if settings else None
    if start is None or end is None:
        raise UnreadableTimestampError(
            source.name,
            f"The times in {line.strip()[:80]!r} cannot be read.",
            "Write them as 00:01:02.500 --> 00:01:05.000.",
            line=number,
        )
    return start, end


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    if int(seconds) >= _MINUTE or (hours is not None and int(minutes) >= _MINUTE):
        return None
    if hours is None and fraction is None:
        return None
    if sign:
        # Captions that a tool shifted too far to the left: they begin with the video.
        return 0.0
    total = (int(hours or 0) * _MINUTE + int(minutes)) * _MINUTE + int(seconds)
    return (total * 1000 + int((fraction or "0").ljust(3, "0")[:3])) / 1000


# --- Rolling captions ---------------------------------------------------------------------------

_ROLLING_GAP_SECONDS = 0.1
_MIN_ROLLED = 3
_MIN_ROLLED_SHARE = 0.25


def undo_rolling(captions: Sequence[Caption]) -> list[Caption]:
    """Drop the lines that a caption repeats from the one before it, if the file rolls.

    Rolling captions show the last line again above the new one. A line that is really said twice
    in a file that does not roll is kept: files are told apart by word times, or by how many
    captions show the line that just ended above a new one.
    """
    if not captions:
        return []
    repeats = [0] + [
        _repeated_lines(before, after) for before, after in itertools.pairwise(captions)
    ]
    rolled = sum(
        1
        for caption, count in zip(captions, repeats, strict=True)
        if 0 < count < len(caption.lines)
    )
    rolls = any(caption.timed_by_word for caption in captions) or (
        rolled >= _MIN_ROLLED and rolled >= _MIN_ROLLED_SHARE * len(captions)
    )
    if not rolls:
        return list(captions)
    return [
        replace(caption, lines=caption.lines[count:])
        for caption, count in zip(captions, repeats, strict=True)
    ]


def _repeated_lines(before: Caption, after: Caption) -> int:
    if after.start > before.end + _ROLLING_GAP_SECONDS:
        return 0
    longest = min(len(before.lines), len(after.lines))
    for count in range(longest, 0, -1):
        if before.lines[-count:] == after.lines[:count]:
            return count
    return 0


def timed(captions: Iterable[Caption], source: Source) -> TimedText:
    """Make a transcript of captions in order; those without words are left out."""
    cues = tuple(
        # Milliseconds, so that the difference of two read times reads as it was written.
        Cue(
            " ".join(caption.lines),
            caption.start,
            max(0.0, round(caption.end - caption.start, 3)),
        )
        for caption in captions
        if caption.lines
    )
    if not cues:
        raise EmptyTranscriptError(
            source.name, "The file has no captions with words.", "Give one in which someone speaks."
        )
    return TimedText(cues=cues)
