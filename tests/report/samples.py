"""Records of a small checked video: one claim of every outcome, one source of every status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from factible_assets.records.rows import Materialization, VerdictChange
from factible_assets.records.tables import (
    Claim,
    Evidence,
    LlmCall,
    Page,
    PageText,
    PriorFactCheck,
    Query,
    ReliabilityRating,
    ReviewAction,
    Search,
    SearchHit,
    Step,
    StepKind,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.report.data import ReportData
from factible_assets.report.writing import Index
from factible_assets.stages import ids

VIDEO_ID = "dQw4w9WgXcQ"
SENTENCES = (
    "Honey keeps for years in a closed jar.",
    "The Great Wall can be seen from the Moon with the naked eye.",
    "Cold weather itself gives you a cold.",
    "Tea was first drunk to cure a cough.",
    "Goldfish forget everything after three seconds.",
    "Bread turns stale more slowly in the freezer.",
)
OUTCOMES = ("supports", "refutes", "mixed", "unclear", "incomplete", "unjudged")
TEXT = " ".join(SENTENCES)
PAGE = (
    "Kitchen notes. Menu and contacts.\n\nWhat keeps and what does not: "
    "a closed jar of honey stays good for years, because it holds so little water that "
    "nothing grows in it. Opened jars crystallise."
)
QUOTE = "a closed jar of honey stays good for years"


def video(**changes: Any) -> Video:
    fields: dict[str, Any] = {
        "video_id": VIDEO_ID,
        "title": "Six things people believe",
        "url": f"https://www.youtube.com/watch?v={VIDEO_ID}",
        "channel": "Kitchen Table",
        "duration_seconds": 61.0,
        "published_on": date(2025, 3, 4),
    }
    return Video(**(fields | changes))


def segments() -> tuple[TranscriptSegment, ...]:
    """Return one caption per sentence, ten seconds each."""
    made = []
    start = 0
    for position, sentence in enumerate(SENTENCES):
        made.append(
            TranscriptSegment(
                video_id=VIDEO_ID,
                position=position,
                start_seconds=10.0 * position,
                duration_seconds=10.0,
                char_start=start,
                char_end=start + len(sentence),
            )
        )
        start += len(sentence) + 1
    return tuple(made)


def claim(number: int, **changes: Any) -> Claim:
    """Return the claim of a sentence, by its number from 0."""
    text = SENTENCES[number]
    start = TEXT.index(text)
    fields: dict[str, Any] = {
        "claim_id": ids.claim_id(VIDEO_ID, text),
        "video_id": VIDEO_ID,
        "rank": len(SENTENCES) - number,
        "text": text,
        "importance": 0.5,
        "extraction_confidence": 0.8,
        "char_start": start,
        "char_end": start + len(text),
        "match_score": 1.0,
        "start_seconds": 10.0 * number,
        "end_seconds": 10.0 * number + 10,
        "basis": "embedded",
    }
    return Claim(**(fields | changes))


def verdict(number: int, outcome: str, **changes: Any) -> Verdict:
    """Return a verdict with an outcome on a claim."""
    is_complete = outcome != "incomplete"
    fields: dict[str, Any] = {
        "claim_id": claim(number).claim_id,
        "video_id": VIDEO_ID,
        "rank": number + 1,
        "status": "complete" if is_complete else "incomplete",
        "evidence_status": "ok" if is_complete else "infra_error",
        "reason": None if is_complete else "The search service did not answer in 10 s.",
        "stance": outcome if is_complete else None,
        "confidence": "medium" if is_complete else None,
        "confidence_score": 0.54 if is_complete else None,
        "summary": f"The sources leave this {outcome}.",
        "vote_stance": outcome if is_complete else None,
        "vote_margin": 0.4 if is_complete else None,
        "evidence_quality": 0.7,
        "supporting": 2,
        "refuting": 1,
        "mixed": 0,
        "unclear": 0,
        "independent_origins": 2,
        "missing": 0 if is_complete else 3,
        "basis": "embedded",
    }
    return Verdict(**(fields | changes))


def evidence(number: int, host: str, **changes: Any) -> Evidence:
    """Return evidence of a host on a claim, by default with a located quote."""
    url = f"https://{host}/page"
    start = PAGE.index(QUOTE)
    fields: dict[str, Any] = {
        "evidence_id": ids.evidence_id(claim(number).claim_id, url),
        "claim_id": claim(number).claim_id,
        "video_id": VIDEO_ID,
        "hit_id": "h1",
        "query_id": "q1",
        "canonical_url": url,
        "domain": host,
        "title": f"Notes of {host}",
        "status": "ok",
        "stance": "supports",
        "stance_confidence": 0.6,
        "relevance": 0.9,
        "quote": QUOTE,
        "quote_start": start,
        "quote_end": start + len(QUOTE),
        "summary": "Says that closed jars keep.",
        "content_hash": ids.content_hash(PAGE),
        "via": "scraped",
        "published_on": date(2024, 1, 2),
        "rating": "high",
        "rating_score": 0.85,
        "bias": "least biased",
        "source_class": "encyclopedia",
        "basis": "embedded",
    }
    return Evidence(**(fields | changes))


def ruling(number: int, **changes: Any) -> ReviewAction:
    return ReviewAction(
        **{
            "action_id": f"ruling-{number}",
            "video_id": VIDEO_ID,
            "claim_id": claim(number).claim_id,
            "reviewer": "Ana López",
            "acted_at": datetime(2026, 3, 4, tzinfo=UTC),
            "action": "sign",
            "value": "Misleading",
            "stance": "mixed",
            "target": "house",
            "reason": "It holds for dry jars alone.",
            "organisation": "Honey Desk",
            **changes,
        }
    )


def unread(number: int, host: str, status: str, reason: str) -> Evidence:
    """Return an unread source with a reason."""
    blank = ("stance", "stance_confidence", "relevance", "quote", "quote_start", "quote_end")
    nothing = dict.fromkeys((*blank, "summary", "content_hash", "via"))
    return evidence(number, host, status=status, reason=reason, **nothing)


def query(number: int, **changes: Any) -> Query:
    fields: dict[str, Any] = {
        "query_id": f"q{number}",
        "claim_id": claim(number).claim_id,
        "video_id": VIDEO_ID,
        "rank": 1,
        "text": f"question {number}",
        "query_type": "direct",
        "priority": 1,
        "basis": "embedded",
    }
    return Query(**(fields | changes))


def search(number: int, **changes: Any) -> Search:
    fields: dict[str, Any] = {
        "query_id": f"q{number}",
        "claim_id": claim(number).claim_id,
        "video_id": VIDEO_ID,
        "provider": "archive",
        "page": 1,
        "hit_count": 3,
        "latency_seconds": 0.1,
        "status": "ok",
    }
    return Search(**(fields | changes))


def rating(host: str, **changes: Any) -> ReliabilityRating:
    fields: dict[str, Any] = {
        "video_id": VIDEO_ID,
        "domain": host,
        "rating": "high",
        "score": 0.85,
        "source_class": "encyclopedia",
        "datasets": ("sample",),
        "reasons": ("written and reviewed by named editors",),
    }
    return ReliabilityRating(**(fields | changes))


def prior_fact_checks(**changes: Any) -> tuple[PriorFactCheck, ...]:
    """Return a fact-check of the first claim, a skipped one, and a failed look-up."""
    url = "https://jar-desk.example/honey"
    fields: dict[str, Any] = {
        "prior_fact_check_id": "f1",
        "claim_id": claim(0).claim_id,
        "video_id": VIDEO_ID,
        "provider": "lane",
        "rank": 1,
        "status": "ok",
        "publisher": "Jar Desk",
        "domain": "jar-desk.example",
        "url": url,
        "canonical_url": url,
        "title": "Does honey spoil?",
        "claim_reviewed": "Honey never spoils",
        "claimant": "a shop",
        "textual_rating": "Mostly true",
        "reviewed_on": date(2024, 6, 5),
        "similarity": 0.8,
    }
    far = {"prior_fact_check_id": "f2", "rank": 2, "status": "skipped", "publisher": "Far Desk"}
    failed = {
        "prior_fact_check_id": "f3",
        "claim_id": claim(1).claim_id,
        "video_id": VIDEO_ID,
        "provider": "lane",
        "rank": 1,
        "status": "infra_error",
        "reason": "it did not answer",
    }
    return (
        PriorFactCheck(**(fields | changes)),
        PriorFactCheck(**(fields | far | {"reason": "too little in common"} | changes)),
        PriorFactCheck(**failed),
    )


def changes(**fields: Any) -> tuple[VerdictChange, ...]:
    """Return a turn of the second claim's verdict, and of a claim that is gone."""
    common: dict[str, Any] = {
        "claim_id": claim(1).claim_id,
        "claim": claim(1).text,
        "change": "flip",
        "previous_basis": "llm",
        "basis": "llm",
        "previous_stance": "supports",
        "stance": "refutes",
        "previous_confidence": "low",
        "confidence": "medium",
        "previous_checked_at": datetime(2025, 12, 1, 3, 4, tzinfo=UTC),
        "checked_at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "previous_run_id": "run-0",
        "run_id": "run-1",
    }
    gone = {"claim_id": "gone", "claim": "A claim that is made no more"}
    return VerdictChange(**(common | fields)), VerdictChange(**(common | gone | fields))


