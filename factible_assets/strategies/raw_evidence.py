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
    "It needs a language model, and the embedded engine judges: set OPENAI_API_KEY, or "
    "FACTIBLE_MODEL for a model without a key."
)


def _adapted(config: FactCheckConfig, video: Video) -> FactCheckConfig:
    """Use the paper's limits wherever the run sets none: day, numbers, and kinds of sources."""
    limited = config.limited_to(video.published_on)
    queries, search = limited.queries, limited.search
    if queries.max_queries == QueriesConfig().max_queries:
        queries = queries.model_copy(update={"max_queries": excerpts.MOST_QUESTIONS})
    if search.max_results == SearchConfig().max_results:
        search = search.model_copy(update={"max_results": excerpts.DOCUMENTS_PER_QUESTION})
    if not search.exclude_kinds:
        search = search.model_copy(update={"exclude_kinds": _LEFT_OUT})
    whole = limited.evidence.model_copy(update={"enough_origins": None, "leave_slowest": False})
    return limited.model_copy(update={"queries": queries, "search": search, "evidence": whole})


async def _check(check: ClaimCheck) -> ClaimRows:
    writer = check.services.reasoner.queries
    model = writer if isinstance(writer, LlmReasoner) else None
    passages = _Passages(check, model)
    queries: Sequence[Query] = ()
    case: CaseFile | None = None
    spent: ports.BudgetSpentError | None = None
    if check.config.search.exclude_kinds == _LEFT_OUT:
        words = "Fact checks, videos and PDFs are left out, as in the paper (A.1)."
        words += " To change that: --exclude-kinds."
        check.trace.record_step("select", "kinds of sources", StepResult(words))
    try:
        with check.trace.step("decompose", "yes/no questions", check.claim.text) as note:
            queries = await _decomposed(check, model, passages, note)
        limit = check.config.search.published_before
        case, read = await check.look_further(
            CaseFile(check.claim),
            queries,
            search_step=f"before {limit}"
            if limit
            else "no date limit: the day of the claim is unknown",
            read_step=("summarise", passages.manner),
            read_page=passages.read,
            describe=lambda _: passages.in_words,
        )
        if model is not None and read:
            return await _judged(check, passages.questions, case)
    except ports.BudgetSpentError as error:
        spent = error
    case = case or check.open_case(queries)
    verdict = await check.judge(case, spent)
    level = veracity_of(verdict.stance, verdict.confidence_score)
    return case, verdict.model_copy(update={"veracity": level})


async def _decomposed(
    check: ClaimCheck, model: LlmReasoner | None, passages: _Passages, note: StepResult
) -> tuple[Query, ...]:
    """Return one search for each question, as in the paper, or the engine's own searches."""
    if model is None:
        words = "There are no questions, so the engine makes its own searches."
        note.status, note.reason = "skipped", f"{words} {_NO_MODEL}"
        return await check.write_queries()

    async def asked() -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        talk = model.conversation("questions", "queries", check.video, check.claim)
        most = check.config.queries.max_queries
        told = await ask_questions(talk, most)
        passages.questions = excerpts.distinct_questions(told, most)
        drafts = (ports.QueryDraft(each, "direct", 1) for each in passages.questions)
        return ports.WithCalls(tuple(drafts), tuple(talk.calls))

    queries = await check.write_queries(word_queries=asked)
    # A repeated check keeps its searches, which are the questions.
    passages.questions = passages.questions or tuple(
        query.text for query in queries if excerpts.QUESTION_MARKS & {*query.text}
    )
    is_new = passages.questions and not any(each.query_type == "source" for each in queries)
    if is_new and (english := await english_search(check)) is not None:
        kept = queries[: max(1, check.config.queries.max_queries - 1)]
        queries = (*kept, english.model_copy(update={"rank": len(kept) + 1}))
    passages.english = tuple(each.text for each in queries if each.query_type == "source")
    note.got = "\n".join((*passages.questions, *passages.english))
    note.record_queries(queries)
    if not passages.questions and note.status == "ok":
        note.status = "no_evidence"
        note.reason = "The model asked no usable question, so the claim's own words are searched."
    return queries


