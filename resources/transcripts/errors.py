"""What can be wrong with a transcript file, as types whose sentences say what to do about it.

What belongs here: the errors of reading a file, and where in it they happened. What does not:
outages of a service (base.Outage).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FORMATS: Final = "WebVTT (.vtt), SRT (.srt), YouTube's json3, a JSON segment list or plain text"
"""The readable formats, as a sentence names them."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that is read: what errors call it, and its extension in lower case."""

    name: str
    extension: str


class TranscriptError(Exception):
    """A transcript file cannot be used. The message names the file, the line and the remedy."""

    def __init__(self, name: str, problem: str, remedy: str, line: int | None = None) -> None:
        place = name if line is None else f"{name}, line {line}"
        super().__init__(f"{place}: {problem} {remedy}")
        self.name = name
        self.line = line


class TranscriptFileMissingError(TranscriptError):
    """There is no such file."""


class TranscriptFileUnreachableError(TranscriptError):
    """The file is there and the system does not let it be read."""


class TranscriptTooLargeError(TranscriptError):
    """The file is larger than any transcript."""


class BinaryTranscriptError(TranscriptError):
    """The file is no text."""


class EmptyTranscriptError(TranscriptError):
    """The file is readable, and nothing is said in it."""


class UnreadableTimestampError(TranscriptError):
    """A caption's time cannot be read."""


class UnsupportedTranscriptError(TranscriptError):
    """The file is text in another format, or damaged JSON."""


def no_times(source: Source) -> UnreadableTimestampError:
    """Say that a file of captions has none."""
    return UnreadableTimestampError(
        source.name,
        "The file should hold captions, but no line has times.",
        "Write each as 00:01:02.500 --> 00:01:05.000, or rename a file without times to .txt.",
    )
