"""The values that every transcript provider returns: timed text, or the reason why there is none.

What belongs here: the transcript value, the outcomes of a request, the error of a file that cannot
be used, and the provider protocol. What does not: any provider, and the use of the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, Protocol, TypeAlias

from resources.lines import PlacedError

TranscriptKind = Literal["manual", "generated", "unknown"]
"""Whether captions were written by a person or by a speech recogniser, as far as one can tell."""


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption, or one paragraph of a text that names its speakers but has no times.

    `text` is not empty. It contains no line break, no markup and no speaker label. Times are in
    seconds, finite and not negative; a cue of an untimed text has None. Cues of speech recognisers
    overlap: a cue may end after the next one has begun.
    """

    text: str
    start_seconds: float | None
    duration_seconds: float = 0.0
    speaker: str | None = None
    """The name or label of the speaker in the source, such as Ann or SPEAKER_01."""
    new_turn: bool = False
    """Whether the source says that another person begins to speak here, named or not."""


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
    """What a platform says about a video; None where it did not, and `problems` says why.

    `published_on` is the day in the time zone that the platform gives.
    """

    title: str | None = None
    channel: str | None = None
    duration_seconds: float | None = None
    published_on: date | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The transcript, and how it came: the provider's name, and what stood in between."""

    transcript: TimedText
    provider: str
    details: VideoDetails | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """There is none, and asking again will not help; `reason` is a sentence for a person."""

    reason: str


class Outage(Missing):
    """The provider failed and may answer another time."""


TranscriptAnswer: TypeAlias = Found | Missing


class TranscriptProvider(Protocol):
    """A source of transcripts. Never raises for a video that fails: it answers so."""

    async def transcript(self, video_id: str) -> TranscriptAnswer:
        """Obtain the transcript of one video."""


FORMATS: Final = (
    "WebVTT, SRT, SBV, SubStation (.ass, .ssa), LRC, MicroDVD, MPL2, SAMI, TTML, YouTube's srv1, "
    "srv3 and json3, JSON of the podcast namespace, of Whisper and of other speech recognition, "
    "tables with a start and a text, or plain text, with times at the beginning or the end of its "
    "lines or without"
)
"""The readable formats of files, as a sentence names them."""


def unknown(problem: str) -> PlacedError:
    """Return the refusal of a format: what is wrong, and the formats that are read."""
    return PlacedError(None, f"{problem}. Readable are {FORMATS}.")


class TranscriptError(Exception):
    """A transcript file cannot be used. The message names the file, the line and the remedy."""
