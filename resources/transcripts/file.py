"""Reads a transcript file of any known format, and recognises the format by the content."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from resources.text_files import NotTextError, PlacedError, decode_text, errors_naming, readable
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.captions import NO_TIMES, read_by_library, read_cues, read_webvtt
from resources.transcripts.cleaning import (
    INVISIBLE,
    REMARK,
    CaptionFile,
    NothingSaidError,
    transcript_of,
)
from resources.transcripts.credits import is_credit
from resources.transcripts.json_and_tables import load_json, read_records, read_table
from resources.transcripts.markup import read_html, read_xml
from resources.transcripts.plausibility import ENDED, check_lost, check_prose
from resources.transcripts.speakers import are_names, label_of, with_labels, with_speakers
from resources.transcripts.timed_lines import read_timed_lines, without_pages

MAX_BYTES: Final = 32 * 1024 * 1024
"""Limit of a file. Three hours of speech take 0.2 MB as text, 4 MB as json3."""
_MARKUP = re.compile(r"\s*<(?:\?xml|!|[a-z][\w:.-]*[\s/>])", re.IGNORECASE)
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|body|table|cite|time|p|div|h1)\b", re.IGNORECASE)
_LANGUAGE_IN_NAME = re.compile(r".+\.([a-z]{2}(?:-[A-Za-z0-9]{2,4})?)\.[A-Za-z0-9]+")
_FRONT_MATTER = re.compile(r"\A---\n(?:(?!---\n).*\n){1,200}?---\n")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\(https?://[^\s()]*\)")
_MARKDOWN = re.compile(r"\*\*|__|\\(?=[\[\]()*_#.:-])")
_EMPHASIS = re.compile(r"(?<=\S)\*|\*(?=\S)")
_HEADING = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
_LINE_END = re.compile(r"\r\r\n|\r\n|\r")
_ALONE = re.compile(r"^(.{0,39}[^\s.!?…。,;])\n\s*\n(?=.)", re.MULTILINE)
_ADDRESS = re.compile(r"(?:[^<>]*<)?[^\s@]+@[^\s@]+\.\w+>?")
_NEARLY, _FIELDS, _MOST_REMARKS = 0.8, 3, 0.05
_CAPTION_SUFFIXES: Final = frozenset({".vtt", ".srt", ".sbv"})


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
        language = self.language or transcript.language
        return base.Found(replace(transcript, language=language), "file")


def read_transcript(path: Path) -> base.TimedText:
    """Read a transcript file, with the language in it or in its name. Raises TranscriptError."""
    with errors_naming(path, base.TranscriptError):
        return _read(path)


def _read(path: Path) -> base.TimedText:
    with readable():
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    if size > MAX_BYTES:
        sizes = f"has {size / 1e6:,.0f} MB, and a transcript at most {MAX_BYTES / 1e6:,.0f} MB"
        raise PlacedError(f"The file {sizes}. Give the captions, not the recording.")
    transcript = parse_transcript(data, path.suffix)
    named = _LANGUAGE_IN_NAME.fullmatch(path.name)
    return replace(transcript, language=transcript.language or (named[1] if named else None))


def parse_transcript(data: bytes, extension: str = "") -> base.TimedText:
    """Parse a transcript of any format in base.FORMATS; PlacedError for any other."""
    try:
        text = _LINE_END.sub("\n", decode_text(data, detect=True).replace("\ufeff", ""))
    except NotTextError as error:
        raise PlacedError(f"This is no text: {error}. Give {base.FORMATS}.") from error
    if not text.strip():
        raise PlacedError("The file is empty. Give a file with words in it.")
    files = (reader(text, extension.lower()) for reader in _READERS)
    file = next(filter(None, files), None)
    if file is None:
        return _prose(text, extension.lower())
    if all(caption.start is None and caption.speaker is None for caption in file.captions):
        # One text alone, such as an imported claim, may be a formula.
        is_alone = text.lstrip()[0] == "{" and len(file.captions) == 1
        text = "\n".join(caption.text for caption in file.captions)
        transcript = _prose(text, "", is_alone=is_alone) if text else transcript_of(())
    else:
        transcript = transcript_of(file.captions)
    check_lost(file.lines, transcript)
    return replace(transcript, language=file.language, kind=file.kind, title=file.title)


def _json(text: str, extension: str) -> CaptionFile | None:
    document = load_json(text, extension) if text.lstrip()[0] in "[{" else None
    return None if document is None else read_records(document)


def _markup(text: str, _: str) -> CaptionFile | None:
    if _MARKUP.match(text) and any(sign in text for sign in ("</", "/>", "<!")):
        return read_html(text) if _HTML.match(text) else read_xml(text)
    if text.lstrip().startswith("{\\rtf"):
        raise base.unknown_format("This is markup, Rich Text")
    fields = HeaderParser().parsestr(text.lstrip())
    if len({*fields}) >= _FIELDS and any(map(_ADDRESS.fullmatch, map(str, fields.values()))):
        raise base.unknown_format("This is a letter with the head of an e-mail")
    return None


def _without_markdown(text: str) -> str:
    plain = _MARKDOWN.sub("", _LINK.sub(r"\1", _FRONT_MATTER.sub("", text)))
    return _EMPHASIS.sub("", plain) if "**" in text else plain


_READERS: Final[tuple[Callable[[str, str], CaptionFile | None], ...]] = (
    _json,
    lambda text, _: read_by_library(text),
    _markup,
    lambda text, _: read_webvtt(text.lstrip()) if text.lstrip().startswith("WEBVTT") else None,
    lambda text, _: read_table(text),
    lambda text, _: read_cues(text),
    lambda text, _: read_timed_lines(without_pages(_without_markdown(text))),
)
"""The readers in the order in which they are asked; each returns None for other formats."""


def _prose(text: str, extension: str, *, is_alone: bool = False) -> base.TimedText:
    """Return a text without times: unchanged, or in cues if it names its speakers.

    `is_alone`: it is the only text of a JSON file, so nothing was misread.
    """
    if extension in _CAPTION_SUFFIXES:
        raise PlacedError(NO_TIMES)
    words = INVISIBLE.sub("", without_pages(_FRONT_MATTER.sub("", text))).strip()
    if len(REMARK.findall(words)) <= _MOST_REMARKS * len(words.split()):
        words = REMARK.sub("", words).strip()
    plain = _without_markdown(words)
    if not plain.strip():
        raise PlacedError("The file has no words. Give one that has.")
    headless = _HEADING.sub("", plain)
    if are_names(alone := _ALONE.findall(headless), len(alone)):
        headless = _ALONE.sub(r"\1\n", headless)
    paragraphs = re.split(r"\n\s*\n|\n(?=[\[<]|.{0,60}[:\uff1a])", headless)
    parts = with_labels([Caption(part.strip(), None) for part in paragraphs if part.strip()])
    lines = [" ".join(part.text.split()) for part in parts]
    labelled = [line for line in lines if label_of(line)]
    if sum(map(bool, map(ENDED.search, labelled))) > _NEARLY * len(labelled):
        # Paragraphs without a label and an end are headings, and heads of pages.
        lines = [line for line in lines if label_of(line) or ENDED.search(line)]
    # Before the first sentence stand titles and lists of persons.
    first = next((at for at, line in enumerate(lines) if ENDED.search(line)), 0)
    spoken = [Caption(line, None) for line in lines[first:]]
    if any(caption.speaker for caption in with_speakers(spoken)):
        transcript = transcript_of(spoken)
        check_lost(lines, transcript)
        return transcript
    if not is_alone:
        check_prose(plain.split("\n"))
    rows = words.split("\n")
    while rows and (not rows[-1].strip() or is_credit(rows[-1])):
        rows.pop()
    if not rows:
        raise NothingSaidError("The file names only its makers. Give one with words.")
    return base.TimedText(plain_text="\n".join(rows))
