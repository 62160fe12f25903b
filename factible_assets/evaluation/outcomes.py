"""Combines the rows of a video with its annotation, for scoring."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorporaReading
from factible_assets.errors import FactibleError
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import METHOD, Evidence

UNLISTED: Final = "unlisted"
"""The corpus of videos without a corpus."""


class UnknownCorpusError(FactibleError):
    """The warehouse has no video of a corpus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOutcome(VideoRows):
    """The rows of one video, and its annotated claims (`truth`; None if it is not annotated).

    `first_verdict_seconds` is the time from the start to the first verdict, None if unknown.
    `baseline_evidence` is that of an experiment's baseline. The metrics of an asset without a set
    are undefined.
    """

    truth: tuple[ClaimEntry, ...] | None = None
    first_verdict_seconds: float | None = None
    baseline_evidence: Sequence[Evidence] = ()

    def ran(self, *assets: str) -> bool:
        return all(asset in self.sets for asset in assets)


class Store(Protocol):
    """The warehouse, which returns the newest sets of each video."""

    def video_ids(self) -> list[str]: ...
    def read_video(self, video_id: str) -> VideoRows: ...


def load_outcomes(
    store: Store, reading: CorporaReading, *, videos: Iterable[str] | None = None
) -> list[VideoOutcome]:
    """Return the outcome of every video of the warehouse, or of those of `videos` that it has."""
    stored = dict.fromkeys(store.video_ids())
    ids = stored if videos is None else [video_id for video_id in videos if video_id in stored]
    outcomes = (outcome_of(video_id, store.read_video(video_id), reading) for video_id in ids)
    return [outcome for outcome in outcomes if outcome is not None]


def outcome_of(video_id: str, rows: VideoRows, reading: CorporaReading) -> VideoOutcome | None:
    """Add the annotation to a video's rows; None for an unknown video."""
    listed = reading.find(video_id)
    videos = rows.videos or ([listed.video] if listed else [])
    if not videos:
        return None
    # The time is unknown if several runs made the sets. Pauses between steps do not count.
    sets = [rows.sets[asset] for asset in METHOD if asset in rows.sets]
    seconds = None
    if len(sets) == len(METHOD) and len({stored.run_id for stored in sets}) == 1:
        transcripts, claims, *_, verdicts = sets
        first = verdicts.first_result_seconds
        before = transcripts.duration_seconds + claims.duration_seconds
        seconds = None if first is None else before + first
    return VideoOutcome(
        **rows.parts() | {"videos": videos},
        truth=listed.claims if listed else None,
        first_verdict_seconds=seconds,
    )


def group_by_corpus(
    outcomes: Iterable[VideoOutcome], reading: CorporaReading, *, expected: Collection[str] = ()
) -> dict[str, list[VideoOutcome]]:
    """Group outcomes by the corpus that lists their video today, in order of name.

    Raises UnknownCorpusError: An `expected` corpus has no outcome.
    """
    groups: dict[str, list[VideoOutcome]] = {}
    for outcome in outcomes:
        listed = reading.find(outcome.video.video_id)
        corpus = (listed.video if listed else outcome.video).corpus
        groups.setdefault(corpus or UNLISTED, []).append(outcome)
    groups = dict(sorted(groups.items()))
    if unknown := sorted(set(expected) - groups.keys()):
        raise UnknownCorpusError(
            f"No video of the corpus {unknown[0]!r} has been checked. Corpora with checked videos: "
            f"{', '.join(groups) or 'none'}."
        )
    return groups
