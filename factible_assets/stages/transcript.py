"""Transcripts: the text that is stored, and which second each of its characters was said at.

What belongs here: joining cues into one text, and mapping its offsets to time. What does not:
reading caption files or asking YouTube (resources), finding claims in the text (localisation.py).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable

from factible_assets.records import Transcript, TranscriptSegment
from factible_assets.stages.ids import content_hash
from resources.transcripts.base import Cue, TranscriptKind

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnusableTranscriptError(ValueError):
    """A transcript in which nothing is said, or a caption has an impossible time. A sentence."""


def from_cues(
    video_id: str,
    cues: Iterable[Cue],
    *,
    provider: str,
    language: str | None = None,
    kind: TranscriptKind = "unknown",
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    """Join cues by one space, in order of time, into the text that is stored.

    White space inside a cue becomes one space; cues without words are left out.
    `text[segment.char_start:segment.char_end]` is the cue's text.

    Raises UnusableTranscriptError if no cue has words, and for an impossible time.
    """
    words = []
    for position, cue in enumerate(cues):
        for seconds in (cue.start_seconds, cue.duration_seconds):
            if not math.isfinite(seconds) or seconds < 0:
                raise UnusableTranscriptError(
                    f"Cue {position + 1} of the transcript of video {video_id!r} has the time "
                    f"{seconds}, which is no number of seconds from the start. Correct the "
                    "transcript file."
                )
        if said := " ".join(storable(cue.text).split()):
            words.append((cue, said))
    words.sort(key=lambda pair: pair[0].start_seconds)
    segments, offset = [], 0
    for position, (cue, said) in enumerate(words):
        segments.append(
            TranscriptSegment(
                video_id=video_id,
                position=position,
                start_seconds=cue.start_seconds,
                duration_seconds=cue.duration_seconds,
                char_start=offset,
                char_end=offset + len(said),
            )
        )
        offset += len(said) + 1
    text = " ".join(said for _, said in words)
    given = from_text(video_id, text, provider=provider, language=language, kind=kind)
    return given, tuple(segments)


def from_text(
    video_id: str,
    text: str,
    *,
    provider: str,
    language: str | None = None,
    kind: TranscriptKind = "unknown",
) -> Transcript:
    """Take a text without times as it is. Raises UnusableTranscriptError if it has no words."""
    text = storable(text)
    if not text.strip():
        raise UnusableTranscriptError(
            f"The transcript of video {video_id!r} has no words. Give a transcript file with text, "
            "or choose a video that has captions."
        )
    return Transcript(
        video_id=video_id,
        text=text,
        language=language,
        kind=kind,
        provider=provider,
        content_hash=content_hash(text),
    )


def storable(text: str) -> str:
    """Replace the characters that no database stores: lone surrogates and NUL."""
    return _UNSTORABLE.sub("\ufffd", text)


class Clock:
    """Answers at which second a character was said, from a transcript's segments in any order."""

    def __init__(self, segments: Iterable[TranscriptSegment]) -> None:
        self.segments = sorted(segments, key=lambda segment: segment.char_start)
        self._starts = [segment.char_start for segment in self.segments]

    def segment_at(self, position: int) -> TranscriptSegment | None:
        """Return the segment at or before a raw offset, else the first; None if untimed."""
        if not self.segments:
            return None
        return self.segments[max(0, bisect_right(self._starts, position) - 1)]

    def start_at(self, position: int) -> float | None:
        """Return the second at which the caption with this offset begins (Factible, 1.3.1).

        Whoever jumps there hears the sentence from its beginning.
        """
        segment = self.segment_at(position)
        return None if segment is None else segment.start_seconds

    def second_at(self, position: int) -> float | None:
        """Return the second of an offset, interpolated inside its caption by share of characters.

        A caption that is still shown when the next begins counts until the next begins.
        """
        segment = self.segment_at(position)
        if segment is None:
            return None
        length = segment.char_end - segment.char_start
        share = min(1.0, max(0, position - segment.char_start) / length) if length else 1.0
        shown = segment.duration_seconds
        following = bisect_right(self._starts, segment.char_start)
        if following < len(self.segments):
            shown = min(shown, self.segments[following].start_seconds - segment.start_seconds)
        return segment.start_seconds + share * max(shown, 0.0)
