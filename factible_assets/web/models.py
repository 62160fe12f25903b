"""What passes between client, service and worker: requests, answers, problems, orders and events.

What belongs here: their shapes and ranges, the vocabulary of a stream, how far along each event is,
and refusals on the wire (problem details, RFC 9457) with the sentences about malformed requests.
What does not: deciding when to refuse, where Starlette's HTTPException is raised with a sentence;
how answers come about (results.py, runs.py), who sends events (worker.py).

The names and limits of a request are those of Factible's API (section 1.8.4, listing 8 of its
draft); an unknown field is refused, so that a misspelt one is not silently ignored. The events are
those of its section 1.8.3, table 8, and one per verdict and per silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.exceptions import HTTPException
from starlette.responses import Response

from factible_assets.config import ClaimsConfig, FactCheckConfig, QueriesConfig, SearchConfig
from factible_assets.records import Basis, Claim, Rating, ReviewAction, Stance, Status, Verdict
from factible_assets.rows import VerdictChange
from resources.lines import problem_words

MOST_CLAIMS = 20

RunStatus = Literal[
    "queued", "not_started", "managed", "starting", "started", "success", "failure",
    "canceling", "canceled",
]  # fmt: skip
"""The states of a run, as Dagster names them."""


class FactCheckRequest(BaseModel):
    """Which video to fact-check, and how thoroughly."""

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
        description="The run is tagged with it: letters, digits, spaces and _.-, at most 63.",
    )
    max_claims: int | None = Field(
        5,
        strict=True,
        ge=1,
        le=MOST_CLAIMS,
        description="The most important claims that are checked; null for the most there are.",
    )
    max_queries_per_claim: int = Field(
        2, strict=True, ge=1, le=5, description="Searches per claim."
    )
    max_results_per_query: int = Field(
        3, strict=True, ge=1, le=10, description="Sources read per search."
    )
    detach: bool = Field(
        False,
        description="Whether the run goes on when nobody follows it any more. Otherwise a client "
        "that hangs up cancels it.",
    )

    @field_validator("max_claims", "max_queries_per_claim", "max_results_per_query", mode="before")
    @classmethod
    def _is_whole(cls, value: object) -> object:
        """Take 5.0 for 5: it is an integer to JSON Schema, and none to pydantic's strict mode."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def config(self) -> FactCheckConfig:
        """Return the knobs of the run."""
        return FactCheckConfig(
            claims=ClaimsConfig(max_claims=self.max_claims or MOST_CLAIMS),
            queries=QueriesConfig(max_queries=self.max_queries_per_claim),
            search=SearchConfig(max_results=self.max_results_per_query),
        )


class Health(BaseModel):
    """That the service answers."""

    status: Literal["healthy"] = "healthy"
    version: str


class Source(BaseModel):
    """What one page says about a claim, or why it could not be asked."""

    url: str
    domain: str
    title: str
    status: Status
    reason: str | None
    stance: Stance | None
    relevance: float | None
    quote: str | None
    summary: str | None
    rating: Rating
    published_on: date | None


class CheckedClaim(Claim):
    """A claim, its current verdict, the evidence that it rests on, and the ruling beside it."""

    verdict: Verdict | None
    ruling: ReviewAction | None = None
    evidence: list[Source]


class VideoResult(BaseModel):
    """What is known of a video: its claims in order of time, with their verdicts and evidence."""

    video_id: str
    title: str
    url: str | None
    channel: str | None
    duration_seconds: float | None
    published_on: date | None
    run_id: str | None = Field(description="The run of the newest verdicts.")
    checked_at: datetime | None
    is_finished: bool = Field(description="Whether every claim has a complete verdict.")
    transcript_length: int | None = Field(description="In characters.")
    total_claims: int
    claims: list[CheckedClaim]
    model_calls: int
    cost_usd: float = Field(description="What language models cost for what is shown.")
    report: str = Field(description="The path of the HTML report on this service.")


class VideoSummary(BaseModel):
    """A checked video in a list."""

    video_id: str
    title: str
    channel: str | None
    claims: int
    supports: int
    refutes: int
    mixed: int
    unclear: int
    incomplete: int
    basis: Basis | None
    checked_at: datetime | None


