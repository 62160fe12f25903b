"""Lists a new video with its transcript, for the command line and for the Dagster UI alike.

What belongs here: which video a person means, and what makes one impossible to list. What does not:
the form of corpus files (writing.py), asking for the details (cli/corpus.py,
automation/add_video.py).
"""

from __future__ import annotations

import re
from pathlib import Path

from factible_assets.corpora.format import CorpusError, VideoEntry
from factible_assets.corpora.reading import CorporaReading
from factible_assets.corpora.writing import add_video
from factible_assets.files import write_whole
from resources.transcripts.youtube_ids import is_video_id, video_id_of, watch_url

LOCAL_CORPUS = "local.yaml"
"""The corpus in the data folder that lists what a person added without naming a file."""

_TRANSCRIPTS = "transcripts"
_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?:www\.|m\.|music\.)?(?:youtube(?:-nocookie)?\.com|youtu\.be)/)",
    re.IGNORECASE,
)


def bare_id(target: str) -> str:
    """Return the id that a YouTube link names, everything else as it is.

    Raises:
        NotAVideoLinkError: If it is a link, and not to a YouTube video.
    """
    return video_id_of(target) if _LINK.match(target.strip()) else target


def copied_name(video_id: str, transcript: Path) -> str:
    """Return where a transcript is copied to, relative to the folder of corpora."""
    return f"{_TRANSCRIPTS}/{video_id}{transcript.suffix.lower()}"


def list_new_video(
    file: Path,
    video: str,
    *,
    listing: CorporaReading,
    transcript: Path | None = None,
    **details: str | None,
) -> VideoEntry:
    """List a video in a corpus file, its transcript copied beside it; return the entry.

    The file is created if it is not there, and keeps what it holds. The video is a YouTube link or
    id, or an id of one's own, which needs a transcript: a file of captions, whose language is taken
    over unless `details` (fields of VideoEntry) have one. In the `listing` of what is listed
    anywhere, an entry on demand gives way.

    Raises:
        NotAVideoLinkError: it is a link, and to no video.
        CorpusError: it is listed already, has no transcript, or cannot be written.
        TranscriptError: the transcript is none.
        pydantic.ValidationError: a detail cannot be used.
    """
    # Readers of caption files load only where one is read.
    from resources.transcripts.file import read_transcript  # noqa: PLC0415

    video_id = bare_id(video)
    listed = listing.find(video_id)
    if listed is not None and listed in listing.videos():
        raise CorpusError(
            f"The video {video_id} is listed already, in {listed.file}, line {listed.line}. "
            "Edit that entry instead."
        )
    if transcript is None and not is_video_id(video_id):
        raise CorpusError(
            f"The video {video_id!r} is not on YouTube and has no transcript. Give its captions "
            "as a transcript file."
        )
    words = read_transcript(transcript) if transcript else None
    given = {
        **details,
        "id": video_id,
        "url": watch_url(video_id) if is_video_id(video_id) else None,
        "language": details.get("language") or (words.language if words else None),
        "transcript": copied_name(video_id, transcript) if transcript else None,
    }
    entry = VideoEntry.model_validate({key: each for key, each in given.items() if each})
    if transcript is not None:
        write_whole(file.parent / str(entry.transcript), transcript.read_bytes())
    add_video(file, entry)
    return entry
