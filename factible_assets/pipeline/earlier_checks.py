"""Finds a recent check of the same claim in another video, so that a run can reuse its sources."""

import asyncio
from dataclasses import replace
from typing import Any

from factible_assets.config import FactCheckConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Video
from factible_assets.services.said_before import matches_of, stands_alone
from factible_assets.stages.ports import EarlierCheck, Services
from resources.statements import statements
from warehouse import bookkeeping
from warehouse.store import Warehouse

_SQL = statements("factible_assets.pipeline", "earlier_checks.sql")
_PROVIDERS = {"miniature": "miniature", "annotated": "given", "archive": "archive"}
"""The provider in the rows of a search, by the web; the live web has several."""


def with_earlier_checks(
    services: Services, options: FactCheckConfig, store: Warehouse, video: Video
) -> Services:
    """Let the checks of a video reuse earlier checks, if the run's options allow it."""
    days = options.verdicts.reuse_days
    is_english = (video.language or "en").startswith("en")
    if not days or options.renew or options.only_claims or not is_english:
        return services
    limits = {
        "days": days,
        "published_on": video.published_on,
        "basis": services.reasoner.basis,
        "provider": _PROVIDERS.get(services.web.partition(":")[0]),
    }

    async def find(claim: Claim) -> EarlierCheck | None:
        return await asyncio.to_thread(_earlier_check, store, claim, limits)

    return replace(services, earlier_check=find)


def _earlier_check(store: Warehouse, claim: Claim, limits: dict[str, Any]) -> EarlierCheck | None:
    """Return the newest check within the limits; None if there is none, or if checks disagree."""
    if not stands_alone(claim.text):
        return None
    candidates = bookkeeping.claims_sharing_words(store, [claim.text], without=claim.video_id)
    same = [match.other_claim_id for match in matches_of(candidates) if match.relation == "same"]
    if not same:
        return None
    checks = store.rows(_SQL["fresh_checks"], {"ids": same} | limits)
    if len({row["stance"] for row in checks}) != 1:
        return None
    newest = checks[0]
    judged = store.read_judged(newest["video_id"])
    rows = _of_claim(judged, newest["claim_id"])
    if {row.content_hash for row in rows.evidence} - {None, *judged.texts}:
        return None  # retention removed a text, so no one could check its quotes
    sentence = (
        f"The sources were read in the check of {newest['checked_on']:%Y-%m-%d} of the same claim "
        f"in the video {newest['video_id']}."
    )
    return EarlierCheck(rows, " ".join(filter(None, (sentence, newest["decision"]))))


def _of_claim(rows: VideoRows, claim_id: str) -> VideoRows:
    of_claim: dict[str, Any] = {
        name: tuple(row for row in getattr(rows, name) if row.claim_id == claim_id)
        for name in ("queries", "searches", "hits", "prior_fact_checks", "evidence")
    }
    pages = {row.page_id for row in of_claim["evidence"]}
    hashes = {row.content_hash for row in of_claim["evidence"]}
    return VideoRows(
        **of_claim,
        pages=tuple(row for row in rows.pages if row.page_id in pages),
        page_texts=tuple(row for row in rows.page_texts if row.content_hash in hashes),
    )
