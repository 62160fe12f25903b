"""The language-model reasoner: all four judgements, each by its own model and prompt.

What belongs here: which model, prompt and limits a judgement has, and the calls that it took. What
does not: the judgements (claims.py, queries.py, evidence.py, verdict.py), any client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from factible_assets import records
from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.llm import queries
from factible_assets.reasoners.llm.calls import ONES_FAULT, Batches, Desk, StageModel
from factible_assets.reasoners.llm.claims import WINDOWS, Windowing, find_claims
from factible_assets.reasoners.llm.evidence import (
    Source,
    ask_readings,
    begin_excerpt,
    settle_reading,
)
from factible_assets.reasoners.llm.prompts import load_prompt
from factible_assets.reasoners.llm.verdict import reach_verdict
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck

ANSWER_TOKENS = {"claims": 1_200, "queries": 600, "evidence": 1_100, "verdicts": 900}
"""Limits on the answers (Factible, table 6)."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much a model is given to read at once. Lengths in characters."""

    transcript: Windowing = WINDOWS
    page: int = 2_750
    """Characters that keep 93 % of the quotes which a model took from whole pages
    (`benchmarks/tokens.py`); Factible, section 1.5.3, gives a model 6,000 to 8,000."""
    together: int = 6
    """Sources of a claim, or claims of a video, that are asked about in one call."""
    patience: float = 10.0
    """Seconds for which the pages that came first wait for the others of their claim."""
    sources: int = 24
    """Sources that a verdict is reached from."""


class LlmReasoner:
    """A `stages.ports.Reasoner` that asks the model of each stage; who opened these closes them.

    Each method raises ReasonerOutageError, with the calls so far, when there is no valid answer:
    the service failed, or the model was cut off or never answered in the right shape; and
    ReasonerRefusalError when the model declined.
    """

    basis: records.Maker = "llm"

    def __init__(
        self, models: Mapping[str, StageModel], limits: ReadingLimits | None = None
    ) -> None:
        self._models, self._limits = models, limits or ReadingLimits()

        async def pages_in(first: Source) -> None:
            if first.page.arrivals is not None:
                await first.page.arrivals.all_in(self._limits.patience)

        self._queries = Batches(
            self._queries_desk,
            queries.ask_queries,
            queries.settle_queries,
            size=self._limits.together,
            order=lambda asked: f"{asked.claim.rank:06} {asked.claim.claim_id}",
        )
        self._readings = Batches(
            self._evidence_desk,
            ask_readings,
            settle_reading,
            size=self._limits.together,
            order=lambda source: source.page.canonical_url,
            gather=pages_in,
            alone=lambda source: source.page.alone,
        )

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
    ) -> ports.Judged[ports.ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first.

        A long transcript is read in overlapping windows, which are merged. A small model may write
        about a video and list nothing that was said in it; then the embedded engine finds the
        claims, if it reads the language, with the segments that a model does not need.
        """
        known = video.model_copy(update={"language": transcript.language or video.language})
        desk = Desk(self._models["claims"], load_prompt("claims"), "claims", known)
        windows = self._limits.transcript
        try:
            drafts = await find_claims(desk, transcript, windows, max_claims=max_claims)
        except (ports.ReasonerOutageError, ports.ReasonerRefusalError) as failure:
            failure.calls = tuple(desk.calls)
            raise
        if drafts.refused and not drafts.claims:
            find = partial(extract_claims, max_claims=max_claims, embedder=minilm())
            with suppress(ports.ReasonerRefusalError):
                found = await asyncio.to_thread(find, video, transcript, segments)
                drafts = replace(drafts, claims=found.claims, basis="embedded")
        return ports.Judged(drafts, tuple(desk.calls))

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.Judged[tuple[ports.QueryDraft, ...]]:
        """Word the searches that would find evidence for and against a claim.

        Claims of a video that are asked about at the same time are asked about in one call. What a
        small model cannot word is searched for in the claim's own words: the next try would fail
        in the same way.
        """
        asked = queries.AskedClaim(video, claim, max_queries)
        try:
            return await self._queries.ask(f"{claim.video_id} {max_queries}", asked)
        except ports.ReasonerOutageError as outage:
            if not outage.calls or outage.calls[-1].outcome not in ONES_FAULT:
                raise
            return ports.Judged(queries.plain_queries(asked), tuple(outage.calls))

    async def read_evidence(
        self,
        video: records.Video,
        claim: records.Claim,
        query: records.Query,
        page: ports.PageExcerpt,
    ) -> ports.Judged[ports.EvidenceDraft | None]:
        """Read what a page says about a claim; None if it does not speak of it.

        Pages of a claim are read together: a page that says how many others are on their way waits
        for them. The query is only recorded.
        """
        subject = " ".join(filter(None, (claim.claim_id, page.sought)))
        shown = begin_excerpt(claim, page, self._limits.page)
        return await self._readings.ask(subject, Source(video, claim, query, page, shown))

    def _queries_desk(self, asked: Sequence[queries.AskedClaim]) -> Desk:
        video, claim = asked[0].video, asked[0].claim if len(asked) == 1 else None
        return Desk(self._models["queries"], load_prompt("queries"), "queries", video, claim)

    def _evidence_desk(self, sources: Sequence[Source]) -> Desk:
        first = sources[0]
        prompt = load_prompt("condense" if first.page.sought else "evidence")
        desk = Desk(self._models["evidence"], prompt, "evidence", first.video, first.claim)
        if len(sources) == 1:
            desk.query, desk.url = first.query, first.page.canonical_url
        return desk

    def desk(
        self, prompt: str, stage: records.CallStage, video: records.Video, claim: records.Claim
    ) -> Desk:
        """Return where a question about a claim is asked, with the model of a stage."""
        return Desk(self._models[stage], load_prompt(prompt), stage, video, claim)

    async def judge(
        self,
        video: records.Video,
        claim: records.Claim,
        evidence: Sequence[records.Evidence],
        vote: ports.Vote,
    ) -> ports.Judged[ports.VerdictDraft]:
        """Reach a verdict from the evidence alone. The model is not shown the vote."""
        desk = self.desk("verdict", "verdicts", video, claim)
        draft = await reach_verdict(desk, evidence, self._limits.sources)
        return ports.Judged(draft, tuple(desk.calls))


@asynccontextmanager
async def asking(
    check: ClaimCheck, prompt: str, stage: Literal["queries", "verdicts"]
) -> AsyncIterator[Desk]:
    """Open a desk for a prompt, asked of a stage's model; its calls and its time are the claim's.

    Raises ReasonerOutageError if who judges is no language model, BudgetSpentError if the claim may
    cost no more or its seconds ended before the answer came.
    """
    reasoner = getattr(check.services.reasoner, stage)
    if not isinstance(reasoner, LlmReasoner):
        raise ports.ReasonerOutageError(
            f"The question {prompt} is for a language model.", lasting=True
        )
    desk = reasoner.desk(prompt, stage, check.video, check.claim)
    try:
        async with check.trace.within():
            with check.watch.time(stage):
                yield desk
    finally:
        check.trace.calls.extend(desk.calls)
