"""Reads what the reports need from a warehouse.

What belongs here: which rows a report and the index are made of. What does not: connections
(warehouse/), arranging the rows (view.py, index_view.py).
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from factible_assets.records import Video
from factible_assets.report.data import (
    IndexData,
    IndexedClaim,
    IndexedVideo,
    Outlived,
    ReportData,
    VerdictChange,
)
from warehouse.statements import statements

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_QUESTIONS = statements("factible_assets.report", "reader.sql")


def read_report_data(warehouse: Warehouse, video_id: str) -> ReportData | None:
    """Return what stands of one video, from one moment; None if the warehouse knows no such video.

    Raises:
        WarehouseError: If the file cannot be opened.
    """
    # As late as the warehouse itself, which only the caller has loaded.
    from warehouse.reviews import read_actions  # noqa: PLC0415

    with warehouse.snapshot() as now:
        rows = now.read_standing(video_id)
        if not rows.videos:
            return None
        ((checks,),) = _rows(now, "checks", video_id=video_id)
        return ReportData(
            **rows.parts(),
            changes=_changes(now, video_id),
            reviews=tuple(read_actions(now, video_id)),
            reviewed_queries=dict(_rows(now, "reviewed_queries", video_id=video_id)),
            outlived=_outlived(now, video_id),
            checks=checks,
        )


def read_index_data(warehouse: Warehouse) -> IndexData:
    """Return every video that the warehouse knows with its current claims and verdicts.

    Raises:
        WarehouseError: If the file cannot be opened.
    """
    claims: dict[str, list[IndexedClaim]] = defaultdict(list)
    with warehouse.snapshot() as now:
        claim_rows, video_rows = _rows(now, "index_claims"), _rows(now, "index_videos")
    for video_id, *fields in claim_rows:
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
    for *fields, checked_at, changes, cost_usd in video_rows:
        video = Video(**dict(zip(names, fields, strict=True)))
        rows = tuple(claims[video.video_id])
        videos.append(IndexedVideo(video, _aware(checked_at), rows, changes, cost_usd))
    return IndexData(tuple(videos))


def _rows(warehouse: Warehouse, question: str, **values: Any) -> list[tuple[Any, ...]]:
    with warehouse.connection(read_only=True) as connection:
        return connection.execute(_QUESTIONS[question], values).fetchall()


def _aware(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=UTC)


def _outlived(warehouse: Warehouse, video_id: str) -> dict[str, Outlived]:
    return {
        claim_id: Outlived(reached.replace(tzinfo=UTC), failed.replace(tzinfo=UTC), reason)
        for claim_id, reached, failed, reason in _rows(warehouse, "outlived", video_id=video_id)
    }


def _changes(warehouse: Warehouse, video_id: str) -> tuple[VerdictChange, ...]:
    rows = _rows(warehouse, "changes", video_id=video_id)
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
