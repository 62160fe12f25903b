"""What came of one video, and what it should have been: all that scoring looks at.

What belongs here: the record that scoring is handed, and what follows from it alone. What does not:
reading it (loading.py), figures (scoring.py, metrics).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.metrics.claims import GoldClaim
from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    Page,
    PageText,
    Query,
    ReliabilityRating,
    Search,
    SearchHit,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)


@dataclass(frozen=True, slots=True)
class VideoOutcome:
    """The rows of one video, and its annotation.

    Attributes:
        video: The video.
        transcript: Its words; None if they were not read.
        segments: The transcript's captions, where it has them.
        claims: In any order; their rank counts.
        queries: Of all claims, as are all rows that follow.
        searches: How each search ended.
        hits: What the searches found.
        ratings: Of the domains that were found.
        pages: The attempts to obtain a page.
        page_texts: The texts that quotes are held against.
        evidence: What each page says.
        verdicts: At most one per claim.
        llm_calls: Of all stages.
        durations: Seconds that each asset took. An asset that is not named here did not run: its
            metrics are undefined for this video, not zero.
        truth: The annotated claims; None if the video is not annotated, empty if it makes none.
        first_verdict_seconds: From the beginning of the work to the first verdict; None if unknown.
    """

    video: Video
    transcript: Transcript | None = None
    segments: tuple[TranscriptSegment, ...] = ()
    claims: tuple[Claim, ...] = ()
    queries: tuple[Query, ...] = ()
    searches: tuple[Search, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    ratings: tuple[ReliabilityRating, ...] = ()
    pages: tuple[Page, ...] = ()
    page_texts: tuple[PageText, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    llm_calls: tuple[LlmCall, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    truth: tuple[ClaimEntry, ...] | None = None
    first_verdict_seconds: float | None = None

    @property
    def ordered_claims(self) -> tuple[Claim, ...]:
        """Return the claims, most important first."""
        return tuple(sorted(self.claims, key=lambda claim: claim.rank))

    @property
    def gold(self) -> tuple[GoldClaim, ...] | None:
        """Return the annotated claims as metrics take them; None if there is no annotation."""
        if self.truth is None:
            return None
        return tuple(
            GoldClaim(entry.text, entry.importance, entry.stance, entry.checkable)
            for entry in self.truth
        )

    def ran(self, *assets: str) -> bool:
        """Tell whether all of these assets ran."""
        return all(asset in self.durations for asset in assets)
