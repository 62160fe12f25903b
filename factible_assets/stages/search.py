"""Searches for the queries of a claim, merges the hits, and chooses the pages to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from rapidfuzz import fuzz, utils

from factible_assets.config import SearchConfig
from factible_assets.records import tables as records
from factible_assets.stages import urls
from factible_assets.stages.ids import hit_id
from factible_assets.stages.reliability import RATING_ORDER, RatingBook, as_answered, as_paper
from factible_assets.stages.reviews import NO_CORRECTIONS, Corrections
from factible_assets.stages.transcript import storable
from resources.search.base import ANSWERS, FoundHit, SearchProvider, SearchRequest

SearchRows: TypeAlias = tuple[Sequence[records.Search], Sequence[records.SearchHit]]
"""Searches and their hits."""
UNDATED = "Its date is unknown, and the run leaves out undated pages."
PRIMARY: frozenset[records.SourceClass] = frozenset({"academic", "government"})
"""Sources that measure, decide and publish first; the others mostly report it."""
HEADROOM = 2
"""A request asks for so many times the limit of hits (Factible, section 1.3.4)."""
PUBLISHED = "published_fact_check"
"""The provider of the pages of published fact checks."""
REVIEWER = "reviewer"
"""The provider of the pages that a person added."""
_SAME_TITLE = 90
"""Token-sort similarity (0 to 100) from which two videos have the same title."""
_UNREADABLE = re.compile(
    r"7z|aac|apk|avi|bin|bmp|csv|dmg|docx?|epub|exe|flac|flv|gif|gz|ico|iso|jpe?g|m4[av]|mkv|mobi"
    r"|mov|mp[34]|mpe?g|od[pst]|og[gv]|png|pptx?|rar|rtf|svg|tar|tgz|tiff?|wav|web[mp]|wm[av]|xlsx?"
    r"|zip"
)
"""File types without readable text. PDFs have text."""
_FACT_CHECK = re.compile(
    r"(?<![a-z])fact[-_]?check(?!ed|sum)|faktencheck|faktenfuchs|verificado|desintox", re.IGNORECASE
)
"""Addresses of fact checks on general sites: "fact-check" and "factcheck" (Chen et al. 2023,
arXiv:2305.11859, appendix A.1), and the same in other languages."""


# --- Searching ----------------------------------------------------------------------------------


async def gather_hits(
    query: records.Query, searcher: SearchProvider, book: RatingBook, config: SearchConfig
) -> SearchRows:
    """Ask for a query's first page of results, and for the second if the first is poor.

    It is poor if more than half of the results are rated below the minimum (Factible, section
    1.3.4, adaptive credibility filtering).

    Returns a row for each search, and the hits, merged by canonical URL. `book` rates the domain of
    every hit. An outage is a Search row, not an exception.
    """
    searches, hits = await _ask(query, searcher, config, page=1, earlier={})
    book.rate(hit.url for hit in hits)
    pages = [hit for hit in merge_hits(hits) if not is_answer(hit)]
    poor = sum(not _reaches(book.of(hit.url).rating, config.minimum_rating) for hit in pages)
    if 2 * poor > len(pages):
        counts = {search.provider: search.hit_count for search in searches}
        second, more = await _ask(query, searcher, config, page=2, earlier=counts)
        book.rate(hit.url for hit in more)
        searches, hits = [*searches, *second], [*hits, *more]
    return searches, merge_hits(hits)


async def _ask(
    query: records.Query,
    searcher: SearchProvider,
    config: SearchConfig,
    *,
    page: int,
    earlier: Mapping[str, int],
) -> tuple[list[records.Search], list[records.SearchHit]]:
    """Ask all providers for one page of results; `earlier` counts each provider's earlier hits."""
    request = SearchRequest(
        query.text,
        limit=HEADROOM * config.max_results,
        page=page,
        before=config.published_before,
        after=config.published_after,
        exclude_domains=config.exclude_domains,
        exclude_file_types=("pdf",) if "pdf" in config.exclude_kinds else (),
        language=config.language,
    )
    searches, hits = [], []
    for answer in await searcher.search(request):
        usable = [hit for hit in answer.hits if config.answers or not is_answer(hit)]
        status: records.Status = "ok" if usable else "no_evidence"
        reason = answer.reason
        if answer.outcome == "outage":
            usable, status = [], "infra_error"
            reason = reason or f"{answer.provider} did not say why"
        searches.append(
            _search_row(
                query,
                provider=answer.provider,
                page=page,
                hit_count=len(usable),
                latency_seconds=answer.latency_seconds,
                status=status,
                reason=reason,
            )
        )
        for rank, hit in enumerate(usable, start=1 + earlier.get(answer.provider, 0)):
            hits.append(_hit_row(query, hit, answer.provider, page, rank))
    return searches, hits


