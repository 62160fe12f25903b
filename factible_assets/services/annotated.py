"""The web `annotated`: the annotated evidence of a video's claims is all that searches can find.

So an evaluation measures the reading of pages, without errors of the search (as Raw Evidence does
with gold evidence, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from factible_assets.corpora.format import ClaimEntry
from factible_assets.reasoners.embedded.text import content_stems
from factible_assets.reasoners.readers.passages import bm25_scores
from factible_assets.stages.ports import PageExcerpt
from factible_assets.stages.urls import UnusableUrlError, canonical_url
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.search.base import FoundHit, SearchAnswer, SearchRequest


@dataclass(frozen=True, slots=True)
class GivenPages:
    """Some pages as the whole web: a search returns all, or if `ranked` those with its words."""

    pages: Sequence[PageExcerpt]
    ranked: bool = False

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        pages = list(self.pages)
        if self.ranked:
            stems = [content_stems(page.text) for page in pages]
            scores = bm25_scores(content_stems(request.query), stems)
            order = sorted(range(len(pages)), key=lambda at: -scores[at])
            pages = [pages[at] for at in order if scores[at] > 0]
        hits = [
            FoundHit(rank, page.title or "given", page.canonical_url, page.snippet)
            for rank, page in enumerate(pages, start=1)
        ]
        page_of_hits = hits[request.offset : request.offset + request.limit]
        return [SearchAnswer("given", "ok", tuple(page_of_hits))]

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        now = datetime.now(UTC)
        page = next((candidate for candidate in self.pages if candidate.canonical_url == url), None)
        if page is None:
            return FetchedPage(url, "absent", now, reason="It is no annotated source.")
        return FetchedPage(url, "ok", now, text=page.text, title=page.title, via="archive")


def annotated_pages(claims: Iterable[ClaimEntry]) -> list[PageExcerpt]:
    """Return the sources that annotators named, with the passages and answers they took from each.

    A source without a usable address gets one under annotated.example.
    """
    texts: dict[str, list[str]] = {}
    for claim in claims:
        sources = [(passage.source, passage.text) for passage in claim.passages]
        for question in claim.questions:
            for answer in question.answers:
                if answer.kind == "unanswerable":
                    continue
                words = f"{answer.text.strip().rstrip('.')}. {answer.explanation or ''}"
                sources.append((answer.source_url or "", f"{question.text} {words}".strip()))
        for source, text in sources:
            if text:
                texts.setdefault(_address(source, len(texts)), []).append(text)
    return [PageExcerpt(url, "", "", "\n\n".join(parts)) for url, parts in texts.items()]


def _address(source: str, number: int) -> str:
    if source.startswith(("http://", "https://")):
        with suppress(UnusableUrlError):
            return canonical_url(source)
    return f"https://annotated.example/{number}"
