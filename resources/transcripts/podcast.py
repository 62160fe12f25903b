"""Reads podcast feeds, and fetches the transcript or the recording of an episode.

Sources: RSS 2.0 (cyber.harvard.edu/rss/rss.html), the podcast namespace's tag `transcript`
(github.com/Podcastindex-org/podcast-namespace). Every word of a feed is hostile.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import lxml.etree

from resources.http import HttpClient, HttpFailureError, OutageError, Response
from resources.text_files import PlacedError
from resources.transcripts import base
from resources.transcripts.cleaning import one_line
from resources.transcripts.file import MAX_BYTES, parse_transcript
from resources.transcripts.recording import (
    SUFFIXES,
    OnProgress,
    RecordingTranscript,
    is_recording,
    missing_requirement,
    with_progress,
)

MAX_FEED_BYTES: Final = 32 * 1024 * 1024
MAX_EPISODES: Final = 1_000
MAX_RECORDING_BYTES: Final = 1024**3
_MAX_TEXT = 500
_TIMED_FIRST: Final = ("json", "vtt", "srt", "subrip", "html", "plain")
"""Words in media types of transcripts; formats with times and speakers come first."""
_DURATION = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Episode:
    """One item of a feed, with a link to a transcript, a recording, or both.

    `identity` is its guid, else the address of its recording.
    """

    identity: str
    title: str
    page_url: str | None = None
    published_on: date | None = None
    duration_seconds: float | None = None
    transcript_url: str | None = None
    recording_url: str | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A podcast: its episodes in the feed's order, and the number of items without links."""

    title: str
    language: str | None
    episodes: tuple[Episode, ...]
    without_words: int
    beyond_limit: int


def parse_feed(data: bytes, url: str = "") -> Feed:
    """Read the feed at `url`; PlacedError for no RSS feed, declared entities, or no links."""
    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = lxml.etree.fromstring(data, parser)
    except (lxml.etree.XMLSyntaxError, ValueError) as error:
        raise PlacedError(
            "This is no podcast feed, for it is no XML. Give the address of an RSS feed; give a "
            "single transcript or recording as a file."
        ) from error
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise PlacedError("This feed declares entities, and no feed needs any.")
    channel = root.find("channel") if root.tag == "rss" else None
    if channel is None:
        raise PlacedError("This is XML, but no RSS feed: it has no channel in an rss element.")
    items = channel.findall("item")
    episodes = [_episode(item, url) for item in items[:MAX_EPISODES]]
    distinct = {episode.identity: episode for episode in episodes if episode is not None}
    if not distinct:
        raise PlacedError(
            "No episode of this feed links to a transcript or a recording. Give another feed."
        )
    language = re.fullmatch(r"[A-Za-z]{2,3}(-\w{2,8})*", _text(channel, "language") or "")
    return Feed(
        title=_text(channel, "title") or urlsplit(url).hostname or "podcast",
        language=language[0] if language else None,
        episodes=tuple(distinct.values()),
        without_words=episodes.count(None),
        beyond_limit=max(0, len(items) - MAX_EPISODES),
    )


def _episode(item: Any, url: str) -> Episode | None:
    transcripts = [
        (_rank(str(tag.get("type", "")).lower()), at, link)
        for at, tag in enumerate(item.iterfind("{*}transcript"))
        if (link := _link(tag.get("url"), url))
    ]
    recordings = (
        link
        for tag in item.findall("enclosure")
        if (link := _link(tag.get("url"), url))
        if str(tag.get("type", "")).lower().startswith(("audio/", "video/"))
        or is_recording(Path(urlsplit(link).path))
    )
    transcript = min(transcripts)[2] if transcripts else None
    recording = next(recordings, None)
    if not (transcript or recording):
        return None
    identity = _text(item, "guid") or recording or transcript or ""
    day = None
    with suppress(ValueError, OverflowError):
        day = parsedate_to_datetime(_text(item, "pubDate") or "").date()
    length = _DURATION.fullmatch(_text(item, "{*}duration") or "")
    hours, minutes, seconds = (float(part or 0) for part in length.groups()) if length else (0,) * 3
    return Episode(
        identity=identity,
        title=_text(item, "title") or identity,
        page_url=_link(_text(item, "link"), url),
        published_on=day,
        duration_seconds=hours * 3600 + minutes * 60 + seconds or None,
        transcript_url=transcript,
        recording_url=recording,
    )


def _rank(media_type: str) -> int:
    ranks = (at for at, word in enumerate(_TIMED_FIRST) if word in media_type)
    return next(ranks, len(_TIMED_FIRST))


def _text(element: Any, name: str) -> str | None:
    return one_line(element.findtext(name) or "")[:_MAX_TEXT] or None


def _link(link: str | None, url: str) -> str | None:
    with suppress(ValueError):
        whole = urljoin(url, (link or "").strip())
        if link and len(whole) <= 4 * _MAX_TEXT and urlsplit(whole).scheme in {"http", "https"}:
            return whole
    return None


# --- The providers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkedTranscript:
    """The provider of a transcript at an address; `client` opens an HTTP client."""

    url: str
    client: Callable[[], HttpClient]
    language: str | None = None

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        del video_id
        try:
            async with self.client() as http:
                response = await http.get(self.url, max_bytes=MAX_BYTES)
            response.raise_for_status()
            suffix = PurePosixPath(urlsplit(self.url).path).suffix
            transcript = await asyncio.to_thread(parse_transcript, response.body, suffix)
        except HttpFailureError as failure:
            return _unfetched("transcript", failure)
        except PlacedError as error:
            return base.Missing(f"The transcript of the episode cannot be read. {error.sentence}")
        language = self.language or transcript.language
        return base.Found(replace(transcript, language=language, title=None), "podcast")


@dataclass(frozen=True, slots=True)
class LinkedRecording:
    """The provider of the words of a recording at an address. It does not store the recording."""

    url: str
    client: Callable[[], HttpClient]
    recognise: Callable[[Path], RecordingTranscript]
    on_progress: OnProgress = lambda _, __: None

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        suffix = PurePosixPath(urlsplit(self.url).path).suffix.lower()
        with tempfile.TemporaryDirectory(prefix="factible-") as folder:
            file = Path(folder) / f"recording{suffix if suffix in SUFFIXES else '.mp3'}"
            recogniser = self.recognise(file)
            if (problem := missing_requirement(recogniser.model)) is not None:
                return base.Missing(problem)
            try:
                await with_progress(self._fetch(file), self.on_progress, lambda: _fetched(file))
            except HttpFailureError as failure:
                return _unfetched("recording", failure)
            return await recogniser.transcript(video_id)

    async def _fetch(self, file: Path) -> None:
        with file.open("wb") as target:

            def keep(_: Response, block: bytes) -> None:
                target.write(block)

            async with self.client() as http:
                response = await http.get(self.url, max_bytes=MAX_RECORDING_BYTES, sink=keep)
        response.raise_for_status()


def _fetched(file: Path) -> tuple[str, float]:
    return f"fetching the recording: {file.stat().st_size / 1e6:,.1f} MB", 0.0


def _unfetched(kind: str, failure: HttpFailureError) -> base.Missing:
    outcome = base.Outage if isinstance(failure, OutageError) else base.Missing
    return outcome(f"The {kind} of the episode could not be fetched: {failure.reason}.")
