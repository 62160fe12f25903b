"""The messages between client, service and worker: requests, answers and events.

Names and limits of a request follow Factible's API (section 1.8.4, listing 8 of its draft). The
events follow its section 1.8.3, table 8; `verdict_reached` and `still_running` are additions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from factible_assets.config import (
    ClaimsConfig,
    FactCheckConfig,
    QueriesConfig,
    SearchConfig,
    StrategyName,
)
from factible_assets.records.rows import VerdictChange
from factible_assets.records.tables import Claim, Evidence, ReviewAction, Verdict, Video
from factible_assets.wording import OUTCOMES, Outcome

MOST_CLAIMS = 20

Row: TypeAlias = dict[str, Any]
"""A row of a question to the warehouse, by column."""

RunStatus = Literal[
    "queued", "not_started", "managed", "starting", "started", "success", "failure",
    "canceling", "canceled",
]  # fmt: skip
"""The states of a Dagster run."""


class FactCheckRequest(BaseModel):
    """Which video to fact-check, and how thoroughly."""

    # Refuse unknown fields, so that nobody overlooks a misspelt one.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "example": {"video_url": "https://www.youtube.com/watch?v=iGkLcqLWxMA", "max_claims": 5}
        },
    )

    video_url: str = Field(
        min_length=1,
        max_length=2048,
        description="The link of a YouTube video, its id, or the id of a video of a corpus.",
        examples=["https://www.youtube.com/watch?v=iGkLcqLWxMA", "everyday-beliefs-talk"],
    )
    experiment_name: str = Field(
        "default",
        max_length=63,
        pattern=r"^[A-Za-z0-9_.\- ]*$",
        description="A tag of the run: letters, digits, spaces and _.-, at most 63 characters.",
    )
    max_claims: int | None = Field(
        5,
        strict=True,
        ge=1,
        le=MOST_CLAIMS,
        description=f"How many of the most important claims to check; null for {MOST_CLAIMS}.",
    )
    max_queries_per_claim: int = Field(
        2, strict=True, ge=1, le=5, description="Searches per claim."
    )
    max_results_per_query: int = Field(
        3, strict=True, ge=1, le=10, description="Sources read per search."
    )
    strategy: StrategyName = Field(
        "standard", description="The way to check a claim; docs/strategies.md compares them."
    )
    find_only: bool = Field(
        False,
        description="Whether the run only finds claims. `claims` of a second request then names "
        "those to check.",
    )
    claims: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field(
        (),
        max_length=MOST_CLAIMS,
        description="Check exactly these statements, after a run has found the claims of the "
        "video: found claims in their own words, or other statements. The others are dropped.",
    )
    detach: bool = Field(
        False,
        description="Whether the run goes on without followers. Otherwise a client that hangs up "
        "cancels it.",
    )

    @field_validator("max_claims", "max_queries_per_claim", "max_results_per_query", mode="before")
    @classmethod
    def _is_whole(cls, value: object) -> object:
        """Take 5.0 for 5. It is an integer in JSON Schema, but not in pydantic's strict mode."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    @field_validator("claims")
    @classmethod
    def _finds_or_checks(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if value and info.data.get("find_only"):
            raise ValueError("leave it out with find_only, which only finds claims")
        return value

    def config(self) -> FactCheckConfig:
        return service_config(
            self.max_claims or MOST_CLAIMS,
            self.strategy,
            max_queries=self.max_queries_per_claim,
            max_results=self.max_results_per_query,
        )


def service_config(
    max_claims: int = 5,
    strategy: StrategyName = "standard",
    *,
    max_queries: int = 2,
    max_results: int = 3,
) -> FactCheckConfig:
    """Return the options of a check, with the defaults of the service."""
    return FactCheckConfig(
        claims=ClaimsConfig(max_claims=max_claims),
        queries=QueriesConfig(max_queries=max_queries),
        search=SearchConfig(max_results=max_results),
        strategy=strategy,
    )


class Health(BaseModel):
    """The service answers."""

    status: Literal["healthy"] = "healthy"
    version: str


class Source(Evidence):
    """A source of a claim: its statement, or why it has none. `url` is the address to open."""

    url: str


class CheckedClaim(Claim):
    """A claim with its current verdict, its evidence, and a reviewer's ruling."""

    verdict: Verdict | None
    ruling: ReviewAction | None = None
    evidence: list[Source]


class VideoResult(Video):
    """A checked video with its claims in order of time, their verdicts and evidence."""

    run_id: str | None = Field(description="The run of the newest verdicts.")
    checked_at: datetime | None
    is_finished: bool = Field(description="Whether every claim has a complete verdict.")
    transcript_length: int | None = Field(description="In characters.")
    total_claims: int
    claims: list[CheckedClaim]
    outcomes: Mapping[str, Outcome] = Field(
        default=OUTCOMES,
        description="The words, mark and colours of each stance, of `incomplete` and `unjudged`, "
        "in the order of summaries.",
    )
    model_calls: int
    cost_usd: float = Field(description="The cost of the language models behind these results.")
    report: str = Field(description="The path of the HTML report on this service.")


class VideoPage(BaseModel):
    """One page of the list of checked videos, the newest check first."""

    items: list[Row] = Field(
        description="video_id, title, channel, claims, the number of claims with each outcome, the "
        "basis of the verdicts, checked_at."
    )
    total: int
    limit: int
    offset: int


class VideoHistory(BaseModel):
    """The checks of a video and the verdicts that changed between them, the newest first."""

    video_id: str
    total_checks: int
    total_changes: int
    limit: int
    offset: int
    checks: list[Row] = Field(description="run_id, checked_at, and numbers of verdicts.")
    changes: list[VerdictChange]


class RunInfo(BaseModel):
    """A run, as the Dagster UI shows it too."""

    run_id: str
    video_id: str | None
    status: RunStatus
    launched_by: str | None
    experiment_name: str | None
    started_at: datetime | None
    ended_at: datetime | None
    events: str | None = Field(description="The path of its events; null for runs from elsewhere.")


class RunList(BaseModel):
    """The newest runs of the data folder, from this service and from elsewhere."""

    items: list[RunInfo]
    limit: int


ProgressKind = Literal[
    "transcript_extraction", "transcript_complete", "claim_extraction", "claims_extracted",
    "verdict_reached", "still_running", "generating_report", "complete", "error",
]  # fmt: skip
"""The names of the events in their order. `error` and `still_running` can come at any point."""

PROGRESS: dict[ProgressKind, int] = {
    "transcript_extraction": 5,
    "transcript_complete": 15,
    "claim_extraction": 20,
    "claims_extracted": 35,
    "generating_report": 90,
    "complete": 100,
    "error": 100,
}
"""Progress in percent at each event (Factible, section 1.8.3, table 8). Verdicts lie between."""

FINAL: frozenset[ProgressKind] = frozenset({"complete", "error"})
"""The events that end a stream."""


class CheckOrder(BaseModel):
    """One fact-check for a worker.

    An order with a `claim_id` checks only that claim again, with the config of its last check. One
    that `finds_only` stops at the claims. One with `claims` checks the statements that a person has
    chosen. The service sets `run_id`, a UUID that becomes the id of the Dagster run, and `home`.
    """

    model_config = ConfigDict(frozen=True)

    video_id: str
    config: FactCheckConfig = FactCheckConfig()
    experiment_name: str = "default"
    claim_id: str | None = None
    finds_only: bool = False
    claims: tuple[str, ...] = ()
    run_id: str = ""
    home: Path = Path()

    @property
    def tags(self) -> dict[str, str]:
        return {"launched_by": "factible serve", "experiment": self.experiment_name}

    def is_same_work(self, other: CheckOrder) -> bool:
        work = {"video_id", "config", "claim_id", "finds_only", "claims"}
        return self.model_dump(include=work) == other.model_dump(include=work)


class ProgressUpdate(BaseModel):
    """One event of a run."""

    model_config = ConfigDict(frozen=True)

    step: ProgressKind = Field(description="The kind of event.")
    message: str = Field(description="The event as a sentence for a person.")
    progress: int = Field(ge=0, le=100, description="How far along the run is, in percent.")
    data: dict[str, Any] | None = Field(
        default=None,
        description=(
            "transcript_extraction: run_id, video_id. transcript_complete: transcript_length, in "
            "characters. claims_extracted: claims, total_claims. verdict_reached: claim, verdict, "
            "reached, total_claims. complete: result. error: run_id, cancelled, failures."
        ),
    )


def progress_update(step: ProgressKind, message: str, **data: Any) -> ProgressUpdate:
    """Return an event. The data of a verdict have `reached` and `total_claims`.

    The progress of a verdict lies between that of the claims and that of the report.
    """
    first, last = PROGRESS["claims_extracted"], PROGRESS["generating_report"] - 1
    total = data.get("total_claims")
    share = min(data.get("reached", 0) / total, 1.0) if total else 1.0
    progress = PROGRESS.get(step, first + int((last - first) * share))
    return ProgressUpdate(step=step, message=message, progress=progress, data=data or None)


def error_update(
    message: str, run_id: str, *, cancelled: bool = False, failures: tuple[str, ...] = ()
) -> ProgressUpdate:
    """Return the event that ends a run without a result."""
    data = {"run_id": run_id, "cancelled": cancelled, "failures": list(failures or (message,))}
    return progress_update("error", message, **data)