class _Passages:
    """The second stage: selects the relevant parts of all documents, and reads each document."""

    def __init__(self, check: ClaimCheck, model: LlmReasoner | None) -> None:
        self._check, self._model = check, model
        self._texts: dict[str, str] = {}
        self._selected: dict[str, excerpts.Selected] | None = None
        self._selecting = asyncio.Lock()
        self._wrong: list[str] = []
        self.questions: tuple[str, ...] = ()
        self.english: tuple[str, ...] = ()
        examples = check.config.evidence.summaries == "few_shot"
        self._prompt = "summary_examples" if examples else "summary"
        self.manner = "parts read by the engine" if model is None else self._prompt

    @property
    def in_words(self) -> str:
        """The selected documents, best first, and the inventions of summaries."""
        chosen = (self._selected or {}).values()
        lines = [f"{each.key} ({len(each.text.split())} words)" for each in chosen]
        if self._wrong:
            lines.append(f"Dropped, because no passage has it: {', '.join(self._wrong)}")
        if self._model is None:
            lines.append(f"There are no summaries. {_NO_MODEL}")
        return "\n".join(lines)

    async def read(
        self, query: Query, page: ports.PageExcerpt
    ) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
        """Wait for all pages of the claim, then read the selected parts of one."""
        self._texts[page.canonical_url] = page.text
        if page.arrivals is not None:
            await page.arrivals.all_in(_PATIENCE)
        async with self._selecting:
            if self._selected is None:
                asked: tuple[str, ...] = (self._check.claim.text,)
                if self._check.config.evidence.spans_by == "questions" and self.questions:
                    asked = self.questions
                # An English page shares its words with the English search alone.
                asked = (*asked, *self.english)
                found = await asyncio.to_thread(excerpts.select, asked, dict(self._texts))
                self._selected = {each.key: each for each in found}
        chosen = self._selected.get(page.canonical_url)
        if chosen is None:
            most = excerpts.KEPT_DOCUMENTS
            return f"It is not among the {most} most relevant documents."
        if self._model is None:
            parts, check = replace(page, text=chosen.text, arrivals=None), self._check
            reader = check.services.reasoner.evidence
            return await reader.read_evidence(check.video, check.claim, query, parts)
        talk = self._model.conversation(
            self._prompt, "evidence", self._check.video, self._check.claim
        )
        told = await summarise(talk, page, chosen.text)
        passage = f"{page.title}\n{chosen.text}"
        checked = excerpts.check_summary(told.summary if told.relevant else "", passage)
        draft = None
        if checked is not None:
            words, wrong = checked
            self._wrong += wrong
            relevance = chosen.score / max(each.score for each in self._selected.values())
            quotes = excerpts.split_quotes(told.quotes, chosen.text)
            draft = ports.EvidenceDraft("unclear", 0.0, relevance, words, quotes)
        return ports.WithCalls(draft, tuple(talk.calls))


async def _judged(check: ClaimCheck, questions: Sequence[str], gathered: CaseFile) -> ClaimRows:
    """Have the model judge the summaries on six levels; its level decides, beside the vote.

    Summaries make no judgement, so the model states each source's stance here; a stance counts only
    if the source has a quote.
    """
    rows = [row for row in gathered.evidence if row.status == "ok"]
    failure: ports.ReasonerError | None = None
    level, answer, veracity = None, None, None
    said: dict[str, Stance] = {}
    try:
        with check.trace.step("judge", "six levels of truth") as note:
            note.used = [row.evidence_id for row in rows]
            async with asking(check, "veracity", "verdicts") as talk:
                answer = await judge_veracity(talk, rows, questions)
            note.got = f"{answer.veracity}, {answer.confidence} confidence. {answer.explanation}"
            for each in answer.sources:
                if 0 < each.source <= len(rows) and rows[each.source - 1].quote:
                    said[rows[each.source - 1].evidence_id] = each.stance
            named = answer.veracity
            if named == "unsettled" or CARRIERS[VERACITY[named]] & set(said.values()):
                level = named
            else:
                note.reason = "The level does not count: no source with a quote takes this side."
    except ports.BudgetSpentError:
        raise
    except ports.ReasonerError as error:
        failure = error
    taken = tuple(
        row.model_copy(update={"stance": stance, "stance_confidence": 1.0})
        if (stance := said.get(row.evidence_id, "unclear")) != "unclear"
        else row
        for row in gathered.evidence
    )
    case = replace(gathered, evidence=taken)
    opinion = check.form_opinion(case)
    if answer is None:
        return case, conclude(opinion, None, failure)
    draft = ports.VerdictDraft("unclear", "low", "")
    if level is not None:
        veracity = None if level == "unsettled" else level
        stance = VERACITY[veracity] if veracity else "unclear"
        words = words_of_verdict(case.claim, stance, answer.explanation)
        draft = ports.VerdictDraft(stance, answer.confidence, words)
    _note_questions(check, questions, answer, rows)
    verdict = conclude(opinion, draft)
    return case, decided_by(draft, verdict, veracity=veracity)


def _note_questions(
    check: ClaimCheck, questions: Sequence[str], answer: VeracityAnswer, rows: Sequence[Evidence]
) -> None:
    """Record how far each question is answered; without a named source with a quote it is not."""
    told = {each.question: each for each in answer.questions}
    levels: list[Answered] = []
    for number, question in enumerate(questions, start=1):
        each = told.get(number)
        sources = each.sources if each else ()
        known = [rows[at - 1] for at in sources if 0 < at <= len(rows)]
        named = [row.evidence_id for row in known if row.quote]
        note = StepResult(status="no_evidence", reason="No source with a quote answers it.")
        if each and named:
            note = StepResult(each.answer, named)
        levels.append(each.answered if each and named else "not")
        if number == len(questions):
            note.got += f" [the claim: {excerpts.answerability(levels)}]"
        check.trace.record_step("reason", excerpts.TECHNIQUES[levels[-1]], note, question)


STRATEGY = Strategy(name="raw_evidence", check=_check, adapt=_adapted, in_rounds=True)
