"""The door to transcripts: one table of sources. Those that suit a video are asked in order.

What belongs here: which sources there are, which files each takes, and the order in which they are
asked. What does not: the clients of the sources (resources/transcripts), the listing of videos
(corpora/), the rows that an asset makes of an answer (stages/transcript.py).

A new source is one row of SOURCES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from factible_assets.services.web import youtube_transcripts
from factible_assets.settings import Settings
from resources.transcripts import base
from resources.transcripts.file import FileTranscript
from resources.transcripts.youtube_ids import is_video_id


@dataclass(frozen=True, slots=True)
class WantedVideo:
    """A video whose words are wanted, with the files that its corpus entry names."""

    video_id: str
    language: str | None = None
    transcript: Path | None = None
    media: Path | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One source of transcripts."""

    name: str
    open: Callable[[WantedVideo, Callable[[], Settings]], base.TranscriptProvider | None]
    """Return the client that is asked for a video; None if the source does not suit the video.
    Settings are loaded only by a client that needs them."""
    takes_file: Callable[[Path], bool] = lambda _: False
    """Whether the source reads such a file, which need not exist. The first source that does wins.
    """
    listed_as: Literal["transcript", "media"] = "transcript"
    """The key of a corpus entry under which such a file is listed."""


def _file(video: WantedVideo, _: Callable[[], Settings]) -> base.TranscriptProvider | None:
    return FileTranscript(video.transcript, video.language) if video.transcript else None


def _youtube(
    video: WantedVideo, settings: Callable[[], Settings]
) -> base.TranscriptProvider | None:
    if video.transcript is not None or not is_video_id(video.video_id):
        return None
    return youtube_transcripts(settings())


SOURCES: Final = (Source("file", _file, takes_file=lambda _: True), Source("youtube", _youtube))
"""All sources, in the order in which they are asked."""


def source_of_file(path: Path) -> Source:
    """Return the source that reads a file that a person gives."""
    return next(source for source in SOURCES if source.takes_file(path))


async def find_transcript(
    video: WantedVideo, settings: Callable[[], Settings]
) -> base.TranscriptAnswer:
    """Ask the sources that suit a video, in order, until one has the transcript or fails.

    An outage ends the search, because the source may have a better transcript another time. If no
    source has one, the first reason is returned.
    """
    first: base.Missing | None = None
    for source in SOURCES:
        client = source.open(video, settings)
        if client is None:
            continue
        answer = await client.transcript(video.video_id)
        if isinstance(answer, base.Found | base.Outage):
            return answer
        first = first or answer
    return first or base.Missing(
        f"The video {video.video_id!r} has no transcript, no recording and no YouTube id. Name a "
        "file of one of them in its corpus entry."
    )
