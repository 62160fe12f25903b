"""Rules over what was said: the transcript, its captions, and the claims found in it.

What belongs here: the rules of the assets transcripts and claims. What does not: other assets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from factible_assets.records import Claim
from factible_assets.stages import ids
from factible_assets.stages.integrity.judged_rows import (
    JudgedRows,
    Violation,
    ranks_of,
    repeated,
    unlike,
)
from factible_assets.stages.transcript import Clock

_ROUNDING = 1e-6
_SLACK_SECONDS = 10.0
_SLACK_SHARE = 0.05


def transcript_is_one_text(rows: JudgedRows) -> Iterator[Violation]:
    """There is one transcript, and its hash is that of its text."""
    if len(rows.transcripts) != 1:
        yield Violation("transcript", f"there are {len(rows.transcripts)} of them, not one")
    for transcript in rows.transcripts:
        derived = ids.content_hash(transcript.text)
        yield from unlike("transcript", "content_hash", transcript.content_hash, derived)


def captions_stand_in_the_text(rows: JudgedRows) -> Iterator[Violation]:
    """Captions are counted from 0, and follow each other in the text and in time."""
    length = len(rows.transcripts[0].text) if rows.transcripts else 0
    ordered = sorted(rows.segments, key=lambda segment: segment.position)
    for expected, segment in enumerate(ordered):
        name = f"caption {segment.position}"
        if segment.position != expected:
            yield Violation(name, "captions are counted from 0 without a gap")
            return
        if segment.char_end > length:
            yield Violation(name, f"it ends at {segment.char_end}, and the text at {length}")
    for before, after in pairwise(ordered):
        name = f"caption {after.position}"
        if after.char_start < before.char_end:
            yield Violation(name, "it begins in the text before the caption before it ends")
        if after.start_seconds < before.start_seconds:
            yield Violation(name, "it is shown before the caption before it")


def captions_fit_the_video(rows: JudgedRows) -> Iterator[Violation]:
    """Captions begin before the video ends, with some slack for rounded lengths."""
    length = rows.video.duration_seconds
    if length is None:
        return
    latest = length + max(_SLACK_SECONDS, length * _SLACK_SHARE)
    for segment in rows.segments:
        if segment.start_seconds > latest:
            yield Violation(
                f"caption {segment.position}",
                f"it begins at {segment.start_seconds:.1f} s, and the video has {length:.1f} s: is "
                "this the transcript of another video?",
            )
            return


def claim_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A claim's id follows from the video and its wording, and is there once."""
    yield from repeated(rows.claims, lambda claim: claim.claim_id, _name)
    for claim in rows.claims:
        derived = ids.claim_id(rows.video.video_id, claim.text)
        yield from unlike(_name(claim), "claim_id", claim.claim_id, derived)


def claims_are_in_order(rows: JudgedRows) -> Iterator[Violation]:
    """Ranks count from 1, the most important claim first."""
    yield from ranks_of(((_name(claim), claim.rank) for claim in rows.claims), "claims")
    ordered = sorted(rows.claims, key=lambda claim: claim.rank)
    for before, after in pairwise(ordered):
        if after.importance > before.importance:
            yield Violation(_name(after), f"it is more important than {_name(before)} before it")


def claims_stand_in_the_transcript(rows: JudgedRows) -> Iterator[Violation]:
    """A claim's place lies in the text, and its time is that of the captions there."""
    transcript = rows.transcripts[0] if rows.transcripts else None
    clock = Clock.of(rows.segments)
    length = len(transcript.text) if transcript else 0
    for claim in rows.claims:
        name = _name(claim)
        if claim.char_start is None or claim.char_end is None:
            continue
        if claim.char_end > length:
            yield Violation(name, f"it ends at {claim.char_end}, and the transcript at {length}")
            continue
        for verb, said, there in (
            ("begin", claim.start_seconds, clock.start_at(claim.char_start)),
            ("end", claim.end_seconds, clock.second_at(claim.char_end)),
        ):
            if not _alike(said, there):
                yield Violation(name, f"it is said to {verb} at {said} s, its caption at {there}")


def _alike(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= _ROUNDING


def _name(claim: Claim) -> str:
    return f"claim {claim.claim_id}"
