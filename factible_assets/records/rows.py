"""All rows of one video in one container, for reading, checking, scoring and showing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, get_args, get_type_hints

from factible_assets.records import tables as records


@dataclass(frozen=True, slots=True)
class Materialization:
    """The metadata of one asset's rows for one video. `row_count` excludes page texts."""

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
    """The change of a claim's verdict since the previous complete one (view verdict_changes).

    `change` is "flip" if the stance changed. Both times are timezone-aware.
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
        judge = "" if self.basis == self.previous_basis else f", judged by {self.basis} now"
        if self.change == "flip":
            return f"{self.previous_stance} → {self.stance} ({self.confidence}){judge}"
        return f"{self.stance}: {self.previous_confidence} → {self.confidence} confidence{judge}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRows:
    """The rows of one video by class. `sets` holds the metadata of every asset that ran."""

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
        """Sort rows of any class into their fields; `others` are further fields."""
        by_field: dict[str, list[records.Record]] = {}
        for row in rows:
            by_field.setdefault(_FIELD_OF[type(row)], []).append(row)
        values: dict[str, Any] = {name: tuple(of_class) for name, of_class in by_field.items()}
        return cls(**values, **others)

    @property
    def video(self) -> records.Video:
        """The video; IndexError if there is none."""
        return self.videos[0]

    @property
    def transcript(self) -> records.Transcript | None:
        return self.transcripts[0] if self.transcripts else None

    @property
    def claim_ids(self) -> frozenset[str]:
        return frozenset(claim.claim_id for claim in self.claims)

    @property
    def verdict_of(self) -> dict[str, records.Verdict]:
        """The verdicts by claim_id."""
        return {verdict.claim_id: verdict for verdict in self.verdicts}

    @property
    def cost_usd(self) -> float:
        """The cost of the model calls in US dollars."""
        return sum(call.cost_usd for call in self.llm_calls)

    @property
    def texts(self) -> dict[str, str]:
        """The page texts by content hash."""
        return {text.content_hash: text.text for text in self.page_texts}

    def of_asset(self, asset: str) -> list[records.Record]:
        """Return the rows of one asset, with only its own model calls."""
        rows = (
            row
            for record in records.ASSET_RECORDS[asset]
            for row in getattr(self, _FIELD_OF[record])
        )
        return [row for row in rows if not isinstance(row, records.LlmCall) or row.stage == asset]

    def parts(self, assets: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the rows of all or some assets by field, for building a subclass."""
        if assets is None:
            return {field.name: getattr(self, field.name) for field in fields(VideoRows)}
        names = {_FIELD_OF[record] for asset in assets for record in records.ASSET_RECORDS[asset]}
        return {name: getattr(self, name) for name in names}


_FIELD_OF: Mapping[type[records.Record], str] = {
    get_args(kind)[0]: name for name, kind in get_type_hints(VideoRows).items() if name != "sets"
}
"""The field of VideoRows for each record class."""
