"""The strategy `raw_evidence`: questions, evidence from before the claim, summaries, six levels.

Source: Raw Evidence (Chen et al. 2023, arXiv:2305.11859), figure 2; its rules are in excerpts.py.
The embedded engine has no questions and no summaries: it makes its own searches, reads the selected
parts like pages, and the vote decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from factible_assets.config import FactCheckConfig, QueriesConfig, SearchConfig
from factible_assets.reasoners.llm.answers import VeracityAnswer
from factible_assets.reasoners.llm.engine import LlmReasoner, asking
from factible_assets.reasoners.llm.investigation import ask_questions, judge_veracity, summarise
from factible_assets.reasoners.llm.verdict import CARRIERS, words_of_verdict
from factible_assets.records.scales import VERACITY, veracity_of
from factible_assets.records.tables import Answered, Evidence, Query, Stance, Video
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.flow import Strategy
from factible_assets.stages.progress import StepResult
from factible_assets.stages.verdict import CaseFile, conclude, decided_by
from factible_assets.strategies import excerpts
from factible_assets.strategies.english import english_search

_PATIENCE: Final = 600.0
"""Seconds to wait for all pages of a claim; fetches end earlier."""
_LEFT_OUT: Final = ("fact_checker", "video", "pdf")
"""Kinds of sources that the paper leaves out (section 3.2, appendix A.1)."""
_NO_MODEL: Final = (
    "It needs a language model for queries and evidence: set OPENAI_API_KEY, or FACTIBLE_MODEL for "
    "a model without a key."
)


def _adapted(config: FactCheckConfig, video: Video) -> FactCheckConfig:
    """Replace default options by the paper's; read all pages, because the selection compares them.

    A run stores every option, so a default that a user sets looks unset.
    """
    limited = config.limited_to(video.published_on)
    queries, search = limited.queries, limited.search
    if queries.max_queries == QueriesConfig().max_queries:
        queries = queries.model_copy(update={"max_queries": excerpts.MOST_QUESTIONS})
    if search.max_results == SearchConfig().max_results:
        search = search.model_copy(update={"max_results": excerpts.DOCUMENTS_PER_QUESTION})
    if not search.exclude_kinds:
        search = search.model_copy(update={"exclude_kinds": _LEFT_OUT})
    evidence = limited.evidence.model_copy(update={"enough_origins": None, "leave_slowest": False})
    return limited.model_copy(update={"queries": queries, "search": search, "evidence": evidence})


async def _check(check: ClaimCheck) -> ClaimRows:
    writer = check.services.reasoner.queries
    # If another reader reads the pages, the model must not judge them under its name.
    model = writer if isinstance(writer, LlmReasoner) and check.basis == "llm" else None
    queries: Sequence[Query] = ()
    case: CaseFile | None = None
    spent: ports.BudgetSpentError | None = None
    if check.config.search.exclude_kinds == _LEFT_OUT:
        words = "Fact checks, videos and PDFs are left out, as in the paper (A.1)."
        words += " To change that: --exclude-kinds."
        check.trace.record_step("select", "kinds of sources", StepResult(words))
    try:
        with check.trace.step("decompose", "yes/no questions", check.claim.text) as note:
            queries, questions = await _write_queries(check, model, note)
        by_questions = questions and check.config.evidence.spans_by == "questions"
        topics = questions if by_questions else (check.claim.text,)
        # An English page shares its words with the English search alone.
        passages = _PassageReader(check, model, (*topics, *_english_searches(queries)))
        day = check.config.search.published_before
        limit = f"before {day}" if day else "no date limit: the day of the claim is unknown"
        case, useful_rows = await check.look_further(
            CaseFile(check.claim),
            queries,
            search_step=limit,
            read_step=("summarise", passages.technique),
            read_page=passages.read,
            describe=lambda _: passages.description,
        )
        if model is not None and useful_rows:
            return await _judge_levels(check, questions, case)
    except ports.BudgetSpentError as error:
        spent = error
    case = case or check.open_case(queries)
    verdict = await check.judge(case, spent)
    level = veracity_of(verdict.stance, verdict.confidence_score)
    return case, verdict.model_copy(update={"veracity": level})


def _english_searches(queries: Sequence[Query]) -> tuple[str, ...]:
    return tuple(query.text for query in queries if query.query_type == "source")


async def _write_queries(
    check: ClaimCheck, model: LlmReasoner | None, note: StepResult
) -> tuple[tuple[Query, ...], tuple[str, ...]]:
    """Return a search per question, as in the paper, or the engine's own; and the questions."""
    if model is None:
        words = "There are no questions, so the check makes the usual searches."
        note.status, note.reason = "skipped", f"{words} {_NO_MODEL}"
        return await check.write_queries(), ()
    most, questions = check.config.queries.max_queries, tuple[str, ...]()

    async def questions_as_queries() -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        nonlocal questions
        talk = model.conversation("questions", "queries", check.video, check.claim)
        questions = excerpts.distinct_questions(await ask_questions(talk, most), most)
        drafts = (ports.QueryDraft(text, query_type="direct", priority=1) for text in questions)
        return ports.WithCalls(tuple(drafts), calls=tuple(talk.calls))

    queries = await check.write_queries(word_queries=questions_as_queries)
    # A repeated check keeps its searches, which are the questions.
    questions = questions or tuple(
        query.text for query in queries if excerpts.QUESTION_MARKS & {*query.text}
    )
    lacks_english_search = questions and not _english_searches(queries)
    # One query alone must ask for the claim itself.
    if most > 1 and lacks_english_search and (english := await english_search(check)) is not None:
        queries = queries[: most - 1]
        questions = questions[: len(queries)]
        queries = (*queries, english.model_copy(update={"rank": len(queries) + 1}))
    note.got = "\n".join((*questions, *_english_searches(queries)))
    note.record_queries(queries)
    if not questions and note.status == "ok":
        note.status = "no_evidence"
        note.reason = "The model asked no usable question, so the claim's own words are searched."
    return queries, questions


