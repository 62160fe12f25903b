"""Reads what scoring needs: the current rows of videos, and what their corpora say of them.

What belongs here: which rows make up an outcome. What does not: SQL and connections (warehouse/),
reading corpus files (corpora/), scoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    Page,
    PageText,
    Query,
    Record,
    ReliabilityRating,
    Search,
    SearchHit,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)

AnyRecord = TypeVar("AnyRecord", bound=Record)


class WrittenSet(Protocol):
    """What is known of one set as a whole."""

    @property
    def run_id(self) -> str:
        """The run that wrote it."""
        ...

    @property
    def duration_seconds(self) -> float:
        """How long it took to make it."""
        ...

    @property
    def first_result_seconds(self) -> float | None:
        """How long it took until its first piece was there."""
        ...


class CurrentSet(Protocol):
    """The newest rows of one asset and video."""

    @property
    def materialization(self) -> WrittenSet:
        """What is known of the set as a whole."""
        ...

    def of(self, record: type[AnyRecord]) -> list[AnyRecord]:
        """Return the rows of one class."""
        ...


class Store(Protocol):
    """The warehouse, as far as outcomes are read from it."""

    def video_ids(self) -> list[str]:
        """Return the videos of which there is any set."""
        ...

    def read_video(self, video_id: str) -> Mapping[str, CurrentSet]:
        """Return the newest sets of a video by asset."""
        ...


def load_outcomes(
    store: Store, reading: CorporaReading, *, videos: Iterable[str] | None = None
) -> list[VideoOutcome]:
    """Return the outcome of every video of the warehouse, annotated where a corpus says how.

    Args:
        store: The warehouse.
        reading: The corpora.
        videos: Only these, in this order; those that the warehouse does not hold are left out.
    """
    held = store.video_ids()
    wanted = held if videos is None else [each for each in videos if each in set(held)]
    outcomes = (outcome_of(video_id, store.read_video(video_id), reading) for video_id in wanted)
    return [outcome for outcome in outcomes if outcome is not None]


def outcome_of(
    video_id: str, sets: Mapping[str, CurrentSet], reading: CorporaReading
) -> VideoOutcome | None:
    """Put one video's sets together; None if it was never described, and no corpus lists it."""

    def rows(asset: str, record: type[AnyRecord]) -> tuple[AnyRecord, ...]:
        return tuple(sets[asset].of(record)) if asset in sets else ()

    listed = reading.find(video_id)
    described = rows("transcripts", Video)
    video = described[0] if described else listed.video if listed else None
    if video is None:
        return None
    transcripts = rows("transcripts", Transcript)
    return VideoOutcome(
        video=video,
        transcript=transcripts[0] if transcripts else None,
        segments=rows("transcripts", TranscriptSegment),
        claims=rows("claims", Claim),
        queries=rows("queries", Query),
        searches=rows("search_hits", Search),
        hits=rows("search_hits", SearchHit),
        ratings=rows("reliability_ratings", ReliabilityRating),
        pages=rows("evidence", Page),
        page_texts=rows("evidence", PageText),
        evidence=rows("evidence", Evidence),
        verdicts=rows("verdicts", Verdict),
        llm_calls=tuple(call for asset in _WITH_CALLS for call in rows(asset, LlmCall)),
        durations={asset: each.materialization.duration_seconds for asset, each in sets.items()},
        truth=listed.claims if listed else None,
        first_verdict_seconds=_first_verdict(sets),
    )


_WITH_CALLS = ("claims", "queries", "evidence", "verdicts")
_TO_VERDICTS = ("transcripts", "claims", "queries", "search_hits", "evidence", "verdicts")


def _first_verdict(sets: Mapping[str, CurrentSet]) -> float | None:
    """Return the working time up to the first verdict, None unless one run made everything.

    The time of the transcript and of the claims, and from then to the first verdict. What a
    scheduler spends between steps is not counted.
    """
    written = [sets[asset].materialization for asset in _TO_VERDICTS if asset in sets]
    if len(written) != len(_TO_VERDICTS) or len({each.run_id for each in written}) > 1:
        return None
    first = sets["verdicts"].materialization.first_result_seconds
    if first is None:
        return None
    before = ("transcripts", "claims")
    return first + sum(sets[asset].materialization.duration_seconds for asset in before)
