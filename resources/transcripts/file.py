"""Reads transcripts from files: captions, YouTube's json3, segment lists, plain text.

What belongs here: telling formats apart, these formats, and the provider that serves such files.
What does not: encodings (lines.py), sentences and offsets (stages), and transcripts that
are fetched over a network.

The format is told by content; the file's extension only breaks ties.

Sources of the rules: WebVTT as in the W3C candidate recommendation of 4 April 2019 (section 4.1
for blocks, 4.2.2 for cue text, 4.3 for settings), SRT as SubRip writes it, SBV, rolling captions,
json3 and the panel beside a video as YouTube serves them, segment lists as youtube-transcript-api
and Whisper write them.

Own code instead of a caption library: errors must name the line, a caption that an editor damaged
(blank lines inside, a missing number) must not lose words, and rolling captions repeat every line
up to three times.
"""

from __future__ import annotations

import asyncio
import html
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from resources.lines import NotTextError, PlacedError, decode_text, legible, naming, read_json
from resources.transcripts import base

MAX_BYTES: Final = 32 * 1024 * 1024
"""Larger files are refused. Three hours of speech take 0.2 MB as text, 4 MB as json3."""

_MARKUP_START = re.compile(
    r"\s*(?:<(?:\?xml|!doctype|html|transcript|timedtext|tt|sami)\b|\{\\rtf)", re.IGNORECASE
)
_LANGUAGE_IN_NAME = re.compile(r".+\.([a-z]{2}(?:-[A-Za-z0-9]{2,4})?)\.[A-Za-z0-9]+")
_INVISIBLE = re.compile("[\u0000-\u0008\u000e-\u001f\u007f\u200b\u2060\ud800-\udfff\ufeff]")
"""Control and zero-width characters, and halves of surrogate pairs, which no file can hold."""


@dataclass(frozen=True, slots=True)
class FileTranscript:
    """The provider of a transcript that lies in a file; a language that is given wins."""

    path: Path
    language: str | None = None

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        """Read the file. Never raises for a bad one: it answers so."""
        del video_id
        try:
            transcript = await asyncio.to_thread(_read, self.path)
        except PlacedError as error:
            return (base.Outage if error.may_pass else base.Missing)(str(error.at(self.path)))
        return base.Found(
            replace(transcript, language=self.language or transcript.language), "file"
        )


def read_transcript(path: Path) -> base.TimedText:
    """Read a transcript file; its language stands in it or its name. TranscriptError: unusable."""
    with naming(path, base.TranscriptError):
        return _read(path)


def _read(path: Path) -> base.TimedText:
    with legible():
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    if size > MAX_BYTES:
        sizes = f"has {size / 1e6:,.0f} MB, and a transcript at most {MAX_BYTES / 1e6:,.0f} MB"
        raise PlacedError(None, f"The file {sizes}. Give the captions, not the recording.")
    transcript = parse_transcript(data, path.suffix)
    named = _LANGUAGE_IN_NAME.fullmatch(path.name)
    return replace(transcript, language=transcript.language or (named[1] if named else None))


def parse_transcript(data: bytes, extension: str = "") -> base.TimedText:
    """Parse a transcript: sorted cues without markup, no empty one, times from 0. PlacedError."""
    try:
        text = decode_text(data).replace("\r\n", "\n").replace("\r", "\n")
    except NotTextError as error:
        raise PlacedError(None, f"This is no text: {error}. Give {base.FORMATS}.") from error
    start, words = text.lstrip(), _INVISIBLE.sub("", text).strip()
    if not start:
        raise PlacedError(None, "The file is empty. Give a file with words in it.")
    if start.startswith("WEBVTT"):
        return _parse_webvtt(text)
    if start[0] in "[{" and (document := _load_json(text, extension.lower())) is not None:
        return _parse_json(document)
    if not _TIMING_LINE.search(text):
        text = _from_panel(_SBV_TIMES.sub(rf"\1 {_ARROW} \2", text))
    if _TIMING_LINE.search(text):
        return timed_text(undo_rolling(_captions_of(text, numbered=True)))
    if extension.lower() in {".vtt", ".srt", ".sbv"}:
        raise PlacedError(None, _NO_TIMES)
    if _MARKUP_START.match(text):
        raise PlacedError(None, f"This is markup, not a transcript. Give {base.FORMATS}.")
    if not words:
        raise PlacedError(None, "The file has no words. Give one that has.")
    return base.TimedText(plain_text=words)


# --- Captions of any format ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption as it is displayed, markup removed. Times in seconds."""

    lines: tuple[str, ...]
    start: float
    end: float
    timed_by_word: bool = False


