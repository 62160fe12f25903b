"""What passes between service, worker and client: the order of a run, and the events of it.

What belongs here: which video, with which knobs, as which run; the vocabulary of Factible (section
1.8.3, table 8), the events per verdict and per silence that are added to it, and how far along each
one is. What does not: who sends them (workers.py, worker.py), how they reach clients (app.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from factible_assets.config import FactCheckConfig

Step = Literal[
    "transcript_extraction",
    "transcript_complete",
    "claim_extraction",
    "claims_extracted",
    "verdict_reached",
    "still_running",
    "generating_report",
    "complete",
    "error",
]
"""The names of the events, in the order in which they come.

`error` ends a stream at any point; `still_running` breaks a silence at any point."""

PROGRESS: dict[Step, int] = {
    "transcript_extraction": 5,
    "transcript_complete": 15,
    "claim_extraction": 20,
    "claims_extracted": 35,
    "generating_report": 90,
    "complete": 100,
    "error": 100,
}
"""How far along a run is, in percent (Factible, section 1.8.3, table 8)."""

FINAL: frozenset[Step] = frozenset({"complete", "error"})
"""The events that end a stream."""

_BEFORE_REPORT = 89


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

    def is_like(self, other: Order) -> bool:
        """Tell whether another order asks for the same work."""
        work = {"video_id", "config", "claim_id"}
        return self.model_dump(include=work) == other.model_dump(include=work)


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

    step: Step = Field(description="What has happened.")
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


def update(step: Step, message: str, **data: Any) -> ProgressUpdate:
    """Return an event whose progress is fixed by its step."""
    return ProgressUpdate(step=step, message=message, progress=PROGRESS[step], data=data or None)


def verdict_update(message: str, *, reached: int, total: int, **data: Any) -> ProgressUpdate:
    """Return the event of one verdict: it lies between the claims and the report.

    Args:
        message: The sentence.
        reached: How many claims have a verdict by now, this one included.
        total: How many claims there are.
        **data: What the event carries besides these two numbers.
    """
    first = PROGRESS["claims_extracted"]
    share = min(reached / total, 1.0) if total else 1.0
    return ProgressUpdate(
        step="verdict_reached",
        message=message,
        progress=first + int((_BEFORE_REPORT - first) * share),
        data={**data, "reached": reached, "total_claims": total},
    )


def error_update(
    message: str, run_id: str, *, cancelled: bool = False, failures: tuple[str, ...] = ()
) -> ProgressUpdate:
    """Return the event that ends a run without a result."""
    return update(
        "error", message, run_id=run_id, cancelled=cancelled, failures=list(failures or (message,))
    )


def silence_update(earlier: Sequence[ProgressUpdate]) -> ProgressUpdate:
    """Return the event that tells a listener, and whoever is between, that the run goes on."""
    last = earlier[-1].progress if earlier else 0
    return ProgressUpdate(step="still_running", message="The run goes on.", progress=last)
