"""The agentic strategy: plan, search, condense, reason in batches, and plan anew until it settles.

A temporary reasoning weighs one batch of new sources and keeps the useful ones. If it keeps any, an
accumulated reasoning weighs all sources kept so far; its label can be settled.

Source: AgentFact, "Multimodal Fact-Checking: An Agent-based Approach", section IV-C, steps 1 to 5;
docs/strategies.md lists its parameters and this project's decisions. TRUE is `supports`, FALSE
`refutes`, UNPROVEN `unclear`; confidence 1 to 5 becomes the score 0, .25, .5, .75, 1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from factible_assets.reasoners.llm import investigation
from factible_assets.reasoners.llm.engine import asking
from factible_assets.reasoners.llm.verdict import CARRIERS, words_of_verdict
from factible_assets.records.scales import UNPROVEN, stance_of
from factible_assets.records.stances import DEFINITE
from factible_assets.records.tables import Evidence, MediaFinding, Query, StepKind
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.flow import Strategy
from factible_assets.stages.progress import StepResult
from factible_assets.stages.queries import build_queries
from factible_assets.stages.reviews import corrected_queries
from factible_assets.stages.verdict import CaseFile, conclude, confidence_of, decided_by
from factible_assets.strategies.english import english_search
from factible_assets.wording import counted

BATCH = 3
"""New sources that start a temporary reasoning (section IV-C, step 3)."""
ENOUGH = 5
"""The least confidence of a settled label: more than 4 (section IV-C, step 5)."""
_MOST_FINDINGS = 6
_PICTURE_KINDS = ("miscaption", "match", "deepfake", "error_level")
"""Kinds of findings on pictures, the most telling first."""
MOST_PLANS = 3
"""Plans per claim, revisions included. The paper names no limit; this one bounds the time."""
MOST_STEPS = 12
"""The most reasoning steps (section IV-C, step 5)."""


@dataclass
class _AgenticCheck:
    """The check of one claim: its plans, its sources, and the reasoning over them."""

    check: ClaimCheck
    case: CaseFile
    plan: investigation.Plan = field(default_factory=lambda: investigation.Plan((), ()))
    asked: list[str] = field(default_factory=list)
    """The searches so far, in the words of the plans."""
    pool: dict[int, Evidence | MediaFinding] = field(default_factory=dict)
    """The sources of status ok, and findings on pictures, numbered from 1."""
    waiting: list[int] = field(default_factory=list)
    """The sources that no reasoning has seen."""
    useful: list[int] = field(default_factory=list)
    """The sources that a temporary reasoning kept."""
    steps: int = 0  # reasoning steps so far
    reasoning: investigation.Reasoning | None = None
    """The newest accumulated reasoning."""
    conclusion: investigation.Reasoning | None = None
    why_unsettled: str | None = None
    outage: ports.ReasonerOutageError | None = None
    """The failure that ended it."""
    is_settled: bool = False
    """Whether the label of the newest accumulated reasoning is settled."""
    escalated: bool = False
    """Whether the vote denied a label, and another plan was therefore due."""

    async def run(self) -> ClaimRows:
        """Plan and search until the label is settled, a plan is empty, or the budget is spent."""
        try:
            for turn in range(1, MOST_PLANS + 1):
                self.check.trace.round = turn
                await self._make_plan()
                if not self.plan.items:
                    self.why_unsettled = "The revised plan has no new query."
                    break
                if await self._follow_plan():
                    words = f"It was not settled after {MOST_STEPS} reasoning steps."
                    self.why_unsettled = None if self.is_settled else words
                    break
            else:
                self.why_unsettled = f"It was not settled after {turn} plans."
            await self._explain()
        except ports.BudgetSpentError as spent:
            self.why_unsettled = spent.reason
        except ports.ReasonerRefusalError as refusal:
            self.why_unsettled = f"The model declined to go on: {refusal.reason}"
        except ports.ReasonerOutageError as outage:
            self.outage = outage
        if self.why_unsettled:
            note = StepResult(status="skipped", reason=self.why_unsettled)
            self.check.trace.record_step("judge", "end", note)
        return self._rows()

    async def _make_plan(self) -> None:
        """Make a plan; if the first one is declined or empty, it has the claim's own words."""
        check = self.check
        first = check.trace.round == 1
        failed = None if first else self._why_not_settled()
        technique = "first plan" if first else "revised plan"
        with check.trace.step("plan", technique, failed or "") as note:
            try:
                async with asking(check, "plan", "queries") as talk:
                    self.plan = await investigation.make_plan(talk, self.asked, failed)
            except ports.ReasonerOutageError as outage:
                if first:
                    self.case = check.open_case([check.no_query(outage.reason, failed=True)])
                raise
            except ports.ReasonerRefusalError as refusal:
                if not first:
                    raise
                note.status, note.reason = "skipped", f"The model declined: {refusal.reason}"
            if first and not self.plan.items:
                item = investigation.PlanItem(check.claim.text, check.claim.text, is_statement=True)
                self.plan = replace(self.plan, items=(item,))
            note.got = " ".join(self.plan.steps) or "No steps: a search for the claim's own words."
            if first and (english := await english_search(check)) is not None:
                self._seek_in_english(english)
        if first and self.plan.rests_on_picture:
            self._take_findings()

    def _seek_in_english(self, query: Query) -> None:
        """Add an English search to the plan; if the model failed, the case says so."""
        if not query.text:
            self.case = self.check.open_case([query])
            return
        item = investigation.PlanItem(self.check.claim.text, query.text, is_statement=False)
        self.plan = replace(self.plan, items=(*self.plan.items, item))

    def _take_findings(self) -> None:
        """Add the findings on the video's pictures that are about this claim, or about none."""
        findings = [
            finding
            for kind in _PICTURE_KINDS
            for finding in self.check.known.media
            if finding.kind == kind and finding.status == "ok"
            if finding.claim_id in {None, self.check.claim.claim_id}
        ][:_MOST_FINDINGS]
        self.useful += self._add_to_pool(findings)
        words = "The claim rests on a picture."
        if not findings:
            words += " Nothing is known of the video's pictures: factible media examines them."
        made = [finding.finding_id for finding in findings]
        note = StepResult(words, made=made, status="ok" if findings else "no_evidence")
        self.check.trace.record_step("retrieve", "findings on pictures", note)

    def _add_to_pool(self, rows: Sequence[Evidence | MediaFinding]) -> list[int]:
        """Add rows to the pool; return their numbers."""
        numbers = range(len(self.pool) + 1, len(self.pool) + 1 + len(rows))
        self.pool.update(zip(numbers, rows, strict=True))
        return [*numbers]

    def _why_not_settled(self) -> str:
        """Say for the next plan how far the last one came."""
        if self.reasoning is None:
            read = sum(isinstance(row, Evidence) for row in self.pool.values())
            return f"Sources that were read: {read}. None was useful."
        vote = self.check.form_opinion(self.case).vote.stance
        return (
            f"The label is {self.reasoning.label} with confidence {self.reasoning.confidence}; the "
            f"sources, weighed by reliability, say: {vote}. {self.reasoning.words}"
        )

    async def _follow_plan(self) -> bool:
        """Search for each item, the statements first, and reason; return whether that ends it."""
        for item in self.plan.items:
            await self._retrieve(item)
            if await self._reason(BATCH):
                return True
        return await self._reason(1)

    async def _retrieve(self, item: investigation.PlanItem) -> None:
        """Search for an item and condense its pages; no page is read twice."""
        check = self.check
        draft = ports.QueryDraft(item.query, "direct" if item.is_statement else "context", 1)
        (worded,) = build_queries(
            check.claim, [draft], check.config.queries, basis=check.services.reasoner.queries.basis
        )
        self.asked.append(item.query)
        queries = corrected_queries(check.claim, [*self.case.queries, worded], check.corrections)
        earlier = {query.query_id for query in self.case.queries}
        new = [query for query in queries if query.query_id not in earlier]
        if not new:
            return
        self.case, useful_rows = await check.look_further(
            self.case,
            new,
            search_step="validation list" if item.is_statement else "search list",
            read_step=("summarise", "query-guided condensing"),
            asked=item.query,
            sought=item.sought,
            describe=lambda rows: ", ".join(
                [counted(len(rows), "source"), *map(investigation.trust, rows)]
            ),
        )
        self.waiting += self._add_to_pool(useful_rows)

    async def _reason(self, least: int) -> bool:
        """Reason in batches while at least `least` sources wait; return whether that ends it."""
        while len(self.waiting) >= least and self.steps < MOST_STEPS:
            batch, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
            reasoning = await self._weigh(
                "reason", "temporary reasoning", batch, investigation.reason
            )
            self.steps += 1
            new = [number for number in reasoning.evidence if number not in self.useful]
            self.useful += new
            if new and self.steps < MOST_STEPS:
                accumulate = partial(investigation.reason, accumulated=True)
                self.reasoning = await self._weigh(
                    "reason", "accumulated reasoning", self.useful, accumulate
                )
                self.steps += 1
                self._settle(self.reasoning)
                if self.is_settled:
                    return True
        return self.steps >= MOST_STEPS

    async def _weigh(
        self,
        kind: StepKind,
        technique: str,
        numbers: Sequence[int],
        question: Callable[..., Awaitable[investigation.Reasoning]],
    ) -> investigation.Reasoning:
        """Have the model weigh some sources, as a recorded step."""
        sources = {number: self.pool[number] for number in numbers}
        with self.check.trace.step(kind, technique, counted(len(sources), "source")) as note:
            note.used = self._ids(numbers)
            async with asking(self.check, "reasoning", "verdicts") as talk:
                reasoning = await question(talk, self.plan, sources)
            note.made = self._ids(reasoning.evidence)
            notes = []
            if reasoning.invented:
                dropped = "Citations of evidence that does not exist were dropped"
                notes.append(f"{dropped}: {reasoning.invented}.")
            if doubt := self._why_unsupported(reasoning):
                reasoning = replace(reasoning, label="unproven", confidence=1, words="")
                notes.append(f"The label does not count: {doubt}")
            note.reason = " ".join(notes) or None
            note.got = f"{reasoning.label}, confidence {reasoning.confidence}. {reasoning.words}"
        return reasoning

    def _why_unsupported(self, reasoning: investigation.Reasoning) -> str | None:
        """Say why the label does not follow from the cited evidence; None if it may."""
        cited = [self.pool[number] for number in reasoning.evidence]
        stances = {row.stance for row in cited if isinstance(row, Evidence)}
        if reasoning.label == "unproven" or not cited:
            return None
        if reasoning.confidence == 1:
            return "its confidence is 1 of 5, so no evidence bears it."
        if not stances:
            return "it cites findings on pictures alone."
        stance = stance_of(reasoning.label, UNPROVEN)
        is_denied = stances & DEFINITE and not stances & CARRIERS[stance]
        return "the sources that it cites say the contrary." if is_denied else None

    def _settle(self, reasoning: investigation.Reasoning) -> None:
        """Settle a certain label; with `escalate`, the first that the vote denies stays open."""
        is_certain = reasoning.label != "unproven" and reasoning.confidence >= ENOUGH
        if not is_certain or not reasoning.evidence:
            return
        vote = self.check.form_opinion(self.case).vote.stance
        denied = vote in DEFINITE and vote != stance_of(reasoning.label, UNPROVEN)
        escalates = denied and self.check.config.budget.escalate and not self.escalated
        self.escalated = self.escalated or escalates
        self.is_settled = not escalates

    async def _explain(self) -> None:
        """Word the conclusion from the useful sources, if there are any."""
        self.check.trace.refuse_beyond_budget()
        if self.reasoning is None:
            return
        explain = partial(investigation.explain, so_far=self.reasoning)
        self.conclusion = await self._weigh("judge", "explanation", self.useful, explain)
        for point, numbers in self.conclusion.points:
            note = StepResult(point, self._ids(numbers))
            self.check.trace.record_step("judge", "key point", note)

    def _ids(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of the sources with these numbers."""
        rows = [self.pool[number] for number in numbers]
        return [r.finding_id if isinstance(r, MediaFinding) else r.evidence_id for r in rows]

    def _rows(self) -> ClaimRows:
        """Return all rows and the verdict: the label if there is one, else the vote.

        A failure before the label was settled leaves the verdict incomplete; after it, unworded.
        """
        case = self.case if self.case.queries else self.check.open_case(())
        opinion = self.check.form_opinion(case)
        reasoning = self.conclusion or self.reasoning
        if self.outage and not self.is_settled and opinion.doubt is None:
            why = self.outage.reason.rstrip(".")
            doubt = f"The investigation was interrupted ({why}). Check the claim again."
            opinion = replace(opinion, doubt=doubt, is_due=True)
        failure = self.outage if self.is_settled else None
        close = partial(conclude, opinion, failure=failure, ended=self.why_unsettled)
        if reasoning is None:
            return case, close(draft=None)
        score = (reasoning.confidence - 1) / 4
        stance = stance_of(reasoning.label, UNPROVEN)
        words = words_of_verdict(case.claim, stance, reasoning.words)
        draft = ports.VerdictDraft(stance, confidence_of(score), words)
        return case, decided_by(draft, close(draft=draft), score)


STRATEGY = Strategy(
    name="agentic",
    check=lambda claim: _AgenticCheck(claim, CaseFile(claim.claim)).run(),
    most_searches=lambda config: 2 * investigation.LIST_ITEMS * MOST_PLANS + 1,  # one in English
    needs_model=True,
    in_rounds=True,
    reads_pictures=True,
)
