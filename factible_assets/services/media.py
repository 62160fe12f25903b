"""Opens the services that examine pictures, and finds the pictures of a video."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from factible_assets.records.tables import Video
from factible_assets.services.search import open_service
from factible_assets.settings import Settings
from factible_assets.stages.media import MediaServices, Picture, frame_moments
from factible_assets.stages.ports import Fetcher
from factible_assets.wording import clock
from resources.http import HttpClient, HttpFailureError, OutageError
from resources.images.base import NoPictureError
from resources.images.inspect import frame_at, inspect
from resources.images.services import GoogleVision, Sightengine
from resources.transcripts.recording import SOUNDS
from resources.transcripts.youtube_ids import is_video_id

THUMBNAILS = "https://i.ytimg.com"
_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"})
_MAX_BYTES = 10_000_000


def media_services(settings: Settings, http: HttpClient, fetcher: Fetcher) -> MediaServices:
    """Raises SetupError: A key is invalid."""
    vision = faces = None
    if settings.google_vision_api_key is not None:
        vision = open_service(GoogleVision, http, settings)
    if settings.sightengine_api_key is not None:
        faces = open_service(Sightengine, http, settings)
    return MediaServices(inspect, fetcher, vision, faces)


def pictures_of(
    video: Video, media: Path | None, settings: Settings, http: HttpClient
) -> Sequence[Picture]:
    """Return the YouTube thumbnail, and the picture or some frames of the corpus's media file."""
    pictures = []
    if is_video_id(video.video_id):
        base = settings.endpoints.get("thumbnails", THUMBNAILS)
        url = f"{base.rstrip('/')}/vi/{video.video_id}/hqdefault.jpg"
        pictures.append(Picture("thumbnail", partial(_fetch, http, url)))
    if media is not None and media.suffix.lower() in _PICTURES:
        pictures.append(Picture(media.name, partial(_read, media)))
    elif media is not None and media.suffix.lower() not in SOUNDS:
        moments = frame_moments(video.duration_seconds) if video.duration_seconds else (0.0,)
        pictures += [Picture(f"frame at {clock(s)}", partial(frame_at, media, s)) for s in moments]
    return pictures


async def _fetch(http: HttpClient, url: str) -> bytes:
    try:
        response = await http.get(url, max_bytes=_MAX_BYTES)
        response.raise_for_status()
    except HttpFailureError as failure:
        sentence = f"The thumbnail could not be fetched: {failure.reason}."
        raise NoPictureError(sentence, is_outage=isinstance(failure, OutageError)) from failure
    return response.body


async def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:  # noqa: ASYNC240 - fast
            raise NoPictureError(f"{path.name} is larger than {_MAX_BYTES // 1_000_000} MB.")
        return await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        sentence = f"{path.name} cannot be read: {error.strerror}."
        raise NoPictureError(sentence, is_outage=True) from error
