"""Reads results from the published copy of the warehouse, which no running check locks."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote

from starlette.exceptions import HTTPException

from factible_assets.records.rows import VerdictChange
from factible_assets.records.stances import with_stances
from factible_assets.report.data import ReportData, read_report_data, source_links
from factible_assets.report.writing import write_report
from factible_assets.settings import Settings
from factible_assets.web import models
from resources.files import report_name
from resources.statements import statements
from resources.text_files import quoted
from warehouse.errors import WarehouseNotWritableError, WarehouseTooOldError
from warehouse.store import Warehouse

_PATIENCE_SECONDS = 10.0
_CACHED_VIDEOS = 16
_SQL = statements("factible_assets.web", "results.sql", with_stances)


class PublishedResults:
    """Answers about checked videos. Every method blocks for ten to a hundred milliseconds.

    Every method raises HTTPException (404) if the video was not checked, and WarehouseError if the
    copy cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._live, self._reports = settings.warehouse, settings.reports
        self._copy = settings.published.waiting(_PATIENCE_SECONDS)
        # DuckDB lets the connections of one process take turns. Readers wait here without a limit,
        # so that a hundred readers at once all get their answer.
        self._lock = threading.RLock()
        self._read = lru_cache(_CACHED_VIDEOS)(self._read_state)

    @property
    def is_empty(self) -> bool:
        """Whether no check has published anything yet."""
        return not self._copy.exists()

    def behind_since(self) -> datetime | None:
        """Return the time of the copy if the warehouse is newer, because a check is running."""
        if self._live.is_shared:
            return None
        try:
            made, written = (source.path.stat().st_mtime for source in (self._copy, self._live))
        except OSError:
            return None
        return datetime.fromtimestamp(made, UTC) if written > made else None

    def videos(self, *, limit: int, offset: int) -> models.VideoPage:
        rows, total, page = list[models.Row](), 0, {"limit": limit, "offset": offset}
        if not self.is_empty:
            with self.opened() as now:
                total = now.rows(_SQL["total"])[0]["videos"]
                rows = now.rows(_SQL["summaries"], page)
        return models.VideoPage(items=rows, total=total, **page)

    def history(self, video_id: str, *, limit: int, offset: int) -> models.VideoHistory:
        page = {"limit": limit, "offset": offset}
        with self.opened(video_id) as now:
            (totals,) = now.rows(_SQL["totals"], {"video_id": video_id})
            if not totals.pop("videos"):
                raise _unchecked(video_id)
            checks = now.rows(_SQL["checks"], {"video_id": video_id, **page})
            changes = now.rows(_SQL["changes"], {"video_id": video_id, **page})
        return models.VideoHistory(
            video_id=video_id,
            **totals,
            **page,
            checks=checks,
            changes=[VerdictChange(**row) for row in changes],
        )

    def data(self, video_id: str) -> ReportData:
        """Return the rows of a video. A cache keeps sixteen answers until the next copy."""
        with self._lock:
            if self.is_empty:
                raise _unchecked(video_id)
            return self._read(video_id, self._copy.state())

    def write_report(self, video_id: str) -> None:
        """Write the report file of a video again after an act; acts change no row of the index."""
        write_report(self.data(video_id), self._reports / report_name(video_id))

    def _read_state(self, video_id: str, _: object) -> ReportData:
        with self.opened(video_id) as now:
            data = read_report_data(now, video_id)
        if data is None:
            raise _unchecked(video_id)
        return data

    @contextmanager
    def opened(self, video_id: str | None = None) -> Iterator[Warehouse]:
        """Open one snapshot of the copy."""
        if self.is_empty:
            if video_id is not None:
                raise _unchecked(video_id)
            raise HTTPException(404, "No video has been checked yet. Start with one.")
        copy = Warehouse(self._copy)
        with self._lock, ExitStack() as stack:
            try:
                now = stack.enter_context(copy.snapshot())
            except (WarehouseTooOldError, WarehouseNotWritableError):
                # The copy has the schema or the views of an older version.
                if not self._live.exists():
                    raise
                Warehouse(self._live).publish(self._copy)
                now = stack.enter_context(copy.snapshot())
            yield now


def video_result(data: ReportData) -> models.VideoResult:
    """Arrange the rows of a video for a client."""
    verdict_of, rulings, links = data.verdict_of, data.rulings, source_links(data, data.evidence)
    sources = defaultdict[str, list[models.Source]](list)
    for row in data.evidence:
        url = links[row.evidence_id] or row.canonical_url
        sources[row.claim_id].append(models.Source(url=url, **row.model_dump()))
    return models.VideoResult(
        **data.video.model_dump(),
        run_id=data.run_id,
        checked_at=data.checked_at,
        is_finished=data.is_finished,
        transcript_length=len(data.transcript.text) if data.transcript else None,
        total_claims=len(data.claims),
        claims=[
            models.CheckedClaim(
                **claim.model_dump(),
                verdict=verdict_of.get(claim.claim_id),
                ruling=rulings.get(claim.claim_id),
                evidence=sources[claim.claim_id],
            )
            for claim in data.claims_by_time
        ],
        model_calls=len(data.llm_calls),
        cost_usd=data.cost_usd,
        report=f"/reports/{quote(data.video.video_id, safe='')}",
    )


def _unchecked(video_id: str) -> HTTPException:
    return HTTPException(404, f"The video {quoted(video_id)} has not been checked. Check it first.")
