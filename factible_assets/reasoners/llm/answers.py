"""The shapes in which a model has to answer, one for each question.

What belongs here: fields, closed vocabularies and ranges, which the client turns into a JSON schema
and checks. What does not: what is made of an answer (claims.py, queries.py, evidence.py,
verdict.py).

Fields stand in the order in which they are to be thought of: the grounds of a judgement come before
the judgement. Lengths are told to a server that enforces them while the model writes, and to no
other: an answer that is a word too long is cut, not asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from factible_assets.records import Answered, Confidence, Score, Stance, Veracity

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

Line = Annotated[str, Field(json_schema_extra={"maxLength": 160})]
"""A short text, where the server holds a model to lengths; any other may have 600 characters."""

Kind = Literal["fact", "credential", "opinion", "prediction", "question"]
"""What sort of statement it is; only the first two are checked."""


class Shape(BaseModel):
    """An answer's shape, whose schema is sent with every question.

    Numbered things are named by the number that they were shown with: `number`, `claim`, `source`,
    `sentences`, `question`, `evidence`, `useful`.
    """


class StatedClaim(Shape):
    source: str
    text: str
    context: Line | None
    category: Line
    kind: Annotated[Kind, fold]
    bears_on_thesis: bool
    tier: Annotated[Tier, fold]
    importance: Score
    confidence: Score
    searches: list[Line] = Field(default=[], json_schema_extra={"maxItems": 3})


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


class QueriesAnswer(Shape):
    searches: list[Line] = Field(min_length=1)


class Reading(Shape):
    """What one page says of a claim. `sentences` are the numbers of those that the stance rests on.

    `silent` is a page that does not speak of the claim.
    """

    sentences: list[int] = Field(json_schema_extra={"maxItems": 3})
    summary: str
    stance: Annotated[Stance | Literal["silent"], fold]
    confidence: Score
    relevance: Score


class SourceReading(Reading):
    source: int


class ReadingsAnswer(Shape):
    readings: list[SourceReading]


class WordedVerdict(Shape):
    claim: int
    words: str


class WordsAnswer(Shape):
    verdicts: list[WordedVerdict]


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
