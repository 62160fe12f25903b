"""From fetched pages to evidence on a claim: the pages of a run, their texts, and the rows.

A page that cannot be read is replaced by its search snippet (`via = snippet`), which is then the
stored text. Unless the site says that the page is gone, the page is due (`page_due`): it counts as
missing, because a wall, a login or a file of another type hides a page that may say anything. A
page that has next to none of the words that the search promised is due as well.
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
from resources.promises import Promise, held_to, is_repeated
from resources.single_flight import SingleFlight

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
    fetched = held_to(promise_of(hit), fetched)
    text = storable(fetched.text[:PAGE_CHARACTERS]) if fetched.outcome == "ok" else ""
    readable = bool(text.strip())
    is_absent = fetched.outcome == "absent"
    unread = "The page has no text." if fetched.outcome == "ok" else "The page could not be had."
    digest = content_hash(text) if readable else None
    own = {
        "page_id": page_id(hit.canonical_url, digest),
        "video_id": hit.video_id,
        "canonical_url": hit.canonical_url,
        "domain": domain_of(final_address(hit, fetched.final_url)),
        "status": "ok" if readable else "no_evidence" if is_absent else "infra_error",
        "reason": fetched.reason if readable else fetched.reason or unread,
        "content_hash": digest,
    }
    alike = (each.name for each in fields(fetched) if each.name in records.Page.model_fields)
    page = records.Page.model_validate({each: getattr(fetched, each) for each in alike} | own)
    return page, text if readable else ""


def promise_of(hit: records.SearchHit) -> Promise:
    """Return the title and snippet that the search promised; an address is no title."""
    return Promise("" if hit.title == hit.url else hit.title, hit.snippet)


def final_address(hit: records.SearchHit, final_url: str | None) -> str:
    """Return the address that answers for a page: the one after all redirects."""
    return published_at(final_url if final_url and domain_of(final_url) else hit.url)


def redirect_note(hit: records.SearchHit, page: records.Page) -> str | None:
    """Return a sentence if a hit led to another registrable domain, else None."""
    found = domain_of(published_at(hit.url))
    if page.domain == found:
        return None
    return f"It was found at {found} and leads to {page.domain}, whose rating it has."


def is_later(published_on: date | None, video: records.Video) -> bool:
    """Whether a source appeared after the video, so that the speaker could not know it."""
    said_on = video.published_on
    return published_on is not None and said_on is not None and published_on > said_on


PAGES_AT_ONCE = 64
"""Most pages wait for their server; each costs some 5 MB meanwhile."""

PAGE_CHARACTERS = 1_000_000
"""Five books of 30,000 words; PDFs are read to the same length."""


@dataclass(kw_only=True)
class PageLibrary:
    """The pages of one run. It fetches each URL once, at most `concurrency` at the same time.

    `texts` receives the texts by content hash. The answer of an answer engine came with the search
    and needs no fetch. If a site gives one text at two addresses for which the search promised
    different pages, only the first keeps it.
    """

    fetcher: Fetcher
    texts: dict[str, str]
    concurrency: int = PAGES_AT_ONCE

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)
        self._pages: dict[str, records.Page] = {}
        self._given: dict[tuple[str, str], records.SearchHit] = {}
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
        place = domain_of(final_address(hit, fetched.final_url)), text
        first = self._given.setdefault(place, hit)
        if first is hit or not is_repeated(promise_of(hit), fetched, promise_of(first)):
            return fetched
        reason = f"another page came: the site gives the same text at {first.canonical_url}"
        return replace(fetched, outcome="outage", reason=reason)


# --- Rows ---------------------------------------------------------------------------------------


def excerpt_of(
    candidate: FoundPage, page: records.Page, texts: Mapping[str, str]
) -> PageExcerpt | None:
    """Return the text to read for a claim: the page's, else its snippet; None without either.

    A snippet does not speak if its hit led to another domain: nobody knows which site said it.
    """
    hit = candidate.hit
    text = texts.get(page.content_hash or "")
    is_speaking = (
        len(hit.snippet.split()) >= _MIN_SNIPPET_WORDS and redirect_note(hit, page) is None
    )
    if page.status != "ok" and is_speaking:
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


def read_row(
    claim: records.Claim,
    candidate: FoundPage,
    page: records.Page,
    read: PageExcerpt,
    draft: EvidenceDraft | None,
    *,
    basis: records.Basis,
) -> records.Evidence:
    """Return the evidence of a source that a reasoner read; without a draft it says nothing."""
    via: records.RetrievedVia | None = page.via if page.status == "ok" else "snippet"
    is_due = page.status == "infra_error"
    remark = ""
    if via == "snippet":
        gap = "could not be read" if is_due else "is missing"
        why = (page.reason or "").rstrip(".")
        remark = f"Only its search snippet was read, as the page {gap}: {why}."
    if is_answer(candidate.hit):
        remark = _ANSWERED
    row = partial(
        evidence_row,
        claim,
        candidate,
        page,
        basis=basis,
        remarks=(remark, *(each for each in candidate.rating.reasons if is_page_reason(each))),
        content_hash=page.content_hash or content_hash(read.text),
        via=via,
        published_on=read.published_on,
    )
    if draft is None:
        # A silent snippet does not make up for a page in outage.
        status: records.Status = "infra_error" if is_due else "no_evidence"
        return row(status=status, reason="It does not speak of the claim.")
    relevance = clamped(draft.relevance)
    return row(status="ok", relevance=relevance, page_due=is_due, **check_words(draft, read.text))


def evidence_row(
    claim: records.Claim,
    candidate: FoundPage,
    page: records.Page | None = None,
    *,
    status: records.Status,
    reason: str | None,
    remarks: Sequence[str | None] = (),
    **columns: object,
) -> records.Evidence:
    """Return the row of a source; `reason` says why nobody read it."""
    hit = candidate.hit
    told = (reason, redirect_note(hit, page) if page else None, *remarks)
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
        **rating_columns(candidate.rating),
        "status": status,
        "reason": " ".join(each.rstrip(".") + "." for each in told if each) or None,
    }
    return records.Evidence.model_validate(common | columns)


def rating_columns(rating: records.ReliabilityRating) -> dict[str, object]:
    """Return the columns of evidence that come from the rating of its source."""
    return {
        "rating": rating.rating,
        "rating_score": rating.score,
        "bias": rating.bias,
        "source_class": rating.source_class,
    }
