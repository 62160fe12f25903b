"""Questions, summaries and levels of truth, as a language model words them.

What belongs here: what the strategies `raw_evidence` and `confidence` ask beyond the four
judgements. What does not: the words of the prompts (prompts/questions.md, summary*.md, veracity.md,
three_way.md), what of the answers is believed (methods/), the order of the steps (strategies/).

Source of the method: Raw Evidence (Chen et al. 2023, arXiv:2305.11859), sections 3.1, 3.4, 3.5;
"Enhanced Claim Verification System" (2025), section 7. The paper samples questions until ten are
unique; here one answer names as many as there are. Each question raises ReasonerOutageError if the
model failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.reasoners.llm.answers import (
    QuestionsAnswer,
    SummaryAnswer,
    ThreeWayAnswer,
    VeracityAnswer,
)
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.prompts import (
    Data,
    Piece,
    claim_pieces,
    one_line,
    source_pieces,
    title_line,
)
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Evidence
from factible_assets.stages.ports import PageExcerpt

_EXPLANATION_WORDS = 110
_SUMMARY_WORDS = 80


async def ask_questions(desk: Desk, most: int) -> tuple[str, ...]:
    """Return the questions that a claim comes apart into; `most` are asked for."""
    claim = claim_pieces(desk.claim) if desk.claim else ""
    answer = await desk.ask("User", QuestionsAnswer, claim=claim, count=str(most))
    return tuple(plain(each) for each in answer.questions)


async def summarise(desk: Desk, page: PageExcerpt, passage: str) -> SummaryAnswer:
    """Return what a document says that bears on a claim, of which nothing has been checked."""
    day = f", {page.published_on.isoformat()}" if page.published_on else ""
    document = Data("document", f"{title_line(page.title)}\n\n{passage}", trimmable=True)
    answer = await desk.ask("User", SummaryAnswer, document=(f"The document{day}:\n", document))
    return answer.model_copy(update={"summary": clip(plain(answer.summary), _SUMMARY_WORDS)})


async def judge_veracity(
    desk: Desk, rows: Sequence[Evidence], questions: Sequence[str]
) -> VeracityAnswer:
    """Judge a claim on six levels by what was summarised, and say which questions are answered.

    Questions and sources are numbered from 1 in their order; the answer can name others.
    """
    numbered = "\n".join(f"{number}. {each}" for number, each in enumerate(questions, start=1))
    asked = ("The questions:\n", Data("questions", numbered or "(none)"))
    answer = await desk.ask("User", VeracityAnswer, questions=asked, sources=_sources(rows))
    explanation = clip(plain(answer.explanation), _EXPLANATION_WORDS)
    return answer.model_copy(update={"explanation": explanation})


async def judge_three_way(desk: Desk, rows: Sequence[Evidence]) -> ThreeWayAnswer:
    """Return a verdict in the model's words, and its reasoning."""
    answer = await desk.ask("User", ThreeWayAnswer, sources=_sources(rows))
    reasoning = clip(plain(answer.reasoning), _EXPLANATION_WORDS)
    return answer.model_copy(update={"reasoning": reasoning})


def _sources(rows: Sequence[Evidence]) -> tuple[Piece, ...]:
    def known(number: int, row: Evidence) -> str:
        day = "" if row.published_on is None else f", {row.published_on.isoformat()}"
        return f"Source {number}: rated {row.rating}, {row.source_class}{day}"

    return source_pieces(
        dict(enumerate(rows, start=1)),
        known,
        lambda row: (one_line(row.quote, quoted=True), one_line(row.summary)),
    )
