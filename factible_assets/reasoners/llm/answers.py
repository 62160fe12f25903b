"""The shapes of a model's answers, one per question; the client sends them as JSON schemas.

Fields are in the order in which the model should think: the grounds of a judgement come before the
judgement. The fields `number`, `claim`, `source`, `sentences`, `question`, `evidence` and `useful`
refer to numbers in the prompt. Only servers that constrain the output receive the lengths: a longer
answer is cut, and the model is not asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from factible_assets.records.tables import Answered, Confidence, Score, Stance, Veracity

fold = BeforeValidator(
    lambda value: (
        value.strip("*. \n").lower().replace("\u2019", "'") if isinstance(value, str) else value
    )
)
"""Accepts "SUPPORTS", " high " and "**True.**", as models without constraints write."""

Tier = Literal["pillar", "evidence", "background", "aside"]
"""How much the thesis depends on the claim (Factible, table 3)."""

TIER_RANGES: Mapping[Tier, tuple[float, float]] = {
    "pillar": (0.85, 1.0),
    "evidence": (0.60, 0.80),
    "background": (0.30, 0.55),
    "aside": (0.0, 0.25),
}
"""Lowest and highest importance of each tier (Factible, table 3)."""

Line = Annotated[str, Field(json_schema_extra={"maxLength": 160})]
"""A short text, where the server enforces lengths; other texts may have 600 characters."""

Kind = Literal["fact", "credential", "opinion", "prediction", "question"]
"""The sort of a statement; only facts and credentials are checked."""


class StatedClaim(BaseModel):
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


class ClaimsAnswer(BaseModel):
    thesis: str
    thesis_is_about_expertise: bool
    claims: list[StatedClaim]


class RankedClaim(BaseModel):
    number: int
    bears_on_thesis: bool
    tier: Annotated[Tier, fold]
    importance: Score


class MergeAnswer(BaseModel):
    thesis: str
    thesis_is_about_expertise: bool
    claims: list[RankedClaim]


class QueriesAnswer(BaseModel):
    searches: list[Line] = Field(min_length=1)


class Reading(BaseModel):
    """What one page says of a claim. `sentences` are the numbers of those that the stance rests on.

    A `silent` page does not concern the claim.
    """

    sentences: list[int] = Field(json_schema_extra={"maxItems": 3})
    summary: str
    stance: Annotated[Literal[Stance, "silent"], fold]
    confidence: Score
    relevance: Score


class SourceReading(Reading):
    source: int


class ReadingsAnswer(BaseModel):
    readings: list[SourceReading]


class WordedVerdict(BaseModel):
    claim: int
    words: str
    says: Annotated[Stance, fold]


class WordsAnswer(BaseModel):
    verdicts: list[WordedVerdict]


Technique = Literal[
    "divide and conquer",
    "chain of evidence",
    "cross-verification",
    "primary source",
    "temporal consistency",
]
"""Techniques of a plan (AgentFact, section IV-B, Agent-SP)."""

TruthLabel = Literal["true", "false", "unproven"]
"""Verdicts of AgentFact (section III-B)."""

ThreeWay = Literal["true", "false", "can't say"]
"""Verdicts of ECVS (section 7, algorithm 6, which finds them in free text)."""


class PlannedStep(BaseModel):
    step: str
    technique: Annotated[Technique, fold]
    details: str


class NeededInformation(BaseModel):
    information_needed: str
    query: str


class PlanAnswer(BaseModel):
    reasoning_steps: list[PlannedStep]
    validation_list: list[str]
    search_list: list[NeededInformation]
    rests_on_picture: bool


class ReasonedStep(BaseModel):
    step: str
    analysis: str
    evidence: list[int]


class ReasoningAnswer(BaseModel):
    understanding: str
    steps: list[ReasonedStep]
    useful: list[int]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)


class KeyPoint(BaseModel):
    point: str
    evidence: list[int]


class ExplanationAnswer(BaseModel):
    reasoning: str
    key_points: list[KeyPoint]
    label: Annotated[TruthLabel, fold]
    confidence: int = Field(ge=1, le=5)


class QuestionsAnswer(BaseModel):
    questions: list[str]


class SummaryAnswer(BaseModel):
    quotes: list[str]
    summary: str
    relevant: bool


class JudgedQuestion(BaseModel):
    question: int
    answered: Annotated[Answered, fold]
    answer: str
    sources: list[int]


class JudgedSource(BaseModel):
    source: int
    stance: Annotated[Stance, fold]


class VeracityAnswer(BaseModel):
    questions: list[JudgedQuestion]
    sources: list[JudgedSource]
    explanation: str
    veracity: Annotated[Literal[Veracity, "unsettled"], fold]
    confidence: Annotated[Confidence, fold]


class ThreeWayAnswer(BaseModel):
    reasoning: str
    verdict: Annotated[ThreeWay, fold]
