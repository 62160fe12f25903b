"""Imports a published evaluation of annotated YouTube videos.

The layout: `videos.csv` (video_id, slug, category, kind), `ground_truth/VIDEO.yaml` (claims with
claim_text, is_checkable, importance, verdict) and `runs/SETTING/DATE_TIME_VIDEO/outputs.json` (the
transcript under final_output.transcript_data). The import copies everything into the user's own
folder, because the licence of such data may forbid redistribution.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Final

from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry, is_usable_id
from factible_assets.corpora.reading import CorporaReading, load_ground_truth
from resources.lines import FileProblem
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
    """Return a published folder as a corpus, its transcripts (`NAME/VIDEO.json`), and the problems.

    A video without a transcript is listed if it has annotations; a check then asks YouTube for its
    captions. Without `videos.csv`, the annotations determine the videos. `web` is where checks look
    for evidence. `listing` fills in details that the folder lacks.

    Raises CorpusError if the folder has another layout.
    """
    left_out: list[str] = []
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
            left_out.append(str(FileProblem(path, truth.line, sentence)))
    entries: list[VideoEntry] = []
    beside: dict[str, bytes] = {}
    for video_id, row in rows.items():
        known = truths[video_id][1] if video_id in truths else None
        left_out.extend(str(problem) for problem in (known.problems if known else ()))
        usable = None if known is None or known.problems else known
        transcript = _transcript_of(folder, video_id)
        if transcript is None and (usable is None or not is_video_id(video_id)):
            left_out.append(f"{video_id}: no run of it has a timed transcript.")
            continue
        listed = listing.find(video_id) if listing else None
        kind, category = ((row.get(each) or "").strip() for each in ("kind", "category"))
        kind = _KINDS.get(kind, kind)
        title = (usable.video_title if usable else None) or (listed.video.title if listed else None)
        entries.append(
            VideoEntry(
                id=video_id,
                url=watch_url(video_id) if is_video_id(video_id) else None,
                title=title or (row.get("slug") or "").replace("_", " ") or None,
                language=transcript.language if transcript else None,
                category=category or (listed.video.category if listed else None),
                tags=(kind,) if kind else (listed.video.tags if listed else ()),
                duration_seconds=usable.duration_seconds if usable else None,
                transcript=f"{name}/{video_id}.json" if transcript else None,
                claims=usable.claims if usable else None,
            )
        )
        if transcript is not None:
            segments = [
                {"text": cue.text, "start": cue.start_seconds, "duration": cue.duration_seconds}
                for cue in transcript.cues
            ]
            written = json.dumps(segments, ensure_ascii=False, indent=1)
            beside[f"{name}/{video_id}.json"] = written.encode()
    return CorpusFile(corpus=name, web=web, videos=tuple(entries)), beside, left_out


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
