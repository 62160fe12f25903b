"""The criteria that a judge scores by, as data: scale, direction, normalisation, source.

What belongs here: what a criterion is called, what it is about, what 0, 1 and 2 stand for. What
does not: the words that a judge is given (prompts/NAME.md), asking (judge.py).

Two sources:

- Xu et al., "Multimodal Fact-Checking: An Agent-based Approach", section V.D, have people score
  explanations for reasoning hallucination, evidence hallucination and label justification, from 0
  (no error) to 2, and report `1 - score / 2`; appendix E, tables S3 to S5, defines the levels.
- Factible, section 1.7.4, has a model judge the relevance of claims, the quality of evidence and
  the coherence of verdicts, without a published scale. Here these are claim quality, query and
  evidence relevance and explanation quality, from 0 (worst) to 2 (best), normalised as `score / 2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from factible_assets.errors import UsageError
from factible_assets.records import Criterion

SubjectKind = Literal["claim", "query", "evidence", "verdict"]
"""What is judged."""

HIGHEST = 2
"""The upper end of every scale; the lower one is 0."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """One criterion: what it is about, and what 0, 1 and 2 stand for, each in a word.

    `name` is that of its prompt, which says what it asks; `better` says which end of the scale is
    the good one.
    """

    name: Criterion
    subject: SubjectKind
    levels: tuple[str, str, str]
    better: Literal["higher", "lower"] = "higher"
    source: str = "Factible, section 1.7.4; scale of this project"

    def normalised(self, score: int) -> float:
        """Return a score from 0 (worst) to 1 (best); 0 may be the best one (Xu et al., V.D)."""
        share = score / HIGHEST
        return 1 - share if self.better == "lower" else share


_PEOPLE = "Xu et al., section V.D; appendix E, table"

RUBRICS: tuple[Rubric, ...] = (
    Rubric("claim_quality", "claim", ("unusable", "flawed", "good")),
    Rubric("query_relevance", "query", ("unrelated", "partial", "relevant")),
    Rubric("evidence_relevance", "evidence", ("unrelated", "partial", "relevant")),
    Rubric("explanation_quality", "verdict", ("unhelpful", "incomplete", "clear")),
    Rubric(
        "reasoning_hallucination", "verdict", ("none", "mild", "severe"), "lower", f"{_PEOPLE} S3"
    ),
    Rubric(
        "evidence_hallucination", "verdict", ("none", "partial", "full"), "lower", f"{_PEOPLE} S4"
    ),
    Rubric(
        "label_justification",
        "verdict",
        ("justified", "overconfident", "hallucinated"),
        "lower",
        f"{_PEOPLE} S5",
    ),
)
"""All criteria, in the order in which a video is worked on."""


def rubrics(names: Sequence[str] = ()) -> tuple[Rubric, ...]:
    """Return the criteria of these names in their own order; all if none is named.

    Raises UsageError: There is none of a name.
    """
    known = {each.name: each for each in RUBRICS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"There is no criterion {unknown[0]!r}.", f"Known: {', '.join(known)}.")
    return tuple(each for each in RUBRICS if not names or each.name in names)