class VideoPage(BaseModel):
    """A part of the list of checked videos, the newest check first."""

    items: list[VideoSummary]
    total: int
    limit: int
    offset: int


class Check(BaseModel):
    """One check of a video."""

    run_id: str
    checked_at: datetime
    verdicts: int
    incomplete: int


class VideoHistory(BaseModel):
    """The checks of a video and the verdicts that changed between them, the newest first."""

    video_id: str
    total_checks: int
    total_changes: int
    limit: int
    offset: int
    checks: list[Check]
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
    events: str | None = Field(description="Where it can be followed; null if not here.")


class RunList(BaseModel):
    """The newest runs of the data folder, whoever launched them."""

    items: list[RunInfo]
    limit: int


ProgressKind = Literal[
    "transcript_extraction", "transcript_complete", "claim_extraction", "claims_extracted",
    "verdict_reached", "still_running", "generating_report", "complete", "error",
]  # fmt: skip
"""The names of the events, in the order in which they come.

`error` ends a stream at any point; `still_running` breaks a silence at any point."""

PROGRESS: dict[ProgressKind, int] = {
    "transcript_extraction": 5,
    "transcript_complete": 15,
    "claim_extraction": 20,
    "claims_extracted": 35,
    "generating_report": 90,
    "complete": 100,
    "error": 100,
}
"""How far along a run is, in percent (Factible, section 1.8.3, table 8); verdicts lie between."""

FINAL: frozenset[ProgressKind] = frozenset({"complete", "error"})
"""The events that end a stream."""


class Order(BaseModel):
    """One fact-check to run. `run_id` is the id of the Dagster run, a UUID.

    With a `claim_id` that claim alone is checked again, with the knobs of the last check.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    video_id: str
    home: Path
    config: FactCheckConfig
    experiment_name: str = "default"
    claim_id: str | None = None

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the Dagster run."""
        return {"launched_by": "factible serve", "experiment": self.experiment_name}


class ProgressUpdate(BaseModel):
    """One event of a run."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "example": {
                "step": "transcript_complete",
                "message": "The transcript has 4312 characters.",
                "progress": 15,
                "data": {"transcript_length": 4312},
            }
        },
    )

    step: ProgressKind = Field(description="What has happened.")
    message: str = Field(description="The same, as a sentence for a person.")
    progress: int = Field(ge=0, le=100, description="How far along the run is, in percent.")
    data: dict[str, Any] | None = Field(
        default=None,
        description=(
            "transcript_extraction: run_id, video_id. transcript_complete: transcript_length, in "
            "characters. claims_extracted: claims, total_claims. verdict_reached: claim, verdict, "
            "reached, total_claims. complete: result. error: run_id, cancelled, failures."
        ),
    )


def update(step: ProgressKind, message: str, **data: Any) -> ProgressUpdate:
    """Return the event of a step; a verdict's `data` say that it is the `reached`-th of how many.

    Its progress is fixed by its step, or lies between those of the claims and of the report.
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
    told = list(failures or (message,))
    return update("error", message, run_id=run_id, cancelled=cancelled, failures=told)


# --- What is wrong with a request, said in a sentence with its remedy -----------------------------

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    title: str = Field(description="The kind of problem.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do, in a sentence or two.")


def problem_response(error: HTTPException) -> Response:
    """Return the answer that says what is wrong."""
    title = HTTPStatus(error.status_code).phrase
    body = Problem(title=title, status=error.status_code, detail=error.detail).model_dump_json()
    return Response(body, error.status_code, error.headers, media_type=MEDIA_TYPE)


def too_many(sentence: str, retry_after_seconds: float) -> HTTPException:
    """Return the refusal of a quota that is used up, or of workers that are all busy."""
    return HTTPException(429, sentence, {"Retry-After": str(max(1, int(retry_after_seconds)))})


def validation_sentence(errors: Sequence[Any]) -> str:
    """Say pydantic's findings about a request in a sentence or more, five of them at most."""
    sentences = []
    for error in errors[:5]:
        place = [each for each in error["loc"] if each not in {"body", "query", "path", "header"}]
        if error["type"] == "json_invalid" or not place:
            sentences.append('The body must be a JSON object such as {"video_url": "…"}.')
        else:
            detail: Any = {**error, "loc": place}
            sentences.append(problem_words(detail, FactCheckRequest))
    return " ".join(sentences)
