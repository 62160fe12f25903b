"""Which video is meant: a link, an id, a corpus entry or a transcript file.

What belongs here: telling the forms of a target apart, and putting a transcript file or a folder of
pages where the pipeline finds it again. What does not: reading corpora (corpora/) and pages
(resources/archive).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import note
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.corpora import CorporaReading, CorpusVideo, VideoEntry
    from factible_assets.records import Rating
    from factible_assets.settings import Settings

_FILE_SUFFIXES = frozenset({".vtt", ".srt", ".json", ".json3", ".txt", ".md"})


@dataclass(frozen=True, slots=True)
class Target:
    """The video that is meant. A transcript file that no corpus lists yet brings its `entry`."""

    video_id: str
    entry: VideoEntry | None = None
    transcript: Path | None = None


def bare_id(target: str) -> str:
    """Return the id that a YouTube link names, everything else as it is.

    Raises:
        NotAVideoLinkError: If it is a link, and not to a YouTube video.
    """
    from factible_assets.corpora import adding

    return adding.bare_id(target)


def resolve(target: str, title: str | None, settings: Settings) -> Target:
    """Find out which video is meant; nothing is written.

    Raises:
        CliError: If it is none that can be checked.
        TranscriptError: If it is a file that is no transcript.
    """
    path = Path(target)
    if path.is_file():
        return _of_file(path, title, settings)
    if title is not None:
        raise CliError(
            f"--title names the video of a transcript file, and {plain(target)} is no file.",
            "Leave it out, or correct the path.",
            ExitCode.USAGE,
        )
    video_id = bare_id(target)
    reading = read_corpora(settings)
    listed = reading.find(video_id)
    if listed is None and not _is_on_youtube(video_id):
        raise _not_listed(video_id, reading)
    if listed is None and reading.problems:
        note(f"Not every corpus could be read, such as {reading.problems[0]}")
    return Target(video_id)


def enlist(
    target: Target, settings: Settings, web: str | None, pages_rating: Rating | None = None
) -> str:
    """List a new transcript file in the data folder, its words copied beside; return the id.

    `web` is where later runs, also those that the Dagster UI starts, look for evidence, and
    `pages_rating` what its pages are rated that no rating set lists.
    """
    if target.entry is None or target.transcript is None:
        return target.video_id
    from factible_assets.cli.files import write_whole
    from factible_assets.corpora import add_video
    from factible_assets.corpora.adding import LOCAL_CORPUS

    settings.ensure_home()
    copy = settings.home_corpora / str(target.entry.transcript)
    write_whole(copy, target.transcript.read_bytes())
    file = settings.home_corpora / LOCAL_CORPUS
    add_video(file, target.entry.model_copy(update={"web": web, "pages_rating": pages_rating}))
    note(f"{target.transcript} is listed as the video {target.video_id} in {file}")
    return target.video_id


def import_pages(folder: Path, settings: Settings) -> str:
    """Import a folder of pages as a collection of its own and return the collection's name.

    The name follows the folder's content: what changed is imported into a new collection, so that
    a claim is checked against exactly the pages that are there now.
    """
    from factible_assets.cli.archive import (
        import_source,
        in_words,
        open_archive,
        page_collection,
    )

    if not folder.is_dir():
        raise CliError(f"There is no folder {folder}.", "Give a folder of saved pages.")
    settings.ensure_home()
    name = page_collection(folder, [path for path in folder.rglob("*") if path.is_file()])
    archive = open_archive(settings)
    if name not in archive.collections():
        report = import_source(archive, folder, name)
        note(f"{folder}: {in_words(report)}")
    return name


def unchecked(video_id: str, settings: Settings) -> CliError:
    """Say that nothing is stored about a video, and what to do: check it, or mean another one."""
    shown = plain(video_id, 120)
    known = [listed.video.video_id for listed in read_corpora(settings).videos()]
    if video_id in known or _is_on_youtube(video_id):
        return CliError(
            f"Nothing is stored about the video {shown}: it was not checked yet.",
            f"Check it first: factible check -- {shown}",
        )
    close = difflib.get_close_matches(video_id, known, n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return CliError(
        f"Nothing is stored about a video {shown}, and no corpus lists one.",
        f"{meant}All videos: factible corpus list",
    )


def read_corpora(settings: Settings) -> CorporaReading:
    """Read every corpus, the project's own and those of the data folder."""
    from factible_assets.corpora import load_corpora

    return load_corpora(settings.corpus_folders)


def _of_file(path: Path, title: str | None, settings: Settings) -> Target:
    from factible_assets.cli.files import digest, slug
    from factible_assets.corpora import VideoEntry
    from factible_assets.corpora.adding import copied_name
    from resources.transcripts.file import read_transcript

    words = read_transcript(path)
    # Ten digits keep the id longer than the eleven characters of a YouTube id.
    video_id = f"{slug(path.stem)}-{digest(path.read_bytes())}"
    listed = read_corpora(settings).find(video_id)
    if listed is not None:
        _refuse_other_title(listed, title)
        return Target(video_id)
    entry = VideoEntry(
        id=video_id,
        title=title or words.title or re.sub(r"[\s_-]+", " ", path.stem).strip() or video_id,
        language=words.language,
        transcript=copied_name(video_id, path),
    )
    return Target(video_id, entry, path)


def _refuse_other_title(listed: CorpusVideo, title: str | None) -> None:
    if title is not None and title != listed.video.title:
        raise CliError(
            f"This transcript is listed with the title {listed.video.title!r}, in {listed.file}, "
            f"line {listed.line}.",
            "Leave --title out, or change the title there and check again with --force.",
        )


def _is_on_youtube(video_id: str) -> bool:
    from resources.transcripts.youtube_ids import is_video_id

    return is_video_id(video_id)


def _not_listed(target: str, reading: CorporaReading) -> CliError:
    shown = plain(target, 120)
    if Path(target).suffix.lower() in _FILE_SUFFIXES or "/" in target or "\\" in target:
        return CliError(f"There is no file {shown}.", "Check the path.")
    if problems := reading.problems:
        note(f"Not every corpus could be read, such as {problems[0]}")
    known = [listed.video.video_id for listed in reading.videos()]
    close = difflib.get_close_matches(target, known, n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return CliError(
        f"No corpus lists a video {shown}, and there is no such file.",
        f"{meant}All videos: factible corpus list",
    )
