"""Asks a language model for the score of one item by one criterion.

The judge sees sources as the reasoner saw them: without sentences that give their reader orders. A
score counts if it is a whole number from 0 to 2 and comes with a quote from the shown material. If
the material does not contain the quote, the judge is asked once more. If it misquotes again, there
is no score. Each criterion is a separate question, so that no score affects another.

The criteria have two sources:

- Xu et al., "Multimodal Fact-Checking: An Agent-based Approach", section V.D: people score
  explanations for reasoning hallucination, evidence hallucination and label justification, from 0
  (no error) to 2, reported as `1 - score / 2`; appendix E, tables S3 to S5, defines the levels.
- Factible, section 1.7.4: a model judges the relevance of claims, the quality of evidence and the
  coherence of verdicts, without a published scale. Here these are claim quality, query and evidence
  relevance and explanation quality, from 0 (worst) to 2 (best), normalised as `score / 2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field

from factible_assets.errors import UsageError
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.conversation import StageModel
from factible_assets.reasoners.llm.plain_text import clip, plain
from factible_assets.records.tables import Claim, Criterion, Evidence, Query, Transcript, Verdict
from factible_assets.stages import ids
from resources.llm.base import BudgetExhaustedError, CallOutcome, ModelCall, ModelError, Part

PROMPTS = Path(__file__).resolve().parent / "prompts"
"""One file per criterion, and the rules that they share."""

ANSWER_TOKENS = 400
REASON_WORDS = 80
ATTEMPTS = 2
"""The most questions for one score."""
SHOWN_SOURCES = 12
"""The most sources that a judge of a verdict sees, the most reliable and definite ones first."""

_AROUND_CLAIM, _AROUND_QUOTE = 700, 350
"""Characters of the transcript, and of a page, shown before and after."""
_LONGEST_SUMMARY = 3_000

_Material: TypeAlias = Mapping[str, prompts.Piece | Sequence[prompts.Piece]]
"""The pieces of a prompt by the name of their placeholder."""
_Row = TypeVar("_Row", Query, Evidence)
SubjectKind = Literal["claim", "query", "evidence", "verdict"]

HIGHEST = 2
"""The highest score; the lowest is 0."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """One criterion, with a word for each of the scores 0, 1 and 2. Its prompt has its name."""

    name: Criterion
    subject: SubjectKind
    levels: tuple[str, str, str]
    better: Literal["higher", "lower"] = "higher"
    source: str = "Factible, section 1.7.4; scale of this project"

    def normalised(self, score: int) -> float:
        """Map a score to 0 (worst) … 1 (best); a score of 0 may be the best (Xu et al., V.D)."""
        share = score / HIGHEST
        return 1 - share if self.better == "lower" else share


_XU = "Xu et al., section V.D; appendix E, table"

RUBRICS: tuple[Rubric, ...] = (
    Rubric("claim_quality", "claim", ("unusable", "flawed", "good")),
    Rubric("query_relevance", "query", ("unrelated", "partial", "relevant")),
    Rubric("evidence_relevance", "evidence", ("unrelated", "partial", "relevant")),
    Rubric("explanation_quality", "verdict", ("unhelpful", "incomplete", "clear")),
    Rubric("reasoning_hallucination", "verdict", ("none", "mild", "severe"), "lower", f"{_XU} S3"),
    Rubric("evidence_hallucination", "verdict", ("none", "partial", "full"), "lower", f"{_XU} S4"),
    Rubric(
        "label_justification",
        "verdict",
        ("justified", "overconfident", "hallucinated"),
        "lower",
        f"{_XU} S5",
    ),
)
"""All criteria, in the order of the questions."""


def rubrics(names: Sequence[str] = ()) -> tuple[Rubric, ...]:
    """Return the named criteria, or all. Raises UsageError: A name is unknown."""
    known = {rubric.name: rubric for rubric in RUBRICS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"There is no criterion {unknown[0]!r}.", f"Known: {', '.join(known)}.")
    return tuple(rubric for rubric in RUBRICS if not names or rubric.name in names)


@dataclass(frozen=True, slots=True)
class Subject:
    """One item to judge. `material` fills the placeholders of its criteria's prompts."""

    kind: SubjectKind
    subject_id: str
    video_id: str
    claim_id: str
    material: _Material


