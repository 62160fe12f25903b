"""The rows of one small fact-check, as a run writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from factible_assets.records.rows import Materialization
from factible_assets.records.tables import (
    Claim,
    Evidence,
    LlmCall,
    MediaFinding,
    Page,
    PageText,
    PriorFactCheck,
    Query,
    Record,
    ReliabilityRating,
    Search,
    SearchHit,
    Step,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

FIRST_CHECK = datetime(2024, 5, 1, 12, tzinfo=UTC)
PAGE = "Intro. Über 9 of 10 bees 🐝 are solitary, the survey found. Outro."
QUOTE = "9 of 10 bees 🐝 are solitary"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def stamp(run: int) -> Stamp:
    """The stamp of the n-th run, each a day after the one before."""
    return Stamp(run_id=f"run-{run}", checked_at=FIRST_CHECK + timedelta(days=run))


def asset_rows(*rows: Record, code_version: str = "1") -> AssetRows:
    return AssetRows(rows=rows, code_version=code_version, duration_seconds=1.5)


def write_asset(
    store: Warehouse,
    asset: str,
    video_id: str,
    rows: Sequence[Record],
    *,
    stamp: Stamp,
    code_version: str,
    **more: Any,
) -> Materialization:
    """Write one set, in one transaction."""
    given = AssetRows(rows, code_version, **more)
    (written,) = store.write_assets(video_id, {asset: given}, stamp=stamp)
    return written


def video(video_id: str) -> Video:
    return Video(
        video_id=video_id, title="Bees", channel="Hive", url=f"https://v.example/{video_id}"
    )


def claim(video_id: str, rank: int = 1) -> Claim:
    return Claim(
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        rank=rank,
        text=f"Claim {rank}",
        importance=1 - rank / 100,
        extraction_confidence=0.5,
        char_start=10 * rank,
        char_end=10 * rank + 5,
        match_score=0.9,
        start_seconds=100.0 - rank,
        basis="embedded",
    )


def query(video_id: str, rank: int = 1) -> Query:
    return Query(
        query_id=f"query-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        rank=1,
        text=f"is claim {rank} true",
        query_type="direct",
        priority=1,
        basis="embedded",
    )


def search(video_id: str, rank: int = 1) -> Search:
    return Search(
        query_id=f"query-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        provider="archive",
        page=1,
        hit_count=1,
        latency_seconds=0.1,
        status="ok",
    )


def search_hit(video_id: str, rank: int = 1) -> SearchHit:
    return SearchHit(
        hit_id=f"hit-{video_id}-{rank}",
        query_id=f"query-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        provider="archive",
        page=1,
        rank=rank,
        title="Survey",
        url="https://bees.example/survey?utm_source=x",
        canonical_url="https://bees.example/survey",
        domain="bees.example",
        snippet="Nine of ten",
    )


def prior_fact_check(video_id: str, rank: int = 1) -> PriorFactCheck:
    return PriorFactCheck(
        prior_fact_check_id=f"check-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        provider="checkers",
        rank=1,
        status="ok",
        publisher="Checkers",
        domain="checkers.example",
        url="https://checkers.example/bees",
        canonical_url="https://checkers.example/bees",
        claim_reviewed="Nine of ten bees live alone",
        textual_rating="True",
        similarity=0.5,
    )


def media_finding(video_id: str, rank: int = 1) -> MediaFinding:
    return MediaFinding(
        finding_id=f"finding-{video_id}-{rank}",
        video_id=video_id,
        picture="thumbnail",
        content_hash="ab" * 32,
        kind="match",
        rank=rank,
        provider="google_vision",
        match_class="exact",
        url="https://pictures.example/bees",
        score=0.5,
        status="ok",
    )


def rating(video_id: str) -> ReliabilityRating:
    return ReliabilityRating(
        video_id=video_id,
        domain="bees.example",
        rating="high",
        score=0.85,
        source_class="academic",
        datasets=("first",),
        reasons=("listed", "a journal"),
    )


def page(video_id: str, text: str = PAGE) -> Page:
    return Page(
        page_id=f"page-{sha256(text)[:8]}",
        video_id=video_id,
        canonical_url="https://bees.example/survey",
        domain="bees.example",
        status="ok",
        via="scraped",
        content_hash=sha256(text),
        retrieved_at=FIRST_CHECK,
    )


def page_text(text: str = PAGE) -> PageText:
    return PageText(content_hash=sha256(text), text=text)


def evidence(video_id: str, rank: int = 1, text: str = PAGE) -> Evidence:
    return Evidence(
        evidence_id=f"evidence-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        hit_id=f"hit-{video_id}-{rank}",
        query_id=f"query-{video_id}-{rank}",
        canonical_url="https://bees.example/survey",
        domain="bees.example",
        title="Survey",
        status="ok",
        stance="supports",
        stance_confidence=0.8,
        relevance=0.9,
        quote=QUOTE,
        quote_start=text.index(QUOTE),
        quote_end=text.index(QUOTE) + len(QUOTE),
        page_id=f"page-{sha256(text)[:8]}",
        content_hash=sha256(text),
        via="scraped",
        rating="high",
        rating_score=0.85,
        basis="embedded",
    )


def failed_evidence(video_id: str, rank: int = 1) -> Evidence:
    return Evidence(
        evidence_id=f"evidence-{video_id}-{rank}",
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        hit_id=f"hit-{video_id}-{rank}",
        query_id=f"query-{video_id}-{rank}",
        canonical_url="https://bees.example/survey",
        domain="bees.example",
        title="Survey",
        status="infra_error",
        reason="bees.example: connection reset",
        rating="high",
        rating_score=0.85,
    )


def verdict(video_id: str, rank: int = 1, *, quality: float = 0.5) -> Verdict:
    return Verdict(
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        rank=rank,
        status="complete",
        evidence_status="ok",
        stance="supports",
        confidence="medium",
        confidence_score=0.6,
        summary="Supported.",
        evidence_quality=quality,
        supporting=1,
        refuting=0,
        mixed=0,
        unclear=0,
        independent_origins=1,
        missing=0,
        basis="embedded",
    )


def step(video_id: str, rank: int = 1) -> Step:
    return Step(
        claim_id=claim(video_id, rank).claim_id,
        video_id=video_id,
        strategy="thorough",
        round=1,
        position=1,
        step="plan",
        technique="Divide and conquer",
        made=("query-1",),
    )


def incomplete_verdict(video_id: str, rank: int = 1) -> Verdict:
    return Verdict(
        claim_id=f"claim-{video_id}-{rank}",
        video_id=video_id,
        rank=rank,
        status="incomplete",
        evidence_status="infra_error",
        reason="search: the service answered 503",
        summary="Could not be checked.",
        evidence_quality=0,
        supporting=0,
        refuting=0,
        mixed=0,
        unclear=0,
        independent_origins=0,
        missing=3,
        basis="embedded",
    )


def llm_call(video_id: str, stage: str, number: int = 1, *, cost: float = 0.25) -> LlmCall:
    return LlmCall.model_validate(
        {
            "call_id": f"call-{video_id}-{stage}-{number}",
            "video_id": video_id,
            "stage": stage,
            "provider": "openai",
            "model": "small",
            "prompt_version": "1",
            "attempt": 1,
            "input_tokens": 100,
            "output_tokens": 10,
            "cost_usd": cost,
            "latency_seconds": 2.0,
            "outcome": "ok",
        }
    )


def transcript_rows(video_id: str) -> AssetRows:
    text = "Nine of ten bees are solitary."
    return asset_rows(
        video(video_id),
        Transcript(video_id=video_id, text=text, provider="file", content_hash=sha256(text)),
        *(
            TranscriptSegment(
                video_id=video_id,
                position=position,
                start_seconds=position,
                duration_seconds=1,
                char_start=position,
                char_end=position + 1,
            )
            for position in range(3)
        ),
    )


def fact_check(video_id: str, claims: int = 2) -> dict[str, AssetRows]:
    """The seven sets of one video."""
    ranks = range(1, claims + 1)
    return {
        "transcripts": transcript_rows(video_id),
        "claims": asset_rows(
            *(claim(video_id, rank) for rank in ranks), llm_call(video_id, "claims")
        ),
        "queries": asset_rows(
            *(query(video_id, rank) for rank in ranks), llm_call(video_id, "queries")
        ),
        "search_hits": asset_rows(
            *(search(video_id, rank) for rank in ranks),
            *(search_hit(video_id, rank) for rank in ranks),
            *(prior_fact_check(video_id, rank) for rank in ranks),
        ),
        "reliability_ratings": asset_rows(rating(video_id)),
        "evidence": asset_rows(
            page(video_id),
            page_text(),
            *(evidence(video_id, rank) for rank in ranks),
            llm_call(video_id, "evidence"),
        ),
        "verdicts": asset_rows(
            *(verdict(video_id, rank) for rank in ranks),
            *(step(video_id, rank) for rank in ranks),
            llm_call(video_id, "verdicts"),
        ),
    }
