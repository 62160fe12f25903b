"""What the published copy of the warehouse knows of videos.

What belongs here: reading it for the service's answers, and saying that there is nothing. What does
not: the shapes of answers (models.py), the live warehouse, which a running check may hold.

An answer is made from one connection: a copy that is swapped in meanwhile is seen whole or not.
"""

from __future__ import annotations

import html
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from factible_assets.http_service.models import (
    Change,
    Check,
    CheckedClaim,
    Source,
    VideoHistory,
    VideoPage,
    VideoResult,
    VideoSummary,
)
from factible_assets.http_service.problems import NotFoundError, UnavailableError
from factible_assets.report.links import source_links
from factible_assets.report.reader import read_report_data
from factible_assets.report.render import render_report
from warehouse.connection import FileConnector
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from contextlib import _GeneratorContextManager

    from duckdb import DuckDBPyConnection

    from factible_assets.records import Evidence
    from factible_assets.report.data import ReportData
    from factible_assets.settings import Settings

_PATIENCE_SECONDS = 10.0
_KEPT_VIDEOS = 16
_SHOWN_CHARACTERS = 80
_STRICTEST_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_POLICY = re.compile(
    r'<meta\s+http-equiv="Content-Security-Policy"\s+content="([^"]+)"', re.IGNORECASE
)

_SUMMARIES = """
    SELECT
        videos.video_id,
        videos.title,
        videos.channel,
        count(claims.claim_id) AS claims,
        count(*) FILTER (verdicts.stance = 'supports') AS supports,
        count(*) FILTER (verdicts.stance = 'refutes') AS refutes,
        count(*) FILTER (verdicts.stance = 'mixed') AS mixed,
        count(*) FILTER (verdicts.stance = 'unclear') AS unclear,
        count(*) FILTER (verdicts.status = 'incomplete') AS incomplete,
        any_value(verdicts.basis) AS basis,
        max(verdicts.checked_at) AS checked_at
    FROM current_videos AS videos
    LEFT JOIN current_claims AS claims ON claims.video_id = videos.video_id
    LEFT JOIN current_verdicts AS verdicts
        ON verdicts.video_id = claims.video_id AND verdicts.claim_id = claims.claim_id
    GROUP BY ALL
    ORDER BY checked_at DESC NULLS LAST, videos.video_id
    LIMIT $limit OFFSET $offset
"""

_CHECKS = """
    SELECT
        run_id,
        max(checked_at) AS checked_at,
        count(*) AS verdicts,
        count(*) FILTER (status = 'incomplete') AS incomplete
    FROM verdicts
    WHERE video_id = $video_id
    GROUP BY run_id
    ORDER BY checked_at DESC, run_id DESC
    LIMIT $limit OFFSET $offset
"""

_CHANGES = """
    SELECT
        claim_id, claim, previous_stance, stance, previous_confidence, confidence,
        previous_checked_at, checked_at, previous_run_id, run_id
    FROM verdict_changes
    WHERE video_id = $video_id
    ORDER BY checked_at DESC, claim_id
    LIMIT $limit OFFSET $offset
"""

_COUNTS = """
    SELECT
        (SELECT count(DISTINCT run_id) FROM verdicts WHERE video_id = $video_id),
        (SELECT count(*) FROM verdict_changes WHERE video_id = $video_id)
"""


class _PublishedFile(FileConnector):
    def connect(self, *, read_only: bool = False) -> _GeneratorContextManager[DuckDBPyConnection]:
        if not read_only:  # which only an outdated copy asks for
            raise WarehouseError("The copy was published by another version of factible-assets.")
        return super().connect(read_only=True)