def subjects_of(
    outcome: VideoOutcome, verdict_evidence: Sequence[Evidence], page_texts: Mapping[str, str]
) -> Iterator[Subject]:
    """Yield the subjects of a video, claim by claim: rows of status ok and complete verdicts.

    `verdict_evidence` is the evidence behind the verdicts, which may not be the newest;
    `page_texts` are by content hash.
    """
    title = prompts.Data("title", prompts.title_line(outcome.video.title) or "(none)")
    for claim in outcome.claims:
        about: _Material = {"claim": prompts.claim_pieces(claim)}
        key = claim.video_id, claim.claim_id
        context: _Material = {"title": title, "passage": _passage(claim, outcome.transcript)}
        yield Subject("claim", claim.claim_id, *key, {**context, **about})
        for query in _usable(outcome.queries, claim):
            yield Subject("query", query.query_id, *key, {**about, "query": _query(query)})
        for row in _usable(outcome.evidence, claim):
            source = _source(row, 1, page_texts)
            yield Subject("evidence", row.evidence_id, *key, {**about, "source": source})
        verdict = outcome.verdict_of.get(claim.claim_id)
        if verdict is not None and verdict.status == "complete":
            sources = _sources(_usable(verdict_evidence, claim), page_texts)
            shown = {**about, "sources": sources, "verdict": _verdict(verdict)}
            yield Subject("verdict", claim.claim_id, *key, shown)


def _usable(rows: Iterable[_Row], claim: Claim) -> list[_Row]:
    return [row for row in rows if row.claim_id == claim.claim_id and row.status == "ok"]


def _query(query: Query) -> Sequence[prompts.Piece]:
    kind = f"A web search for evidence on it, of the kind {query.query_type}:\n"
    return [kind, prompts.Data("query", prompts.cut(query.text))]


def _verdict(verdict: Verdict) -> Sequence[prompts.Piece]:
    label = f"The label: {verdict.stance}, with {verdict.confidence} confidence.\n"
    explanation = prompts.Data("explanation", prompts.cut(verdict.summary, _LONGEST_SUMMARY))
    return [label, "The explanation:\n", explanation]


def _passage(claim: Claim, transcript: Transcript | None) -> Sequence[prompts.Piece]:
    if transcript is None or claim.char_start is None or claim.char_end is None:
        return ["The claim has no place in the transcript: nothing that was said is shown."]
    start = max(0, claim.char_start - _AROUND_CLAIM)
    passage = transcript.text[start : claim.char_end + _AROUND_CLAIM]
    return ["What is said in the video around the claim:\n", prompts.Data("transcript", passage)]


def _sources(rows: Sequence[Evidence], texts: Mapping[str, str]) -> Sequence[prompts.Piece]:
    if not rows:
        return ["No source was found that could be read."]
    best = sorted(
        rows,
        key=lambda row: (
            row.stance == "unclear",
            -row.rating_score,
            -(row.stance_confidence or 0.0),
            row.evidence_id,
        ),
    )[:SHOWN_SOURCES]
    rest = len(rows) - len(best)
    left_out = f" The {rest} least reliable are not shown." if rest else ""
    pieces: list[prompts.Piece] = [f"Sources that were read: {len(rows)}.{left_out}"]
    for number, row in enumerate(best, start=1):
        pieces += ["\n\n", *_source(row, number, texts)]
    return pieces


def _source(row: Evidence, number: int, texts: Mapping[str, str]) -> Sequence[prompts.Piece]:
    text, around = texts.get(row.content_hash or "", ""), ""
    if row.quote_start is not None and row.quote_end is not None:
        around = text[max(0, row.quote_start - _AROUND_QUOTE) : row.quote_end + _AROUND_QUOTE]
    lines = (
        ("Publisher", row.domain),
        ("Title", row.title),
        ("Passage that was quoted", row.quote or ""),
        ("Page around the passage", around),
        ("Summary that was made of it", row.summary or ""),
    )
    shown = [f"{name}: {' '.join(text.split())}" for name, text in lines if text.strip()]
    return [
        f"Source {number}: rated {row.rating}, read as {row.stance}.\n",
        prompts.Data(f"source {number}", "\n".join(shown), trimmable=True),
    ]


