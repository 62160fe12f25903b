"""Fetches the pages of a run, and turns readings of them into rows of evidence.

The search snippet replaces a page that cannot be read (`via = snippet`). Unless the site says that
the page is gone, the page is due (`page_due`): it counts as missing, because it may say anything.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import partial

from factible_assets.records import tables as records
from factible_assets.stages.ids import content_hash, evidence_id, page_id
from factible_assets.stages.ports import EvidenceDraft, Fetcher, PageExcerpt, clamped
from factible_assets.stages.quotes import check_words
from factible_assets.stages.reliability import is_page_reason
from factible_assets.stages.search import FoundPage, is_answer
from factible_assets.stages.transcript import storable
from factible_assets.stages.urls import domain_of, published_at
from resources.pages.base import FetchedPage
from resources.promises import Promise, enforce, is_notice
from resources.single_flight import SingleFlight
from resources.words import UNSPACED

MIXED_UP = "The model mixed up the pages of this call, so each was read again, alone."
"""The reason in the record of a call about several pages whose readings were not usable."""
_MIN_SNIPPET_WORDS = 5
_ANSWERED = (
    "A machine's answer, composed from the pages that it names: no page of its own, and no second "
    "opinion on them."
)


# --- Pages --------------------------------------------------------------------------------------


def store_page(hit: records.SearchHit, fetched: FetchedPage) -> tuple[records.Page, str]:
    """Return the row of a fetched page and its text, at most PAGE_CHARACTERS of it.

    A page that breaks the promise of its search hit counts as an outage.
    """
    fetched = enforce(promise_of(hit), fetched)
    is_ok = fetched.outcome == "ok"
    text = storable(fetched.text[:PAGE_CHARACTERS]) if is_ok else ""
    has_text, is_absent = bool(text.strip()), fetched.outcome == "absent"
    unread = "The page has no text." if is_ok else "The page could not be had."
    digest = content_hash(text) if has_text else None
    derived = {
        "page_id": page_id(hit.canonical_url, digest),
        "video_id": hit.video_id,
        "canonical_url": hit.canonical_url,
        "domain": domain_of(final_address(hit, fetched.final_url)),
        "status": "ok" if has_text else "no_evidence" if is_absent else "infra_error",
        "reason": fetched.reason if has_text else fetched.reason or unread,
        "content_hash": digest,
    }
    names = {field.name for field in fields(fetched)} & records.Page.model_fields.keys()
    page = records.Page.model_validate({name: getattr(fetched, name) for name in names} | derived)
    return page, text if has_text else ""


def promise_of(hit: records.SearchHit) -> Promise:
    """Return the title and snippet that the search promised; an address is no title."""
    return Promise("" if hit.title == hit.url else hit.title, hit.snippet)


def final_address(hit: records.SearchHit, final_url: str | None) -> str:
    """Return the address that answers for a page: the one after all redirects."""
    return published_at(final_url if final_url and domain_of(final_url) else hit.url)


def redirect_note(hit: records.SearchHit, page: records.Page) -> str | None:
    """Return a sentence if a hit led to another registrable domain, else None."""
    domain = domain_of(published_at(hit.url))
    if page.domain == domain:
        return None
    return f"It was found at {domain} and leads to {page.domain}, whose rating it has."


def is_later(published_on: date | None, video: records.Video) -> bool:
    """Whether a source appeared after the video, so that the speaker could not know it."""
    said_on = video.published_on
    return published_on is not None and said_on is not None and published_on > said_on


PAGES_AT_ONCE = 64
"""Most of them wait for their server; each takes some 5 MB meanwhile."""

PAGE_CHARACTERS = 1_000_000
"""Five books of 30,000 words; PDFs are read to the same length."""


@dataclass(kw_only=True)
class PageLibrary:
    """The pages of one run. It fetches each URL once, at most PAGES_AT_ONCE at the same time.

    `texts` receives the texts by content hash. The answer of an answer engine came with the search
    and needs no fetch. If a site gives one text at two addresses for which the search promised
    different pages, only the first keeps it.
    """

    fetcher: Fetcher
    texts: dict[str, str]

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(PAGES_AT_ONCE)
        self._pages: dict[str, records.Page] = {}
        self._first_hits: dict[tuple[str, str], records.SearchHit] = {}
        """The first hit for each domain and text; digits in the text do not count."""
        self._once: SingleFlight[records.Page] = SingleFlight()

    async def get(self, hit: records.SearchHit) -> records.Page:
        """Return the page of a hit; the first hit with its canonical URL decides the address."""
        return await self._once.get(hit.canonical_url, partial(self._fetch, hit))

    def pages(self) -> tuple[records.Page, ...]:
        """Return the rows of all pages that answered, by URL."""
        return tuple(self._pages[url] for url in sorted(self._pages))

    async def _fetch(self, hit: records.SearchHit) -> records.Page:
        if is_answer(hit):
            text, now = hit.snippet, datetime.now(UTC)
            fetched = FetchedPage(hit.url, "ok", now, hit.url, via="snippet", text=text)
        else:
            async with self._slots:
                fetched = await self.fetcher.fetch(hit.url, promise=promise_of(hit))
            fetched = await asyncio.to_thread(self._unless_repeated, hit, fetched)
        page, text = await asyncio.to_thread(store_page, hit, fetched)
        if page.content_hash is not None:
            self.texts[page.content_hash] = text
        self._pages[hit.canonical_url] = page
        return page

    def _unless_repeated(self, hit: records.SearchHit, fetched: FetchedPage) -> FetchedPage:
        if fetched.outcome != "ok":
            return fetched
        text = content_hash(re.sub(r"\d+", "", fetched.text))
        domain = domain_of(final_address(hit, fetched.final_url))
        first = self._first_hits.setdefault((domain, text), hit)
        if first is hit or not is_notice(promise_of(hit), fetched, promise_of(first)):
            return fetched
        reason = f"another page came: the site gives the same text at {first.canonical_url}"
        return replace(fetched, outcome="outage", reason=reason)


# --- Rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A fetched source of a claim, and the answer of the reader.

    `excerpt` is the text that was read; None: it was not read, for a `reason`. `draft` is the
    answer of the reader (`basis`); None: the text does not speak of the claim. `reused` is the row
    of another check that the claim takes over.
    """

    page: records.Page
    status: records.Status = "ok"
    reason: str | None = None
    basis: records.Basis | None = None
    excerpt: PageExcerpt | None = None
    draft: EvidenceDraft | None = None
    reused: records.Evidence | None = None