def one_line(text: str) -> str:
    """Drop invisible characters and fold white space, line breaks included, into spaces."""
    return " ".join(_INVISIBLE.sub("", text).split())


def lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of a caption that have words, each as `one_line` has it."""
    return tuple(filter(None, map(one_line, text.split("\n"))))


def timed_text(captions: Iterable[Caption]) -> base.TimedText:
    """Make a transcript of captions in order of time; those without words are left out.

    PlacedError: None has words.
    """
    cues = tuple(
        # Milliseconds, so that the difference of two read times reads as it was written.
        base.Cue(
            " ".join(caption.lines), caption.start, max(0.0, round(caption.end - caption.start, 3))
        )
        for caption in sorted(captions, key=lambda caption: caption.start)
        if caption.lines
    )
    if not cues:
        raise PlacedError(
            None, "No caption of the file has words. Give one in which someone speaks."
        )
    return base.TimedText(cues=cues)


# --- WebVTT and SRT -----------------------------------------------------------------------------

_ARROW = "-->"
_TIMING_LIKE = re.compile(r"\s*-?\d[^\s>]*[:.,][^\s>]*\s*-->|[^>]*-->\s*-?\d+:\d\d")
_TIME = re.compile(r"(-?)(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.,](\d{1,9}))?")
_TIMING_LINE = re.compile(rf"^[ \t]*{_TIME.pattern}[ \t]*-->", re.MULTILINE)
_CLOCK = r"(-?(?:\d{1,4}:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,9})?)"
_TWO_TIMES = re.compile(rf"{_CLOCK}(?:[^\w\n]{{1,8}}|\s?--&gt;\s?){_CLOCK}")
"""A timing line whose arrow is damaged."""
_SBV_TIMES = re.compile(
    r"^(\d{1,3}:\d\d:\d\d\.\d{2,3}),(\d{1,3}:\d\d:\d\d\.\d{2,3})[ \t]*$", re.MULTILINE
)
_PANEL_TIME = re.compile(
    r"^[ \t]*((?:\d{1,2}:)?[0-5]?\d:[0-5]\d)(?!\S)(?![^\w\n]{0,8}\d+:\d)", re.MULTILINE
)
"""A time at the start of a line, with no second one after it."""
_REMEDY = "Write them as 00:01:02.500 --> 00:01:05.000."
_NO_TIMES = (
    "The file should hold captions, but no line has times. "
    "Write each as 00:01:02.500 --> 00:01:05.000, or rename a file without times to .txt."
)
_HEADER_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*(\S.*)")
_METADATA_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_METADATA = re.compile(
    r"(?<=\n)([^\S\n]*\n)"
    r"((?:NOTE|STYLE|REGION)(?!\S)(?!.*-->).*(?:\n[^\S\n]*\S.*)*)(?=\n|\Z)"
)
"""A comment, style or region after a blank line."""
_TAG = re.compile(
    r"</?(?:(?:b|i|u|s|c|v|ruby|rt|lang|em|strong)(?:\.[^\s<>]*)?"
    r"|(?:font|span)(?:\s+[\w-]+\s*=[^<>]*)?)\s?/?>|<\d+:[\d:.]+>",
    re.IGNORECASE,
)
_ANNOTATED_TAG = re.compile(r"<(?:c|v|lang)(?:\.[^\s<>]*)?\s[^<>]*>", re.IGNORECASE)
"""Of WebVTT, in which a < that is said is escaped."""
_LINE_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_WORD_TIME = re.compile(r"<\d+:[\d:.]+>")
_SUBSTATION_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_MINUTE = 60
_MIN_PANEL_TIMES = 2
_MIN_PANEL_SHARE = 1 / 3
"""Of the lines that are not blank; a text in which fewer begin with a time is prose."""
_MAX_TIMING_LINE = 400


def _parse_webvtt(text: str) -> base.TimedText:
    captions = _captions_of(text, numbered=False)
    blocks = re.split(r"\n\s*\n", text.strip())[1:]
    if not captions and any(block.strip() and not _METADATA_BLOCK.match(block) for block in blocks):
        raise PlacedError(None, _NO_TIMES)
    first, *rest = text.lstrip().split("\n\n", 1)[0].split("\n")
    named = _HEADER_TITLE.match(first)
    header = {"title": named[1].strip()} if named else {}
    for line in rest:
        key, colon, value = line.partition(":")
        if colon and _ARROW not in line and value.strip():
            header[key.strip().lower()] = value.strip()
    return replace(
        timed_text(undo_rolling(captions)),
        language=header.get("language"),
        title=header.get("title"),
        # Only YouTube's recogniser times every word.
        kind="generated" if any(each.timed_by_word for each in captions) else "unknown",
    )


def _captions_of(text: str, *, numbered: bool) -> list[Caption]:
    """Collect captions from the lines between one timing line and the next.

    `numbered`: SRT, in which the line before a timing line is a number. In WebVTT it may be any
    identifier after a blank line, and comment blocks are skipped.
    """
    if not numbered:  # line numbers stay what they are
        text = _METADATA.sub(lambda block: block[1] + "\n" * block[2].count("\n"), text)
    lines = text.split("\n")
    timed: list[tuple[int, tuple[float, float]]] = []
    for index, line in enumerate(lines):
        if _ARROW in line and _TIMING_LIKE.match(line[:_MAX_TIMING_LINE]):
            before, _, after = line.partition(_ARROW)
            begins, ends = _seconds(before.strip()), _seconds((after.split() or [""])[0])
            if begins is None or ends is None:
                problem = f"The times in {line.strip()[:80]!r} cannot be read."
                raise PlacedError(index + 1, f"{problem} {_REMEDY}")
            timed.append((index, (begins, ends)))
        elif (pair := _TWO_TIMES.fullmatch(line.strip())) and None not in map(
            _seconds, pair.groups()
        ):
            problem = f"{line.strip()!r} has two times and no arrow between them."
            raise PlacedError(index + 1, f"{problem} {_REMEDY}")
    captions = []
    for (index, (start, end)), following in itertools.zip_longest(timed, timed[1:]):
        stop = len(lines)
        if following is not None:
            stop = following[0]
            before = lines[stop - 1].strip()
            is_identifier = (
                before.isdigit()
                if numbered
                else stop - 2 > index and before != "" and lines[stop - 2] == ""
            )
            stop -= is_identifier and stop - 1 > index
        raw = "\n".join(lines[index + 1 : stop])
        said = raw if numbered else _ANNOTATED_TAG.sub("", raw)
        without_tags = _TAG.sub("", _LINE_BREAK_TAG.sub("\n", _SUBSTATION_OVERRIDE.sub("", said)))
        shown = (
            one_line(_ENTITY.sub(lambda match: html.unescape(match[0]), line))
            for line in without_tags.split("\n")
        )
        by_word = _WORD_TIME.search(raw) is not None
        captions.append(Caption(tuple(filter(None, shown)), start, max(start, end), by_word))
    return captions


def _from_panel(text: str) -> str:
    """Write what was copied from YouTube's transcript panel as captions; other texts stay.

    Each time there begins a line or has one of its own, and its words last until the next time.
    """
    times = list(_PANEL_TIME.finditer(text))
    starts = [_seconds(f"{each[1]}.0") or 0.0 for each in times]
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    is_panel = (
        len(times) >= _MIN_PANEL_TIMES
        and not text[: times[0].start()].strip()
        and starts == sorted(starts)
        and _MIN_PANEL_SHARE * lines <= len(times)
    )
    if not is_panel:
        return text
    ends = iter([*(each[1] for each in times[1:]), times[-1][1]])
    return _PANEL_TIME.sub(lambda time: f"\n{time[1]}.0 {_ARROW} {next(ends)}.0\n", text)


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    if int(seconds) >= _MINUTE or (hours is not None and int(minutes) >= _MINUTE):
        return None
    if hours is None and fraction is None:
        return None
    if sign:  # a tool shifted them too far to the left: they begin with the video
        return 0.0
    total = (int(hours or 0) * _MINUTE + int(minutes)) * _MINUTE + int(seconds)
    return (total * 1000 + int((fraction or "0").ljust(3, "0")[:3])) / 1000


_ROLLING_GAP_SECONDS = 0.1
_MIN_ROLLED = 3
_MIN_ROLLED_SHARE = 0.25


def undo_rolling(captions: Sequence[Caption]) -> list[Caption]:
    """Drop the lines that a caption repeats from the one before it, if the file rolls.

    Rolling captions show the last line again above the new one. A line that is really said twice
    in a file that does not roll is kept: files are told apart by word times, or by how many
    captions show the line that just ended above a new one. They come in order of time.
    """
    captions = sorted(captions, key=lambda caption: caption.start)
    repeats = [0] * min(1, len(captions))
    for before, after in itertools.pairwise(captions):
        longest = min(len(before.lines), len(after.lines))
        if after.start > before.end + _ROLLING_GAP_SECONDS:
            longest = 0
        again = (n for n in range(longest, 0, -1) if before.lines[-n:] == after.lines[:n])
        repeats.append(next(again, 0))
    pairs = list(zip(captions, repeats, strict=True))
    rolled = sum(0 < count < len(caption.lines) for caption, count in pairs)
    if any(caption.timed_by_word for caption in captions) or (
        rolled >= _MIN_ROLLED and rolled >= _MIN_ROLLED_SHARE * len(captions)
    ):
        return [replace(caption, lines=caption.lines[count:]) for caption, count in pairs]
    return captions


# --- JSON ---------------------------------------------------------------------------------------

_OBJECT_START = re.compile(r'\s*\{\s*"')
_MAX_TIME = 1e9  # Seconds. No video lasts 30 years; a larger number is no time.


def _load_json(text: str, extension: str) -> Any:
    """Load an object or a list; None if it is none and nothing says that it should be."""
    try:
        return read_json(text)
    except PlacedError:
        # Prose may begin with a bracket or a brace; with a brace and a key, only damaged JSON does.
        if extension not in {".json", ".json3"} and not _OBJECT_START.match(text):
            return None
        raise


def _parse_json(document: dict[str, Any] | list[Any]) -> base.TimedText:
    """Find the transcript in a JSON document and read it.

    Read are `[{"text", "start", "duration"}]` in seconds; an object that holds such a list under
    `segments`, `transcript`, `transcript_data` or `final_output`; Whisper's segments with `end`;
    and YouTube's json3, whose events count milliseconds.
    """
    if isinstance(document, list):
        captions = [_segment(each, number) for number, each in enumerate(document, start=1)]
        return timed_text(undo_rolling(captions))
    if isinstance(document.get("events"), list):
        return _parse_json3(document["events"])
    for key in ("final_output", "transcript_data", "transcript"):
        inner = document.get(key)
        if isinstance(inner, (dict, list)):
            return _parse_json(inner)
    language, segments, said = (document.get(key) for key in ("language", "segments", "text"))
    known = language if isinstance(language, str) and language else None
    if isinstance(segments, list) and segments:
        return replace(_parse_json(segments), language=known)
    if isinstance(said, str) and said.strip():
        words = _INVISIBLE.sub("", said).strip()
        if not words:
            raise PlacedError(None, "The text has no words. Export it again.")
        return base.TimedText(plain_text=words, language=known)
    if "segments" in document or "text" in document:
        raise PlacedError(None, "No segment has words. Export it again.")
    raise PlacedError(
        None,
        "The JSON holds no transcript (neither events, segments nor text). "
        'Give a list such as [{"text": "…", "start": 0.0, "duration": 2.5}].',
    )


def _segment(segment: Any, number: int) -> Caption:
    if not isinstance(segment, dict) or not isinstance(segment.get("text"), str):
        raise PlacedError(
            None,
            f"Segment {number} is not an object with a text. "
            'Write each as {"text": "…", "start": 0.0, "duration": 2.5}.',
        )
    start = _number(segment, number, "start", "start_seconds")
    if "duration" in segment or "duration_seconds" in segment:
        end = start + _number(segment, number, "duration", "duration_seconds")
    else:
        end = _number(segment, number, "end") if "end" in segment else start
    return Caption(lines_of(segment["text"]), max(0.0, start), max(0.0, end))


def _number(segment: dict[str, Any], number: int, *keys: str) -> float:
    value = next((segment[key] for key in keys if key in segment), None)
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not abs(seconds) <= _MAX_TIME:
        problem = f"Segment {number} has no readable {keys[0]} ({value!r})."
        unit = "milliseconds as a number, such as 12500" if keys[0].endswith("Ms") else ""
        raise PlacedError(None, f"{problem} Write {unit or 'seconds as a number, such as 12.5'}.")
    return seconds


def _parse_json3(events: list[Any]) -> base.TimedText:
    """Read YouTube's json3: events with a start and a duration in milliseconds, made of parts."""
    captions = []
    recognised = False
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict) or not isinstance(event.get("segs"), list):
            continue  # it opens a window or sets a style
        parts = [part for part in event["segs"] if isinstance(part, dict)]
        recognised = recognised or any("acAsrConf" in part or "tOffsetMs" in part for part in parts)
        lines = lines_of("".join(str(part.get("utf8", "")) for part in parts))
        if lines:
            times = {"tStartMs": 0, "dDurationMs": 0, **event}
            start = _number(times, number, "tStartMs")
            end = start + _number(times, number, "dDurationMs")
            captions.append(Caption(lines, max(0.0, start / 1000), max(0.0, end / 1000)))
    return replace(
        timed_text(undo_rolling(captions)), kind="generated" if recognised else "unknown"
    )
