"""Stores the text of a transcript, and finds the time and the speaker of each of its characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from factible_assets.records.tables import Transcript, TranscriptSegment
from factible_assets.stages.ids import content_hash
from resources.transcripts.base import TimedText

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_TURN = "\n\n"
"""A paragraph between two speakers, so that no sentence runs on."""
_FEW_LETTERS, _CAPITAL_SHARE, _SAMPLE = 40, 0.9, 100_000
_WORD = re.compile(
    r"(?P<kept>(?:[A-Z]\.){2,}|[A-Z]+-?\d\w*|I(?![^\W_]))|[^\W_]+(?:['\u2019][^\W_]+)*"
)
_STOP = re.compile(r"[.!?\u2026][\"'\u201d\u2019)]*\s|\n\s*\n")


def stored_transcript(
    video_id: str, words: TimedText, *, provider: str
) -> tuple[Transcript, tuple[TranscriptSegment, ...]]:
    """Return the rows of a transcript: a plain text as it is, or cues joined into one text.

    A space separates two cues, or a blank line if the speaker changes.
    `text[segment.char_start:segment.char_end]` is the text of a cue.
    """
    parts: list[str] = []
    segments, offset = [], 0
    for position, cue in enumerate(words.cues):
        if parts:
            parts.append(_TURN if cue.new_turn else " ")
            offset += len(parts[-1])
        text = storable(cue.text)
        parts.append(text)
        segments.append(
            TranscriptSegment(
                video_id=video_id,
                position=position,
                start_seconds=cue.start_seconds,
                duration_seconds=cue.duration_seconds,
                char_start=offset,
                char_end=offset + len(text),
                speaker=storable(cue.speaker) if cue.speaker else None,
            )
        )
        offset += len(text)
    whole = storable(words.plain_text or "") or "".join(parts)
    transcript = Transcript(
        video_id=video_id,
        text=whole,
        language=words.language,
        kind=words.kind,
        provider=provider,
        content_hash=content_hash(whole),
    )
    return transcript, tuple(segments)


def readable(text: str) -> str:
    """Return a text in capitals in sentence case, and any other text as it is.

    Stenographers deliver captions in capitals. Each letter becomes one letter, so every offset
    stays valid. Initials and words with a number behind them (B12) keep their capitals; names lose
    them, because nothing marks them.
    """
    letters = [letter for letter in text[:_SAMPLE] if letter.isupper() or letter.islower()]
    capitals = sum(map(str.isupper, letters))
    if len(letters) < _FEW_LETTERS or capitals < _CAPITAL_SHARE * len(letters):
        return text
    before = None

    def cased(word: re.Match[str]) -> str:
        nonlocal before
        opens = before is None or _STOP.search(text, before, word.start()) is not None
        before = word.end()
        if word["kept"]:
            return word[0]
        # A letter whose other case has two letters stays: offsets must not move.
        small = "".join(low if len(low := letter.lower()) == 1 else letter for letter in word[0])
        return small[0].upper() + small[1:] if opens and len(small[0].upper()) == 1 else small

    return _WORD.sub(cased, text)


def storable(text: str) -> str:
    """Replace the characters that no database stores: lone surrogates and NUL."""
    return _UNSTORABLE.sub("\ufffd", text)


class Clock:
    """Maps an offset of a transcript to its time and speaker; segments may come in any order."""

    def __init__(self, segments: Iterable[TranscriptSegment]) -> None:
        self.segments = sorted(segments, key=lambda segment: segment.char_start)
        self._starts = [segment.char_start for segment in self.segments]

    def segment_at(self, position: int) -> TranscriptSegment | None:
        """Return the segment at or before a raw offset, else the first; None if there is none."""
        if not self.segments:
            return None
        return self.segments[max(0, bisect_right(self._starts, position) - 1)]

    def speaker_at(self, position: int) -> str | None:
        segment = self.segment_at(position)
        return None if segment is None else segment.speaker

    def start_at(self, position: int) -> float | None:
        """Return the second at which the offset's caption begins (Factible, section 1.3.1).

        A viewer who jumps there hears the sentence from its beginning. None: the text has no times.
        """
        segment = self.segment_at(position)
        return None if segment is None else segment.start_seconds

    def second_at(self, position: int) -> float | None:
        """Return the second of an offset, interpolated inside its caption by share of characters.

        A caption ends at the latest when the next one begins.
        """
        segment = self.segment_at(position)
        if segment is None or segment.start_seconds is None:
            return None
        length = segment.char_end - segment.char_start
        share = min(1.0, max(0, position - segment.char_start) / length) if length else 1.0
        seconds = segment.duration_seconds
        following = bisect_right(self._starts, segment.char_start)
        if following < len(self.segments):
            begins = self.segments[following].start_seconds
            if begins is not None:
                seconds = min(seconds, begins - segment.start_seconds)
        return segment.start_seconds + share * max(seconds, 0.0)
