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
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from factible_assets.records import Answered, Confidence, QueryType, Score, Stance, Veracity

fold = BeforeValidator(
    lambda said: (
        said.strip("*. \n").lower().replace("\u2019", "'") if isinstance(said, str) else said
    )
)
"""Forgives "SUPPORTS", " high " and "**True.**": models that are not constrained write so."""

Tier = Literal["pillar", "evidence", "background", "aside"]
"""What would become of the thesis if the claim were false (Factible, table 3)."""

TIER_RANGES: Mapping[Tier, tuple[float, float]] = {
    "pillar": (0.85, 1.0),
    "evidence": (0.60, 0.80),
    "background": (0.30, 0.55),
    "aside": (0.0, 0.25),
}
"""The importance that a claim of each tier may have (Factible, table 3)."""

Kind = Literal["fact", "credential", "opinion", "prediction", "question"]
"""What sort of statement it is; only the first two are checked."""


class Shape(BaseModel):
    """An answer's shape, whose schema is sent with every question.

    What is numbered is known by the number it was shown with: `number`, `claim`, `source`,
    `question`, `evidence`, `useful`.
    """


class StatedClaim(Shape):
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
    thesis: str
    thesis_is_about_expertise: bool
    claims: list[StatedClaim]


class RankedClaim(Shape):
    number: int
    bears_on_thesis: bool
    tier: Annotated[Tier, fold]
    importance: Score


class MergeAnswer(Shape):
    thesis: str
    thesis_is_about_expertise: bool
    claims: list[RankedClaim]


class WordedQuery(Shape):
    claim: int
    text: str
    query_type: Annotated[QueryType, fold]
    seeks_opposite: bool
    priority: int = Field(ge=1, le=5)


class QueriesAnswer(Shape):
    queries: list[WordedQuery] = Field(min_length=1)


class Reading(Shape):
    source: int
    addresses_claim: bool
    scope: str
    summary: str
    quotes: list[str]
    stance: Annotated[Stance, fold]
    stance_confidence: Score
    relevance: Score


class EvidenceAnswer(Shape):
    readings: list[Reading]


class VerdictAnswer(Shape):
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


ThreeWay = Literal["true", "false", "can't say"]
"""What a claim is found to be (ECVS, section 7, algorithm 6, which looks for it in free words)."""


class PlannedStep(Shape):
    step: str
    technique: Annotated[Technique, fold]
    details: str


class NeededInformation(Shape):
    information_needed: str
    query: str


class PlanAnswer(Shape):
    reasoning_steps: list[PlannedStep]
    validation_list: list[str]
    search_list: list[NeededInformation]


class ReasonedStep(Shape):
    step: str
    analysis: str
    evidence: list[int]


class ReasoningAnswer(Shape):
    understanding: str
    steps: list[ReasonedStep]
    useful: list[int]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)


class KeyPoint(Shape):
    point: str
    evidence: list[int]


class ExplanationAnswer(Shape):
    reasoning: str
    key_points: list[KeyPoint]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)


class QuestionsAnswer(Shape):
    questions: list[str]


class SummaryAnswer(Shape):
    relevant: bool
    quotes: list[str]
    summary: str


class JudgedQuestion(Shape):
    question: int
    answered: Annotated[Answered, fold]
    answer: str
    sources: list[int]


class JudgedSource(Shape):
    source: int
    stance: Annotated[Stance, fold]


class VeracityAnswer(Shape):
    questions: list[JudgedQuestion]
    sources: list[JudgedSource]
    explanation: str
    veracity: Annotated[Veracity | Literal["unsettled"], fold]
    confidence: Annotated[Confidence, fold]


class ThreeWayAnswer(Shape):
    reasoning: str
    verdict: Annotated[ThreeWay, fold]
