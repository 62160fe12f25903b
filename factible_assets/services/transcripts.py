"""The sources of transcripts: factible asks those that suit a video, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.services.web import youtube_transcripts
from factible_assets.settings import Settings
from factible_assets.wording import plain
from resources.http import HttpClient, HttpFailureError, HttpLimits, OutageError, RetryPolicy
from resources.models.base import model_path
from resources.network_guard import NameTable, NetworkGuard
from resources.text_files import PlacedError
from resources.transcripts import base, podcast
from resources.transcripts.file import FileTranscript
from resources.transcripts.recording import MODELS, OnProgress, RecordingTranscript, is_recording
from resources.transcripts.youtube_ids import is_video_id

_FETCHING = HttpLimits(read_seconds=60.0, attempt_seconds=3_600.0)
"""An hour's recording has 50 to 100 MB, which takes minutes on a slow line."""


@dataclass(frozen=True, slots=True)
class WantedVideo:
    """A video to transcribe, with the files and links of its corpus entry."""

    video_id: str
    language: str | None = None
    transcript: Path | None = None
    media: Path | None = None
    transcript_url: str | None = None
    recording_url: str | None = None
    on_progress: OnProgress = lambda _, __: None
    """Receives a sentence and a share from slow sources."""


Client: TypeAlias = base.TranscriptProvider | None
Load: TypeAlias = Callable[[], Settings]
Source: TypeAlias = Callable[[WantedVideo, Load], Client]
"""Returns the client for a video, or None if the source does not suit it. Loads the settings only
if the client needs them. A video with a transcript file has no other source."""


def _file(video: WantedVideo, _: Load) -> Client:
    return FileTranscript(video.transcript, video.language) if video.transcript else None


def _youtube(video: WantedVideo, settings: Load) -> Client:
    return youtube_transcripts(settings()) if is_video_id(video.video_id) else None


def _linked_transcript(video: WantedVideo, settings: Load) -> Client:
    if video.transcript_url is None:
        return None
    client = partial(feed_client, settings())
    return podcast.LinkedTranscript(video.transcript_url, client, video.language)


def _recording(video: WantedVideo, settings: Load) -> Client:
    if not (is_recording(video.media) or video.recording_url):
        return None
    loaded = settings()
    recognise = partial(
        RecordingTranscript,
        model=speech_model(loaded),
        language=video.language,
        on_progress=video.on_progress,
    )
    if video.media is not None and is_recording(video.media):
        return recognise(video.media)
    client = partial(feed_client, loaded)
    return podcast.LinkedRecording(str(video.recording_url), client, recognise, video.on_progress)


SOURCES: tuple[Source, ...] = (_file, _linked_transcript, _youtube, _recording)
"""All sources, in the order of requests: captions by people before speech recognition."""


def feed_client(settings: Settings) -> HttpClient:
    """Return the HTTP client for feeds and their links, which reaches only public addresses."""
    return HttpClient(
        guard=NetworkGuard(names=NameTable(settings.hosts)),
        limits=_FETCHING,
        # Written blocks are not rewritten, so only a whole run can be retried.
        retry=RetryPolicy(attempts=1),
    )


async def fetch_feed(address: str, settings: Settings) -> podcast.Feed:
    """Fetch a podcast feed. Raises FactibleError: It cannot be fetched or parsed."""
    try:
        async with feed_client(settings) as http:
            response = await http.get(address, max_bytes=podcast.MAX_FEED_BYTES)
        response.raise_for_status()
        return podcast.parse_feed(response.body, response.url)
    except HttpFailureError as failure:
        is_outage = isinstance(failure, OutageError)
        raise FactibleError(
            f"{plain(address, 200)} could not be fetched: {failure.reason}.",
            "Try again later." if is_outage else "Correct the address of the feed.",
            ExitCode.ENVIRONMENT if is_outage else ExitCode.BAD_INPUT,
        ) from failure
    except PlacedError as error:
        raise FactibleError(f"{plain(address, 200)}: {plain(error.sentence, 300)}") from error


def speech_model(settings: Settings) -> Path | None:
    """Return the folder of the speech recognition model; None if no model was pulled."""
    folders = (model_path(settings.home, name) for name in MODELS)
    return next((folder for folder in folders if folder is not None), None)


async def find_transcript(video: WantedVideo, settings: Load) -> base.TranscriptAnswer:
    """Ask the sources that suit a video, until one has the transcript or fails.

    An outage ends the search, because that source may have a better transcript later. If all
    sources lack it, the answer has all their reasons.
    """
    reasons: list[str] = []
    for source in SOURCES:
        client = source(video, settings)
        if client is None:
            continue
        answer = await client.transcript(video.video_id)
        if isinstance(answer, base.Found | base.Outage):
            return answer
        reasons.append(answer.reason)
        if video.transcript is not None:
            break
    return base.Missing(
        " ".join(reasons)
        or f"The video {video.video_id!r} has no transcript, no recording and no YouTube id. Name "
        "a file of one of them in its corpus entry."
    )
