"""Small outcomes of videos for the tests of scoring: annotated, judged, with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from factible_assets.corpora.format import ClaimEntry
from factible_assets.evaluation.outcomes import VideoOutcome
from factible_assets.records.rows import Materialization
from factible_assets.records.tables import (
    METHOD,
    Claim,
    Evidence,
    LlmCall,
    Query,
    Transcript,
    Verdict,
    Video,
)
from factible_assets.stages import ids
from tests.warehouse import samples

EVERY_ASSET: Mapping[str, float] = dict.fromkeys(METHOD, 1.5)


def made(seconds: Mapping[str, float]) -> dict[str, Materialization]:
    """Return sets of assets with the given durations in seconds."""
    now = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return {
        asset: Materialization(asset, "video", "run", now, "1", "1", 1, took)
        for asset, took in seconds.items()
    }


def claim(video: str, rank: int, text: str, importance: float = 0.5) -> Claim:
    said = {"claim_id": ids.claim_id(video, text), "text": text, "importance": importance}
    return samples.claim(video, rank).model_copy(update=said)


def verdict(of: Claim, stance: Any) -> Verdict:
    own = {"claim_id": of.claim_id}
    if stance is None:
        return samples.incomplete_verdict(of.video_id, of.rank).model_copy(update=own)
    return samples.verdict(of.video_id, of.rank).model_copy(update={**own, "stance": stance})


def query(of: Claim) -> Query:
    own = {"query_id": ids.query_id(of.claim_id, of.text), "claim_id": of.claim_id, "text": of.text}
    return samples.query(of.video_id).model_copy(update=own)


def evidence(of: Claim, domain: str, **changes: Any) -> Evidence:
    own = {
        "evidence_id": ids.evidence_id(of.claim_id, f"https://{domain}/"),
        "claim_id": of.claim_id,
        "query_id": ids.query_id(of.claim_id, of.text),
        "domain": domain,
        "source_class": "news",
    }
    return samples.evidence(of.video_id).model_copy(update={**own, **changes})


def call(video: str, *, cost: float = 0.01, known: bool = True) -> LlmCall:
    own = {"call_id": f"{video}-{cost}", "price_known": known, "latency_seconds": 0.5}
    return samples.llm_call(video, "claims", cost=cost).model_copy(update=own)


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
        "page_texts": (samples.page_text(),),
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