class PublishedResults:
    """Answers about checked videos. Every method blocks for some ten to hundred milliseconds.

    Every method raises UnavailableError where the copy cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._path = settings.published
        # Connections of one process take turns. Who waits here, waits without a limit: a hundred
        # readers at once are answered one after the other, and not refused.
        self._line = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], ReportData] = OrderedDict()

    def videos(self, *, limit: int, offset: int) -> VideoPage:
        """List the videos; a data folder without a published copy has none."""
        if not self._path.exists():
            return VideoPage(items=[], total=0, limit=limit, offset=offset)
        with self._line, self._opened() as (_, ask):
            ((total,),) = ask("SELECT count(*) FROM current_videos", {})
            rows = ask(_SUMMARIES, {"limit": limit, "offset": offset})
        items = [
            VideoSummary(
                video_id=row[0],
                title=row[1],
                channel=row[2],
                claims=row[3],
                supports=row[4],
                refutes=row[5],
                mixed=row[6],
                unclear=row[7],
                incomplete=row[8],
                basis=row[9],
                checked_at=_utc(row[10]),
            )
            for row in rows
        ]
        return VideoPage(items=items, total=total, limit=limit, offset=offset)

    def video(self, video_id: str) -> VideoResult:
        """Return what is known of a video.

        Raises:
            NotFoundError: Nothing is.
        """
        return result_of(self._data(video_id))

    def report(self, video_id: str) -> tuple[str, str]:
        """Return the HTML report of a video and the content policy that it is to be shown under.

        Raises:
            NotFoundError: The video was not checked.
        """
        page = render_report(self._data(video_id))
        found = _POLICY.search(page)
        policy = html.unescape(found[1]) if found else _STRICTEST_POLICY
        return page, f"{policy}; frame-ancestors 'none'"

    def history(self, video_id: str, *, limit: int, offset: int) -> VideoHistory:
        """Return the checks of a video and what changed between them.

        Raises:
            NotFoundError: The video was not checked.
        """
        self._require_copy(video_id)
        which = {"video_id": video_id}
        part = {**which, "limit": limit, "offset": offset}
        with self._line, self._opened() as (_, ask):
            ((checks, changes),) = ask(_COUNTS, which)
            if not checks:
                raise _unknown(video_id)
            return VideoHistory(
                video_id=video_id,
                total_checks=checks,
                total_changes=changes,
                limit=limit,
                offset=offset,
                checks=[_check(row) for row in ask(_CHECKS, part)],
                changes=[_change(row) for row in ask(_CHANGES, part)],
            )

    def _data(self, video_id: str) -> ReportData:
        self._require_copy(video_id)
        with self._line:
            # A new copy is another file.
            found = self._path.stat()
            key = video_id, found.st_ino, found.st_mtime_ns
            data = self._kept.get(key)
            if data is None:
                with self._opened() as (warehouse, _):
                    data = read_report_data(warehouse, video_id)
                if data is None:
                    raise _unknown(video_id)
                self._kept[key] = data
                if len(self._kept) > _KEPT_VIDEOS:
                    self._kept.popitem(last=False)
        return data

    def _require_copy(self, video_id: str) -> None:
        if not self._path.exists():
            raise _unknown(video_id)

    @contextmanager
    def _opened(
        self,
    ) -> Iterator[tuple[Warehouse, Callable[[str, dict[str, Any]], list[Any]]]]:
        copy = Warehouse(_PublishedFile(self._path, lock_timeout_seconds=_PATIENCE_SECONDS))
        try:
            with copy.snapshot() as now, now.connection(read_only=True) as connection:

                def ask(sql: str, values: dict[str, Any]) -> list[Any]:
                    return connection.execute(sql, values).fetchall()

                yield now, ask
        except WarehouseError as error:
            raise UnavailableError(
                "The published copy of the warehouse cannot be read now; check a video again, "
                "which publishes a new one, or ask the operator to look at it."
            ) from error


def result_of(data: ReportData) -> VideoResult:
    """Arrange the rows of a video for a client."""
    verdicts = {verdict.claim_id: verdict for verdict in data.verdicts}
    links = source_links(data)
    sources: dict[str, list[Source]] = {}
    for evidence in data.evidence:
        link = links[evidence.evidence_id] or evidence.canonical_url
        sources.setdefault(evidence.claim_id, []).append(_source(evidence, link))
    claims = sorted(
        data.claims,
        key=lambda each: (each.start_seconds is None, each.start_seconds or 0.0, each.rank),
    )
    checked = [
        CheckedClaim(
            **claim.model_dump(),
            verdict=verdicts.get(claim.claim_id),
            evidence=sources.get(claim.claim_id, []),
        )
        for claim in claims
    ]
    complete = {verdict.claim_id for verdict in data.verdicts if verdict.status == "complete"}
    return VideoResult(
        video_id=data.video.video_id,
        title=data.video.title,
        url=data.video.url,
        channel=data.video.channel,
        duration_seconds=data.video.duration_seconds,
        published_on=data.video.published_on,
        run_id=data.run_id,
        checked_at=data.checked_at,
        is_finished=(
            data.checked_at is not None
            and not data.outlived
            and all(claim.claim_id in complete for claim in claims)
        ),
        transcript_length=len(data.transcript.text) if data.transcript else None,
        total_claims=len(checked),
        claims=checked,
        model_calls=len(data.llm_calls),
        cost_usd=sum(call.cost_usd for call in data.llm_calls),
        report=report_path(data.video.video_id),
    )


def report_path(video_id: str) -> str:
    """Return where the service answers with the report of a video."""
    return f"/reports/{quote(video_id, safe='')}"


def _source(evidence: Evidence, link: str) -> Source:
    return Source(
        url=link,
        domain=evidence.domain,
        title=evidence.title,
        status=evidence.status,
        reason=evidence.reason,
        stance=evidence.stance,
        relevance=evidence.relevance,
        quote=evidence.quote,
        summary=evidence.summary,
        rating=evidence.rating,
        published_on=evidence.published_on,
    )


def _check(row: Any) -> Check:
    return Check(
        run_id=row[0], checked_at=row[1].replace(tzinfo=UTC), verdicts=row[2], incomplete=row[3]
    )


def _change(row: Any) -> Change:
    return Change(
        claim_id=row[0],
        claim=row[1],
        previous_stance=row[2],
        stance=row[3],
        previous_confidence=row[4],
        confidence=row[5],
        previous_checked_at=row[6].replace(tzinfo=UTC),
        checked_at=row[7].replace(tzinfo=UTC),
        previous_run_id=row[8],
        run_id=row[9],
    )


def _utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=UTC)


def _unknown(video_id: str) -> NotFoundError:
    shown = video_id if len(video_id) <= _SHOWN_CHARACTERS else f"{video_id[:_SHOWN_CHARACTERS]}…"
    return NotFoundError(
        f"The video {shown!r} has not been checked. Check it first: "
        "POST /api/v1/fact-check/stream with its link or id as video_url."
    )
