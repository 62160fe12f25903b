"""The language-model reasoner: every judgement with the model and the prompt of its stage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.llm import queries
from factible_assets.reasoners.llm.answers import ClaimsAnswer
from factible_assets.reasoners.llm.claims import (
    WINDOWS,
    Window,
    Windowing,
    drafts_so_far,
    find_claims,
)
from factible_assets.reasoners.llm.conversation import UNUSABLE_ANSWER, Conversation, StageModel
from factible_assets.reasoners.llm.evidence import ReadingTask, SourceReader
from factible_assets.reasoners.llm.prompts import load_prompt
from factible_assets.reasoners.llm.shown_page import show_page
from factible_assets.reasoners.llm.verdict import word_verdicts
from factible_assets.records import tables as records
from factible_assets.stages import ports
from factible_assets.stages.claim_check import ClaimCheck

ANSWER_TOKENS = {"claims": 1_200, "queries": 600, "evidence": 600, "verdicts": 900}
"""Limits on the answers (Factible, table 6; a reading needs less because it quotes by number)."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much a model reads at once; lengths in characters."""

    transcript: Windowing = WINDOWS
    page: int = 2_500
    """Keeps 92 % of the quotes that a model took from whole pages (`benchmarks/tokens.py`);
    Factible, section 1.5.3, gives a model 6,000 to 8,000."""
    together: int = 6
    """Pages of a claim per call, if a run reads pages together."""
    patience: float = 20.0
    """Seconds that the first pages wait for the other pages of their claim."""
    sources: int = 8
    """Sources of a claim that the model sees when it words the verdict."""


class LlmReasoner:
    """A `stages.ports.Reasoner` that asks the model of each stage; the caller closes the models.

    `prompts` is a folder whose files replace the prompts of the same name.
    Each method raises ReasonerOutageError, with the calls so far, if the service failed or the
    model gave no usable answer, and ReasonerRefusalError if the model declined.
    """

    basis: records.Maker = "llm"

    def __init__(
        self,
        models: Mapping[str, StageModel],
        limits: ReadingLimits | None = None,
        *,
        prompts: Path | None = None,
    ) -> None:
        self._models, self._limits, self._prompts = models, limits or ReadingLimits(), prompts
        self._sources = SourceReader(
            self._conversation_about, self._limits.together, self._limits.patience
        )

    def conversation(
        self,
        prompt: str,
        stage: records.CallStage,
        video: records.Video,
        claim: records.Claim | None = None,
    ) -> Conversation:
        """Open a conversation with the model of a stage."""
        return Conversation(
            self._models[stage], load_prompt(prompt, self._prompts), stage, video, claim
        )

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ports.ClaimDrafts], None] | None = None,
    ) -> ports.WithCalls[ports.ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first, with their searches.

        `found` receives the claims while the model writes them. A long transcript is read in
        overlapping windows at once. A small model may describe the video without stating what was
        said; then the embedded engine finds the claims, if the transcript is in English. Only that
        engine needs the segments.
        """
        spoken = video.model_copy(update={"language": transcript.language or video.language})
        conversation = self.conversation("claims", "claims", spoken)
        announcing: list[asyncio.Task[None]] = []

        async def announce(window: Window, answer: ClaimsAnswer) -> None:
            """Report the claims so far, after their searches are stored."""
            drafts = await asyncio.to_thread(
                drafts_so_far, video.title, window, answer, max_claims=max_claims
            )
            await self._remember_searches(video, drafts)
            if found is not None:
                found(drafts)

        def listen(window: Window, answer: ClaimsAnswer) -> None:
            announcing.append(asyncio.create_task(announce(window, answer)))

        try:
            drafts = await find_claims(
                *(conversation, transcript, self._limits.transcript),
                max_claims=max_claims,
                listen=listen if found is not None else None,
            )
            await asyncio.gather(*announcing)
        except ports.ReasonerError as failure:
            failure.calls = tuple(conversation.calls)
            raise
        finally:
            for task in announcing:
                task.cancel()
            await asyncio.gather(*announcing, return_exceptions=True)
        await self._remember_searches(video, drafts)
        if drafts.refused and not drafts.claims:
            find = partial(extract_claims, max_claims=max_claims, embedder=minilm())
            with suppress(ports.ReasonerRefusalError):
                embedded = await asyncio.to_thread(find, transcript, segments)
                drafts = replace(drafts, claims=embedded.claims, basis="embedded")
        return ports.WithCalls(drafts, tuple(conversation.calls))

    async def _remember_searches(self, video: records.Video, drafts: ports.ClaimDrafts) -> None:
        if self._models["queries"].model is self._models["claims"].model:
            searches = self.conversation("queries", "queries", video)
            for claim in drafts.claims:
                await queries.remember_queries(searches, claim)

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        """Word searches for evidence for and against a claim.

        A claim that the model found already has its searches. If the model gives no usable answer,
        the claim's own words are searched, because the next attempt would fail in the same way.
        """
        conversation = self.conversation("queries", "queries", video, claim)
        count = max(queries.SEARCHES_PER_CLAIM, max_queries)
        try:
            drafts = await queries.ask_queries(conversation, claim, count)
        except ports.ReasonerOutageError as outage:
            if not outage.calls or outage.calls[-1].outcome not in UNUSABLE_ANSWER:
                raise
            drafts = queries.plain_queries(video, claim, count)
        return ports.WithCalls(drafts, tuple(conversation.calls))

    async def read_evidence(
        self,
        video: records.Video,
        claim: records.Claim,
        query: records.Query,
        page: ports.PageExcerpt,
    ) -> ports.WithCalls[ports.EvidenceDraft | None]:
        """Read what a page says about a claim; None if it does not concern it.

        The page is read alone unless it allows a call with others. The query is only recorded.
        """
        show = partial(show_page, claim, page, self._limits.page, query.text)
        shown = asyncio.get_running_loop().run_in_executor(None, show)
        return await self._sources.read(ReadingTask(video, claim, query, page, shown))

    def _conversation_about(self, sources: Sequence[ReadingTask]) -> Conversation:
        first = sources[0]
        prompt = "condense" if first.page.sought else "evidence"
        conversation = self.conversation(prompt, "evidence", first.video, first.claim)
        if len(sources) == 1:
            conversation.query, conversation.url = first.query, first.page.canonical_url
        return conversation

    async def word_verdicts(
        self, video: records.Video, verdicts: Sequence[ports.Judged]
    ) -> ports.WithCalls[Mapping[str, str]]:
        """Word the verdicts of a video in one call; see `stages.ports.WordVerdicts`."""
        conversation = self.conversation("verdict", "verdicts", video)
        words = await word_verdicts(conversation, verdicts, self._limits.sources)
        return ports.WithCalls(words, tuple(conversation.calls))


@asynccontextmanager
async def asking(
    check: ClaimCheck, prompt: str, stage: Literal["queries", "verdicts"]
) -> AsyncIterator[Conversation]:
    """Open a conversation whose calls and time count for the claim of `check`.

    Raises ReasonerOutageError if the reasoner is no language model, BudgetSpentError if the budget
    of the claim is spent or its time ends before the answer.
    """
    reasoner = check.services.reasoner.queries
    if not isinstance(reasoner, LlmReasoner):
        raise ports.ReasonerOutageError(
            f"Only a language model can answer the question {prompt}.", lasting=True
        )
    conversation = reasoner.conversation(prompt, stage, check.video, check.claim)
    try:
        async with check.trace.within():
            with check.watch.time(stage):
                yield conversation
    finally:
        check.trace.calls.extend(conversation.calls)
