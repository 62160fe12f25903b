"""Reads what scoring needs: the current rows of videos, and what their corpora say of them.

What belongs here: which rows make up an outcome. What does not: SQL and connections (warehouse/),
reading corpus files (corpora/), scoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.rows import Materialization, VideoRows


class Store(Protocol):
    """The warehouse, as far as outcomes are read from it."""

    def video_ids(self) -> list[str]:
        """Return the videos of which there is any set."""
        ...

    def read_video(self, video_id: str) -> VideoRows:
        """Return everything in the newest sets of a video."""
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


def outcome_of(video_id: str, rows: VideoRows, reading: CorporaReading) -> VideoOutcome | None:
    """Put a video beside its annotation; None if it was never described, and no corpus lists it."""
    listed = reading.find(video_id)
    videos = rows.videos or ([listed.video] if listed else [])
    if not videos:
        return None
    return VideoOutcome(
        **rows.parts() | {"videos": videos},
        truth=listed.claims if listed else None,
        first_verdict_seconds=_first_verdict(rows.sets),
    )


_TO_VERDICTS = ("transcripts", "claims", "queries", "search_hits", "evidence", "verdicts")


def _first_verdict(sets: Mapping[str, Materialization]) -> float | None:
    """Return the working time up to the first verdict, None unless one run made everything.

    The time of the transcript and of the claims, and from then to the first verdict. What a
    scheduler spends between steps is not counted.
    """
    written = [sets[asset] for asset in _TO_VERDICTS if asset in sets]
    if len(written) != len(_TO_VERDICTS) or len({each.run_id for each in written}) > 1:
        return None
    first = sets["verdicts"].first_result_seconds
    if first is None:
        return None
    return first + sum(sets[asset].duration_seconds for asset in ("transcripts", "claims"))
