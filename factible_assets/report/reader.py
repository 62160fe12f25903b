"""Reads what the reports need from a warehouse.

What belongs here: which rows a report and the index are made of. What does not: connections
(warehouse/), arranging the rows (view.py, index_view.py).
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    PriorFactCheck,
    Query,
    ReliabilityRating,
    ReviewAction,
    Search,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.report.data import (
    IndexData,
    IndexedClaim,
    IndexedVideo,
    Outlived,
    PageFacts,
    ReportData,
    VerdictChange,
)

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_OUTLIVED = """
    SELECT claim_id, checked_at, latest_checked_at, latest_reason
    FROM current_verdicts
    WHERE video_id = $video_id AND status = 'complete' AND latest_status = 'incomplete'
"""
"""Verdicts beside a failed re-check; the warehouse stores times in UTC without a zone."""

_CHANGES = """
    SELECT claim_id, claim, previous_stance, stance, previous_confidence, confidence,
           previous_checked_at, checked_at
    FROM verdict_changes
    WHERE video_id = $video_id
    ORDER BY checked_at, claim_id
"""

_PAGES = """
    SELECT page_id, arg_max(final_url, checked_at), arg_max(retrieved_at, checked_at)
    FROM pages
    WHERE video_id = $video_id AND list_contains($page_ids, page_id)
    GROUP BY page_id
"""

_REVIEWED_QUERIES = """
    SELECT queries.query_id, max(queries.text)
    FROM queries
    JOIN review_actions AS acts
        ON acts.target = queries.query_id AND acts.video_id = queries.video_id
    WHERE queries.video_id = $video_id
    GROUP BY queries.query_id
"""
"""The words of queries that a reviewer changed, which the newest check may not ask any more."""

_CHECKS = """
    SELECT count(*) FILTER (asset = 'verdicts'),
           (SELECT sum(duration_seconds) FROM current_materializations WHERE video_id = $video_id)
    FROM materializations
    WHERE video_id = $video_id
"""

_INDEX_VIDEOS = """
    SELECT videos.video_id, videos.title, videos.url, videos.channel, videos.duration_seconds,
           videos.published_on, videos.category, videos.corpus,
           judged.checked_at, coalesce(turned.changes, 0), coalesce(paid.cost_usd, 0)
    FROM current_videos AS videos
    LEFT JOIN current_materializations AS judged
        ON judged.video_id = videos.video_id AND judged.asset = 'verdicts'
    LEFT JOIN (SELECT video_id, count(*) AS changes FROM verdict_changes GROUP BY video_id)
        AS turned ON turned.video_id = videos.video_id
    LEFT JOIN (SELECT video_id, sum(cost_usd) AS cost_usd FROM llm_calls GROUP BY video_id)
        AS paid ON paid.video_id = videos.video_id
    ORDER BY judged.checked_at DESC NULLS LAST, videos.title, videos.video_id
"""

_INDEX_CLAIMS = """
    SELECT claims.video_id, claims.claim_id, claims.text, claims.category, claims.start_seconds,
           verdicts.claim_id IS NOT NULL, verdicts.stance, verdicts.confidence, verdicts.basis,
           coalesce(verdicts.supporting, 0), coalesce(verdicts.refuting, 0)
    FROM current_claims AS claims
    LEFT JOIN current_verdicts AS verdicts
        ON verdicts.video_id = claims.video_id AND verdicts.claim_id = claims.claim_id
    ORDER BY claims.video_id, claims.start_seconds NULLS LAST, claims.char_start, claims.rank
