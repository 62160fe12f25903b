"""The request and the answer of every search provider, and the rules that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Literal, Protocol
from urllib.parse import unquote, urlsplit

ANSWERS = "https://perplexity.ai/search?q="
"""The start of an answer engine's address for its own answer to a question."""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One result of a provider. `rank` counts from 1 over all pages of results.

    An answer engine's own words are its last result, with an address that starts with `ANSWERS`.
    Their whole text is the `snippet`; there is no page to fetch.
    """

    rank: int
    title: str
    url: str
    snippet: str = ""
    published_on: date | None = None
    citation_count: int | None = None
    """Of a paper, if the provider knows."""
    journal: str = ""
    """Of a paper, if the provider knows."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The result of one search. `ok` without hits means that the provider found nothing.

    An outage has no hits, and its `reason` is a sentence for a person, without keys. An ok answer
    with a reason is partial; the reason names the missing part. Latency is in seconds.
    """

    provider: str
    outcome: Literal["ok", "outage"]
    hits: tuple[FoundHit, ...] = ()
    reason: str | None = None
    latency_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FoundFactCheck:
    """One review of one claim by one publisher. Texts are the publisher's own, on one line.

    `rating` is in the publisher's own words ("Mostly false", "Pants on fire"); scales differ.
    `publisher` is its name, or else its site. Unknown texts are empty.
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
    """The result of one look-up. `ok` without checks means that there are none."""

    provider: str
    outcome: Literal["ok", "outage"]
    checks: tuple[FoundFactCheck, ...] = ()
    reason: str | None = None
    latency_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A request for one page of `limit` results. Pages count from 1 and do not overlap.

    It excludes results with a known day of publication on or after `before`, or before `after`;
    results of excluded domains and their subdomains; and URLs that end in an excluded file type,
    such as pdf. A provider may ignore `language` (ISO 639-1, such as en).
    """

    query: str
    limit: int
    page: int = 1
    before: date | None = None
    after: date | None = None
    exclude_domains: Sequence[str] = ()
    exclude_file_types: Sequence[str] = ()
    language: str | None = None

    @property
    def offset(self) -> int:
        """The number of results on earlier pages."""
        return (self.page - 1) * self.limit

    def admits_url(self, url: str) -> bool:
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
        """Tell whether a day lies in the requested period; an unknown day does."""
        if published_on is None:
            return True
        if self.before is not None and published_on >= self.before:
            return False
        return self.after is None or published_on >= self.after


class SearchProvider(Protocol):
    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Return one page of results, one answer per provider. An outage is an answer, no error."""


class FactCheckLookup(Protocol):
    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        """Look up reviews of a claim, or of words of it. An outage is an answer, no error.

        Returns at most `limit` reviewed claims, each with one or more reviews, in one `language`
        (BCP 47, such as en) or in all, and none claimed and reviewed before `after`.
        """
