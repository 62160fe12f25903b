"""What the published copy of the warehouse knows of videos.

What belongs here: reading it for the service's answers, and saying that there is nothing. What does
not: the shapes of answers (models.py), the live warehouse, which a running check may hold.

An answer is made from one connection: a copy that is swapped in meanwhile is seen whole or not.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException

from factible_assets.report.data import ReportData, read_report_data, source_links
from factible_assets.rows import VerdictChange
from factible_assets.settings import Settings
from factible_assets.web import models
from resources.lines import shown
from resources.statements import statements
from warehouse.connection import FileConnector
from warehouse.errors import WarehouseError, WarehouseTooOldError
from warehouse.store import Warehouse

_LOG = logging.getLogger("factible.serve")
_PATIENCE_SECONDS = 10.0
_KEPT_VIDEOS = 16
_SQL = statements("factible_assets.web", "results.sql")


class _OutdatedError(WarehouseError):
    """The copy was published by an older version of factible-assets."""


class _PublishedFile(FileConnector):
    def connect(self, *, read_only: bool = False) -> Any:
        if not read_only:  # which only an outdated copy asks for
            raise _OutdatedError("The copy was published by another version of factible-assets.")
        return super().connect(read_only=True)


class PublishedResults:
    """Answers about checked videos. Every method blocks for some ten to hundred milliseconds.

    Every method raises HTTPException: of a video that was not checked (404), and where the copy
    cannot be read (503).
    """

    def __init__(self, settings: Settings) -> None:
        self._live = settings.warehouse
        self._copy = settings.published
        if not self._live.is_shared:
            self._copy = _PublishedFile(self._copy.path, lock_timeout_seconds=_PATIENCE_SECONDS)
        # Connections of one process take turns. Who waits here, waits without a limit: a hundred
        # readers at once are answered one after the other, and not refused.
        self._line = threading.RLock()
        self._kept: OrderedDict[tuple[str, object], ReportData] = OrderedDict()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was published yet, because no video was checked."""
        return not self._copy.exists()

    def behind_since(self) -> datetime | None:
        """Return when the copy was made if the warehouse was written to later, as runs do.

        Their rows come with the copy that each makes when it ends.
        """
        if self._live.is_shared:
            return None
        try:
            made, written = (each.path.stat().st_mtime for each in (self._copy, self._live))
        except OSError:
            return None
        return datetime.fromtimestamp(made, UTC) if written > made else None

    def videos(self, *, limit: int, offset: int) -> models.VideoPage:
        """List the videos; a data folder without a published copy has none."""
        items, total = [], 0
        if self._copy.exists():
            with self.opened() as now:
                total = now.rows(_SQL["total"])[0]["videos"]
                rows = now.rows(_SQL["summaries"], {"limit": limit, "offset": offset})
            items = [models.VideoSummary(**row) for row in rows]
        return models.VideoPage(items=items, total=total, limit=limit, offset=offset)

    def history(self, video_id: str, *, limit: int, offset: int) -> models.VideoHistory:
        """Return the checks of a video and what changed between them."""
        part = {"limit": limit, "offset": offset}
        with self.opened(video_id) as now:
            (totals,) = now.rows(_SQL["totals"], {"video_id": video_id})
            if not totals.pop("videos"):
                raise _unknown(video_id)
            checks = now.rows(_SQL["checks"], {"video_id": video_id, **part})
            changes = now.rows(_SQL["changes"], {"video_id": video_id, **part})
        return models.VideoHistory(
            video_id=video_id,
            **totals,
            **part,
            checks=[models.Check(**row) for row in checks],
            changes=[VerdictChange(**row) for row in changes],
        )

    def data(self, video_id: str) -> ReportData:
        """Return the rows of a video."""
        with self._line:
            newest = self._copy.state() if self._copy.exists() else None
            if kept := self._kept.get((video_id, newest)):
                return kept
            with self.opened(video_id) as now:
                data = read_report_data(now, video_id)
            if data is None:
                raise _unknown(video_id)
            self._kept[video_id, newest] = data
            if len(self._kept) > _KEPT_VIDEOS:
                self._kept.popitem(last=False)
        return data

    @contextmanager
    def opened(self, video_id: str | None = None) -> Iterator[Warehouse]:
        """Open the copy: what is asked of it is answered from one moment."""
        if self.is_empty:
            if video_id is not None:
                raise _unknown(video_id)
            raise HTTPException(404, "No video has been checked yet. Start with one.")
        copy = Warehouse(self._copy)
        try:
            with self._line, ExitStack() as stack:
                try:
                    now = stack.enter_context(copy.snapshot())
                except (_OutdatedError, WarehouseTooOldError):
                    if not self._live.exists():
                        raise
                    # An upgrade hides nothing of what was found before it.
                    Warehouse(self._live).publish(self._copy)
                    now = stack.enter_context(copy.snapshot())
                yield now
        except WarehouseError as error:
            _LOG.error("The published copy of the warehouse cannot be read: %s", error)
            raise HTTPException(
                503,
                "The published copy of the warehouse cannot be read now; check a video again, "
                "which publishes a new one, or ask the operator to look at it.",
            ) from error


_OF_SOURCE = models.Source.model_fields.keys() - {"url"}
_OF_VIDEO = {"video_id", "title", "url", "channel", "duration_seconds", "published_on"}
"""What the answers say in the records' own words."""


def result_of(data: ReportData) -> models.VideoResult:
    """Arrange the rows of a video for a client."""
    verdict_of, rulings, links = data.verdict_of, data.rulings, source_links(data, data.evidence)
    sources: dict[str, list[models.Source]] = {}
    for evidence in data.evidence:
        link = links[evidence.evidence_id] or evidence.canonical_url
        source = models.Source(url=link, **evidence.model_dump(include=_OF_SOURCE))
        sources.setdefault(evidence.claim_id, []).append(source)
    return models.VideoResult(
        **data.video.model_dump(include=_OF_VIDEO),
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
                evidence=sources.get(claim.claim_id, []),
            )
            for claim in data.in_time
        ],
        model_calls=len(data.llm_calls),
        cost_usd=data.cost_usd,
        report=f"/reports/{quote(data.video.video_id, safe='')}",
    )


def _unknown(video_id: str) -> HTTPException:
    return HTTPException(
        404,
        f"The video {shown(video_id)} has not been checked. Check it first: with its link, on the "
        "desk (/desk) or by POST /api/v1/fact-check/stream.",
    )
