"""Reads caption files: the frame of WebVTT, and SubStation, MicroDVD, MPL2 and SAMI by pysubs2.

Unlike pysubs2, `timed_lines` names the line of an error and loses no words of a damaged file.
Sources: WebVTT as in the W3C candidate recommendation of 4 April 2019 (section 4.1 for blocks), HLS
as in RFC 8216 (section 3.5 for the map of times).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.segments import captions_of, transcript_of
from resources.transcripts.timed_lines import BORDER, REMEDY, read_timed_lines
from resources.transcripts.times import seconds_of

NO_TIMES: Final = (
    f"The file should hold captions, but no line has times. {REMEDY[:-1]}, "
    "or rename a file without times to .txt."
)
_HEADER = re.compile(r"^\ufeff?WEBVTT(?:[ \t].*)?$(?:\n(?!.*-->).*\S.*)*", re.MULTILINE)
_HEADER_TITLE = re.compile(r"WEBVTT[ \t]+-[ \t]*(\S.*)")
_TIME_MAP = re.compile(r"(?=.*LOCAL[:=]([\d:.]+)).*MPEGTS[:=](\d{1,19})")
_TICKS = 90_000
_METADATA = re.compile(
    r"(?<=\n)([^\S\n]*\n)"
    r"((?:NOTE|STYLE|REGION)(?!\S)(?!.*-->).*(?:\n[^\S\n]*\S.*)*)(?=\n|\Z)"
)
"""A comment, style or region after a blank line."""
_LONGEST_LINE = 10_000
_FRAME_RATE = 25.0
"""The rate of European television, for MicroDVD files without their own."""


def read_webvtt(text: str) -> base.TimedText:
    """Read WebVTT, including joined HLS segments. PlacedError if it has words but no times."""
    header = _HEADER.match(text)
    first, *rest = header[0].split("\n") if header else [""]
    named = _HEADER_TITLE.search(first)
    known = {"title": named[1].strip()} if named else {}
    for line in rest:
        key, colon, value = line.partition(":")
        if colon and value.strip():
            known[key.strip().lower()] = value.strip()
    cues = _HEADER.sub(_border, f"{text}\n")  # line numbers stay the same
    cues = _METADATA.sub(lambda block: block[1] + "\n" * block[2].count("\n"), cues)
    captions, _ = read_timed_lines(cues, is_webvtt=True) or ([], None)
    if not captions and cues.replace(BORDER, "").strip():
        raise PlacedError(None, NO_TIMES)
    return replace(
        transcript_of(captions),
        language=known.get("language"),
        title=known.get("title"),
        # Only YouTube's speech recogniser times every word.
        kind="generated" if any(each.timed_by_word for each in captions) else "unknown",
    )


def _border(header: re.Match[str]) -> str:
    """Return a border in place of a header, with the second of an HLS segment's time zero."""
    mapped = next(filter(None, map(_TIME_MAP.match, header[0].split("\n"))), None)
    zero = int(mapped[2]) / _TICKS - (seconds_of(mapped[1]) or 0.0) if mapped else None
    return BORDER + ("" if zero is None else f"{zero:.6f}") + "\n" * header[0].count("\n")


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
    if form == "sami" and len({*re.findall(r"<p\s+class=[\"']?(\w+)", text.lower())}) > 1:
        raise base.unknown_format("It holds several languages")
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
