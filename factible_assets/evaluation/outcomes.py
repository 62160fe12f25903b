"""What came of one video, and what it should have been: all that scoring looks at.

What belongs here: the record that scoring is handed, and what follows from it alone. What does not:
reading it (loading.py), figures (scoring.py, metrics).
"""

from __future__ import annotations

from dataclasses import dataclass

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.metrics.claims import GoldClaim
from factible_assets.records import Claim
from factible_assets.rows import VideoRows


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOutcome(VideoRows):
    """The rows of one video, and its annotation.

    Attributes:
        truth: The annotated claims; None if the video is not annotated, empty if it makes none.
        first_verdict_seconds: From the beginning of the work to the first verdict; None if unknown.

    An asset that is not among the `sets` did not run: its metrics are undefined for this video, not
    zero.
    """

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
        return all(asset in self.sets for asset in assets)
