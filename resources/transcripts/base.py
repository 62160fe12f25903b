"""The values of every transcript provider: timed text, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, Protocol, TypeAlias

from resources.text_files import PlacedError

TranscriptKind = Literal["manual", "generated", "unknown"]
"""Whether a person or a speech recogniser wrote the captions."""


@dataclass(frozen=True, slots=True)
class Caption:
    """One caption as a file has it: its text may have lines, markup, and labels of speakers.

    Times are in seconds; `start` is None in a text without times. An unknown end equals the start.
    """

    text: str
    start: float | None
    end: float = 0.0
    speaker: str | None = None
    new_turn: bool = False

    @property
    def begins(self) -> float:
        return self.start or 0.0


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption, or one paragraph of an untimed text with speakers.

    `text` is not empty; it has no line break, markup or speaker label. Times are in seconds, finite
    and not negative, None in an untimed text. Cues of speech recognisers may overlap.
    """

    text: str
    start_seconds: float | None
    duration_seconds: float = 0.0
    speaker: str | None = None
    """The name or label in the source, such as Ann or SPEAKER_01."""
    new_turn: bool = False
    """Whether the source marks a change of speaker here, named or not."""


@dataclass(frozen=True, slots=True)
class TimedText:
    """The words of a video: either `cues`, in order of time, or `plain_text` without times."""

    cues: tuple[Cue, ...] = ()
    plain_text: str | None = None
    language: str | None = None
    kind: TranscriptKind = "unknown"
    title: str | None = None

    def __post_init__(self) -> None:
        if bool(self.cues) == bool(self.plain_text):
            raise ValueError("a transcript has either cues or a plain text, and it is not empty")


@dataclass(frozen=True, slots=True)
class VideoDetails:
    """A platform's details of a video, None if missing; `problems` explains why."""

    title: str | None = None
    channel: str | None = None
    duration_seconds: float | None = None
    published_on: date | None = None
    """The day in the platform's time zone."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript, and its provider, with any proxy or translation in between."""

    transcript: TimedText
    provider: str
    details: VideoDetails | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no transcript, and a retry will not help. `reason` is a sentence for a person."""

    reason: str


class Outage(Missing):
    """The provider failed, and a later attempt may succeed."""


TranscriptAnswer: TypeAlias = Found | Missing


class TranscriptProvider(Protocol):
    async def transcript(self, video_id: str) -> TranscriptAnswer:
        """Return the transcript of one video. A failure is an answer, no error."""


FORMATS: Final = (
    "WebVTT, SRT, SBV, SubStation (.ass, .ssa), LRC, MicroDVD, MPL2, SAMI, TTML, YouTube's srv1, "
    "srv3 and json3, JSON, XML and tables whose fields have usual names, as those of recognisers "
    "have, and plain text, with times at the beginning or the end of its lines or without"
)


def unknown_format(problem: str) -> PlacedError:
    return PlacedError(f"{problem}. Readable are {FORMATS}.")


class TranscriptError(Exception):
    """An unusable transcript file. The message names the file, the line and the remedy."""
