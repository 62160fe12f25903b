"""From queries to the pages that are worth reading.

What belongs here: asking providers, the adaptive credibility filter, merging hits, and choosing the
pages of a claim. What does not: rating domains (reliability.py), reading pages (evidence.py).

Adaptive credibility filtering (Factible, section 1.3.4): twice the limit is asked for first; when
more than half of that is rated below the minimum, the next page of results is asked for (never the
same again); the best are taken, with a minimum guarantee where nothing is reliable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from rapidfuzz import fuzz, utils

from factible_assets import records
from factible_assets.config import SearchConfig
from factible_assets.stages import urls
from factible_assets.stages.ids import hit_id
from factible_assets.stages.reliability import RATING_ORDER, RatingBook, as_answered, as_cited
from factible_assets.stages.reviews import NO_CORRECTIONS, Corrections
from factible_assets.stages.transcript import storable
from resources.search.base import ANSWERS, FoundHit, SearchProvider, SearchRequest

PRIMARY: frozenset[records.SourceClass] = frozenset({"academic", "government"})
"""Who measures, decides and publishes first; all others mostly report it."""
HEADROOM = 2
"""How many times the limit is asked for first (Factible, section 1.3.4)."""
_SAME_TITLE = 90
"""Token-sort similarity (0 to 100) from which two videos' titles are one."""
_UNREADABLE = re.compile(
    r"7z|aac|apk|avi|bin|bmp|csv|dmg|docx?|epub|exe|flac|flv|gif|gz|ico|iso|jpe?g|m4[av]|mkv|mobi"
    r"|mov|mp[34]|mpe?g|od[pst]|og[gv]|png|pptx?|rar|rtf|svg|tar|tgz|tiff?|wav|web[mp]|wm[av]|xlsx?"
    r"|zip"
)
"""File types that no text is read from. PDFs are read."""
_FACT_CHECK = re.compile(
    r"fact[-_]?check|faktencheck|faktenfuchs|verificado|desintox", re.IGNORECASE
)
"""Addresses of fact checks on sites of others: "fact-check" and "factcheck" (Chen et al. 2023,
arXiv:2305.11859, appendix A.1), and the same in other languages."""


# --- Asking -------------------------------------------------------------------------------------


async def gather_hits(
    query: records.Query, searcher: SearchProvider, book: RatingBook, config: SearchConfig
) -> tuple[list[records.Search], tuple[records.SearchHit, ...]]:
    """Ask a query's first page of results, and the second when the first is poor.

    Returns how each search ended, and the hits, merged by canonical URL; one that several providers
    found has all their names and the best rank. Every hit's domain is rated in `book`. An outage is
    a Search row, no exception.
    """
    searches, hits = await _ask(query, searcher, config, page=1, before_it={})
    book.rate(hit.url for hit in hits)
    pages = [hit for hit in merge_hits(hits) if not is_answer(hit)]
    poor = sum(not _reaches(book.of(hit.url).rating, config.minimum_rating) for hit in pages)
    if 2 * poor > len(pages):
        counts = {search.provider: search.hit_count for search in searches}
        second, more = await _ask(query, searcher, config, page=2, before_it=counts)
        book.rate(hit.url for hit in more)
        searches, hits = [*searches, *second], [*hits, *more]
    return searches, merge_hits(hits)


PUBLISHED = "published_fact_check"
"""The provider of hits that a lane of fact checks found."""


def is_answer(hit: FoundHit | records.SearchHit) -> bool:
    """Tell whether a hit is what an answer engine says itself: its snippet is its whole text."""
    return hit.url.startswith(ANSWERS)


def is_review(hit: records.SearchHit) -> bool:
    """Tell whether a hit is a published fact check, as a lane of fact checks found it."""
    return PUBLISHED in hit.provider.split("+")


def rated(hit: records.SearchHit, rating: records.ReliabilityRating) -> records.ReliabilityRating:
    """Return what the rating of a hit's domain is for the hit itself."""
    if is_review(hit):
        return rating.model_copy(update={"source_class": "fact_checker"})
    return as_answered(rating) if is_answer(hit) else as_cited(rating, hit.citation_count)


