"""The protocols of the services that the stages use, their values, and a reasoner's errors.

Resources satisfy these protocols structurally and do not import this package. Their own values, and
the protocols of search and prior fact checks, are in `resources/*/base.py`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, Protocol, TypeAlias, TypeVar

from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.ratings.base import DomainAge, ListedRating
from resources.search.base import FactCheckLookup, SearchProvider

Value_co = TypeVar("Value_co", covariant=True)


# --- Sources ------------------------------------------------------------------------------------


class Fetcher(Protocol):
    """Fetches pages. A failure is an answer, not an exception.

    An implementation with a cache does not keep a page that breaks its promise.
    """

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage: ...


class RatingDirectory(Protocol):
    """Returns the ratings listed for exactly this host name, by precedence of their sets."""

    def lookup(self, domain: str) -> Sequence[ListedRating]: ...


class DomainAges(Protocol):
    """Looks up the registration date of a domain. A failure is an answer, not an exception."""

    async def age(self, domain: str) -> DomainAge: ...


# --- Reasoning ----------------------------------------------------------------------------------


class ReasonerError(Exception):
    """A reasoner has no answer. `reason` is a sentence for users, without secrets.

    `calls` are the model calls until then. A `lasting` error stays until somebody acts.
    """

    def __init__(
        self, reason: str, calls: Sequence[records.LlmCall] = (), *, lasting: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.calls = tuple(calls)
        self.lasting = lasting


class ReasonerOutageError(ReasonerError):
    """A reasoner's service failed."""


class ReasonerRefusalError(ReasonerError):
    """A reasoner declined to answer, with its own `reason` if any; no re-check is due.

    A model may refuse, and a reader may not know the language.
    """


class BudgetSpentError(ReasonerError):
    """A claim has used up its budget; `reason` names the limit."""


@dataclass(frozen=True, slots=True)
class WithCalls(Generic[Value_co]):
    """A reasoner's result with the model calls that it took (none for the embedded engine)."""

    value: Value_co
    calls: tuple[records.LlmCall, ...] = ()


def clamped(score: float) -> float:
    """Return a reasoner's score cut to 0 to 1; NaN becomes 0."""
    return 0.0 if math.isnan(score) else min(1.0, max(0.0, score))


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """A claim in the words of a reasoner or a corpus, with its `searches`, if any.

    A reasoner that knows the claim's place gives raw offsets. `speaker` takes precedence over the
    speaker in the transcript.
    """

    text: str
    importance: float
    confidence: float
    category: str | None = None
    context: str | None = None
    char_start: int | None = None
    char_end: int | None = None
    speaker: str | None = None
    searches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimDrafts:
    """The claims of one transcript, most important first.

    `refused` counts claims that the transcript does not contain, `left_out` claims beyond the
    limit. `basis` names the reasoner that found them, if it is not the configured one.
    """

    thesis: str | None
    claims: tuple[ClaimDraft, ...]
    refused: int = 0
    left_out: int = 0
    basis: records.Maker | None = None


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query in a reasoner's words."""

    text: str
    query_type: records.QueryType
    priority: int
    seeks_opposite: bool = False
    basis: records.Maker | None = None
    """The reasoner that worded it, if it is not the configured one."""


@dataclass(frozen=True, slots=True)
class EvidenceDraft:
    """A reasoner's reading of a page; only its verbatim `quotes` will stay.

    It is `contradicted` if its own best quote says the contrary of its stance.
    """

    stance: records.Stance
    stance_confidence: float
    relevance: float
    summary: str
    quotes: tuple[str, ...] = ()
    ground: str | None = None
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class VerdictDraft:
    """A model's own verdict over the evidence of one claim."""

    stance: records.Stance
    confidence: records.Confidence
    summary: str


