"""The language-model reasoner: all judgements, each by its own model and prompt.

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
from factible_assets.reasoners.llm.calls import ONES_FAULT, Conversation, StageModel
from factible_assets.reasoners.llm.claims import WINDOWS, Windowing, find_claims
from factible_assets.reasoners.llm.evidence import ReadingTask, begin_showing, read_alone
from factible_assets.reasoners.llm.joint import JointReader
from factible_assets.reasoners.llm.prompts import load_prompt
from factible_assets.reasoners.llm.quotes import side_of_quote
from factible_assets.reasoners.llm.verdict import word_verdicts
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck

ANSWER_TOKENS = {"claims": 1_200, "queries": 600, "evidence": 600, "verdicts": 900}
"""Limits on the answers (Factible, table 6; a reading needs less, for it quotes by number)."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much a model is given to read at once. Lengths in characters."""

    transcript: Windowing = WINDOWS
    page: int = 3_000
    """Of these 92 % of the quotes stay that a model took from whole pages
    (`benchmarks/tokens.py`); Factible, section 1.5.3, gives a model 6,000 to 8,000."""
    together: int = 6
    """Pages of a claim that are read in one call, where a run asks for that."""
    patience: float = 10.0
    """Seconds for which the pages that came first wait for the others of their claim."""
    sources: int = 8
    """Sources of a claim that a model is shown when it words the verdict."""


class LlmReasoner:
    """A `stages.ports.Reasoner` that asks the model of each stage; its opener closes the models.

    `side_of` tells which side a quote takes; a reading that its own quote contradicts is not
    believed. Each method raises ReasonerOutageError, with the calls so far, when there is no valid
    answer: the service failed, or the model was cut off or never answered in the right shape; and
    ReasonerRefusalError when the model declined.
    """

    basis: records.Maker = "llm"

    def __init__(
        self,
        models: Mapping[str, StageModel],
        limits: ReadingLimits | None = None,
        *,
        side_of: ports.QuoteReader = side_of_quote,
    ) -> None:
        self._models, self._limits = models, limits or ReadingLimits()
        self._side_of = side_of
        self._joint = JointReader(
            self._about, side_of, size=self._limits.together, patience=self._limits.patience
        )

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
    ) -> ports.WithCalls[ports.ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first, with their searches.

        A long transcript is read in overlapping windows, which are merged. A small model may write
        about a video and list nothing that was said in it; then the embedded engine finds the
        claims, if it reads the language, with the segments that a model does not need.
        """
        known = video.model_copy(update={"language": transcript.language or video.language})
        talk = Conversation(self._models["claims"], load_prompt("claims"), "claims", known)
        windows = self._limits.transcript
        try:
            drafts = await find_claims(talk, transcript, windows, max_claims=max_claims)
        except (ports.ReasonerOutageError, ports.ReasonerRefusalError) as failure:
            failure.calls = tuple(talk.calls)
            raise
        if self._models["queries"].model is self._models["claims"].model:
            searched = Conversation(
                self._models["queries"], load_prompt("queries"), "queries", video
            )
            for each in drafts.claims:
                await queries.remember_queries(searched, each)
        if drafts.refused and not drafts.claims:
            find = partial(extract_claims, max_claims=max_claims, embedder=minilm())
            with suppress(ports.ReasonerRefusalError):
                found = await asyncio.to_thread(find, video, transcript, segments)
                drafts = replace(drafts, claims=found.claims, basis="embedded")
        return ports.WithCalls(drafts, tuple(talk.calls))

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        """Word the searches that would find evidence for and against a claim.

        A claim that a model found comes with its searches. A claim that a small model cannot word
        searches for is searched for in its own words: the next try would fail in the same way.
        """
        talk = self.conversation("queries", "queries", video, claim)
        count = max(queries.USUAL, max_queries)
        try:
            drafts = await queries.ask_queries(talk, claim, count)
        except ports.ReasonerOutageError as outage:
            if not outage.calls or outage.calls[-1].outcome not in ONES_FAULT:
                raise
            drafts = queries.plain_queries(video, claim, count)
        return ports.WithCalls(drafts, tuple(talk.calls))

    async def read_evidence(
        self,
        video: records.Video,
        claim: records.Claim,
        query: records.Query,
        page: ports.PageExcerpt,
    ) -> ports.WithCalls[ports.EvidenceDraft | None]:
        """Read what a page says about a claim; None if it does not speak of it.

        The page is read alone, unless it says that it may be read together with others of its
        claim. The query is only recorded.
        """
        shown = begin_showing(claim, page, self._limits.page)
        source = ReadingTask(video, claim, query, page, shown)
        if page.together and not page.sought:
            return await self._joint.read(source)
        talk = self._about([source])
        draft = await read_alone(talk, source, self._side_of)
        return ports.WithCalls(draft, tuple(talk.calls))

    def _about(self, sources: Sequence[ReadingTask]) -> Conversation:
        first = sources[0]
        name = "condense" if first.page.sought else "evidence"
        talk = self.conversation(name, "evidence", first.video, first.claim)
        if len(sources) == 1:
            talk.query, talk.url = first.query, first.page.canonical_url
        return talk

    def conversation(
        self, prompt: str, stage: records.CallStage, video: records.Video, claim: records.Claim
    ) -> Conversation:
        """Return a conversation about a claim, with the model of a stage."""
        return Conversation(self._models[stage], load_prompt(prompt), stage, video, claim)

    async def judge(
        self,
        video: records.Video,
        claim: records.Claim,
        evidence: Sequence[records.Evidence],
        vote: ports.Vote,
    ) -> ports.WithCalls[ports.VerdictDraft | None]:
        """Return None: the vote decides, and its own template words the verdict."""
        return ports.WithCalls(None)

    async def word_verdicts(
        self,
        video: records.Video,
        verdicts: Sequence[tuple[records.Claim, records.Verdict, Sequence[records.Evidence]]],
    ) -> ports.WithCalls[Mapping[str, str]]:
        """Word the verdicts of a video in one call; see `stages.ports.VerdictWriter`."""
        talk = Conversation(self._models["verdicts"], load_prompt("verdict"), "verdicts", video)
        words = await word_verdicts(talk, verdicts, self._limits.sources)
        return ports.WithCalls(words, tuple(talk.calls))


@asynccontextmanager
async def asking(
    check: ClaimCheck, prompt: str, stage: Literal["queries", "verdicts"]
) -> AsyncIterator[Conversation]:
    """Open a talk for a prompt, asked of a stage's model; its calls and its time are the claim's.

    Raises ReasonerOutageError if who judges is no language model, BudgetSpentError if the claim may
    cost no more or its seconds ended before the answer came.
    """
    reasoner = check.services.reasoner.queries
    if not isinstance(reasoner, LlmReasoner):
        raise ports.ReasonerOutageError(
            f"The question {prompt} is for a language model.", lasting=True
        )
    talk = reasoner.conversation(prompt, stage, check.video, check.claim)
    try:
        async with check.trace.within():
            with check.watch.time(stage):
                yield talk
    finally:
        check.trace.calls.extend(talk.calls)
