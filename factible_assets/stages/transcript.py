"""Transcripts: the text that is stored, and which second each of its characters was said at.

What belongs here: joining cues into one text, and mapping its offsets to time. What does not:
reading caption files or asking YouTube (resources), finding claims in the text (localisation.py).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from factible_assets.records import Transcript, TranscriptSegment
from factible_assets.stages.ids import content_hash
from resources.transcripts.base import TimedText

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def stored_transcript(
    video_id: str, words: TimedText, *, provider: str
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    """Return words as they are stored: a text without times as it is, or cues as one text.

    Cues are joined by one space. `text[segment.char_start:segment.char_end]` is a cue's text.
    """
    texts = [storable(cue.text) for cue in words.cues]
    segments, offset = [], 0
    for position, (cue, text) in enumerate(zip(words.cues, texts, strict=True)):
        segments.append(
            TranscriptSegment(
                video_id=video_id,
                position=position,
                start_seconds=cue.start_seconds,
                duration_seconds=cue.duration_seconds,
                char_start=offset,
                char_end=offset + len(text),
            )
        )
        offset += len(text) + 1
    whole = storable(words.plain_text or "") or " ".join(texts)
    transcript = Transcript(
        video_id=video_id,
        text=whole,
        language=words.language,
        kind=words.kind,
        provider=provider,
        content_hash=content_hash(whole),
    )
    return transcript, tuple(segments)


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
