"""Reads transcripts from files: WebVTT, SRT, YouTube's json3, segment lists, plain text.

What belongs here: telling formats apart, and the provider that serves such files. What does not:
the formats themselves (captions.py, json_captions.py), sentences and offsets (stages), and
transcripts that are fetched over a network.

The format is told by content; the file's extension only breaks ties.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from resources.text_encoding import NotTextError, decode_text
from resources.transcripts.base import (
    FORMATS,
    BinaryTranscriptError,
    EmptyTranscriptError,
    Found,
    NoTranscript,
    Outage,
    Source,
    TimedText,
    TranscriptAnswer,
    TranscriptError,
    TranscriptFileMissingError,
    TranscriptFileUnreachableError,
    TranscriptTooLargeError,
    UnknownVideo,
    Unreadable,
    UnsupportedTranscriptError,
    no_times,
)
from resources.transcripts.captions import (
    INVISIBLE,
    TIMING_LINE,
    captions_of,
    parse_webvtt,
    timed,
    undo_rolling,
)
from resources.transcripts.json_captions import load_json, parse_json

MAX_BYTES: Final = 32 * 1024 * 1024
"""Larger files are refused. Three hours of speech take 0.2 MB as text, 4 MB as json3."""

_MARKUP_START = re.compile(
    r"\s*<(?:\?xml|!doctype|html|transcript|timedtext|tt|sami)\b", re.IGNORECASE
)
_LANGUAGE_IN_NAME = re.compile(r".+\.([a-z]{2}(?:-[A-Za-z0-9]{2,4})?)\.[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class FileTranscripts:
    """The provider of transcripts that lie in files: which video's words stand in which file."""

    paths: Mapping[str, Path]
    languages: Mapping[str, str]
    name: str = "file"

    async def transcript(self, video_id: str) -> TranscriptAnswer:
        """Read a video's file. Never raises for a bad file: it answers so."""
        path = self.paths.get(video_id)
        if path is None:
            return UnknownVideo(f"No transcript file is listed for the video {video_id!r}.")
        try:
            transcript = await asyncio.to_thread(read_transcript, path)
        except TranscriptFileMissingError as error:
            return UnknownVideo(str(error))
        except EmptyTranscriptError as error:
            return NoTranscript(str(error))
        except TranscriptFileUnreachableError as error:
            return Outage(str(error))
        except TranscriptError as error:
            return Unreadable(str(error))
        language = self.languages.get(video_id) or transcript.language
        return Found(replace(transcript, language=language), self.name)


def read_transcript(path: Path, *, max_bytes: int = MAX_BYTES) -> TimedText:
    """Read a transcript file of any supported format.

    The language is taken from the file's content, else from a name such as `talk.en.vtt`.

    Raises:
        TranscriptError: one of its subclasses says what is wrong and what to do.
    """
    name = str(path)
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise TranscriptTooLargeError(
                name,
                f"The file has {size / 1e6:,.0f} MB, and a transcript at most "
                f"{max_bytes / 1e6:,.0f} MB.",
                "Give the captions, not the recording.",
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise TranscriptFileMissingError(
            name, "There is no such file.", "Check the path, which is relative to the corpus file."
        ) from error
    except OSError as error:
        raise TranscriptFileUnreachableError(
            name, f"The file cannot be read ({error.strerror}).", "Check what it is and who may."
        ) from error
    transcript = parse_transcript(data, name=name, extension=path.suffix)
    named = _LANGUAGE_IN_NAME.fullmatch(path.name)
    return replace(transcript, language=transcript.language or (named[1] if named else None))


def parse_transcript(data: bytes, *, name: str, extension: str = "") -> TimedText:
    """Parse the bytes of a transcript; `name` is what errors call it.

    Cues come back sorted by start, without markup, without empty ones, and with times that are
    never negative.

    Raises:
        TranscriptError: one of its subclasses says what is wrong and what to do.
    """
    try:
        text = decode_text(data)
    except NotTextError as error:
        raise BinaryTranscriptError(
            name, f"This is no text: {error}.", f"Give {FORMATS}."
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise EmptyTranscriptError(name, "The file is empty.", "Give a file with words in it.")
    return _parse_text(text, Source(name, extension.lower()))


def _parse_text(text: str, source: Source) -> TimedText:
    start = text.lstrip()
    if start.startswith("WEBVTT"):
        return parse_webvtt(text, source)
    if start[0] in "[{":
        document = load_json(text, source)
        if document is not None:
            return parse_json(document, source)
    if TIMING_LINE.search(text):
        return timed(undo_rolling(captions_of(text, source, numbered=True)), source)
    return _parse_plain_text(text, source)


def _parse_plain_text(text: str, source: Source) -> TimedText:
    if source.extension in {".vtt", ".srt"}:
        raise no_times(source)
    if _MARKUP_START.match(text):
        raise UnsupportedTranscriptError(
            source.name, "This is markup, not a transcript.", f"Give {FORMATS}."
        )
    words = INVISIBLE.sub("", text).strip()
    if not words:
        raise EmptyTranscriptError(source.name, "The file has no words.", "Give one that has.")
    return TimedText(plain_text=words)
