"""What a report is made of: the records of one video, or of all, as they stand in the warehouse.

What belongs here: the containers. What does not: how they are read or shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from factible_assets.records import (
    Basis,
    Claim,
    Confidence,
    Evidence,
    LlmCall,
    PriorFactCheck,
    Query,
    ReliabilityRating,
    ReviewAction,
    Search,
    Stance,
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
class VerdictChange:
    """One turn of a claim's verdict; both times are timezone-aware."""

    claim_id: str
    claim: str | None
    previous_stance: Stance
    stance: Stance
    previous_confidence: Confidence
    confidence: Confidence
    previous_checked_at: datetime
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class PageFacts:
    """How a page was obtained. `retrieved_at` is timezone-aware."""

    final_url: str | None
    retrieved_at: datetime


@dataclass(frozen=True, slots=True)
class ReportData:
    """The newest complete rows of one video; what was never materialized is empty.

    `page_texts` maps a content hash to the stored text of a page, `pages` a page id to how it was
    obtained, `outlived` a claim to how its newest re-check failed, `reviewed_queries` the id of a
    query that a reviewer changed to its words. `checks` counts the checks that reached verdicts,
    `seconds` is how long the newest took. `run_id` and `checked_at` (timezone-aware) are those of
    the verdicts, or of the claims where no verdict was reached.
    """

    video: Video
    transcript: Transcript | None = None
    segments: tuple[TranscriptSegment, ...] = ()
    claims: tuple[Claim, ...] = ()
    queries: tuple[Query, ...] = ()
    searches: tuple[Search, ...] = ()
    prior_fact_checks: tuple[PriorFactCheck, ...] = ()
    ratings: tuple[ReliabilityRating, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    changes: tuple[VerdictChange, ...] = ()
    reviews: tuple[ReviewAction, ...] = ()
    reviewed_queries: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[LlmCall, ...] = ()
    outlived: Mapping[str, Outlived] = field(default_factory=dict)
    page_texts: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, PageFacts] = field(default_factory=dict)
    checks: int = 0
    seconds: float | None = None
    run_id: str | None = None
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class IndexedClaim:
    """One claim in the index; `stance` is unknown where no verdict or an incomplete one stands."""

    claim_id: str
    text: str
    category: str | None
    start_seconds: float | None
    is_judged: bool
    stance: Stance | None
    confidence: Confidence | None
    basis: Basis | None
    supporting: int
    refuting: int


@dataclass(frozen=True, slots=True)
class IndexedVideo:
    """One video in the index with its claims in order of time. `checked_at` is timezone-aware."""

    video: Video
    checked_at: datetime | None
    claims: tuple[IndexedClaim, ...]
    changes: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class IndexData:
    """Every video that the warehouse knows, the one that was checked last first."""

    videos: tuple[IndexedVideo, ...]
