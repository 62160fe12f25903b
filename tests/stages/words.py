"""Stored transcripts of a few words."""

from __future__ import annotations

from collections.abc import Iterable

from factible_assets.records.tables import Transcript, TranscriptSegment
from factible_assets.stages.transcript import stored_transcript
from resources.transcripts.base import Cue, TimedText


def from_cues(
    video_id: str, cues: Iterable[Cue]
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    return stored_transcript(video_id, TimedText(tuple(cues)), provider="file")


def from_text(video_id: str, text: str) -> Transcript:
    return stored_transcript(video_id, TimedText(plain_text=text), provider="file")[0]