# --- Asking -------------------------------------------------------------------------------------


class JudgeAnswer(BaseModel):
    """The shape of an answer. The quote and the reason precede the score that they support."""

    quote: str
    reason: str = Field(min_length=1)
    score: int = Field(strict=True, ge=0, le=HIGHEST)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a judge. `question_hash` is a digest of its whole text."""

    subject: Subject
    rubric: Rubric
    prompt: prompts.Prompt
    parts: tuple[Part, ...]
    question_hash: str

    @property
    def characters(self) -> int:
        return len(self.prompt.system) + sum(len(part.text) for part in self.parts)

    def judgement_id(self, judge: str) -> str:
        """Return the id of the judgement of this question by a judge (PROVIDER/MODEL)."""
        about = (self.rubric.name, self.subject.subject_id, judge)
        return ids.judgement_id(*about, self.prompt.version, self.question_hash)


@dataclass(frozen=True, slots=True)
class JudgeOutcome:
    """The outcome of one question. `score` and `quote` are None unless it is ok."""

    outcome: CallOutcome
    reason: str
    score: int | None = None
    quote: str | None = None
    calls: tuple[ModelCall, ...] = ()


def question_on(subject: Subject, rubric: Rubric) -> Question:
    """Build the question about a subject by a criterion for its kind."""
    prompt = prompts.load_prompt(rubric.name, PROMPTS)
    parts = prompt.fill("User", **subject.material)
    content = "\x1f".join((prompt.system, *(part.text for part in parts)))
    return Question(subject, rubric, prompt, parts, ids.content_hash(content))


async def judge(model: StageModel, question: Question) -> JudgeOutcome:
    """Ask for a score, and once more if the quote is not in the material.

    A failure of the service is an outcome, not an exception.

    Raises BudgetExhaustedError: A cost limit does not allow the question.
    """
    calls: list[ModelCall] = []
    parts = question.parts
    try:
        for _ in range(ATTEMPTS):
            request = model.request(question.prompt.system, parts, JudgeAnswer)
            completion = await model.model.complete(request)
            calls.extend(completion.calls)
            answer = completion.value
            quote = quoted_material(answer.quote, question.subject)
            if quote is not None:
                reason = clip(plain(answer.reason), REASON_WORDS) or "No reason was given."
                return JudgeOutcome("ok", reason, answer.score, quote, tuple(calls))
            misquote = prompts.Data("your quote", answer.quote)
            material = question.subject.material
            parts = question.prompt.fill("Repair", **material, misquote=misquote)
    except BudgetExhaustedError:
        raise
    except ModelError as failure:
        calls.extend(failure.calls)
        last = failure.calls[-1].outcome if failure.calls else "infra_error"
        reason = plain(failure.reason) or "The service gave no reason."
        return JudgeOutcome("infra_error" if last == "ok" else last, reason, calls=tuple(calls))
    reason = "The judge was asked twice, and neither quote is in the material."
    return JudgeOutcome("invalid", reason, calls=tuple(calls))


def quoted_material(quote: str, subject: Subject) -> str | None:
    """Return the part of the material that a quote matches; None if there is none.

    A quote has at least 12 letters and digits, or is the whole of a shorter text.
    """
    for value in subject.material.values():
        for piece in (value,) if isinstance(value, str | prompts.Data) else value:
            if not isinstance(piece, prompts.Data):
                continue
            shown = prompts.ShownText(piece.text)
            if _folded(quote) and _folded(quote) == _folded(shown.text):
                return piece.text
            place = shown.find(quote) if quote.strip() else None
            if place is not None:
                return piece.text[slice(*place)]
    return None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold().strip(".!?\"'\u201c\u201d")