class _PassageReader:
    """The second stage: selects the relevant parts of all documents, and reads each document.

    `topics` are the questions or the claim to which the parts are relevant.
    """

    def __init__(self, check: ClaimCheck, model: LlmReasoner | None, topics: Sequence[str]) -> None:
        self._check, self._model, self._topics = check, model, topics
        self._texts: dict[str, str] = {}  # of the pages that have arrived, by address
        self._compared: dict[str, str] = {}  # of the pages among which it selected
        self._selected: dict[str, excerpts.Selected] | None = None
        self._selecting = asyncio.Lock()
        self._inventions: list[str] = []
        examples = check.config.evidence.summaries == "few_shot"
        self._prompt = "summary_examples" if examples else "summary"
        self.technique = "parts read by the engine" if model is None else self._prompt

    @property
    def description(self) -> str:
        """The selected documents, best first, and the inventions of summaries."""
        selected = (self._selected or {}).values()
        lines = [f"{document.key} ({len(document.text.split())} words)" for document in selected]
        if self._inventions:
            lines.append(f"Dropped, because no passage has it: {', '.join(self._inventions)}")
        if self._model is None:
            lines.append(f"There are no summaries. {_NO_MODEL}")
        return "\n".join(lines)

    async def read(
        self, query: Query, page: ports.PageExcerpt
    ) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
        """Wait for all pages of the claim, then read the selected parts of one."""
        self._texts[page.canonical_url] = page.text
        if page.arrivals is not None:
            await page.arrivals.wait_for_all(_PATIENCE)
        async with self._selecting:
            if self._selected is None:
                self._compared = dict(self._texts)
                best = await asyncio.to_thread(excerpts.select, self._topics, self._compared)
                self._selected = {document.key: document for document in best}
        if page.canonical_url not in self._compared:
            return "It arrived too late to be compared with the other documents."
        document = self._selected.get(page.canonical_url)
        if document is None:
            return f"It is not among the {excerpts.KEPT_DOCUMENTS} most relevant documents."
        check, model = self._check, self._model
        if model is None:
            parts = replace(page, text=document.text, arrivals=None)
            reader = check.services.reasoner.evidence
            return await reader.read_evidence(check.video, check.claim, query, parts)
        talk = model.conversation(self._prompt, "evidence", check.video, check.claim)
        answer = await summarise(talk, page, document.text)
        passage = f"{page.title}\n{document.text}"
        checked = excerpts.check_summary(answer.summary if answer.relevant else "", passage)
        if checked is None:
            return ports.WithCalls(None, calls=tuple(talk.calls))
        summary, inventions = checked
        self._inventions += inventions
        draft = ports.EvidenceDraft(
            stance="unclear",
            stance_confidence=0.0,
            relevance=document.score / max(best.score for best in self._selected.values()),
            summary=summary,
            quotes=excerpts.split_quotes(answer.quotes, document.text),
        )
        return ports.WithCalls(draft, calls=tuple(talk.calls))


