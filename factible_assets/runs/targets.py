"""Finds the video that a person names: by link, id, transcript file or recording."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.corpora.format import CorpusError
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.corpora.writing import LOCAL_CORPUS, list_new_video
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.records.tables import Rating
from factible_assets.settings import Settings
from factible_assets.wording import plain
from resources.files import digest_of, slug
from resources.text_files import did_you_mean
from resources.transcripts.youtube_ids import NotAVideoLinkError, bare_id, is_video_id

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_FILE_NAME = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,5}\Z")
_SITE = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}/(?!.*\.[a-z0-9]{2,5}\Z)")


@dataclass(frozen=True, slots=True)
class Target:
    """A video. If no corpus lists it yet, it has a title and a transcript or a recording (`media`).

    `remark` is a sentence about an unreadable corpus that may list the video.
    """

    video_id: str
    transcript: Path | None = None
    title: str | None = None
    remark: str | None = None
    media: Path | None = None

    @property
    def file(self) -> Path | None:
        return self.transcript or self.media


def resolve(target: str, title: str | None, settings: Settings) -> Target:
    """Find the video that `target` names, without writing anything.

    Raises FactibleError: There is no such video.
    Raises NotAVideoLinkError: It is a link, but not to a YouTube video.
    Raises TranscriptError: It is a file, but no transcript.
    """
    if not target.strip():
        raise FactibleError(
            "The name of the video is empty.",
            "Give a YouTube link or id, the id of a video in a corpus, a transcript file or a "
            "recording.",
        )
    path = Path(target)
    if path.is_file():
        return _of_file(path, title, settings)
    if title is not None:
        raise UsageError(
            f"--title names the video of a file, and {plain(target)} is no file.",
            "Leave it out, or correct the path.",
        )
    video_id = bare_id(target)
    reading = load_corpora(settings.corpus_folders)
    if reading.find(video_id) is not None:
        return Target(video_id)
    unread = None
    if reading.problems:
        unread = f"Not every corpus could be read, such as {reading.problems[0]}"
    if is_video_id(video_id):
        return Target(video_id, remark=unread)
    shown = plain(video_id, 120)
    if path.is_dir():
        raise FactibleError(
            f"{shown} is a folder.", "Give a transcript file or a recording, such as one in it."
        )
    if _SITE.match(video_id):
        raise NotAVideoLinkError(video_id, "is not a YouTube link")
    if _FILE_NAME.search(video_id) or "/" in video_id or "\\" in video_id:
        raise FactibleError(f"There is no file {shown}.", "Check the path.")
    raise FactibleError(
        f"No corpus lists a video {shown}, and there is no such file.",
        " ".join(filter(None, (unread, _closest(video_id, reading)))),
    )


def enlist(
    target: Target, settings: Settings, web: str | None, pages_rating: Rating | None = None
) -> Path | None:
    """Copy a new transcript file or recording to the data folder, and list it in a corpus there.

    `web` is the web of later runs; `pages_rating` rates its pages that no rating set lists. Returns
    the corpus file, or None if a corpus lists the video already.
    """
    if target.file is None:
        return None
    settings.ensure_home()
    file = settings.home_corpora / LOCAL_CORPUS
    try:
        list_new_video(
            file,
            target.video_id,
            listing=load_corpora(settings.corpus_folders),
            transcript=target.transcript,
            media=target.media,
            title=target.title,
            web=web,
            pages_rating=pages_rating,
        )
    except CorpusError:
        # Another process may have listed the same file at the same moment.
        if load_corpora(settings.corpus_folders).find(target.video_id) is None:
            raise
        return None
    return file


def open_store(settings: Settings, *, live: bool = True) -> Warehouse:
    """Return the warehouse of a data folder, or unless `live` its copy for readers if it has one.

    Raises FactibleError: Nothing was checked yet.
    """
    from warehouse.store import Warehouse  # noqa: PLC0415 - `resolve` needs none

    path = settings.warehouse if live else settings.read_from()
    if not path.exists():
        raise FactibleError(
            f"Nothing is checked yet: there is no warehouse at {path}.",
            "Check a video first: factible demo, or factible check VIDEO.",
        )
    return Warehouse(path)


def unchecked(video_id: str, settings: Settings) -> FactibleError:
    """Return the error that nothing is stored about a video, with the remedy."""
    shown = plain(video_id, 120)
    reading = load_corpora(settings.corpus_folders)
    if is_video_id(video_id) or reading.find(video_id) is not None:
        return FactibleError(
            f"Nothing is stored about the video {shown}: it was not checked yet.",
            f"Check it first: factible check -- {shown}",
        )
    return FactibleError(
        f"Nothing is stored about a video {shown}, and no corpus lists one.",
        _closest(video_id, reading),
    )


def _of_file(path: Path, title: str | None, settings: Settings) -> Target:
    # Readers of caption files take time to load.
    from factible_assets.services.transcripts import speech_model  # noqa: PLC0415
    from resources.transcripts.file import read_transcript  # noqa: PLC0415
    from resources.transcripts.recording import is_recording, missing_requirement  # noqa: PLC0415

    has_sound = is_recording(path)
    transcript = None if has_sound else read_transcript(path)
    given_title = title or (transcript.title if transcript else None)
    # People read partitions, so the id begins with the title. The digest makes it longer than the
    # eleven characters of a YouTube id, and finds the file if its entry has another title.
    content = digest_of(path)
    video_id = f"{slug(given_title or path.stem)}-{content}"
    reading = load_corpora(settings.corpus_folders)
    listed = reading.find(video_id) or next(
        (entry for entry in reading.videos() if entry.video.video_id.endswith(f"-{content}")), None
    )
    if listed is not None:
        if title not in {None, listed.video.title}:
            raise FactibleError(
                f"This file is listed with the title {listed.video.title!r}, in "
                f"{listed.file.name}, line {listed.line}.",
                "Leave the title out, or change it there and check the video again.",
            )
        return Target(listed.video.video_id)
    # Without a speech model a recording has no transcript.
    if has_sound and (problem := missing_requirement(speech_model(settings))) is not None:
        raise FactibleError(f"{path}: {problem}", code=ExitCode.ENVIRONMENT)
    title = given_title or re.sub(r"[\s_-]+", " ", path.stem).strip() or video_id
    return Target(video_id, None if has_sound else path, title, media=path if has_sound else None)


def _closest(video_id: str, reading: CorporaReading) -> str:
    meant = did_you_mean(video_id, (listed.video.video_id for listed in reading.videos()))
    return f"{meant} All videos: factible corpus list".lstrip()
