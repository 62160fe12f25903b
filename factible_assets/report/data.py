"""What a report is made of: the records of one video, or of all, as they stand in the warehouse.

What belongs here: the containers. What does not: how they are read or shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from factible_assets.records import Basis, Confidence, ReviewAction, Stance, Video
from factible_assets.rows import Materialization, VideoRows
from factible_assets.stages.reviews import by_claim, latest


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(VideoRows):
    """The newest complete rows of one video, and their history; what was never made is empty.

    The evidence is that on which the current verdicts rest, with its pages and texts. `outlived`
    maps a claim to how its newest re-check failed, `reviewed_queries` the id of a query that a
    reviewer changed to its words. `checks` counts the checks that reached verdicts.
    """

    changes: tuple[VerdictChange, ...] = ()
    reviews: tuple[ReviewAction, ...] = ()
    reviewed_queries: Mapping[str, str] = field(default_factory=dict)
    outlived: Mapping[str, Outlived] = field(default_factory=dict)
    checks: int = 0

    @property
    def rulings(self) -> dict[str, ReviewAction]:
        """The ruling that stands on each claim in its words, by claim."""
        done = by_claim(self.reviews)
        found = ((each, latest("sign", acts, each)) for each, acts in done.items())
        return {each: ruling for each, ruling in found if ruling is not None}

    @property
    def newest(self) -> Materialization | None:
        """The set of the verdicts, or of the claims where no verdict was reached."""
        return self.sets.get("verdicts") or self.sets.get("claims")

    @property
    def run_id(self) -> str | None:
        """The run that made the newest set."""
        return self.newest.run_id if self.newest else None

    @property
    def checked_at(self) -> datetime | None:
        """When it was made; timezone-aware."""
        return self.newest.checked_at if self.newest else None

    @property
    def seconds(self) -> float | None:
        """How long all sets took to make; None where there is none."""
        return sum(each.duration_seconds for each in self.sets.values()) if self.sets else None


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
