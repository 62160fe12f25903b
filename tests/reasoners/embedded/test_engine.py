"""The embedded engine finds claims and words queries without a key."""

from __future__ import annotations

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.engine import EmbeddedReasoner
from factible_assets.records.tables import Transcript
from factible_assets.stages.ids import content_hash
from factible_assets.stages.ports import ClaimFinder, QueryWriter
from tests.reasoners.material import CLAIM, VIDEO


async def test_it_finds_claims_and_words_queries() -> None:
    engine = EmbeddedReasoner(minilm())
    finder: ClaimFinder = engine
    writer: QueryWriter = engine
    text = (
        "Hello and welcome. Sugar makes children hyperactive, and studies with 3,000 children show "
        "it. Sugar causes more trouble than television in 40 percent of families. Thanks a lot."
    )
    transcript = Transcript(
        video_id="v1", text=text, provider="file", content_hash=content_hash(text)
    )
    drafts = await finder.extract_claims(VIDEO, transcript, (), max_claims=2)
    queries = await writer.write_queries(VIDEO, CLAIM, max_queries=3)
    assert engine.basis == "embedded"
    assert 1 <= len(drafts.value.claims) <= 2
    assert 1 <= len(queries.value) <= 3
