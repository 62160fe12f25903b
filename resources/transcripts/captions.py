"""Reads caption files: SRT, SBV and WebVTT line by line, and other formats with pysubs2.

For SRT and WebVTT, pysubs2 names no line of an error, and loses words of a damaged file.
Sources: WebVTT as in the W3C candidate recommendation of 4 April 2019 (section 4.1 for blocks), HLS
as in RFC 8216 (section 3.5 for the map of times).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from resources.text_files import PlacedError
from resources.transcripts.base import Caption, TranscriptKind
from resources.transcripts.cleaning import WORD_TIME, CaptionFile
from resources.transcripts.times import seconds_of

_REMEDY: Final = "Write them as 00:01:02.500 --> 00:01:05.000."
NO_TIMES: Final = (
    f"The file should hold captions, but no line has times. {_REMEDY[:-1]}, "
    "or rename a file without times to .txt."
)
_FIRST_CUE = re.compile(r"(?<=\n)([ \t]*1[ \t]*\n)(?=[ \t]*\d+:\d.*-->)")  # "1", then times
_HEADER = re.compile(r"^(\ufeff?WEBVTT(?:[ \t].*)?$(?:\n(?!.*-->).*\S.*)*)", re.MULTILINE)
_HEADER_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*(\S.*)")  # "WEBVTT - Title"
_METADATA = re.compile(
    r"(?<=\n)([^\S\n]*\n)"
    r"((?:NOTE|STYLE|REGION)(?!\S)(?!.*-->).*(?:\n[^\S\n]*\S.*)*)(?=\n|\Z)"
)
"""A comment, style or region after a blank line."""


def read_cues(text: str) -> CaptionFile | None:
    """Read SRT, SBV and the like, even joined ones; None without a line of two times."""
    captions = [caption for _, part in _parts(text, _FIRST_CUE) for caption in part]
    return CaptionFile(captions, lines=text.split("\n")) if captions else None


def read_webvtt(text: str) -> CaptionFile:
    """Read WebVTT, including joined HLS segments. PlacedError if it has words but no times."""
    text = _METADATA.sub(lambda block: block[1] + "\n" * block[2].count("\n"), f"{text}\n")
    captions, fields = list[Caption](), dict[str, str]()
    for header, part in _parts(text, _HEADER, is_webvtt=True):
        pairs = (line.partition(":") for line in header.split("\n")[1:])
        fields = {key.strip().lower(): value.strip() for key, _, value in pairs} | fields
        captions += part
    if not captions and _HEADER.sub("", text).strip():
        raise PlacedError(NO_TIMES)
    title = _HEADER_TITLE.match(text)
    # Only YouTube's speech recogniser times every word.
    kind: TranscriptKind = "generated" if WORD_TIME.search(text) else "unknown"
    return CaptionFile(captions, fields.get("language") or None, kind, title and title[1].strip())


_TIME_MAP = re.compile(r"(?=.*LOCAL[:=]([\d:.]+)).*MPEGTS[:=](\d{1,19})", re.MULTILINE)
"""In the head of an HLS segment: "X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000"."""
_TICKS, _CYCLE = 90_000, 2**33 / 90_000  # a second, and the seconds after which the clock restarts


def _parts(
    text: str, border: re.Pattern[str], *, is_webvtt: bool = False
) -> Iterator[tuple[str, list[Caption]]]:
    """Yield the head and the captions of each of the files that a text joins, in running time.

    If the times of a part begin anew, they count from the end of the part before, or from the time
    zero in the head of an HLS segment.
    """
    last_part, first_zero, last_end, line_number = list[Caption](), None, 0.0, 1
    pieces = ["", *border.split(text)]
    for head, body in zip(pieces[::2], pieces[1::2], strict=True):
        line_number += head.count("\n")
        part = _cues(body, line_number, is_webvtt=is_webvtt)
        line_number += body.count("\n")
        shift = 0.0
        if time_map := _TIME_MAP.search(head):
            zero = int(time_map[2]) / _TICKS - (seconds_of(time_map[1]) or 0.0)
            first_zero = zero if first_zero is None else first_zero
            shift = (zero - first_zero) % _CYCLE
            shift = shift if shift < _CYCLE / 2 else 0.0  # a clock that runs back by a few ticks
        begins_anew = part and last_part and part[0].begins < last_part[-1].begins
        if not shift and begins_anew and part[0] not in last_part:
            shift = last_end
        last_part = part or last_part
        moved = [
            replace(cue, start=round(cue.begins + shift, 3), end=round(cue.end + shift, 3))
            for cue in part
        ]
        last_end = max([last_end, *(cue.end for cue in moved)])
        yield head, moved


_TIME = r"-?(?:\d{1,4}:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,9})?|\d{1,5}[.,]\d{1,9}"
_ARROW = r"(?:[-–—−=]\s?)*(?:[>\u203a→\uf0e0]|&gt;)"
_TIMING = re.compile(
    rf"(?P<start>{_TIME})(?:\s*{_ARROW}\s*|(?:(?<=[.,]\d\d)|(?<=[.,]\d\d\d))[\s,]\s*)"
    rf"(?P<end>{_TIME})(?=\s|$)(?:\s*(?:align|line|position|region|size|vertical|[XY][12]):\S*)*"
)
"""Two times: "0:01.5 --> 0:03.0 align:start", with a damaged arrow, or "0:01.500,0:03.000"."""
_SPACED = re.compile(rf"[\d\s:.,-]+{_ARROW}[\d\s:.,-]+")  # "00: 00: 01, 500 -> 00: 00: 03, 000"
_TIMING_LIKE = re.compile(r"-?\d[^\s>]*[:.,][^\s>]*\s*-->|[^>]*-->\s*-?\d+:\d\d")
_LONGEST_TIMING, _NUMBERED_SHARE = 400, 0.8  # characters, and of the cues


def _cues(text: str, first: int, *, is_webvtt: bool = False) -> list[Caption]:
    """Read the captions of a text that begins at line `first`. PlacedError for unreadable times."""
    cues = list[tuple[Caption, list[str]]]()  # with the lines below the times, the next number too
    problem: PlacedError | None = None
    for line_number, line in enumerate(map(str.strip, text.split("\n")), first):
        head = unicodedata.normalize("NFKC", line[:_LONGEST_TIMING])
        if _SPACED.fullmatch(head):  # as translators of whole files write times
            head = re.sub(r"\s*([:.,])\s*", r"\1", head)
        timing = _TIMING.match(head)
        start, end = map(seconds_of, timing.group("start", "end")) if timing else (None, None)
        if timing and start is not None and end is not None:
            words = line[timing.end() :].strip() if line.startswith(timing[0]) else ""
            cues.append((Caption("", start, max(start, end)), [words] if words else []))
        elif timing or ("-->" in line and _TIMING_LIKE.match(line[:_LONGEST_TIMING])):
            sentence = f"The times in {line[:80]!r} cannot be read. {_REMEDY}"
            problem = problem or PlacedError(sentence, line_number)
        elif cues:
            cues[-1][1].append(line)
    if problem and (cues or is_webvtt):
        raise problem
    _remove_identifiers([lines for _, lines in cues[:-1]], is_webvtt=is_webvtt)
    return [replace(cue, text="\n".join(lines)) for cue, lines in cues]


def _remove_identifiers(blocks: Sequence[list[str]], *, is_webvtt: bool) -> None:
    """Remove the number or identifier of the next cue from the end of each block of lines.

    It stands between a blank line and the next times, or nearly all blocks end with rising numbers.
    """
    last_lines = [next(filter(None, reversed(lines)), "") for lines in blocks]
    numbers = [int(last) if last.isdecimal() else 0 for last in last_lines]
    rising = sum(before + 1 == after for before, after in itertools.pairwise(numbers))
    are_numbered = 0 < rising >= _NUMBERED_SHARE * (len(numbers) - 1)
    for lines, last, number in zip(blocks, last_lines, numbers, strict=True):
        is_above_times = lines[-1:] != [""]
        while lines and not lines[-1]:
            lines.pop()
        is_apart = is_above_times and lines[-2:-1] in ([""], [last])  # some tools write it twice
        is_identifier = (is_apart and (is_webvtt or last.isdecimal())) or (are_numbered and number)
        while is_identifier and lines and lines[-1] == last:
            lines.pop()


# --- Formats that pysubs2 reads -----------------------------------------------------------------

_SAMI_CLASS = re.compile(r"<P\s+Class=[\"']?(\w+)", re.IGNORECASE)
_LONGEST_LINE, _FRAME_RATE = 10_000, 25.0  # the rate of European television


def read_by_library(text: str) -> CaptionFile | None:
    """Read a format that pysubs2 recognises; None for others, PlacedError for damaged ones."""
    import pysubs2  # noqa: PLC0415 - for formats that few files have

    form = next((name for name, pattern in _BY_LIBRARY if pattern.search(text)), None)
    if form is None:
        return None
    if form == "sami" and len(languages := {*_SAMI_CLASS.findall(text)}) > 1:
        names = ", ".join(sorted(languages))
        raise PlacedError(f"It holds several languages ({names}). Give a file with one.")
    if (longest := max(map(len, text.split("\n")))) > _LONGEST_LINE:  # it takes quadratic time
        raise PlacedError(f"A line has {longest:,} characters, so it is no caption.")
    if form == "microdvd":
        text = re.sub(r"(?m)^\{(\d+)\}\{\}", r"{\1}{\1}", text)  # without an end
    has_rate = re.match(r"\s*\{1\}\{1\}\s*\d+(?:\.\d+)?\s*\n", text)
    options = {"fps": _FRAME_RATE} if form == "microdvd" and not has_rate else {}
    try:
        with warnings.catch_warnings(action="ignore"):
            subtitles = pysubs2.SSAFile.from_string(text, form, **options)
    except Exception as error:  # it raises errors of many kinds
        raise PlacedError(
            f"The {form} subtitles are damaged ({type(error).__name__}). Export them again."
        ) from error
    captions = [
        Caption(event.plaintext, max(0, event.start) / 1000, max(0, event.end) / 1000, name)
        for event in subtitles.get_text_events()
        for name in [event.name.replace("NTP", "")]  # SubStation's word for no name
    ]
    return CaptionFile(captions, title=subtitles.info.get("Title", "").strip() or None)


_BY_LIBRARY = (
    ("ssa", re.compile(r"^\[V4 Styles\]", re.MULTILINE | re.IGNORECASE)),
    ("ass", re.compile(r"^\[Script Info\]|^Dialogue:[^\n]*,", re.MULTILINE | re.IGNORECASE)),
    ("microdvd", re.compile(r"\A\s*\{\d+\}\{\d*\}\S")),
    ("mpl2", re.compile(r"\A\s*\[\d+\]\[\d+\]")),
    ("tmp", re.compile(r"\A\s*\d{1,2}:\d\d:\d\d:(?!\d)\S")),
    ("sami", re.compile(r"\A\s*<sami\b", re.IGNORECASE)),
)
