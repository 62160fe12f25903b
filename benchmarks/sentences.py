"""Measures how well the engine finds sentences in captions without punctuation.

Run: `python -m benchmarks.sentences`. It removes punctuation and case from punctuated transcripts,
splits them again, and compares the boundaries with the original ones. The boundary network was
fitted on other texts (boundaries.md); the penalty for uncertain ends was chosen on these.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.shared import AnnotatedVideo, load_annotated_videos
from factible_assets.reasoners.embedded.claims.sentences import split_sentences
from factible_assets.records.tables import TranscriptSegment

_MARKS = re.compile(r"[^\w\s$%'\u2019.,:-]|(?<!\d)[.,:]|[.,:](?!\d)")
_PUNCTUATED = 2.0  # stops per hundred words
_WINDOW = 40


@dataclass(frozen=True, slots=True)
class Stripped:
    """A transcript without punctuation or case; `ends` are the indices of its last words."""

    text: str
    segments: tuple[TranscriptSegment, ...]
    word_starts: tuple[int, ...]
    ends: frozenset[int]


def main() -> None:
    """Print boundary precision, recall and F1 of the model and of fixed windows."""
    transcripts = [strip(video) for video in load_annotated_videos() if is_punctuated(video)]
    began = time.perf_counter()
    rows = {
        "boundary model, timed captions": [(t.ends, _predict(t, t.segments)) for t in transcripts],
        "boundary model, text alone": [(t.ends, _predict(t, ())) for t in transcripts],
        f"fixed windows of {_WINDOW} words": [(t.ends, _windows(t)) for t in transcripts],
    }
    seconds = (time.perf_counter() - began) / max(1, 2 * len(transcripts))
    print(f"{len(transcripts)} punctuated transcripts, {seconds:.3f} s each")
    for name, pairs in rows.items():
        precision, recall, f1 = _mean_scores(pairs)
        print(f"{name:<34} P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}")


def is_punctuated(video: AnnotatedVideo) -> bool:
    """Tell whether a transcript is punctuated."""
    text = video.transcript.text
    return 100 * len(re.findall(r"[.?!]", text)) / len(text.split()) >= _PUNCTUATED


def strip(video: AnnotatedVideo) -> Stripped:
    """Remove punctuation and case from a transcript; remember its sentence ends."""
    text = video.transcript.text
    stops = [sentence.end for sentence in split_sentences(text, video.segments)]
    pieces: list[str] = []
    word_starts: list[int] = []
    ends: set[int] = set()
    length = 0
    moved: dict[int, int] = {}
    stop = 0
    for match in re.finditer(r"\S+", text):
        word = _MARKS.sub("", match.group().lower())
        moved[match.start()] = length
        if word:
            word_starts.append(length)
            pieces.append(word)
            length += len(word) + 1
        while stop < len(stops) and stops[stop] <= match.end():
            ends.add(len(word_starts) - 1)
            stop += 1
    ends.discard(len(word_starts) - 1)
    joined = " ".join(pieces)
    return Stripped(
        text=joined,
        segments=tuple(_move(video.segments, moved, len(joined))),
        word_starts=tuple(word_starts),
        ends=frozenset(ends),
    )


def _move(
    segments: Sequence[TranscriptSegment], moved: dict[int, int], length: int
) -> list[TranscriptSegment]:
    """Map captions onto the stripped text; each ends where the next one begins."""
    starts = [moved[segment.char_start] for segment in segments]
    return [
        segment.model_copy(update={"char_start": start, "char_end": max(start, end - 1)})
        for segment, start, end in zip(segments, starts, [*starts[1:], length + 1], strict=True)
    ]


def _predict(stripped: Stripped, segments: Sequence[TranscriptSegment]) -> frozenset[int]:
    index = {start: position for position, start in enumerate(stripped.word_starts)}
    sentences = split_sentences(stripped.text, segments)
    return frozenset(index[sentence.start] - 1 for sentence in sentences[1:])


def _windows(stripped: Stripped) -> frozenset[int]:
    return frozenset(range(_WINDOW - 1, len(stripped.word_starts) - 1, _WINDOW))


def _mean_scores(
    pairs: Sequence[tuple[frozenset[int], frozenset[int]]],
) -> tuple[float, float, float]:
    """Average precision, recall and F1 over transcripts."""
    scores = []
    for gold, found in pairs:
        hits = len(gold & found)
        precision, recall = hits / max(1, len(found)), hits / max(1, len(gold))
        scores.append((precision, recall, 2 * hits / max(1, len(found) + len(gold))))
    count = max(1, len(scores))
    means = [sum(column) / count for column in zip(*scores, strict=True)]
    return means[0], means[1], means[2]


if __name__ == "__main__":
    main()
