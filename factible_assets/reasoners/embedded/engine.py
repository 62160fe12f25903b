"""The embedded engine: claims and queries without a key or a server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.records import tables as records
from factible_assets.stages import ports


class EmbeddedReasoner:
    """Finds claims and writes queries by rules and sentence vectors.

    The results are deterministic. Nothing is called outside the process, so there are no model
    calls and no outages.
    """

    basis: records.Maker = "embedded"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # One per processor, so that the event loop stays free.
        self._threads = ThreadPoolExecutor(os.cpu_count())

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ports.ClaimDrafts], None] | None = None,
    ) -> ports.WithCalls[ports.ClaimDrafts]:
        """Find the claims; `found` is never called, because they come all at once."""
        find = partial(extract_claims, max_claims=max_claims, embedder=self._embedder)
        loop = asyncio.get_running_loop()
        return ports.WithCalls(
            await loop.run_in_executor(self._threads, find, transcript, segments)
        )

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        write = partial(
            write_queries, embedder=self._embedder, video=video, max_queries=max_queries
        )
        loop = asyncio.get_running_loop()
        return ports.WithCalls(await loop.run_in_executor(self._threads, write, claim))
