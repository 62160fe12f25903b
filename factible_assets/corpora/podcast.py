"""Turns a podcast's feed into a corpus, and later adds its new episodes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from factible_assets.corpora.editing import add_video
from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry
from factible_assets.corpora.reading import load_corpus
from factible_assets.corpora.writing import write_corpus
from resources.files import digest, slug
from resources.transcripts.podcast import Episode, Feed
from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """The corpus file of a feed, and the ids of its new episodes."""

    file: Path
    added: tuple[str, ...]


def list_feed(
    file: Path, feed: Feed, address: str, *, web: str | None = None, limit: int | None = None
) -> ListedFeed:
    """List all episodes of a feed in a corpus file, or the first `limit`.

    If the file came from this feed, it gets the missing episodes and keeps the rest. Raises
    CorpusError if the file lists something else, or cannot be read or written.
    """
    description = f"Podcast: {address}"
    # The oldest first, so that appended episodes stay in order of time.
    entries = [entry_of(episode, feed) for episode in reversed(feed.episodes[:limit])]
    if not file.exists():
        values = {"corpus": file.stem, "description": description, "videos": entries}
        corpus = CorpusFile.model_validate(values | ({"web": web} if web else {}))
        write_corpus(file.parent, corpus, {})
        return ListedFeed(file, tuple(entry.video_id for entry in entries))
    reading = load_corpus(file)
    if not reading.corpora:
        raise CorpusError(f"{reading.problems[0]} Nothing was added to this file.")
    (known,) = reading.corpora
    if known.description != description:
        raise CorpusError(
            f"{file}: this corpus was not made of the feed {address}. Name another file for it "
            "(--corpus on the command line)."
        )
    listed = {_hash_in(entry.video.video_id) for entry in known.videos}
    new = [entry for entry in entries if _hash_in(entry.video_id) not in listed]
    return ListedFeed(file, tuple(add_video(file, entry) for entry in new))


def entry_of(episode: Episode, feed: Feed) -> VideoEntry:
    """Return an episode as a corpus entry.

    Its id is the title of the feed, which may change, and a hash of the episode's guid.
    """
    page = episode.page_url
    with suppress(NotAVideoLinkError):
        page = None if video_id_of(page or "") else page  # the id of an entry is that of its video
    values = {
        "id": f"{slug(feed.title)[:30].strip('-')}-{digest(episode.identity.encode())}",
        "title": episode.title,
        "channel": feed.title,
        "language": feed.language,
        "published_on": episode.published_on,
        "duration_seconds": episode.duration_seconds,
        "url": page,
        "transcript_url": episode.transcript_url,
        "recording_url": episode.recording_url,
    }
    try:
        return VideoEntry.model_validate(values)
    except ValidationError as error:
        field = "".join(map(str, error.errors()[0]["loc"][:1])) or "one of its values"
        raise CorpusError(
            f"The episode {episode.title!r} cannot be listed: {field} is not usable."
        ) from error


def _hash_in(video_id: str) -> str:
    """Return the hash of the guid in an episode's id."""
    return video_id.rpartition("-")[2]
