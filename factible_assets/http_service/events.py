"""What a client hears of a run: the steps, their progress, and the messages beside them.

What belongs here: the vocabulary of Factible (section 1.8.3, table 8), the event per verdict that
is added to it, and how far along each one is. What does not: who sends them (worker.py), how they
travel (app.py).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Step = Literal[
    "transcript_extraction",
    "transcript_complete",
    "claim_extraction",
    "claims_extracted",
    "verdict_reached",
    "generating_report",
    "complete",
    "error",
]
"""The names of the events, in the order in which they come; `error` ends a stream at any point."""

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
