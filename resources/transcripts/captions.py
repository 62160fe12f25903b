"""Reads caption files: WebVTT, SRT and SBV here, SubStation, MicroDVD, MPL2 and SAMI by pysubs2.

Unlike pysubs2, this reader names the line of an error and loses no words of a damaged file. Its
sources: WebVTT as in the W3C candidate recommendation of 4 April 2019 (section 4.1 for blocks,
4.2.2 for cue text, 4.3 for settings), HLS as in RFC 8216 (section 3.5 for the map of times), SRT as
SubRip writes it, SBV as YouTube writes it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Final

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.segments import Caption, captions_of, transcript_of
from resources.transcripts.times import seconds_of

ARROW: Final = "-->"
_FULL = r"-?(?:\d{1,4}:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,9})?|\d{1,5}[.,]\d{1,9}"
_TIMING = re.compile(rf"^[ \t]*({_FULL})[ \t]*-->[ \t]*({_FULL})(?=\s|$)")
_TIMING_LIKE = re.compile(r"\s*-?\d[^\s>]*[:.,][^\s>]*\s*-->|[^>]*-->\s*-?\d+:\d\d")
_CLOCK = r"-?(?:\d{1,4} ?: ?)?\d{1,3} ?: ?\d{1,3}(?:[:.,] ?\d{1,9})"
_TWO_TIMES = re.compile(
    rf"^[ \t]*({_CLOCK})(?:[ \t]*-+ ?(?:>|&gt;)[ \t]*|,|[ \t]+)({_CLOCK})(?=\s|\Z)", re.MULTILINE
)
"""The times of SBV, or of SRT with a damaged arrow or spaces in its times."""
REMEDY: Final = "Write them as 00:01:02.500 --> 00:01:05.000."
NO_TIMES: Final = (
    "The file should hold captions, but no line has times. "
    "Write each as 00:01:02.500 --> 00:01:05.000, or rename a file without times to .txt."
)
_HEADER = re.compile(r"^\ufeff?WEBVTT(?:[ \t].*)?$(?:\n(?!.*-->).*\S.*)*", re.MULTILINE)
_FIRST_NUMBER = re.compile(r"^[ \t]*1[ \t]*\n(?=[^\n]*-->)", re.MULTILINE)
_HEADER_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*(\S.*)")
_TIME_MAP = re.compile(r"(?=.*LOCAL[:=]([\d:.]+)).*MPEGTS[:=](\d{1,19})")
_TICKS, _TICK_CYCLE = 90_000, 2**33
_METADATA = re.compile(
    r"(?<=\n)([^\S\n]*\n)"
    r"((?:NOTE|STYLE|REGION)(?!\S)(?!.*-->).*(?:\n[^\S\n]*\S.*)*)(?=\n|\Z)"
)
"""A comment, style or region after a blank line."""
_SETTINGS = re.compile(r"(?:\s*(?:align|line|position|region|size|vertical|[XY][12]):\S*)*\s*")
_MAX_TIMING_LINE = 400
_LONGEST_LINE = 10_000
_FRAME_RATE = 25.0
"""The rate of European television, for MicroDVD files without their own."""


def with_arrows(text: str) -> str:
    """Write timing lines as SRT does."""
    return _TWO_TIMES.sub(
        lambda times: f" {ARROW} ".join(each.replace(" ", "") for each in times.groups()), text
    )


def has_arrows(text: str) -> bool:
    return any(_TIMING.match(line[:_MAX_TIMING_LINE]) for line in text.split("\n"))


def read_webvtt(text: str) -> base.TimedText:
    """Read WebVTT, including joined HLS segments. PlacedError if it has words but no times."""
    text = with_arrows(text)
    captions = read_arrows(text, _HEADER)
    if not captions and _METADATA.sub("", _HEADER.sub("", f"{text}\n")).strip():
        raise PlacedError(None, NO_TIMES)
    header = _HEADER.match(text)
    first, *rest = header[0].split("\n") if header else [""]
    named = _HEADER_TITLE.search(first)
    known = {"title": named[1].strip()} if named else {}
    for line in rest:
        key, colon, value = line.partition(":")
        if colon and value.strip():
            known[key.strip().lower()] = value.strip()
    return replace(
        transcript_of(captions),
        language=known.get("language"),
        title=known.get("title"),
        # Only YouTube's speech recogniser times every word.
        kind="generated" if any(each.timed_by_word for each in captions) else "unknown",
    )


def read_arrows(text: str, border: re.Pattern[str] = _FIRST_NUMBER) -> list[Caption]:
    """Collect captions from the lines between timing lines.

    The file consists of several if a border (a header of WebVTT, or the number 1 of SRT) is inside
    it and the times begin anew. They continue then, by the map of times in the header if any.
    """
    borders = sorted({0, *(found.start() for found in border.finditer(text)), len(text)})
    captions, before = list[Caption](), list[Caption]()
    line, shift, ends, zero = 0, 0.0, 0.0, None
    for start, stop in pairwise(borders):
        part = text[start:stop]
        cues = _cues(part, line, is_webvtt=border is _HEADER)
        line += part.count("\n")
        mapped = _mapped(part)
        zero = mapped if zero is None else zero
        if not cues:
            continue
        if before and (cues[0].start or 0.0) < (before[-1].start or 0.0) and cues[0] not in before:
            by_map = 0.0
            if mapped is not None and zero is not None:
                by_map = (mapped - zero) % (_TICK_CYCLE / _TICKS)
            shift = by_map if by_map > shift else ends
        before = cues
        captions += (
            replace(cue, start=round((cue.start or 0.0) + shift, 3), end=round(cue.end + shift, 3))
            for cue in cues
        )
        ends = max(ends, *(cue.end + shift for cue in cues))
    return captions


def _cues(part: str, first_line: int, *, is_webvtt: bool) -> list[Caption]:
    """Read one file. The line before a timing line may be a number, or in WebVTT an identifier."""
    if is_webvtt:  # line numbers stay the same
        part = _HEADER.sub(lambda header: "\n" * header[0].count("\n"), part)
        part = _METADATA.sub(lambda block: block[1] + "\n" * block[2].count("\n"), f"{part}\n")
    lines = part.split("\n")
    timings = [
        (at, times)
        for at, line in enumerate(lines)
        if (times := _times_of(line, first_line + at + 1)) is not None
    ]
    captions: list[Caption] = []
    for (at, (start, end)), following in zip_longest(timings, [each for each, _ in timings[1:]]):
        stop = len(lines) if following is None else following
        if following is not None and stop - 1 > at:
            before = lines[stop - 1].strip()
            is_apart = stop - 2 > at and before != "" and lines[stop - 2] == ""
            stop -= is_apart if is_webvtt else before.isdigit()
        same_line = _SETTINGS.sub("", lines[at].partition(ARROW)[2].strip().partition(" ")[2], 1)
        raw = "\n".join([same_line, *lines[at + 1 : stop]])
        captions += captions_of(raw, start, max(start, end))
    return captions


def _times_of(line: str, number: int) -> tuple[float, float] | None:
    """Return the times of a timing line; PlacedError if it looks like one and has none."""
    start = line[:_MAX_TIMING_LINE]
    if ARROW not in line or not (_TIMING_LIKE.match(start) or _TIMING.match(start)):
        return None
    before, _, after = line.partition(ARROW)
    begins, ends = seconds_of(before), seconds_of((after.split() or [""])[0])
    if begins is None or ends is None:
        problem = f"The times in {line.strip()[:80]!r} cannot be read."
        raise PlacedError(number, f"{problem} {REMEDY}")
    return begins, ends


def _mapped(part: str) -> float | None:
    """Return the time in the stream, in seconds, of an HLS segment's local time zero."""
    header = _HEADER.match(part)
    found = (
        next(filter(None, map(_TIME_MAP.match, header[0].split("\n"))), None) if header else None
    )
    return int(found[2]) / _TICKS - (seconds_of(found[1]) or 0.0) if found else None


