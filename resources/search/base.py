"""What every search provider answers, and how one is asked.

What belongs here: the request's and the answer's shape, the protocols of a provider and of prior
fact checks, and the restrictions that hold for all providers. What does not: any provider's wire
format, and everything that is done with hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Literal, Protocol
from urllib.parse import unquote, urlsplit

ANSWERS = "https://perplexity.ai/search?q="
"""How the addresses begin under which an answer engine shows what it answers, by its question."""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One result as a provider gave it. `rank` counts from 1 over all pages of the answer.

    An answer engine's own words are a result too, the last one, under an address in `ANSWERS`: its
    `snippet` is all of its text, and there is no page to fetch.
    """

    rank: int
    title: str
    url: str
    snippet: str = ""
    published_on: date | None = None
    citation_count: int | None = None
    """How often it is cited, if it is a paper and the provider knows."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """How one search ended.

    Only ok answers have hits, and ok without hits means that the provider found nothing. An outage
    says why in `reason`: a sentence for a person, without keys. An ok answer with a reason is
    partial: the reason says what is missing from it. Latency in seconds.
    """

    provider: str
    outcome: Literal["ok", "outage"]
    hits: tuple[FoundHit, ...] = ()
    reason: str | None = None
    latency_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PriorFactCheck:
    """One review of one claim by one publisher. Texts are the publisher's own, on one line.

    `rating` is what the publisher wrote ("Mostly false", "Pants on fire"); scales differ.
    `publisher` is its name, or its site where it gives no name. Unknown texts are empty.
    """

    claim: str
    claimant: str
    rating: str
    publisher: str
    url: str
    reviewed_on: date | None = None
    claimed_on: date | None = None
    title: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class FactCheckAnswer:
    """How one look-up ended. Only ok answers have checks, and ok without any is an answer too."""

    provider: str
    outcome: Literal["ok", "outage"]
    checks: tuple[PriorFactCheck, ...] = ()
    reason: str | None = None
    latency_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One page of results, `limit` of them (at least 1); none repeats what is on pages before it.

    Pages count from 1. Left out is what was published on or after the day `before`, or before the
    day `after`, as far as that is known; what is of an excluded domain or its subdomains; files of
    excluded types, such as pdf, told by the URL's end. `language` (ISO 639-1, such as en) and
    `country` (ISO 3166-1, such as us) are wishes: who cannot choose ignores them.
    """

    query: str
    limit: int
    page: int = 1
    before: date | None = None
    after: date | None = None
    exclude_domains: Sequence[str] = ()
    exclude_file_types: Sequence[str] = ()
    language: str | None = None
    country: str | None = None

    @property
    def offset(self) -> int:
        """How many results the pages before this one hold."""
        return (self.page - 1) * self.limit

    def admits_url(self, url: str) -> bool:
        """Tell whether a URL is of no excluded domain and no excluded file type."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return True
        host = (parts.hostname or "").rstrip(".")
        suffix = PurePosixPath(unquote(parts.path)).suffix.lower()
        excluded = (domain.lower().strip(".") for domain in self.exclude_domains)
        if any(host == domain or host.endswith(f".{domain}") for domain in excluded):
            return False
        return all(suffix != f".{kind.lower().lstrip('.')}" for kind in self.exclude_file_types)

    def admits_day(self, published_on: date | None) -> bool:
        """Tell whether a day lies in the period that is asked for; an unknown one does."""
        if published_on is None:
            return True
        if self.before is not None and published_on >= self.before:
            return False
        return self.after is None or published_on >= self.after


class SearchProvider(Protocol):
    """One provider, or several behind one door."""

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Ask for one page of results. Never raises for an outage: it answers so."""


class FactCheckLane(Protocol):
    """Where prior fact checks are looked up. Never raises for an outage: it answers so."""

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        """Look a claim, or words of it, up.

        Wanted are at most `limit` reviewed claims, of which one may have several reviews; in one
        `language` (BCP 47, such as en) or in all; not those claimed and reviewed before `after`.
        """
