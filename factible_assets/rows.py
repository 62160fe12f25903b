"""All rows of one video: the one shape in which they are read, judged, scored and shown.

What belongs here: the container, and what is known of each set of rows as a whole. What does not:
the rows themselves (records.py), reading and writing them (warehouse/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, get_args, get_type_hints

from factible_assets import records


@dataclass(frozen=True, slots=True)
class Materialization:
    """What the warehouse knows of one set as a whole. `row_count` leaves page texts out."""

    asset: str
    video_id: str
    run_id: str
    checked_at: datetime
    code_version: str
    data_version: str
    row_count: int
    duration_seconds: float
    first_result_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """How a claim's verdict differs from the complete one before; see the view verdict_changes.

    `change` is flip where the stance turned; both times are timezone-aware.
    """

    claim_id: str
    claim: str | None
    change: str
    previous_stance: records.Stance
    stance: records.Stance
    previous_confidence: records.Confidence
    confidence: records.Confidence
    previous_basis: records.Basis
    basis: records.Basis
    previous_checked_at: datetime
    checked_at: datetime
    previous_run_id: str
    run_id: str

    @property
    def words(self) -> str:
        """The change in words."""
        judge = "" if self.basis == self.previous_basis else f", judged by {self.basis} now"
        if self.change == "flip":
            return f"{self.previous_stance} → {self.stance} ({self.confidence}){judge}"
        return f"{self.stance}: {self.previous_confidence} → {self.confidence} confidence{judge}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRows:
    """Rows of one video by their class, empty if never made; `sets` has each asset that ran."""

    videos: Sequence[records.Video] = ()
    transcripts: Sequence[records.Transcript] = ()
    segments: Sequence[records.TranscriptSegment] = ()
    claims: Sequence[records.Claim] = ()
    queries: Sequence[records.Query] = ()
    searches: Sequence[records.Search] = ()
    hits: Sequence[records.SearchHit] = ()
    prior_fact_checks: Sequence[records.PriorFactCheck] = ()
    ratings: Sequence[records.ReliabilityRating] = ()
    pages: Sequence[records.Page] = ()
    page_texts: Sequence[records.PageText] = ()
    evidence: Sequence[records.Evidence] = ()
    verdicts: Sequence[records.Verdict] = ()
    steps: Sequence[records.Step] = ()
    llm_calls: Sequence[records.LlmCall] = ()
    media: Sequence[records.MediaFinding] = ()
    sets: Mapping[str, Materialization] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[records.Record], **others: Any) -> Self:
        """Sort rows of any classes into their places; `others` are the fields beside them."""
        places: dict[str, list[records.Record]] = {}
        for row in rows:
            places.setdefault(_PLACES[type(row)], []).append(row)
        everything: dict[str, Any] = {place: tuple(each) for place, each in places.items()}
        return cls(**everything, **others)

    @property
    def video(self) -> records.Video:
        """The video itself; IndexError if it is not among the rows."""
        return self.videos[0]

    @property
    def transcript(self) -> records.Transcript | None:
        """What is said in the video; None if it is not among the rows."""
        return self.transcripts[0] if self.transcripts else None

    @property
    def claim_ids(self) -> frozenset[str]:
        """The ids of the claims."""
        return frozenset(claim.claim_id for claim in self.claims)

    @property
    def verdict_of(self) -> dict[str, records.Verdict]:
        """The verdicts by claim."""
        return {verdict.claim_id: verdict for verdict in self.verdicts}

    @property
    def cost_usd(self) -> float:
        """What the model calls behind the rows cost, in US dollars."""
        return sum(call.cost_usd for call in self.llm_calls)

    @property
    def texts(self) -> dict[str, str]:
        """The texts of pages by content hash."""
        return {text.content_hash: text.text for text in self.page_texts}

    def of_asset(self, asset: str) -> list[records.Record]:
        """Return the rows that belong to one asset; of the model calls, its own."""
        rows = (
            row for record in records.ASSET_RECORDS[asset] for row in getattr(self, _PLACES[record])
        )
        return [row for row in rows if not isinstance(row, records.LlmCall) or row.stage == asset]

    def parts(self, assets: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the rows by place, of all or some assets, for a container that knows more."""
        if assets is None:
            return {each.name: getattr(self, each.name) for each in fields(VideoRows)}
        places = {_PLACES[record] for asset in assets for record in records.ASSET_RECORDS[asset]}
        return {place: getattr(self, place) for place in places}


_PLACES: Mapping[type[records.Record], str] = {
    get_args(kind)[0]: name for name, kind in get_type_hints(VideoRows).items() if name != "sets"
}