# --- Formats that pysubs2 reads -----------------------------------------------------------------

_BY_LIBRARY = (
    ("ass", re.compile(r"^\[Script Info\]|^Dialogue:[^\n]*,", re.MULTILINE | re.IGNORECASE)),
    ("microdvd", re.compile(r"^[ \t]*\{\d+\}\{\d+\}\S", re.MULTILINE)),
    ("mpl2", re.compile(r"^\[\d+\]\[\d+\]", re.MULTILINE)),
    ("sami", re.compile(r"\A\s*<sami\b", re.IGNORECASE)),
)
_ITALICS = re.compile(r"^/", re.MULTILINE)
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")


def library_format(text: str) -> str | None:
    """Return pysubs2's name of a text's format, None if pysubs2 should not read it."""
    return next((name for name, pattern in _BY_LIBRARY if pattern.search(text)), None)


def read_by_library(text: str, form: str) -> base.TimedText:
    """Read a text by pysubs2. PlacedError if it is damaged or has no words."""
    import pysubs2  # noqa: PLC0415 - for formats that few files have

    longest = max(map(len, text.split("\n")))
    if longest > _LONGEST_LINE:  # the library takes quadratic time
        raise PlacedError(None, f"A line has {longest:,} characters, so it is no caption.")
    options = {"fps": _FRAME_RATE} if form == "microdvd" and not _names_rate(text) else {}
    if form == "ass" and "[V4 Styles]" in text:
        form = "ssa"
    try:
        subtitles = pysubs2.SSAFile.from_string(text, form, **options)
    except Exception as error:  # it raises errors of many kinds
        raise PlacedError(
            None, f"The {form} subtitles are damaged ({type(error).__name__}). Export them again."
        ) from error
    captions = [
        replace(caption, speaker=caption.speaker or event.name.strip() or None)
        for event in subtitles
        if event.type != "Comment" and not _DRAWING.search(event.text)
        for caption in captions_of(
            _ITALICS.sub("", event.plaintext),
            max(0.0, event.start / 1000),
            max(0.0, event.end / 1000),
        )
    ]
    title = subtitles.info.get("Title", "").strip()
    return replace(transcript_of(captions), title=title or None)


def _names_rate(text: str) -> bool:
    return re.match(r"\s*\{1\}\{1\}\s*\d+(?:\.\d+)?\s*\n", text) is not None