def merge_hits(hits: Iterable[records.SearchHit]) -> tuple[records.SearchHit, ...]:
    """Merge a query's hits by canonical URL, best rank first."""
    merged: dict[str, records.SearchHit] = {}
    for hit in sorted(hits, key=lambda hit: (hit.rank, hit.page)):
        held = merged.setdefault(hit.canonical_url, hit)
        if held is not hit:
            providers = dict.fromkeys([*held.provider.split("+"), *hit.provider.split("+")])
            facts = ("snippet", "published_on", "citation_count")
            both = {each: getattr(held, each) or getattr(hit, each) for each in facts}
            changes = {"provider": "+".join(providers), **both}
            merged[hit.canonical_url] = held.model_copy(update=changes)
    return tuple(merged.values())


def _reaches(rating: records.Rating, minimum: records.Rating) -> bool:
    return RATING_ORDER[rating] >= RATING_ORDER[minimum]


async def _ask(
    query: records.Query,
    searcher: SearchProvider,
    config: SearchConfig,
    *,
    page: int,
    before_it: Mapping[str, int],
) -> tuple[list[records.Search], list[records.SearchHit]]:
    asked = SearchRequest(
        query.text,
        limit=HEADROOM * config.max_results,
        page=page,
        before=config.published_before,
        after=config.published_after,
        exclude_domains=config.exclude_domains,
        exclude_file_types=config.exclude_file_types,
        language=config.language,
        country=config.country,
    )
    searches, hits = [], []
    for answer in await searcher.search(asked):
        failed = answer.outcome == "outage"
        given = () if failed else answer.hits
        found = [hit for hit in given if config.answers or not is_answer(hit)]
        own: dict[str, Any] = {
            "query_id": query.query_id,
            "claim_id": query.claim_id,
            "video_id": query.video_id,
            "provider": answer.provider,
            "page": page,
        }
        searches.append(
            records.Search(
                **own,
                hit_count=len(found),
                latency_seconds=answer.latency_seconds,
                status="infra_error" if failed else "ok" if found else "no_evidence",
                reason=answer.reason or (f"{answer.provider} did not say why" if failed else None),
            )
        )
        for rank, hit in enumerate(found, start=1 + before_it.get(answer.provider, 0)):
            url = storable(hit.url)
            canonical = identity_of(url)
            hits.append(
                records.SearchHit(
                    **own,
                    hit_id=hit_id(query.query_id, canonical),
                    rank=rank,
                    title=storable(hit.title),
                    url=url,
                    canonical_url=canonical,
                    # Without one the choice of pages leaves it out, with its reason.
                    domain=urls.domain_of(url),
                    snippet=storable(hit.snippet),
                    published_on=hit.published_on,
                    citation_count=hit.citation_count,
                )
            )
    return searches, hits


# --- Choosing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page that was found for a claim, under the query that it is read for."""

    query: records.Query
    hit: records.SearchHit
    rating: records.ReliabilityRating


