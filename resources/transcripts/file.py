"""Reads a transcript file of any known format, which it recognises by the content."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from resources.lines import NotTextError, PlacedError, decode_text, legible, naming
from resources.transcripts import base, captions, markup, records
from resources.transcripts.segments import (
    INVISIBLE,
    STOPS,
    Caption,
    label_of,
    transcript_of,
    with_colons,
    with_speakers,
)
from resources.transcripts.speech import check_lost, check_speech
from resources.transcripts.timed_lines import read_timed_lines

MAX_BYTES: Final = 32 * 1024 * 1024
"""Limit of a file. Three hours of speech take 0.2 MB as text, 4 MB as json3."""
_MARKUP = re.compile(r"\s*(?:<(?:\?xml|!|[a-z][\w:.-]*[\s/>])|\{\\rtf)", re.IGNORECASE)
_HTML = re.compile(
    r"\s*<(?:!doctype\s+html|html|body|table|cite|time|p|div|article|section|h1)\b", re.IGNORECASE
)
_LANGUAGE_IN_NAME = re.compile(r".+\.([a-z]{2}(?:-[A-Za-z0-9]{2,4})?)\.[A-Za-z0-9]+")
_FRONT_MATTER = re.compile(r"\A---\n(?:(?!---\n).*\n){1,200}?---\n")
_MARKDOWN = re.compile(r"(?<=\])\(https?://[^\s()]*\)|\*\*|__|\\(?=[\[\]()*_#.:-])")
_EMPHASIS = re.compile(r"(?<=\S)\*|\*(?=\S)")
_CAPTION_SUFFIXES: Final = frozenset({".vtt", ".srt", ".sbv"})
_FEW, _PAIR, _NEARLY = 3, 2, 0.8


@dataclass(frozen=True, slots=True)
class FileTranscript:
    """The provider of a transcript file; `language` overrides that of the file."""

    path: Path
    language: str | None = None

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        del video_id
        try:
            transcript = await asyncio.to_thread(_read, self.path)
        except PlacedError as error:
            return (base.Outage if error.may_pass else base.Missing)(str(error.at(self.path)))
        return base.Found(
            replace(transcript, language=self.language or transcript.language), "file"
        )


def read_transcript(path: Path) -> base.TimedText:
    """Read a transcript file, with the language in it or in its name. Raises TranscriptError."""
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
    """Parse a transcript of any format in base.FORMATS; PlacedError for any other."""
    try:
        text = decode_text(data, detect=True).replace("\r\n", "\n").replace("\r", "\n")
    except NotTextError as error:
        raise PlacedError(None, f"This is no text: {error}. Give {base.FORMATS}.") from error
    if not text.strip():
        raise PlacedError(None, "The file is empty. Give a file with words in it.")
    return _parse(text, extension.lower())


def _parse(text: str, extension: str) -> base.TimedText:
    start = text.lstrip()
    if start[0] in "[{" and (document := records.load_json(text, extension)) is not None:
        return records.read_records(document)
    form = captions.library_format(text)
    if form is None and _MARKUP.match(text):
        return _read_markup(text)
    if start.startswith("WEBVTT"):
        read = captions.read_webvtt(start)
    else:
        read = captions.read_by_library(text, form) if form else _read_lines(text, extension)
    check_lost(text.split("\n"), read)
    return read


def _read_markup(text: str) -> base.TimedText:
    if not _HTML.match(text):
        if text.lstrip().startswith("{"):
            raise base.unknown_format("This is markup, Rich Text")
        return markup.read_xml(text)
    root = markup.parse_html(text)
    if (read := markup.read_html(root)) is not None:
        return read
    if (timed := read_timed_lines(markup.lines_of_html(root))) is not None:
        return transcript_of(timed[0])
    raise base.unknown_format("This is markup without the times of a transcript")


def _read_lines(text: str, extension: str) -> base.TimedText:
    text = _FRONT_MATTER.sub("", text)
    if (table := markup.read_table(text)) is not None:
        return table
    plain = _MARKDOWN.sub("", text)
    if (timed := read_timed_lines(_EMPHASIS.sub("", plain) if "**" in text else plain)) is not None:
        return replace(transcript_of(timed[0]), title=timed[1])
    if extension in _CAPTION_SUFFIXES:
        raise PlacedError(None, captions.NO_TIMES)
    _check_layout(text)
    return _prose(text)


def _prose(text: str) -> base.TimedText:
    """Return a text without times: unchanged, or in cues if it names its speakers."""
    words = INVISIBLE.sub("", text).strip()
    if not words:
        raise PlacedError(None, "The file has no words. Give one that has.")
    headless = re.sub(r"^#{1,6}\s+", "", words, flags=re.MULTILINE)
    marked = "\n".join(with_colons(_named_paragraphs(headless).split("\n")))
    paragraphs = list(filter(None, map(str.strip, re.split(r"\n\s*\n", _MARKDOWN.sub("", marked)))))
    labelled = [each for each in paragraphs if label_of(each)]
    if sum(map(_is_ended, labelled)) > _NEARLY * len(labelled):
        # Paragraphs without a label and an end are headings, and heads of pages.
        paragraphs = [each for each in paragraphs if label_of(each) or _is_ended(each)]
    parts = [p for each in paragraphs for p in re.split(r"\n(?=.{0,60}[:\uff1a])", each)]
    lines = list(filter(None, (" ".join(part.split()) for part in parts)))
    # Before the first sentence stand titles and lists of persons.
    first = next((at for at, each in enumerate(lines) if each.endswith(STOPS)), 0)
    spoken = with_speakers([Caption((each,), None) for each in lines[first:]])
    if any(each.speaker for each in spoken):
        return transcript_of(spoken)
    check_speech("\n".join(parts).split("\n"))
    return base.TimedText(plain_text=words)


def _is_ended(text: str) -> bool:
    return text.rstrip("\"'”’)]").endswith(STOPS)


def _named_paragraphs(text: str) -> str:
    """Write names on lines of their own, which recur above the words, as "Name: "."""
    alone = re.compile(r"(?<![^\n])([^\W\d_a-z][\w.'’ -]{0,39}):?\n(?=\S)")
    names = Counter(match[1] for match in alone.finditer(text) if len(match[1].split()) <= _FEW)
    recurring = {name for name, count in names.items() if count > 1}
    return alone.sub(lambda m: f"{m[1]}: " if m[1] in recurring else m[0], text)


def _check_layout(text: str) -> None:
    """Refuse a table without a known head."""
    lines = text.strip().splitlines()
    marks = {mark: {line.count(mark) for line in lines} for mark in ";\t|,"}
    if len(lines) > _PAIR and any(len(found) == 1 and max(found) > 1 for found in marks.values()):
        raise base.unknown_format("This is a table, and its first line names no start and text")
