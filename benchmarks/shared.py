"""What several benchmarks need: the published videos, read from the data beside the project.

What belongs here: finding and reading the data. What does not: measuring. None of the data is
copied into the project; a benchmark without it says so and stops.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.stages.ids import content_hash

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Where the published data lies: beside the project's folder, never inside it."""


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """An annotated claim."""

    text: str
    importance: float


@dataclass(frozen=True, slots=True)
class AnnotatedVideo:
    """A published video with its transcript and its annotated claims."""

    video: Video
    transcript: Transcript
    segments: tuple[TranscriptSegment, ...]
    gold: tuple[GoldClaim, ...]


def require(*parts: str) -> Path:
    """Return a path below the data, or end the benchmark with a sentence if it is absent."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        sys.stdout.write(f"Skipped: this benchmark reads {path}, which is not there.\n")
        raise SystemExit(0)
    return path


def load_annotated_videos() -> list[AnnotatedVideo]:
    """Read every published video that has a transcript and annotations, in listed order."""
    folder = require("factible")
    transcripts = _published_transcripts(folder / "runs")
    with (folder / "videos.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    annotations = {
        document["video_id"]: document
        for document in map(_read_yaml, sorted((folder / "ground_truth").glob("*.yaml")))
    }
    return [
        _annotated(row, annotations[row["video_id"]], transcripts[row["video_id"]])
        for row in rows
        if row["video_id"] in transcripts and row["video_id"] in annotations
    ]


def _read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _published_transcripts(runs: Path) -> dict[str, Any]:
    """Collect one transcript per video: runs that failed have none, so all runs are looked at."""
    found: dict[str, Any] = {}
    for path in sorted(runs.glob("*/*/outputs.json")):
        outputs = json.loads(path.read_text(encoding="utf-8"))
        data = outputs.get("final_output", {}).get("transcript_data")
        if data:
            found.setdefault(data["video_id"], data)
    return found


def _annotated(row: dict[str, str], annotation: Any, data: Any) -> AnnotatedVideo:
    video_id = row["video_id"]
    text = data["text"]
    return AnnotatedVideo(
        video=Video(video_id=video_id, title=annotation["video_title"], category=row["category"]),
        transcript=Transcript(
            video_id=video_id, text=text, provider="published", content_hash=content_hash(text)
        ),
        segments=tuple(_located_segments(video_id, text, data["segments"])),
        gold=tuple(
            GoldClaim(text=claim["claim_text"], importance=float(claim["importance"]))
            for claim in annotation["claims"]
            if claim.get("is_checkable", True)
        ),
    )


def _located_segments(video_id: str, text: str, segments: Any) -> list[TranscriptSegment]:
    """Find each caption in the text, which is the captions joined by single spaces."""
    located: list[TranscriptSegment] = []
    position = 0
    for segment in segments:
        caption = " ".join(segment["text"].split())
        start = text.find(caption, position)
        if start < 0 or not caption:
            continue
        position = start + len(caption)
        located.append(
            TranscriptSegment(
                video_id=video_id,
                position=len(located),
                start_seconds=segment["start"],
                duration_seconds=segment["duration"],
                char_start=start,
                char_end=position,
            )
        )
    return located