def step(kind: StepKind, technique: str, **changes: Any) -> Step:
    return Step(
        claim_id=claim(0).claim_id,
        video_id=VIDEO_ID,
        strategy="agentic",
        round=1,
        position=1 if kind == "plan" else 2,
        step=kind,
        technique=technique,
        **changes,
    )


def call(**changes: Any) -> LlmCall:
    fields: dict[str, Any] = {
        "call_id": "1",
        "video_id": VIDEO_ID,
        "stage": "evidence",
        "provider": "openai",
        "model": "a-model",
        "prompt_version": "evidence-3",
        "attempt": 1,
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.0123,
        "latency_seconds": 1.0,
        "outcome": "ok",
    }
    return LlmCall(**(fields | changes))


def indexed_claim(number: int, **changes: Any) -> dict[str, Any]:
    """Return the index row of a claim, with the outcome of its number."""
    row = claim(number)
    outcome = OUTCOMES[number]
    has_stance = outcome not in {"incomplete", "unjudged"}
    fields: dict[str, Any] = {
        "claim_id": row.claim_id,
        "text": row.text,
        "start_seconds": row.start_seconds,
        "outcome": outcome,
        "confidence": ("high", "low", "medium")[number % 3] if has_stance else None,
        "basis": "embedded" if outcome != "unjudged" else None,
        "supporting": number,
        "refuting": 1,
    }
    return fields | changes


