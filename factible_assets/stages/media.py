"""Examines the pictures of a video (AgentFact, section IV-B3).

The findings come from a reverse search, error level analysis, common words and dates, and a
deepfake detector.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import get_args

import resources.images.base as images
from factible_assets.records.tables import Claim, MatchKind, MediaFinding, Video
from factible_assets.stages.ids import finding_id
from factible_assets.stages.ports import Fetcher
from factible_assets.stages.prior_fact_checks import content_words
from factible_assets.stages.search import is_the_video
from factible_assets.stages.transcript import storable
from resources.pages.base import FetchedPage

MOST_FRAMES = 4
"""Frames of a local video, evenly spread: enough for each of a few scenes."""
MOST_PAGES = 5
"""Pages with the picture to read for their dates and words."""
_STRONG_ERROR_LEVEL = 0.1


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a video; `load` returns its bytes or raises NoPictureError."""

    name: str
    load: Callable[[], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class MediaServices:
    """The services for pictures; None: not configured. `inspect` analyses the bytes offline."""

    inspect: Callable[[bytes], images.ImageFacts]
    fetcher: Fetcher
    reverse: images.ImageService | None = None
    deepfakes: images.ImageService | None = None


def frame_moments(duration_seconds: float) -> tuple[float, ...]:
    """Return the middles, in seconds, of MOST_FRAMES equal parts of the video."""
    part = duration_seconds / MOST_FRAMES
    return tuple(round((number + 0.5) * part, 3) for number in range(MOST_FRAMES))


async def examine(
    video: Video, pictures: Sequence[Picture], claims: Sequence[Claim], services: MediaServices
) -> tuple[MediaFinding, ...]:
    """Examine each picture; the failure of a service is a row, not an exception."""
    tasks = [_examine(video, picture, claims, services) for picture in pictures]
    return tuple(row for rows in await asyncio.gather(*tasks) for row in rows)


@dataclass(slots=True)
class _Rows:
    """The rows of one picture, numbered within their kind."""

    video: Video
    picture: str
    content_hash: str | None = None
    made: list[MediaFinding] = field(default_factory=list)

    def add(self, kind: str, **columns: object) -> None:
        rank = 1 + sum(row.kind == kind for row in self.made)
        defaults = {
            "finding_id": finding_id(self.video.video_id, self.picture, kind, rank),
            "video_id": self.video.video_id,
            "picture": self.picture,
            "content_hash": self.content_hash,
            "kind": kind,
            "rank": rank,
            "provider": "local",
            "status": "ok",
        }
        self.made.append(MediaFinding.model_validate(defaults | columns))


async def _examine(
    video: Video, picture: Picture, claims: Sequence[Claim], services: MediaServices
) -> list[MediaFinding]:
    rows = _Rows(video, picture.name)
    try:
        data = await picture.load()
        rows.content_hash = hashlib.sha256(data).hexdigest()
        facts = await asyncio.to_thread(services.inspect, data)
    except images.NoPictureError as error:
        status = "infra_error" if error.is_outage else "skipped"
        rows.add("metadata", status=status, reason=str(error))
        return rows.made
    phrases = (
        f"{facts.width} by {facts.height} pixels",
        facts.taken_at and f"taken on {facts.taken_at:%Y-%m-%d}",
        facts.camera and f"by {facts.camera}",
        facts.software and f"written by {facts.software}",
    )
    rows.add("metadata", reason=storable(f"{', '.join(phrase for phrase in phrases if phrase)}."))
    if facts.error_level is not None:
        words = "The picture is compressed evenly."
        if facts.error_level > _STRONG_ERROR_LEVEL:
            words = (
                "Parts of the picture were compressed otherwise than the rest, as after an edit; "
                "captions drawn over it look the same."
            )
        rows.add("error_level", score=facts.error_level, reason=words)

    async def ask(service: images.ImageService | None) -> images.ImageAnswer | None:
        return None if service is None else await service.ask(data)

    reverse, deepfakes = await asyncio.gather(ask(services.reverse), ask(services.deepfakes))
    await _add_matches(rows, reverse, claims, services.fetcher)
    if deepfakes is None:
        reason = "No detector is set up (SIGHTENGINE_API_KEY)."
        rows.add("deepfake", status="skipped", reason=reason)
    else:
        rows.add(
            kind="deepfake",
            provider=deepfakes.provider,
            status="ok" if deepfakes.outcome == "ok" else "infra_error",
            score=deepfakes.score,
            reason=deepfakes.reason,
            latency_seconds=deepfakes.latency_seconds,
        )
    return rows.made


async def _add_matches(
    rows: _Rows, answer: images.ImageAnswer | None, claims: Sequence[Claim], fetcher: Fetcher
) -> None:
    """Add a row for each match elsewhere, the earliest page of each kind first."""
    if answer is None:
        reason = "No reverse search is set up (GOOGLE_VISION_API_KEY)."
        rows.add("match", status="skipped", reason=reason)
        return
    service = {"provider": answer.provider, "latency_seconds": answer.latency_seconds}
    if answer.outcome == "outage":
        rows.add("match", status="infra_error", reason=answer.reason, **service)
        return
    matches = [
        match for match in answer.matches if not is_the_video(rows.video, match.page_url or "")
    ]
    if not matches:
        rows.add("match", status="no_evidence", reason="It was found nowhere else.", **service)
        return
    urls = [match.page_url for match in matches if match.page_url and match.kind != "similar"]
    fetched = await asyncio.gather(*map(fetcher.fetch, urls[:MOST_PAGES]))
    pages = {page.url: page for page in fetched if page.outcome == "ok"}

    def order(match: images.ImageMatch) -> tuple[int, date, str]:
        day = _day(match, pages) or date.max
        return get_args(MatchKind).index(match.kind), day, match.page_url or ""

    matches.sort(key=order)
    failures = {page.url: page.reason for page in fetched if page.outcome != "ok"}
    for match in matches:
        failure = failures.get(match.page_url or "")
        rows.add(
            "match",
            match_class=match.kind,
            reason=failure and f"The page could not be read for its date: {failure}",
            url=storable(match.page_url or match.image_url or ""),
            title=storable(match.page_title) if match.page_title else None,
            published_on=_day(match, pages),
            **service,
        )
    _add_miscaptions(rows, matches, pages, claims)


def _day(match: images.ImageMatch, pages: dict[str, FetchedPage]) -> date | None:
    page = pages.get(match.page_url or "")
    return page.published_on if page else None


def _add_miscaptions(
    rows: _Rows,
    matches: Sequence[images.ImageMatch],
    pages: dict[str, FetchedPage],
    claims: Sequence[Claim],
) -> None:
    """Compare each claim with the earliest page that showed the same picture before the video.

    The score is the share of the claim's content words that this page lacks.
    """
    said_on, same = rows.video.published_on, [match for match in matches if match.kind != "similar"]
    dated = [(day, match) for match in same if (day := _day(match, pages)) is not None]
    day, earliest = min(dated, key=lambda pair: pair[0], default=(date.max, None))
    if said_on is None or earliest is None or day >= said_on:
        return
    page = pages[earliest.page_url or ""]
    context = content_words(f"{page.title or earliest.page_title or ''} {page.text}")
    for claim in claims:
        words = content_words(claim.text)
        missing = len(words - context) / len(words) if words else 0.0
        rows.add(
            "miscaption",
            claim_id=claim.claim_id,
            url=storable(page.url),
            title=storable(page.title) if page.title else None,
            published_on=day,
            score=missing,
            reason=f"The picture was on this page {(said_on - day).days} days before the video.",
        )