def select_hits(
    video: records.Video,
    queries: Sequence[records.Query],
    hits: Iterable[records.SearchHit],
    rating_of: Callable[[str], records.ReliabilityRating],
    config: SearchConfig,
    corrections: Corrections = NO_CORRECTIONS,
) -> tuple[tuple[Candidate, ...], tuple[tuple[Candidate, str], ...]]:
    """Choose which of the pages found for one claim are read. Deterministic.

    Every URL is among those that it returns first, or skipped by the rule beside it.

    Query by query in order of rank, at most `max_results` pages each, a URL only for the first
    query that takes it, and what no rule leaves out. What a reviewer added, a
    published fact check, and an answer engine's answer are read beyond the limit whatever their
    rating.

    Of the others the best rating comes first, then the provider's order: the score of an unlisted
    domain depends on its age, and a registry that does not answer must not change what is read.
    Where fewer than max(1, max_results // 2) reach the minimum, the best of the rest fill up to
    that number (the minimum guarantee; Factible, section 1.3.4, phase 3).
    """
    found, limit, minimum = list(hits), config.max_results, config.minimum_rating
    chosen: dict[str, Candidate] = {}
    skipped: dict[str, tuple[Candidate, str]] = {}
    for query in sorted(queries, key=lambda query: query.rank):
        wanted, others = list[Candidate](), list[Candidate]()
        own = [hit for hit in found if hit.query_id == query.query_id]
        for hit in sorted(own, key=lambda hit: (hit.rank, hit.canonical_url)):
            candidate = Candidate(query, hit, rated(hit, rating_of(hit.url)))
            reason = _exclusion(video, candidate, config) or corrections.blocked(hit.url)
            if reason is not None:
                skipped.setdefault(hit.canonical_url, (candidate, reason))
            elif hit.canonical_url not in chosen:
                is_wanted = corrections.adds(hit.canonical_url) or is_answer(hit)
                is_wanted = is_wanted or is_review(hit)
                (wanted if is_wanted else others).append(candidate)
        # The sort is stable, so that the provider's order stays inside one rating.
        others.sort(
            key=lambda each: (
                -RATING_ORDER[each.rating.rating],
                config.prefer_primary and each.rating.source_class not in PRIMARY,
            )
        )
        good = sum(_reaches(each.rating.rating, minimum) for each in others)
        count = min(limit, max(good, 1, limit // 2))
        chosen.update((each.hit.canonical_url, each) for each in (*wanted, *others[:count]))
        for each in others[count:]:
            word, least = each.rating.rating.replace("_", " "), minimum.replace("_", " ")
            reason = f"It is rated {word}; only sources rated {least} or better are read."
            if _reaches(each.rating.rating, minimum):
                reason = (
                    f"The query's limit of {limit} sources was filled by others, rated as well "
                    "or better."
                )
            skipped.setdefault(each.hit.canonical_url, (each, reason))
    left = tuple(each for url, each in skipped.items() if url not in chosen)
    return tuple(chosen.values()), left


def _exclusion(video: records.Video, candidate: Candidate, config: SearchConfig) -> str | None:
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
    if kind in config.exclude_classes:
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
    """Say why a page is left out after all, now that its date and its last address are known.

    `found_as_of` is the date that the search gave it, for want of its own.
    """
    final = urls.published_at(page.final_url or page.canonical_url)
    dated = page.published_on or found_as_of
    if page.final_url is not None and is_the_video(video, final):
        return "It leads to the video itself."
    if page.final_url is not None and is_reupload(video, final, page.title or ""):
        return "It leads to a video of the same title: a re-upload."
    if not corrections.adds(page.canonical_url) and (why := corrections.blocked(final)):
        return why
    is_limited = config.published_before is not None or config.published_after is not None
    if dated is None and is_limited and config.undated == "drop":
        return "Nobody says when it was published, and the run leaves out what is undated."
    return unwanted(final, dated, config)


def unwanted(url: str, published_on: date | None, config: SearchConfig) -> str | None:
    """Say which of the run's own limits leaves a page out: domain, kind, file type, or period.

    Not all providers can keep to them. What has no known date stays until its page is read.
    """
    host, suffix = urlsplit(url).hostname or "", _file_type(url)
    kinds = config.exclude_classes
    domains = (each for each in config.exclude_domains if f".{host}".endswith(f".{each}"))
    before, after = config.published_before, config.published_after
    left_out = next(domains, None)
    if left_out is None and "fact_checker" in kinds and _FACT_CHECK.search(url):
        left_out = "fact checks"
    if left_out is None and "video" in kinds and urls.is_video_platform(urls.domain_of(url)):
        left_out = "videos"
    if left_out is None and suffix in config.exclude_file_types:
        left_out = f"files of type {suffix}"
    if left_out is not None:
        return f"The run leaves out {left_out}."
    if published_on and before and published_on >= before:
        return f"It was published on {published_on}, not before {before}."
    if published_on and after and published_on < after:
        return f"It was published on {published_on}, before {after}."
    return None


def _file_type(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).suffix.lower().lstrip(".")


def is_the_video(video: records.Video, url: str) -> bool:
    """Tell whether a URL shows the video that is checked, or a copy of its transcript.

    By the platform's id, the video's own URL, or its YouTube id in any other site's URL.
    """
    shown, own = urls.video_reference(url), urls.video_reference(video.url or "")
    if shown is not None and (shown == own or shown.video_id == video.video_id):
        return True
    is_own = video.url is not None and identity_of(video.url) == identity_of(url)
    return is_own or urls.mentions_video_id(url, video.video_id)


def identity_of(url: str) -> str:
    """Return the canonical form of a URL; what is no web address stands for itself."""
    try:
        return urls.canonical_url(url)
    except urls.UnusableUrlError:
        return url


def is_reupload(video: records.Video, url: str, title: str) -> bool:
    """Tell whether a page is a video of the same title on a platform for videos."""
    if not urls.is_video_platform(urls.domain_of(url)) or not video.title.strip():
        return False
    for ending in (" - YouTube", "| YouTube", " on Vimeo"):
        title = title.removesuffix(ending)
    score = fuzz.token_sort_ratio(title, video.title, processor=utils.default_process)
    return score >= _SAME_TITLE