"""


def read_report_data(warehouse: Warehouse, video_id: str) -> ReportData | None:
    """Return the current rows of one video, None if the warehouse knows no such video.

    The evidence is that on which the current verdicts rest, even where a later re-check failed; of
    claims without a verdict it is the newest.

    Raises:
        WarehouseError: If the file cannot be opened.
    """
    videos = warehouse.read_current(Video, video_id)
    if not videos:
        return None
    verdicts = warehouse.read_current(Verdict, video_id)
    evidence = _evidence(warehouse, video_id, verdicts)
    transcripts = warehouse.read_current(Transcript, video_id)
    stamp = warehouse.current_materialization(
        "verdicts", video_id
    ) or warehouse.current_materialization("claims", video_id)
    ((checks, seconds),) = _rows(warehouse, _CHECKS, video_id=video_id)
    return ReportData(
        video=videos[0],
        transcript=transcripts[0] if transcripts else None,
        segments=tuple(warehouse.read_current(TranscriptSegment, video_id)),
        claims=tuple(warehouse.read_current(Claim, video_id)),
        queries=tuple(warehouse.read_current(Query, video_id)),
        searches=tuple(warehouse.read_current(Search, video_id)),
        prior_fact_checks=tuple(warehouse.read_current(PriorFactCheck, video_id)),
        ratings=tuple(warehouse.read_current(ReliabilityRating, video_id)),
        evidence=tuple(evidence),
        verdicts=tuple(verdicts),
        changes=_changes(warehouse, video_id),
        reviews=_reviews(warehouse, video_id),
        reviewed_queries=dict(_rows(warehouse, _REVIEWED_QUERIES, video_id=video_id)),
        calls=tuple(warehouse.read_current(LlmCall, video_id)),
        outlived=_outlived(warehouse, video_id),
        page_texts=warehouse.read_page_texts(
            row.content_hash for row in evidence if row.status == "ok" and row.content_hash
        ),
        pages=_pages(warehouse, video_id, evidence),
        checks=checks,
        seconds=seconds,
        run_id=stamp.run_id if stamp else None,
        checked_at=stamp.checked_at if stamp else None,
    )


def read_index_data(warehouse: Warehouse) -> IndexData:
    """Return every video that the warehouse knows with its current claims and verdicts.

    Raises:
        WarehouseError: If the file cannot be opened.
    """
    claims: dict[str, list[IndexedClaim]] = defaultdict(list)
    for video_id, *fields in _rows(warehouse, _INDEX_CLAIMS):
        claims[video_id].append(IndexedClaim(*fields))
    names = (
        "video_id",
        "title",
        "url",
        "channel",
        "duration_seconds",
        "published_on",
        "category",
        "corpus",
    )
    videos = []
    for *fields, checked_at, changes, cost_usd in _rows(warehouse, _INDEX_VIDEOS):
        video = Video(**dict(zip(names, fields, strict=True)))
        rows = tuple(claims[video.video_id])
        videos.append(IndexedVideo(video, _aware(checked_at), rows, changes, cost_usd))
    return IndexData(tuple(videos))


def _rows(warehouse: Warehouse, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    return list(warehouse.query(sql, params or None).iter_rows())


def _aware(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=UTC)


def _outlived(warehouse: Warehouse, video_id: str) -> dict[str, Outlived]:
    return {
        claim_id: Outlived(reached.replace(tzinfo=UTC), failed.replace(tzinfo=UTC), reason)
        for claim_id, reached, failed, reason in _rows(warehouse, _OUTLIVED, video_id=video_id)
    }


def _changes(warehouse: Warehouse, video_id: str) -> tuple[VerdictChange, ...]:
    rows = _rows(warehouse, _CHANGES, video_id=video_id)
    return tuple(
        VerdictChange(
            claim_id=claim_id,
            claim=claim,
            previous_stance=previous_stance,
            stance=stance,
            previous_confidence=previous_confidence,
            confidence=confidence,
            previous_checked_at=before.replace(tzinfo=UTC),
            checked_at=after.replace(tzinfo=UTC),
        )
        for (
            claim_id,
            claim,
            previous_stance,
            stance,
            previous_confidence,
            confidence,
            before,
            after,
        ) in rows
    )


def _reviews(warehouse: Warehouse, video_id: str) -> tuple[ReviewAction, ...]:
    # As late as the warehouse itself, which only the caller has loaded.
    from warehouse.reviews import read_actions  # noqa: PLC0415

    return tuple(read_actions(warehouse, video_id))


def _pages(warehouse: Warehouse, video_id: str, evidence: list[Evidence]) -> dict[str, PageFacts]:
    page_ids = sorted({row.page_id for row in evidence if row.page_id})
    found = _rows(warehouse, _PAGES, video_id=video_id, page_ids=page_ids)
    return {
        page_id: PageFacts(final_url, retrieved_at.replace(tzinfo=UTC))
        for page_id, final_url, retrieved_at in found
    }


def _evidence(warehouse: Warehouse, video_id: str, verdicts: list[Verdict]) -> list[Evidence]:
    judged = {verdict.claim_id for verdict in verdicts}
    newest = warehouse.read_current(Evidence, video_id)
    return [
        *warehouse.read_verdict_evidence(video_id),
        *(row for row in newest if row.claim_id not in judged),
    ]