def indexed(**fields: Any) -> dict[str, Any]:
    """Return the index row of the sample video, with a claim of every outcome."""
    return {
        "video_id": VIDEO_ID,
        "title": video().title,
        "channel": "Kitchen Table",
        "duration_seconds": 61.0,
        "published_on": date(2025, 3, 4),
        "category": None,
        "corpus": None,
        "checked_at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "changes": 0,
        "cost_usd": 0.0,
        "claims": [indexed_claim(number) for number in range(len(OUTCOMES))],
        **fields,
    }


def index(videos: Sequence[Mapping[str, Any]]) -> Index:
    """Return an index of videos that hold their claims."""
    claims = [{"video_id": each["video_id"], **one} for each in videos for one in each["claims"]]
    names = ("video_id", *indexed_claim(0))
    return Index(videos, {name: [one[name] for one in claims] for name in names})


def index_data() -> Index:
    """Return three videos: one with all outcomes, one with two claims, one unchecked."""
    two = [indexed_claim(number, claim_id=f"second-{number}", basis="llm") for number in (0, 1)]
    later = datetime(2026, 2, 2, 3, 4, tzinfo=UTC)
    second: dict[str, Any] = {"video_id": "second-talk", "title": "A second talk"}
    third: dict[str, Any] = {"video_id": "third-talk", "title": "A third talk"}
    videos = [
        indexed(corpus="kitchen", category="food", changes=2, cost_usd=0.0123),
        indexed(**second, channel="Other", corpus="talks", checked_at=later, claims=two),
        indexed(**third, category="science", checked_at=None, claims=[]),
    ]
    return index(videos)


def report_data(**changes: Any) -> ReportData:
    """Return a checked video with every outcome and every status."""
    fields: dict[str, Any] = {
        "videos": (video(),),
        "transcripts": (
            Transcript(
                video_id=VIDEO_ID,
                text=TEXT,
                language="en",
                kind="manual",
                provider="file",
                content_hash=ids.content_hash(TEXT),
            ),
        ),
        "segments": segments(),
        "claims": tuple(claim(number) for number in reversed(range(len(SENTENCES)))),
        "queries": (query(0), query(4)),
        "searches": (
            search(0),
            search(4, status="infra_error", reason="no answer in 10 s", hit_count=0),
        ),
        "ratings": (rating("a.example"),),
        "evidence": (
            evidence(0, "b.example", rating="low", rating_score=0.3, origin="wire"),
            evidence(0, "a.example", origin="wire"),
            evidence(0, "c.example", stance="refutes", rating="unknown", rating_score=0.4),
            unread(0, "down.example", "infra_error", "the connection was reset"),
            unread(0, "empty.example", "no_evidence", "the page does not speak of it"),
            unread(0, "late.example", "skipped", "enough independent sources agreed"),
        ),
        "verdicts": tuple(
            verdict(number, outcome)
            for number, outcome in enumerate(OUTCOMES)
            if outcome != "unjudged"
        ),
        "page_texts": (PageText(content_hash=ids.content_hash(PAGE), text=PAGE),),
        "sets": {"verdicts": verdicts_set()},
    }
    return ReportData(**(fields | changes))


def verdicts_set(run_id: str = "0d9c7b1e-run", seconds: float = 0.0) -> Materialization:
    reached = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return Materialization("verdicts", VIDEO_ID, run_id, reached, "1", "1", 5, seconds)


def hit(hit_id: str, url: str) -> SearchHit:
    return SearchHit(
        hit_id=hit_id,
        claim_id=claim(0).claim_id,
        query_id="q1",
        video_id=VIDEO_ID,
        provider="engine",
        rank=1,
        url=url,
        canonical_url="https://a.example/page",
        domain="a.example",
        title="Notes",
        snippet="",
        page=1,
    )


def page(page_id: str, final_url: str) -> Page:
    return Page(
        page_id=page_id,
        video_id=VIDEO_ID,
        canonical_url=final_url,
        domain="a.example",
        final_url=final_url,
        status="ok",
        via="scraped",
        content_hash=ids.content_hash(PAGE),
        retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
