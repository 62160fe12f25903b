"""Imports a published evaluation of annotated YouTube videos.

The layout: `videos.csv` (video_id, slug, category, kind), `ground_truth/VIDEO.yaml` (claims with
claim_text, is_checkable, importance, verdict) and `runs/SETTING/DATE_TIME_VIDEO/outputs.json` (the
transcript under final_output.transcript_data). The licence of such data may forbid redistribution,
so the import writes it into the user's own folder.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Final

from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry, is_usable_id
from factible_assets.corpora.reading import CorporaReading, GroundTruth, load_ground_truth
from factible_assets.records.tables import Video
from resources.text_files import FileProblem
from resources.transcripts.base import TimedText, TranscriptError
from resources.transcripts.file import read_transcript
from resources.transcripts.youtube_ids import is_video_id, watch_url

_INDEX: Final = "videos.csv"
_TRUTHS: Final = "ground_truth"
_RUNS: Final = "runs"
_KINDS: Final = {"misinfo": "misinformation"}
"""Short names in the layout, and the words of the paper's table."""


def read_published(
    folder: Path, name: str, web: str, listing: CorporaReading | None
) -> tuple[CorpusFile, dict[str, bytes], list[str]]:
    """Return the corpus of a published folder, its transcript files by path, and the problems.

    A video without a transcript needs valid annotations and an id of YouTube, which a check then
    asks for captions. Without `videos.csv`, the videos are those with annotations. `web` is where
    checks look for evidence. `listing` gives titles, categories and tags that the folder lacks.

    Raises CorpusError if the folder has another layout.
    """
    problems: list[str] = []
    read = [(path, load_ground_truth(path)) for path in sorted((folder / _TRUTHS).glob("*.yaml"))]
    truths = {truth.video_id or path.stem: (path, truth) for path, truth in read}
    rows: Mapping[str, Mapping[str, str]]
    if truths and not (folder / _INDEX).exists():
        rows = {video_id: {"video_id": video_id} for video_id in truths if is_usable_id(video_id)}
    else:
        rows = _listed_rows(folder / _INDEX)
    for video_id, (path, truth) in truths.items():
        if video_id not in rows:
            sentence = (
                f"This ground truth is for the video {video_id!r}, which {_INDEX} does not list. "
                "Add the video there, or take the file away."
            )
            problems.append(str(FileProblem(path, truth.line, sentence)))
    entries: list[VideoEntry] = []
    transcript_files: dict[str, bytes] = {}
    for video_id, row in rows.items():
        known = truths[video_id][1] if video_id in truths else None
        problems.extend(map(str, known.problems if known else ()))
        valid = None if known is None or known.problems else known
        transcript = _transcript_of(folder, video_id)
        if transcript is None and (valid is None or not is_video_id(video_id)):
            missing = "valid annotations" if valid is None else "an id of YouTube"
            problems.append(
                f"{video_id}: no run of it has a timed transcript, nor has it {missing}."
            )
            continue
        listed = listing.find(video_id) if listing else None
        file = f"{name}/{video_id}.json" if transcript else None
        language = transcript.language if transcript else None
        entries.append(_entry(row, valid, listed.video if listed else None, file, language))
        if file is not None and transcript is not None:
            transcript_files[file] = _segments(transcript)
    return CorpusFile(corpus=name, web=web, videos=tuple(entries)), transcript_files, problems


def _entry(
    row: Mapping[str, str],
    truth: GroundTruth | None,
    listed: Video | None,
    transcript: str | None,
    language: str | None,
) -> VideoEntry:
    """Return the entry of a video; `transcript` is the path of its file, in `language`."""
    video_id = row["video_id"]
    kind, category = ((row.get(column) or "").strip() for column in ("kind", "category"))
    kind = _KINDS.get(kind, kind)
    title = (truth.video_title if truth else None) or (listed.title if listed else None)
    return VideoEntry(
        id=video_id,
        url=watch_url(video_id) if is_video_id(video_id) else None,
        title=title or (row.get("slug") or "").replace("_", " ") or None,
        language=language,
        category=category or (listed.category if listed else None),
        tags=(kind,) if kind else (listed.tags if listed else ()),
        duration_seconds=truth.duration_seconds if truth else None,
        transcript=transcript,
        claims=truth.claims if truth else None,
    )


def _segments(transcript: TimedText) -> bytes:
    """Return the JSON file of a transcript."""
    segments = [
        {"text": cue.text, "start": cue.start_seconds, "duration": cue.duration_seconds}
        for cue in transcript.cues
    ]
    return json.dumps(segments, ensure_ascii=False, indent=1).encode()


def _listed_rows(index: Path) -> dict[str, Mapping[str, str]]:
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


def _transcript_of(folder: Path, video_id: str) -> TimedText | None:
    """Return the timed transcript of the first run that has one."""
    # Not a glob with the id: an id may contain pattern characters.
    runs = sorted(
        path
        for path in (folder / _RUNS).glob("*/*/outputs.json")
        if path.parent.name.endswith(f"_{video_id}")
    )
    for path in runs:
        try:
            transcript = read_transcript(path)
        except TranscriptError:
            # A failed run has no transcript, but another run of the video may have one.
            continue
        if transcript.cues:
            return transcript
    return None
