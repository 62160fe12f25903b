"""Stable identifiers: the same thing gets the same id in every run.

An id is a one-letter kind and the first 16 hexadecimal digits of a SHA-256 over its parts. The unit
separator joins the parts, so that no two lists of parts collide.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import UTC, datetime


def normalise_text(text: str) -> str:
    """Return a text without the differences that must not change an id.

    These are Unicode form, case, white space and closing punctuation.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip().rstrip(".!?…").rstrip()


def content_hash(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def claim_id(video_id: str, claim_text: str) -> str:
    return _derive("c", video_id, normalise_text(claim_text))


def query_id(claim: str, query_text: str) -> str:
    return _derive("q", claim, normalise_text(query_text))


def hit_id(query: str, canonical_url: str) -> str:
    return _derive("h", query, canonical_url)


def prior_fact_check_id(claim: str, canonical_url: str | None) -> str:
    """Identify a published review of a claim; the URL is None if the look-up found nothing."""
    return _derive("f", claim, canonical_url or "")


def page_id(canonical_url: str, page_hash: str | None) -> str:
    """Identify a page; the hash is None for a page without text."""
    return _derive("p", canonical_url, page_hash or "")


def evidence_id(claim: str, canonical_url: str) -> str:
    return _derive("e", claim, canonical_url)


def finding_id(video: str, picture: str, kind: str, rank: int) -> str:
    """Identify a finding on a picture; `rank` counts the findings of one kind."""
    return _derive("m", video, picture, kind, str(rank))


def review_action_id(claim: str, reviewer: str, acted_at: datetime, position: int) -> str:
    """Identify a reviewer's act on a claim; `position` counts acts of the same moment."""
    return _derive("a", claim, reviewer, acted_at.astimezone(UTC).isoformat(), str(position))


def judgement_id(*asked: str) -> str:
    """Identify a judgement by its criterion, subject, judge, prompt and question."""
    return _derive("j", *asked)


def _derive(kind: str, *parts: str) -> str:
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}{digest[:16]}"