def _search_row(query: records.Query, **columns: Any) -> records.Search:
    ids = {"query_id": query.query_id, "claim_id": query.claim_id, "video_id": query.video_id}
    return records.Search(**ids, **columns)


def _hit_row(
    query: records.Query, hit: FoundHit, provider: str, page: int, rank: int
) -> records.SearchHit:
    url = storable(hit.url)
    canonical = identity_of(url)
    return records.SearchHit(
        hit_id=hit_id(query.query_id, canonical),
        query_id=query.query_id,
        claim_id=query.claim_id,
        video_id=query.video_id,
        provider=provider,
        page=page,
        rank=rank,
        title=storable(hit.title),
        url=url,
        canonical_url=canonical,
        domain=urls.domain_of(url),  # Empty if it is no web address; select_hits drops it.
        snippet=storable(hit.snippet),
        published_on=hit.published_on,
        citation_count=hit.citation_count,
        journal=storable(hit.journal) or None,
    )


def merge_hits(hits: Iterable[records.SearchHit]) -> tuple[records.SearchHit, ...]:
    """Merge a query's hits by canonical URL, best rank first, with the names of all providers."""
    merged: dict[str, records.SearchHit] = {}
    for hit in sorted(hits, key=lambda hit: (hit.rank, hit.page)):
        first = merged.setdefault(hit.canonical_url, hit)
        if first is not hit:
            providers = dict.fromkeys([*first.provider.split("+"), *hit.provider.split("+")])
            columns = ("snippet", "published_on", "citation_count", "journal")
            facts = {name: getattr(first, name) or getattr(hit, name) for name in columns}
            changes = {"provider": "+".join(providers), **facts}
            merged[hit.canonical_url] = first.model_copy(update=changes)
    return tuple(merged.values())


def with_pages(
    queries: Sequence[records.Query],
    searches: Sequence[records.Search],
    hits: Sequence[records.SearchHit],
    provider: str,
    pages: Sequence[FoundHit],
    latency_seconds: float = 0.0,
) -> SearchRows:
    """Add known pages to a claim's hits, as results of `provider` for its first query.

    A page that this query found itself keeps its hit and gets the second provider.
    """
    query = next((query for query in queries if query.status == "ok"), None)
    if query is None or not pages:
        return tuple(searches), tuple(hits)
    merged = {hit.hit_id: hit for hit in hits}
    for page in pages:
        hit = _hit_row(query, page, provider, 1, page.rank)
        first = merged.setdefault(hit.hit_id, hit)
        if first is not hit:
            day = first.published_on or hit.published_on
            changes = {"provider": f"{first.provider}+{provider}", "published_on": day}
            merged[hit.hit_id] = first.model_copy(update=changes)
    columns = {"page": 1, "hit_count": len(pages), "latency_seconds": latency_seconds}
    search = _search_row(query, provider=provider, status="ok", **columns)
    return (*searches, search), tuple(merged.values())


def is_answer(hit: FoundHit | records.SearchHit) -> bool:
    """Whether a hit is the answer of an answer engine; its snippet is the whole answer."""
    return hit.url.startswith(ANSWERS)


def is_review(hit: records.SearchHit) -> bool:
    """Whether a hit is a published fact check."""
    return PUBLISHED in hit.provider.split("+")


