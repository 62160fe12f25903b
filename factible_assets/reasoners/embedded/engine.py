"""The embedded engine: claims and queries without a key or a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.embedded.workers import Workers
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
        self._workers = Workers()

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
        drafts = await self._workers.run(
            lambda: extract_claims(
                transcript, segments, max_claims=max_claims, embedder=self._embedder
            )
        )
        return ports.WithCalls(drafts)

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        drafts = await self._workers.run(
            lambda: write_queries(
                claim, embedder=self._embedder, video=video, max_queries=max_queries
            )
        )
        return ports.WithCalls(drafts)
