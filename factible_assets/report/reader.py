"""Reads what a report needs from a warehouse.

What belongs here: which rows a report is made of. What does not: SQL and connections (warehouse/),
arranging the rows (view.py).
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    Query,
    ReliabilityRating,
    Search,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.report.data import Outlived, ReportData

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_OUTLIVED = """
    select claim_id, checked_at, latest_checked_at, latest_reason
    from current_verdicts
    where video_id = $video_id and status = 'complete' and latest_status = 'incomplete'
"""
"""Verdicts beside a failed re-check; the warehouse stores times in UTC without a zone."""


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
    return ReportData(
        video=videos[0],
        transcript=transcripts[0] if transcripts else None,
        segments=tuple(warehouse.read_current(TranscriptSegment, video_id)),
        claims=tuple(warehouse.read_current(Claim, video_id)),
        queries=tuple(warehouse.read_current(Query, video_id)),
        searches=tuple(warehouse.read_current(Search, video_id)),
        ratings=tuple(warehouse.read_current(ReliabilityRating, video_id)),
        evidence=tuple(evidence),
        verdicts=tuple(verdicts),
        calls=tuple(warehouse.read_current(LlmCall, video_id)),
        outlived=_outlived(warehouse, video_id),
        page_texts=warehouse.read_page_texts(
            row.content_hash for row in evidence if row.quote is not None and row.content_hash
        ),
        run_id=stamp.run_id if stamp else None,
        checked_at=stamp.checked_at if stamp else None,
    )


def _outlived(warehouse: Warehouse, video_id: str) -> dict[str, Outlived]:
    rows = warehouse.query(_OUTLIVED, {"video_id": video_id}).iter_rows()
    return {
        claim_id: Outlived(reached.replace(tzinfo=UTC), failed.replace(tzinfo=UTC), reason)
        for claim_id, reached, failed, reason in rows
    }


def _evidence(warehouse: Warehouse, video_id: str, verdicts: list[Verdict]) -> list[Evidence]:
    judged = {verdict.claim_id for verdict in verdicts}
    newest = warehouse.read_current(Evidence, video_id)
    return [
        *warehouse.read_verdict_evidence(video_id),
        *(row for row in newest if row.claim_id not in judged),
    ]
