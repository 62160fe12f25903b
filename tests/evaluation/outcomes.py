"""Small outcomes of videos for the tests of scoring: annotated, judged, with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records import (
    METHOD,
    Claim,
    Evidence,
    LlmCall,
    PageText,
    Query,
    Transcript,
    Verdict,
    Video,
)
from factible_assets.rows import Materialization
from factible_assets.stages import ids

PAGE = "The moon is made of rock, as samples show."
EVERY_ASSET: Mapping[str, float] = dict.fromkeys(METHOD, 1.5)


def made(seconds: Mapping[str, float]) -> dict[str, Materialization]:
    """Return what would be known of sets that took so many seconds to make."""
    now = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return {
        asset: Materialization(asset, "video", "run", now, "1", "1", 1, took)
        for asset, took in seconds.items()
    }


def claim(video: str, rank: int, text: str, importance: float = 0.5) -> Claim:
    return Claim(
        claim_id=ids.claim_id(video, text),
        video_id=video,
        rank=rank,
        text=text,
        importance=importance,
        extraction_confidence=0.5,
        basis="embedded",
    )


def verdict(of: Claim, stance: Any, score: float | None = 0.6) -> Verdict:
    complete = stance is not None
    return Verdict(
        claim_id=of.claim_id,
        video_id=of.video_id,
        rank=of.rank,
        status="complete" if complete else "incomplete",
        evidence_status="ok" if complete else "infra_error",
        reason=None if complete else "The search service was down.",
        stance=stance,
        confidence="medium" if complete else None,
        confidence_score=score if complete else None,
        summary="It says so.",
        evidence_quality=0.5,
        supporting=1,
        refuting=0,
        mixed=0,
        unclear=0,
        independent_origins=1,
        missing=0,
        basis="embedded",
    )


def query(of: Claim) -> Query:
    return Query(
        query_id=ids.query_id(of.claim_id, of.text),
        claim_id=of.claim_id,
        video_id=of.video_id,
        rank=1,
        text=of.text,
        query_type="direct",
        priority=1,
        basis="embedded",
    )


def evidence(of: Claim, domain: str, **changes: Any) -> Evidence:
    url = f"https://{domain}/"
    values: dict[str, Any] = {
        "evidence_id": ids.evidence_id(of.claim_id, url),
        "claim_id": of.claim_id,
        "video_id": of.video_id,
        "hit_id": "h",
        "query_id": ids.query_id(of.claim_id, of.text),
        "canonical_url": url,
        "domain": domain,
        "title": "A page",
        "status": "ok",
        "stance": "supports",
        "stance_confidence": 0.5,
        "quote": PAGE[:24],
        "quote_start": 0,
        "quote_end": 24,
        "content_hash": ids.content_hash(PAGE),
        "rating": "high",
        "rating_score": 0.9,
        "source_class": "news",
        "basis": "embedded",
    }
    return Evidence(**{**values, **changes})


def call(video: str, *, cost: float = 0.01, known: bool = True) -> LlmCall:
    return LlmCall(
        call_id=f"{video}-{cost}",
        video_id=video,
        stage="claims",
        provider="test",
        model="small",
        prompt_version="1",
        attempt=1,
        input_tokens=100,
        output_tokens=10,
        cost_usd=cost,
        price_known=known,
        latency_seconds=0.5,
        outcome="ok",
    )


def outcome(
    video: str,
    said: Sequence[tuple[str, float, Any]],
    truth: Sequence[tuple[str, float, Any]] | None,
    **changes: Any,
) -> VideoOutcome:
    """Return a video with (text, importance, stance) of its claims and of its annotation.

    A claim whose stance is None has an incomplete verdict.
    """
    claims = tuple(claim(video, rank, *each[:2]) for rank, each in enumerate(said, start=1))
    text = " ".join(f"{each[0]}." for each in said) + " Thank you for watching this video."
    values: dict[str, Any] = {
        "videos": (Video(video_id=video, title=video),),
        "transcripts": (
            Transcript(
                video_id=video, text=text, provider="file", content_hash=ids.content_hash(text)
            ),
        ),
        "claims": claims,
        "queries": tuple(query(each) for each in claims),
        "evidence": tuple(evidence(each, "a.example") for each in claims),
        "page_texts": (PageText(content_hash=ids.content_hash(PAGE), text=PAGE),),
        "verdicts": tuple(
            verdict(each, stance) for each, (_, _, stance) in zip(claims, said, strict=True)
        ),
        "sets": made(EVERY_ASSET),
        "truth": None
        if truth is None
        else tuple(
            ClaimEntry(text=text, importance=importance, stance=stance)
            for text, importance, stance in truth
        ),
    }
    return VideoOutcome(**{**values, **changes})