def excerpt_of(
    hit: records.SearchHit, page: records.Page, texts: Mapping[str, str]
) -> PageExcerpt | None:
    """Return the text to read for a claim: the page's, else its snippet; None without either.

    A snippet does not count if its hit led to another domain: nobody knows which site said it.
    """
    text = texts.get(page.content_hash or "")
    # In scripts without spaces, two characters are about a word.
    words = len(hit.snippet.split()) + len(UNSPACED.findall(hit.snippet)) // 2
    has_snippet = words >= _MIN_SNIPPET_WORDS
    if page.status != "ok" and has_snippet and redirect_note(hit, page) is None:
        text = hit.snippet
    if text is None:
        return None
    return PageExcerpt(
        canonical_url=hit.canonical_url,
        title=page.title or hit.title,
        snippet=hit.snippet,
        text=text,
        published_on=page.published_on or hit.published_on,
    )


def source_row(claim: records.Claim, source: FoundPage, reading: ReadSource) -> records.Evidence:
    """Return the evidence of a fetched source, with the rating in `source`."""
    page, excerpt, draft = reading.page, reading.excerpt, reading.draft
    if reading.reused is not None:
        return reading.reused.model_copy(update=_rating_columns(source.rating))
    if excerpt is None:
        return _row(
            claim, source, page, [reading.reason], status=reading.status, basis=reading.basis
        )
    is_due = page.status == "infra_error"
    columns: dict[str, object] = {
        "basis": reading.basis,
        "content_hash": page.content_hash or content_hash(excerpt.text),
        "via": page.via if page.status == "ok" else "snippet",
        "published_on": excerpt.published_on,
    }
    remarks: list[str | None] = [*filter(is_page_reason, source.rating.reasons)]
    if is_answer(source.hit):
        remarks.insert(0, _ANSWERED)
    elif columns["via"] == "snippet":
        gap, why = "could not be read" if is_due else "is missing", (page.reason or "").rstrip(".")
        remarks.insert(0, f"Only its search snippet was read, as the page {gap}: {why}.")
    if draft is None:
        # A silent snippet does not make up for a page in outage.
        columns["status"] = "infra_error" if is_due else "no_evidence"
        return _row(claim, source, page, ["It does not speak of the claim.", *remarks], **columns)
    quoted = check_words(draft, excerpt.text)
    columns |= {"status": "ok", "relevance": clamped(draft.relevance), "page_due": is_due} | quoted
    return _row(claim, source, page, [quoted["reason"], *remarks], **columns)


def unread_row(claim: records.Claim, source: FoundPage, reason: str | None) -> records.Evidence:
    """Return the row of a source that was not fetched, for a reason."""
    return _row(claim, source, None, [reason], status="skipped")


def _row(
    claim: records.Claim,
    source: FoundPage,
    page: records.Page | None,
    remarks: Sequence[str | None],
    **columns: object,
) -> records.Evidence:
    hit = source.hit
    reason, *others = remarks
    reasons = filter(None, (reason, redirect_note(hit, page) if page else None, *others))
    common = {
        "evidence_id": evidence_id(claim.claim_id, hit.canonical_url),
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "hit_id": hit.hit_id,
        "query_id": hit.query_id,
        "canonical_url": hit.canonical_url,
        "domain": page.domain if page else hit.domain,
        "title": (page.title if page else None) or hit.title,
        "page_id": page.page_id if page else None,
        "published_on": hit.published_on,
        **_rating_columns(source.rating),
        **columns,
        "reason": " ".join(sentence.rstrip(".") + "." for sentence in reasons) or None,
    }
    return records.Evidence.model_validate(common)


def _rating_columns(rating: records.ReliabilityRating) -> dict[str, object]:
    return {
        "rating": rating.rating,
        "rating_score": rating.score,
        "bias": rating.bias,
        "source_class": rating.source_class,
    }