class Arrivals:
    """Counts the pages of one claim that have not arrived, for readers of several pages at once."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._are_complete = asyncio.Event()

    def count_one(self) -> None:
        """Count a page that arrived or failed."""
        self._missing -= 1
        if self._missing <= 0:
            self._are_complete.set()

    async def wait_for_all(self, patience: float) -> None:
        """Wait for all pages, at most `patience` seconds."""
        if self._missing > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._are_complete.wait(), patience)


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """One source for a reasoner: the stored text of its page, and its search hit."""

    canonical_url: str
    title: str
    snippet: str
    text: str
    published_on: date | None = None
    arrivals: Arrivals | None = field(default=None, compare=False)
    """The other pages of the claim; None if no reader may wait for them."""
    sought: str | None = None
    """A question in addition to the claim, if any."""
    together: bool = False
    """Whether a language model may read it in one call with other pages of its claim."""


class ClaimFinder(Protocol):
    """Finds claims. Raises ReasonerOutageError or ReasonerRefusalError if there is no answer."""

    @property
    def basis(self) -> records.Maker: ...

    async def extract_claims(
        self,
        video: records.Video,
        transcript: records.Transcript,
        segments: Sequence[records.TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ClaimDrafts], None] | None = None,
    ) -> WithCalls[ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first.

        A reasoner that finds them one by one calls `found` with the claims so far.
        """
        ...


class QueryWriter(Protocol):
    """Writes searches. Raises ReasonerOutageError or ReasonerRefusalError without an answer."""

    @property
    def basis(self) -> records.Maker: ...

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> WithCalls[tuple[QueryDraft, ...]]:
        """Write searches for evidence for and against a claim."""
        ...


class EvidenceReader(Protocol):
    """Reads pages. Raises ReasonerOutageError or ReasonerRefusalError if there is no answer."""

    @property
    def basis(self) -> records.Basis: ...

    async def read_evidence(
        self, video: records.Video, claim: records.Claim, query: records.Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        """Read a page for a claim; the value is None if the page does not concern the claim."""
        ...


Judged: TypeAlias = tuple[records.Claim, records.Verdict, Sequence[records.Evidence]]
"""A claim with its verdict, and its evidence of status ok."""
WordVerdicts: TypeAlias = Callable[
    [records.Video, Sequence[Judged]], Awaitable[WithCalls[Mapping[str, str]]]
]
"""Words the complete verdicts of a video, by claim id, in one call; a claim may have no words.

Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
"""


@dataclass(frozen=True, slots=True)
class Reasoner:
    """The makers of the judgements of a check; verdicts follow from the vote."""

    claims: ClaimFinder
    queries: QueryWriter
    evidence: EvidenceReader
    writer: WordVerdicts | None = None
    """Adds words to the verdicts of a video; None: the run does not want them."""

    @property
    def basis(self) -> records.Basis:
        """The reader of the evidence, on which the verdict rests."""
        return self.evidence.basis

    @property
    def bases(self) -> tuple[records.Basis, ...]:
        """The writer of the queries and the reader of the evidence."""
        return self.queries.basis, self.evidence.basis


# --- Earlier checks -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EarlierCheck:
    """The rows of a check of the same claim in another video.

    `sentence` names the video, the day, and the decision of a reviewer if there is one.
    """

    rows: VideoRows
    sentence: str


FindEarlierCheck: TypeAlias = Callable[[records.Claim], Awaitable[EarlierCheck | None]]
"""Finds a check whose sources a claim can take over; None if there is none."""


# --- Watching -----------------------------------------------------------------------------------


class Observer:
    """Receives the events of a check; this base class ignores them all.

    Methods must return at once and never raise. A check may begin before all claims are found.
    `left_out` counts claims beyond the limit of the run. `remarked` is a sentence about a deviation
    from the request. The run itself sends the last two: it waits for another check of the video, or
    is stopping.
    """

    def transcript_progressed(self, words: str, share: float) -> None: ...

    def transcript_stored(self, characters: int) -> None: ...

    def claim_begun(self, claim: records.Claim) -> None: ...

    def claims_found(self, claims: Sequence[records.Claim], left_out: int = 0) -> None: ...

    def stage_progressed(self, stage: str, claim: records.Claim, done: int, total: int) -> None: ...

    def verdict_reached(self, claim: records.Claim, verdict: records.Verdict) -> None: ...

    def remarked(self, sentence: str) -> None: ...

    def waiting(self) -> None: ...

    def stopping(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one flow."""

    reasoner: Reasoner
    searcher: SearchProvider
    fetcher: Fetcher
    ratings: RatingDirectory
    ages: DomainAges
    observer: Observer = field(default_factory=Observer)
    fact_checks: FactCheckLookup | None = None
    """Looks up prior fact checks; None: switched off."""
    earlier_check: FindEarlierCheck | None = None
    """None: the run searches and reads for every claim."""
    web: str = "live"
    """The web of the searches: live, miniature, annotated, archive, or archive:NAME."""