async def _judge_levels(
    check: ClaimCheck, questions: Sequence[str], gathered: CaseFile
) -> ClaimRows:
    """Have the model judge the summaries on six levels; its level decides, not the vote.

    The model states the stance of each source here, because summaries make no judgement. A stance
    counts only if the source has a quote.
    """
    rows = [row for row in gathered.evidence if row.status == "ok"]
    failure: ports.ReasonerError | None = None
    answer, counts = None, False
    stances: dict[str, Stance] = {}
    try:
        with check.trace.step("judge", "six levels of truth") as note:
            note.used = [row.evidence_id for row in rows]
            async with asking(check, "veracity", "verdicts") as talk:
                answer = await judge_veracity(talk, rows, questions)
            note.got = f"{answer.veracity}, {answer.confidence} confidence. {answer.explanation}"
            for judged in answer.sources:
                row = rows[judged.source - 1] if 0 < judged.source <= len(rows) else None
                if row is not None and row.quote:
                    stances[row.evidence_id] = judged.stance
            level = answer.veracity
            # At least one quoted source must take the side of the level.
            counts = level == "unsettled" or bool(CARRIERS[VERACITY[level]] & {*stances.values()})
            if not counts:
                note.reason = "The level does not count: no source with a quote takes this side."
    except ports.BudgetSpentError:  # a ReasonerError too, but it ends the check
        raise
    except ports.ReasonerError as error:
        failure = error
    evidence = tuple(
        row.model_copy(update={"stance": stance, "stance_confidence": 1.0})
        if (stance := stances.get(row.evidence_id, "unclear")) != "unclear"
        else row
        for row in gathered.evidence
    )
    case = replace(gathered, evidence=evidence)
    opinion = check.form_opinion(case)
    if answer is None:
        return case, conclude(opinion, None, failure)
    draft, veracity = ports.VerdictDraft("unclear", confidence="low", summary=""), None
    if counts:
        veracity = None if answer.veracity == "unsettled" else answer.veracity
        stance = VERACITY[veracity] if veracity else "unclear"
        words = words_of_verdict(case.claim, stance, answer.explanation)
        draft = ports.VerdictDraft(stance, confidence=answer.confidence, summary=words)
    _note_questions(check, questions, answer, rows)
    return case, decided_by(draft, conclude(opinion, draft), veracity=veracity)


def _note_questions(
    check: ClaimCheck, questions: Sequence[str], answer: VeracityAnswer, rows: Sequence[Evidence]
) -> None:
    """Record how far each question is answered; without a named source with a quote it is not."""
    answers = {question.question: question for question in answer.questions}
    levels, notes = list[Answered](), list[StepResult]()
    for number in range(1, len(questions) + 1):
        level: Answered = "not"
        note = StepResult(status="no_evidence", reason="No source with a quote answers it.")
        if answered := answers.get(number):
            cited = [rows[source - 1] for source in answered.sources if 0 < source <= len(rows)]
            if quoted := [row.evidence_id for row in cited if row.quote]:
                level, note = answered.answered, StepResult(answered.answer, quoted)
        levels.append(level)
        notes.append(note)
    if notes:
        notes[-1].got += f" [the claim: {excerpts.answerability(levels)}]"
    for question, level, note in zip(questions, levels, notes, strict=True):
        check.trace.record_step("reason", excerpts.TECHNIQUES[level], note, question)


STRATEGY = Strategy(name="raw_evidence", check=_check, adapt=_adapted, in_rounds=True)
