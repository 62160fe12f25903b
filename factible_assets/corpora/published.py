"""Imports the layout in which an annotated evaluation of YouTube videos was published.

What belongs here: that layout. What does not: the corpus format (format.py).

The layout: `videos.csv` (video_id, slug, category, kind), `ground_truth/VIDEO.yaml` (claims with
claim_text, is_checkable, importance, verdict) and `runs/SETTING/DATE_TIME_VIDEO/outputs.json`
(the transcript under final_output.transcript_data).

Everything is copied out into the destination, which is the user's own folder: the licence of such
data may forbid to pass it on.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

import yaml

from factible_assets.corpora.format import (
    CorpusError,
    CorpusFile,
    VideoEntry,
    is_usable_id,
)
from factible_assets.corpora.reading import GroundTruth, load_ground_truth
from factible_assets.corpora.writing import write_atomically
from resources.transcripts.base import TimedText
from resources.transcripts.errors import TranscriptError
from resources.transcripts.file import read_transcript
from resources.transcripts.json_captions import segments_of
from resources.transcripts.youtube_ids import is_video_id, watch_url

_INDEX: Final = "videos.csv"
_TRUTHS: Final = "ground_truth"
_RUNS: Final = "runs"
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class PublishedImport:
    """What an import wrote, and a sentence for everything that it had to leave out."""

    file: Path
    videos: int
    claims: int
    transcripts: int
    left_out: tuple[str, ...]


def import_published(
    folder: Path, destination: Path, *, web: str = "archive", replace: bool = False
) -> PublishedImport:
    """Write a corpus file and its transcripts from a published folder.

    The corpus is named after the folder: `destination/NAME.yaml`, with the transcripts as segment
    lists in `destination/NAME/`. Importing the same folder again changes nothing.

    Args:
        folder: The published layout.
        destination: A folder of corpora.
        web: Where evidence for these videos is looked for.
        replace: Whether a corpus file of that name with other content may be overwritten.

    Raises:
        CorpusError: if the layout is not that one, the destination cannot be written, or a
            different corpus of that name is there.
    """
    rows = _rows(folder)
    name = folder.resolve().name
    left_out: list[str] = []
    _note_strangers(folder, rows, left_out)
    found = {video_id: _transcript_of(folder, video_id, left_out) for video_id in rows}
    transcripts = {video_id: text for video_id, text in found.items() if text is not None}
    entries = [
        _entry(folder, name, row, transcripts, left_out)
        for row in rows.values()
        if row["video_id"] in transcripts
    ]
    corpus = CorpusFile(corpus=name, web=web, videos=tuple(entries))
    file = destination / f"{name}.yaml"
    content = _rendered(corpus)
    if file.exists() and file.read_bytes() != content and not replace:
        raise CorpusError(
            f"{file}: there is a different corpus of this name. Remove it, or import with replace."
        )
    for video_id, transcript in transcripts.items():
        segments = json.dumps(list(segments_of(transcript)), ensure_ascii=False, indent=1)
        write_atomically(destination / name / f"{video_id}.json", segments.encode())
    # Last, so that no corpus is ever seen that names transcripts which are not there.
    write_atomically(file, content)
    claims = sum(len(entry.claims or ()) for entry in entries)
    return PublishedImport(file, len(entries), claims, len(transcripts), tuple(left_out))


def _rows(folder: Path) -> dict[str, Mapping[str, str]]:
    index = folder / _INDEX
    try:
        text = index.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{index}: the list of videos cannot be read. Give the folder that contains {_INDEX}."
        ) from error
    rows: dict[str, Mapping[str, str]] = {}
    reader = csv.DictReader(StringIO(text), restval="")
    for row in reader:
        video_id = (row.get("video_id") or "").strip()
        if not is_usable_id(video_id) or video_id in rows:
            raise CorpusError(
                f"{index}:{reader.line_num}: {video_id!r} is no usable video_id, or is listed "
                "twice. Correct the line."
            )
        rows[video_id] = {**row, "video_id": video_id}
    if not rows:
        raise CorpusError(f"{index}: no video is listed. Give a published folder.")
    return rows


def _note_strangers(folder: Path, rows: Mapping[str, object], left_out: list[str]) -> None:
    left_out.extend(
        f"{path}: this ground truth is for a video that {_INDEX} does not list."
        for path in sorted((folder / _TRUTHS).glob("*.yaml"))
        if path.stem not in rows
    )


def _transcript_of(folder: Path, video_id: str, left_out: list[str]) -> TimedText | None:
    """Return the transcript of the first run that has one."""
    # No pattern with the id in it: an id may contain what patterns read as syntax.
    runs = sorted(
        path
        for path in (folder / _RUNS).glob("*/*/outputs.json")
        if path.parent.name.endswith(f"_{video_id}")
    )
    for path in runs:
        try:
            transcript = read_transcript(path)
        except TranscriptError:
            # Runs that failed have none; another run of the same video has.
            continue
        if transcript.cues:
            return transcript
    left_out.append(f"{video_id}: none of its {len(runs)} runs has a timed transcript.")
    return None


def _entry(
    folder: Path,
    name: str,
    row: Mapping[str, str],
    transcripts: Mapping[str, TimedText],
    left_out: list[str],
) -> VideoEntry:
    video_id = row["video_id"]
    truth = _ground_truth(folder, video_id, left_out)
    slug = row.get("slug") or ""
    kind = (row.get("kind") or "").strip()
    return VideoEntry(
        id=video_id,
        url=watch_url(video_id) if is_video_id(video_id) else None,
        title=(truth.video_title if truth else None) or slug.replace("_", " ") or None,
        language=transcripts[video_id].language,
        category=(row.get("category") or "").strip() or None,
        tags=(kind,) if kind else (),
        duration_seconds=truth.duration_seconds if truth else None,
        transcript=f"{name}/{video_id}.json",
        claims=truth.claims if truth else None,
    )


def _ground_truth(folder: Path, video_id: str, left_out: list[str]) -> GroundTruth | None:
    path = folder / _TRUTHS / f"{video_id}.yaml"
    if not path.is_file():
        return None
    truth = load_ground_truth(path)
    if truth.problems:
        left_out.extend(str(problem) for problem in truth.problems)
        return None
    if truth.video_id != video_id:
        left_out.append(f"{path}: this ground truth names the video {truth.video_id!r}.")
        return None
    return truth


def _rendered(corpus: CorpusFile) -> bytes:
    values = corpus.model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text.encode()
