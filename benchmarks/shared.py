"""Finds and reads the published videos for all benchmarks.

The data lies next to the project's folder and is never copied into it. Without it a benchmark says
so and stops.
"""

from __future__ import annotations

import lzma
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo, load_corpora
from factible_assets.evaluation.metrics.stances import Judgement
from factible_assets.exchange.importing import import_corpus
from factible_assets.records.tables import Transcript, TranscriptSegment, Video
from factible_assets.stages.transcript import stored_transcript
from resources.transcripts.base import TimedText
from resources.transcripts.file import read_transcript

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""The published data, next to the project's folder."""


@dataclass(frozen=True, slots=True)
class AnnotatedVideo:
    """A published video with its transcript and its checkable annotated claims."""

    video: Video
    transcript: Transcript
    segments: tuple[TranscriptSegment, ...]
    gold: tuple[ClaimEntry, ...]


def grouped(judgements: Sequence[Judgement]) -> list[list[Judgement]]:
    groups: dict[str, list[Judgement]] = {}
    for each in judgements:
        groups.setdefault(each.video_id, []).append(each)
    return list(groups.values())


def read_lines(name: str) -> list[str]:
    """Return the lines of a compressed file in this folder."""
    with lzma.open(Path(__file__).with_name(name), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def require(*parts: str) -> Path:
    """Return a path in the data, or end the benchmark with a sentence if it is missing."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        sys.stdout.write(f"Skipped: this benchmark reads {path}, which is not there.\n")
        raise SystemExit(0)
    return path


def load_annotated_videos() -> list[AnnotatedVideo]:
    """Import every published video with a transcript and annotations, in listed order."""
    with tempfile.TemporaryDirectory() as folder:
        import_corpus(require("factible"), Path(folder))
        return [
            _annotated(listed, listed.transcript, listed.claims)
            for listed in load_corpora([Path(folder)]).videos()
            if listed.transcript is not None and listed.claims is not None
        ]


def _annotated(
    listed: CorpusVideo, transcript: Path, claims: tuple[ClaimEntry, ...]
) -> AnnotatedVideo:
    words = TimedText(read_transcript(transcript).cues)
    said, segments = stored_transcript(listed.video.video_id, words, provider="published")
    gold = tuple(claim for claim in claims if claim.checkable)
    return AnnotatedVideo(listed.video, said, segments, gold)
