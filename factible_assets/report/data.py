"""What a report is made of: the records of one video, as they stand in the warehouse.

What belongs here: the container. What does not: how it is read or shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    Query,
    ReliabilityRating,
    Search,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)


@dataclass(frozen=True, slots=True)
class Outlived:
    """A verdict that is still good although the newest re-check of its claim failed.

    `reached_at` and `failed_at` are timezone-aware.
    """

    reached_at: datetime
    failed_at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class ReportData:
    """The newest complete rows of one video; what was never materialized is empty.

    `page_texts` maps a content hash to the stored text of a page, `outlived` a claim to how its
    newest re-check failed. `run_id` and `checked_at`
    (timezone-aware) are those of the verdicts, or of the claims where no verdict was reached.
    """

    video: Video
    transcript: Transcript | None = None
    segments: tuple[TranscriptSegment, ...] = ()
    claims: tuple[Claim, ...] = ()
    queries: tuple[Query, ...] = ()
    searches: tuple[Search, ...] = ()
    ratings: tuple[ReliabilityRating, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    calls: tuple[LlmCall, ...] = ()
    outlived: Mapping[str, Outlived] = field(default_factory=dict)
    page_texts: Mapping[str, str] = field(default_factory=dict)
    run_id: str | None = None
    checked_at: datetime | None = None
