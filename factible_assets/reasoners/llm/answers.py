"""The shapes in which a model has to answer, one for each question.

What belongs here: fields, closed vocabularies and ranges, which the client turns into a JSON schema
and checks. What does not: what is made of an answer (claims.py, queries.py, evidence.py,
verdict.py).

Fields stand in the order in which they are to be thought of: what a judgement rests on comes before
the judgement. Lengths are not part of the shapes: an answer that is a word too long is cut, not
asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from factible_assets.records import Confidence, QueryType, Score, Stance


def _folded(value: object) -> object:
    """Forgive "SUPPORTS" and " high ": models that are not constrained write so."""
    return value.strip().lower() if isinstance(value, str) else value


fold = BeforeValidator(_folded)

Tier = Literal["pillar", "evidence", "background", "aside"]
"""What would become of the thesis if the claim were false (Factible, table 3)."""

TIER_RANGES: Mapping[Tier, tuple[float, float]] = MappingProxyType(
    {
        "pillar": (0.85, 1.0),
        "evidence": (0.60, 0.80),
        "background": (0.30, 0.55),
        "aside": (0.0, 0.25),
    }
)
"""The importance that a claim of each tier may have (Factible, table 3)."""

Kind = Literal["fact", "credential", "opinion", "prediction", "question"]
"""What sort of statement it is; only the first two are checked."""


class Shape(BaseModel):
    """An answer's shape, whose schema is sent with every question.

    It says no more than is needed: neither titles nor these descriptions.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema without titles and descriptions."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        for each in (schema, *schema["properties"].values()):
            each.pop("title", None)
            each.pop("description", None)
        return schema


class StatedClaim(Shape):
    """One claim of a transcript."""

    source: str
    text: str
    context: str | None
    category: str
    kind: Annotated[Kind, fold]
    bears_on_thesis: bool
    tier: Annotated[Tier, fold]
    importance: Score
    confidence: Score


class ClaimsAnswer(Shape):
    """The thesis of a transcript, or of a stretch of it, and its claims."""

    thesis: str
    thesis_is_about_expertise: bool
    claims: list[StatedClaim]


class RankedClaim(Shape):
    """The importance of a numbered claim for the whole video."""

    number: int
    bears_on_thesis: bool
    tier: Annotated[Tier, fold]
    importance: Score


class MergeAnswer(Shape):
    """One thesis for all stretches, and the claims by their importance for it."""

    thesis: str
    thesis_is_about_expertise: bool
    claims: list[RankedClaim]


class WordedQuery(Shape):
    """One web search, by the number of its claim."""

    claim: int
    text: str
    query_type: Annotated[QueryType, fold]
    seeks_opposite: bool
    priority: int = Field(ge=1, le=5)


class QueriesAnswer(Shape):
    """The searches for the claims."""

    queries: list[WordedQuery] = Field(min_length=1)


class Reading(Shape):
    """What one source, by its number, says of a claim."""

    source: int
    addresses_claim: bool
    scope: str
    summary: str
    quotes: list[str]
    stance: Annotated[Stance, fold]
    stance_confidence: Score
    relevance: Score


class EvidenceAnswer(Shape):
    """What each of the sources says of one claim."""

    readings: list[Reading]


class VerdictAnswer(Shape):
    """The verdict on one claim."""

    summary: str
    stance: Annotated[Stance, fold]
    confidence: Annotated[Confidence, fold]


Technique = Literal[
    "divide and conquer",
    "chain of evidence",
    "cross-verification",
    "primary source",
    "temporal consistency",
]
"""The named techniques of a plan (AgentFact, section IV-B, Agent-SP)."""

TruthLabel = Literal["true", "false", "unproven"]
"""What a claim is found to be (AgentFact, section III-B)."""


class PlannedStep(Shape):
    """One step of a plan."""

    step: str
    technique: Annotated[Technique, fold]
    details: str


class NeededInformation(Shape):
    """What has to be found beyond the claim's own statements, and the search for it."""

    information_needed: str
    query: str


class PlanAnswer(Shape):
    """How a claim is to be checked."""

    reasoning_steps: list[PlannedStep]
    validation_list: list[str]
    search_list: list[NeededInformation]


class ReasonedStep(Shape):
    """What numbered evidence says to one step of the plan."""

    step: str
    analysis: str
    evidence: list[int]


class ReasoningAnswer(Shape):
    """What some evidence comes to, and which of it the reasoning needs."""

    understanding: str
    steps: list[ReasonedStep]
    useful: list[int]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)


class KeyPoint(Shape):
    """One point of an explanation, with the numbers of its evidence."""

    point: str
    evidence: list[int]


class ExplanationAnswer(Shape):
    """The conclusion for a reader."""

    reasoning: str
    key_points: list[KeyPoint]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)
