"""The embedded engine: all four judgements without a key, a server or a download.

What belongs here: the reasoner that puts the engine's parts together and keeps their work off the
event loop. What does not: the parts (claims/, queries.py, reading/).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

from factible_assets import records
from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import Embedder, minilm
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.embedded.reading.evidence import draft_verdict, read_page
from factible_assets.reasoners.embedded.reading.stance import StanceModel, StatementsAndTone
from factible_assets.stages import ports

Result = TypeVar("Result")


class EmbeddedReasoner:
    """A `stages.ports.Reasoner` of rules and vectors.

    The same inputs give the same outputs. Nothing is called outside the process, so that there are
    no model calls to record and no outage to report. Work runs in threads, at most one per
    processor at a time, and leaves the event loop free.
    """

    def __init__(
        self, embedder: Embedder | None = None, stance_model: StanceModel | None = None
    ) -> None:
        """Take an embedder (MiniLM if None) and a stance model (statements and tone if None)."""
        self._embedder = embedder or minilm()
        self._stance_model = stance_model or StatementsAndTone(self._embedder)
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @property
    def basis(self) -> records.Basis:
        """Return "embedded"."""
        return "embedded"

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
    ) -> ports.Judged[ports.ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first."""
        return await self._in_thread(
            lambda: extract_claims(
                video, transcript, segments, max_claims=max_claims, embedder=self._embedder
            )
        )

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.Judged[tuple[ports.QueryDraft, ...]]:
        """Word the searches that would find evidence for and against a claim."""
        return await self._in_thread(
            lambda: write_queries(
                claim, embedder=self._embedder, video=video, max_queries=max_queries
            )
        )

    async def read_evidence(
        self,
        video: records.Video,
        claim: records.Claim,
        query: records.Query,
        page: ports.PageExcerpt,
    ) -> ports.Judged[ports.EvidenceDraft | None]:
        """Read what a page says about a claim; None if it does not speak of it.

        Neither video nor query is used: whatever led to a page, it is read for the claim.
        """
        return await self._in_thread(
            lambda: read_page(claim.text, page, self._embedder, self._stance_model)
        )

    async def judge(
        self,
        video: records.Video,
        claim: records.Claim,
        evidence: Sequence[records.Evidence],
        vote: ports.Vote,
    ) -> ports.Judged[ports.VerdictDraft]:
        """Word the verdict that the vote leans to. The claim's text is not looked at again."""
        return ports.Judged(draft_verdict(evidence, vote))

    async def _in_thread(self, work: Callable[[], Result]) -> ports.Judged[Result]:
        """Run work in a thread, behind a gate of the loop that asks.

        One gate per loop, because a run of its own may bring a loop of its own while the reasoner
        is shared.
        """
        loop = asyncio.get_running_loop()
        gate = self._gates.get(loop)
        if gate is None:
            gate = self._gates.setdefault(loop, asyncio.Semaphore(os.cpu_count() or 1))
        async with gate:
            return ports.Judged(await asyncio.to_thread(work))
