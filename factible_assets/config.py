"""The run's knobs: one pydantic model per stage, ranges enforced, defaults that work.

What belongs here: numbers and choices that a user may set per run. What does not: keys and paths
(settings.py), constants that a published method fixes (beside the code that uses them), Dagster's
run config (derived from these models in run_config.py).
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from factible_assets.records import Rating

ReasonerKnob = Annotated[
    Literal["auto", "embedded", "llm"],
    Field(description="Who judges; auto takes the language model if one is set up."),
]


class StageConfig(BaseModel):
    """The base of every stage's knobs: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClaimsConfig(StageConfig):
    """What to extract from a transcript."""

    max_claims: int = Field(
        default=5, ge=1, le=50, description="The most important claims that are kept per video."
    )
    min_importance: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Claims below this importance are left out."
    )


class ExtractionConfig(ClaimsConfig):
    """The knobs of a run that extracts claims: what to extract, and who does."""

    reasoner: ReasonerKnob = "auto"


class QueriesConfig(StageConfig):
    """How many queries to write, and which to ask."""

    max_queries: int = Field(default=3, ge=1, le=10, description="Queries asked per claim.")
    max_priority: int = Field(
        default=3,
        ge=1,
        le=5,
        description="Queries of a lower priority (a higher number) are left out.",
    )


class SearchConfig(StageConfig):
    """Where and how to look for evidence."""

    web: str = Field(
        default="auto",
        pattern=r"^(auto|live|miniature|archive(:[\w.-]+)?)$",
        description=(
            "Where evidence is looked for: live (search providers with a key), archive (stored "
            "pages; archive:NAME for one collection), miniature (the demo's web), or auto (what "
            "the video's corpus says, else live if a key is set, else archive)."
        ),
    )
    max_results: int = Field(default=3, ge=1, le=10, description="Sources read per query.")
    minimum_rating: Rating = Field(
        default="unknown",
        description="Sources rated lower are read only to meet the minimum guarantee.",
    )
    published_before: date | None = Field(
        default=None, description="Leave out sources published on or after this day."
    )


class EvidenceConfig(StageConfig):
    """How much of a page is kept, and when enough has been read."""

    max_page_characters: int = Field(
        default=200_000, ge=1_000, le=5_000_000, description="Text kept of one page."
    )
    enough_origins: int | None = Field(
        default=None,
        ge=1,
        description=(
            "Judge a claim once this many independent, reliable sources agree, and leave its "
            "stragglers unread (recorded as skipped). Unset: read everything that was selected."
        ),
    )
    concurrency: int = Field(default=16, ge=1, le=256, description="Pages read at once.")


class VerdictsConfig(StageConfig):
    """When a leaning becomes a verdict."""

    min_weight: float = Field(
        default=0.25, ge=0.0, le=10.0, description="Evidence weight below which all is unclear."
    )
    min_margin: float = Field(
        default=0.2, ge=0.0, le=1.0, description="Margin of the vote below which it abstains."
    )


class FactCheckConfig(StageConfig):
    """All knobs of one fact-check."""

    claims: ClaimsConfig = ClaimsConfig()
    queries: QueriesConfig = QueriesConfig()
    search: SearchConfig = SearchConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    verdicts: VerdictsConfig = VerdictsConfig()
    reasoner: ReasonerKnob = "auto"