def rating_of_hit(
    hit: records.SearchHit, book: RatingBook, address: str | None = None
) -> records.ReliabilityRating:
    """Return the rating of a hit, by its journal, its citations and the site of its address.

    `address` is the one after all redirects, if known.
    """
    rating = book.of(address or hit.url)
    if is_review(hit):
        return rating.model_copy(update={"source_class": "fact_checker"})
    if is_answer(hit):
        return as_answered(rating)
    return as_paper(rating, book.journal(hit.journal), hit.citation_count)


def _reaches(rating: records.Rating, minimum: records.Rating) -> bool:
    return RATING_ORDER[rating] >= RATING_ORDER[minimum]


# --- Choosing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page found for a claim, with the query that it is read for."""

    query: records.Query
    hit: records.SearchHit
    rating: records.ReliabilityRating


def select_hits(
    video: records.Video,
    queries: Sequence[records.Query],
    hits: Iterable[records.SearchHit],
    rating_of: Callable[[records.SearchHit], records.ReliabilityRating],
    config: SearchConfig,
    corrections: Corrections = NO_CORRECTIONS,
) -> tuple[tuple[FoundPage, ...], tuple[tuple[FoundPage, str], ...]]:
    """Choose the pages to read for one claim; return them, and the others with a reason each.

    Each query, in order of rank, takes at most `max_results` pages that no earlier query took. A
    page from a reviewer, a published fact check and the answer of an answer engine come on top,
    whatever their rating.

    The best rating comes first, then the provider's order. Scores do not count: that of an unlisted
    domain depends on its age, and a registry that fails must not change the choice. If fewer than
    max(1, max_results // 2) pages reach the minimum rating, the best others fill up to that number
    (the minimum guarantee; Factible, section 1.3.4, phase 3).
    """
    hits, limit, minimum = tuple(hits), config.max_results, config.minimum_rating
    chosen: dict[str, FoundPage] = {}
    skipped: dict[str, tuple[FoundPage, str]] = {}
    for query in sorted(queries, key=lambda query: query.rank):
        extra, candidates = list[FoundPage](), list[FoundPage]()
        of_query = [hit for hit in hits if hit.query_id == query.query_id]
        for hit in sorted(of_query, key=lambda hit: (hit.rank, hit.canonical_url)):
            page = FoundPage(query, hit, rating_of(hit))
            reason = _exclusion(video, page, config) or corrections.blocked(hit.url)
            if reason is not None:
                skipped.setdefault(hit.canonical_url, (page, reason))
            elif hit.canonical_url not in chosen:
                is_extra = corrections.adds(hit.canonical_url) or is_answer(hit) or is_review(hit)
                (extra if is_extra else candidates).append(page)
        # A stable sort keeps the provider's order inside one rating.
        candidates.sort(
            key=lambda page: (
                -RATING_ORDER[page.rating.rating],
                config.prefer_primary and page.rating.source_class not in PRIMARY,
            )
        )
        good = sum(_reaches(page.rating.rating, minimum) for page in candidates)
        count = min(limit, max(good, 1, limit // 2))
        chosen.update((page.hit.canonical_url, page) for page in (*extra, *candidates[:count]))
        for page in candidates[count:]:
            word, least = page.rating.rating.replace("_", " "), minimum.replace("_", " ")
            reason = f"It is rated {word}; only sources rated {least} or better are read."
            if _reaches(page.rating.rating, minimum):
                reason = (
                    f"Others, rated as well or better, filled the query's limit of {limit} sources."
                )
            skipped.setdefault(page.hit.canonical_url, (page, reason))
    left_out = tuple(pair for url, pair in skipped.items() if url not in chosen)
    return tuple(chosen.values()), left_out


def _exclusion(video: records.Video, candidate: FoundPage, config: SearchConfig) -> str | None:
    hit = candidate.hit
    if not hit.domain:
        return "It is no web address."
    if is_the_video(video, hit.url):
        return "It is the video itself."
    if is_reupload(video, hit.url, hit.title):
        return "It is a video of the same title: a re-upload."
    suffix = _file_type(hit.canonical_url)
    if _UNREADABLE.fullmatch(suffix):
        return f"A file of type {suffix} has no text to read."
    kind = candidate.rating.source_class
    if kind in config.exclude_kinds:
        return f"The run leaves out sources of the kind {kind}."
    return unwanted(hit.canonical_url, hit.published_on, config)


def late_exclusion(
    video: records.Video,
    page: records.Page,
    config: SearchConfig,
    corrections: Corrections = NO_CORRECTIONS,
    *,
    found_as_of: date | None = None,
) -> str | None:
    """Return the reason to leave out a fetched page, by its date and final address, else None.

    `found_as_of` is the search's date for a page without one.
    """
    final = urls.published_at(page.final_url or page.canonical_url)
    dated = page.published_on or found_as_of
    if is_the_video(video, final):
        return "It leads to the video itself."
    if is_reupload(video, final, page.title or ""):
        return "It leads to a video of the same title: a re-upload."
    if why := corrections.blocked_page(page.canonical_url, final):
        return why
    is_limited = config.published_before is not None or config.published_after is not None
    if dated is None and is_limited and config.undated == "drop":
        return UNDATED
    return unwanted(final, dated, config)


def unwanted(url: str, published_on: date | None, config: SearchConfig) -> str | None:
    """Return why the run's options leave out a page: domain, kind, file type or period; else None.

    Not every provider applies these limits. An undated page stays until it is read.
    """
    host, suffix = urlsplit(url).hostname or "", _file_type(url)
    kinds, excluded = config.exclude_kinds, config.exclude_domains
    left_out = next((domain for domain in excluded if f".{host}".endswith(f".{domain}")), None)
    if left_out is None and "fact_checker" in kinds and _FACT_CHECK.search(url):
        left_out = "fact checks"
    if left_out is None and "video" in kinds and urls.is_video_platform(urls.domain_of(url)):
        left_out = "videos"
    if left_out is None and suffix == "pdf" and "pdf" in kinds:
        left_out = "PDFs"
    if left_out is not None:
        return f"The run leaves out {left_out}."
    return None if published_on is None else out_of_period(published_on, config)


def out_of_period(day: date, config: SearchConfig) -> str | None:
    """Return a sentence if a page of this day is outside of the run's dates, else None."""
    before, after = config.published_before, config.published_after
    if before is not None and day >= before:
        return f"It was published on {day}, not before {before}."
    if after is not None and day < after:
        return f"It was published on {day}, before {after}."
    return None


def _file_type(url: str) -> str:
    if "/wiki/" in url:  # a page about a file or a program: /wiki/File:Chart.svg
        return ""
    return PurePosixPath(unquote(urlsplit(url).path)).suffix.lower().lstrip(".")


def is_the_video(video: records.Video, url: str) -> bool:
    """Whether a URL shows the checked video or its transcript.

    It does if it is the video's own URL, or has its YouTube id anywhere.
    """
    youtube_id = urls.youtube_id_of(url)
    if youtube_id and youtube_id in {video.video_id, urls.youtube_id_of(video.url or "")}:
        return True
    is_its_url = video.url is not None and identity_of(video.url) == identity_of(url)
    return is_its_url or urls.mentions_video_id(url, video.video_id)


def identity_of(url: str) -> str:
    """Return the canonical form of a URL; leave a text that is no web address as it is."""
    try:
        return urls.canonical_url(url)
    except urls.UnusableUrlError:
        return url


def is_reupload(video: records.Video, url: str, title: str) -> bool:
    """Whether a page is a video of the same title on a video platform."""
    has_words = bool(utils.default_process(video.title))
    if not has_words or not urls.is_video_platform(urls.domain_of(url)):
        return False
    for ending in (" - YouTube", "| YouTube", " on Vimeo"):
        title = title.removesuffix(ending)
    score = fuzz.token_sort_ratio(title, video.title, processor=utils.default_process)
    return score >= _SAME_TITLE
