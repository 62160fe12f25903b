"""Writes whole corpora, and lists a new video with its transcript or recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

import yaml
from pydantic import ValidationError

from factible_assets.corpora.editing import LINE_WIDTH, add_video, listed_already, writable
from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.errors import ExitCode
from resources.files import write_whole
from resources.text_files import MAX_BYTES, problem_words
from resources.transcripts.youtube_ids import is_video_id, watch_url

# The C dumper is many times faster; the other takes minutes for large data sets.
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

LOCAL_CORPUS = "local.yaml"
"""The corpus in the data folder for videos that a person added without naming a file."""

TRANSCRIPTS, RECORDINGS = "transcripts", "recordings"
"""The folders next to a corpus file for added transcripts and recordings."""


def list_new_video(
    file: Path,
    video_id: str,
    *,
    listing: CorporaReading,
    transcript: Path | None = None,
    media: Path | None = None,
    **details: str | None,
) -> VideoEntry:
    """List a video in a corpus file, and copy its transcript or recording next to it.

    The file is created if necessary and keeps its content. An id that is not YouTube's needs a
    transcript or a recording (`media`). The transcript's language applies unless `details` (fields
    of VideoEntry) has one. An on-demand entry in `listing` gives way. Returns the entry.

    Raises:
        CorpusError: the video is listed already or has no transcript, a detail is invalid, or the
            file cannot be written.
        TranscriptError: the file is no transcript.
    """
    # Readers of caption files load only where one is read.
    from resources.transcripts.file import read_transcript  # noqa: PLC0415

    listed = listing.find(video_id)
    if listed is not None and listed in listing.videos():
        raise CorpusError(f"{listed_already(listed)} Edit that entry instead.")
    if transcript is None and media is None and not is_video_id(video_id):
        raise CorpusError(
            f"{video_id!r} is neither a video on YouTube nor a file. Give its captions or its "
            "recording too (on the command line with --transcript FILE or --media FILE)."
        )
    words = read_transcript(transcript) if transcript else None
    copied = f"{TRANSCRIPTS}/{video_id}{transcript.suffix.lower()}" if transcript else None
    values = {
        **details,
        "id": video_id,
        "url": watch_url(video_id) if is_video_id(video_id) else None,
        "language": details.get("language") or (words.language if words else None),
        "transcript": copied,
        "media": f"{RECORDINGS}/{video_id}{media.suffix.lower()}" if media else None,
    }
    try:
        entry = VideoEntry.model_validate({key: value for key, value in values.items() if value})
    except ValidationError as error:
        why = problem_words(error.errors()[0], VideoEntry)
        raise CorpusError(why, code=ExitCode.USAGE) from error
    if transcript is not None:
        write_whole(file.parent / str(entry.transcript), transcript.read_bytes())
    if media is not None:
        with media.open("rb") as content:
            write_whole(file.parent / str(entry.media), content)
    add_video(file, entry)
    return entry


@dataclass(frozen=True, slots=True)
class WrittenCorpus:
    """A written corpus, and a sentence for each omitted item."""

    file: Path
    name: str
    video_ids: tuple[str, ...]
    claims: int
    transcripts: int
    left_out: tuple[str, ...]


def write_corpus(
    destination: Path,
    corpus: CorpusFile,
    files: Mapping[str, bytes | Path],
    left_out: Iterable[str] = (),
    *,
    replace: bool = False,
) -> WrittenCorpus:
    """Write `destination/NAME.yaml` and the files that it names.

    A repeated call changes nothing. `files` are the transcripts and recordings of the entries, by
    their path relative to the destination. With `replace`, files with other content are
    overwritten.

    Raises CorpusError if the corpus is empty or too large for one file, if another corpus of that
    name or another entry for one of its videos exists, or if the place cannot be written.
    """
    file = destination / f"{corpus.corpus}.yaml"
    if not corpus.videos:
        raise CorpusError(f"{file}: there is nothing to write, because no entry can be used.")
    values = corpus.model_dump(mode="json", exclude_defaults=True)
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=LINE_WIDTH)
    content = str(text).encode()
    if len(content) > MAX_BYTES:
        raise CorpusError(
            f"{file}: the corpus would have {len(content) >> 20} MB, and a corpus file has at most "
            f"{MAX_BYTES >> 20}. Import a part: set a limit (--limit on the command line) where "
            "claims are listed, or divide the file."
        )
    new = {entry.video_id for entry in corpus.videos}
    for listed in load_corpora([destination]).videos():
        if listed.file != file and listed.video.video_id in new:
            raise CorpusError(
                f"{listed_already(listed)} Remove that entry, or leave the video out."
            )
    with writable(file):
        if file.exists() and not replace and file.read_bytes() != content:
            raise CorpusError(
                f"{file}: there is a different corpus of this name. Give another name, or set "
                "replace (--replace on the command line)."
            )
        for name, data in files.items():
            with data.open("rb") if isinstance(data, Path) else BytesIO(data) as opened:
                write_whole(destination / name, opened)
        # Last, so that no reader sees a corpus without its files.
        write_whole(file, content)
    return WrittenCorpus(
        file=file,
        name=corpus.corpus or file.stem,
        video_ids=tuple(entry.video_id for entry in corpus.videos),
        claims=sum(len(entry.claims or ()) for entry in corpus.videos),
        transcripts=sum(entry.transcript is not None for entry in corpus.videos),
        left_out=tuple(left_out),
    )
