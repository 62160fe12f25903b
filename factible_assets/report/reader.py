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
from resources.statements import statements

if TYPE_CHECKING:
    from warehouse.store import Warehouse

_COLUMNS_OF_VIDEOS = "video_id title url channel duration_seconds published_on category corpus"
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
            changes=tuple(VerdictChange(*row) for row in _rows(now, "changes", video_id=video_id)),
            reviews=tuple(read_actions(now, video_id)),
            reviewed_queries=dict(_rows(now, "reviewed_queries", video_id=video_id)),
            outlived={
                claim_id: Outlived(*row)
                for claim_id, *row in _rows(now, "outlived", video_id=video_id)
            },
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
    videos = []
    for *fields, checked_at, changes, cost_usd in video_rows:
        video = Video(**dict(zip(_COLUMNS_OF_VIDEOS.split(), fields, strict=True)))
        rows = tuple(claims[video.video_id])
        videos.append(IndexedVideo(video, checked_at, rows, changes, cost_usd))
    return IndexData(tuple(videos))


def _rows(warehouse: Warehouse, question: str, **values: Any) -> list[list[Any]]:
    """Return the rows of an answer, their times with the zone that all of them have."""
    with warehouse.connection(read_only=True) as connection:
        found = connection.execute(_QUESTIONS[question], values).fetchall()
    return [
        [each.replace(tzinfo=UTC) if isinstance(each, datetime) else each for each in row]
        for row in found
    ]
