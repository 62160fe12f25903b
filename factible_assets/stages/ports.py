"""The doors of the domain: what stages need from outside, as protocols.

What belongs here: the protocols that stages are handed implementations of, the values that cross
them, and the errors of a reasoner. What does not: any implementation. Resources satisfy their
protocols structurally, so that they need not know this package; what they hand over stands in their
own value modules (`base.py`), and so do the protocols of search and of prior fact checks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, Protocol, TypeAlias, TypeVar

from factible_assets import records
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.ratings.base import DomainAge, ListedRating
from resources.search.base import FactCheckLane, SearchProvider

Value_co = TypeVar("Value_co", covariant=True)


# --- Sources ------------------------------------------------------------------------------------


class Fetcher(Protocol):
    """Obtains pages. Never raises for a page that fails: it answers so.

    An implementation that keeps pages keeps none that breaks its promise.
    """

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage: ...


class RatingDirectory(Protocol):
    """Returns the ratings listed for exactly a host name, in order of precedence of their sets."""

    def lookup(self, domain: str) -> Sequence[ListedRating]: ...


class DomainAges(Protocol):
    """Looks up when a domain was registered. Never raises: it answers."""

    async def age(self, domain: str) -> DomainAge: ...


# --- Reasoning ----------------------------------------------------------------------------------


class ReasonerError(Exception):
    """A reasoner has no answer. `reason` is a sentence for a person, without secrets.

    `calls` were made all the same. What is `lasting` fails until somebody changes something.
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
    """A reasoner's model declined to answer, with its own `reason` if any; nothing is due."""


class BudgetSpentError(ReasonerError):
    """A claim has used up what it may cost; `reason` names the limit."""


@dataclass(frozen=True, slots=True)
class WithCalls(Generic[Value_co]):
    """A judgement with the model calls that it took (none for the embedded engine)."""

    value: Value_co
    calls: tuple[records.LlmCall, ...] = ()


def clamped(score: float) -> float:
    """Return a reasoner's score cut to 0 to 1, 0 for what is no number."""
    return 0.0 if math.isnan(score) else min(1.0, max(0.0, score))


@dataclass(frozen=True, slots=True)
class ClaimDraft:
    """A claim as a reasoner or a corpus words it, with the `searches` for it if there are some.

    A reasoner that knows the place of the claim gives its raw offsets. `speaker` overrules the
    speaker that the transcript names there.
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

    `refused` claims were not said like that. `left_out` claims were found, too, but are more than
    were asked for. `basis` names the reasoner that found them, if it is not the one that was asked.
    """

    thesis: str | None
    claims: tuple[ClaimDraft, ...]
    refused: int = 0
    left_out: int = 0
    basis: records.Maker | None = None


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query as a reasoner words it."""

    text: str
    query_type: records.QueryType
    priority: int
    seeks_opposite: bool = False
    basis: records.Maker | None = None
    """Who worded it, where that is not the reasoner who was asked."""


@dataclass(frozen=True, slots=True)
class EvidenceDraft:
    """What a reasoner reads in a page. `quotes` are offers: only verbatim ones are kept.

    A draft is `contradicted` if its own best quote says the contrary of its stance.
    """

    stance: records.Stance
    stance_confidence: float
    relevance: float
    summary: str
    quotes: tuple[str, ...] = ()
    ground: str | None = None
    contradicted: bool = False


QuoteReader: TypeAlias = Callable[[str, str, str], records.Stance | None]
"""Tells which side a quote takes of a claim; None if it takes none that could be told.

Its arguments are the claim, the quote, and the quote's context: the page's title on the first line,
then the words before the quote. Blocking; safe to call from several threads.
"""


@dataclass(frozen=True, slots=True)
class VerdictDraft:
    """A reasoner's verdict over the evidence of one claim."""

    stance: records.Stance
    confidence: records.Confidence
    summary: str


class Arrivals:
    """How many pages of one claim are still on their way, for who would read several at once."""

    def __init__(self, expected: int) -> None:
        self._missing = expected + 1
        self._all_in = asyncio.Event()
        self.one_in()

    def one_in(self) -> None:
        """Note that a page is in, or will not come."""
        self._missing -= 1
        if self._missing <= 0:
            self._all_in.set()

    async def all_in(self, patience: float) -> None:
        """Wait until all pages are in, at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_in.wait(), patience)


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """What a reasoner is given of one source: the stored text of the page, and its search hit."""

    canonical_url: str
    title: str
    snippet: str
    text: str
    published_on: date | None = None
    arrivals: Arrivals | None = field(default=None, compare=False)
    """The other pages of the claim; None if it stands for itself."""
    sought: str | None = None
    """What is looked for beside the claim; None: the claim alone."""
    together: bool = False
    """Whether a language model may read it in one call with other pages of its claim."""


@dataclass(frozen=True, slots=True)
class Vote:
    """The reliability-weighted vote over a bundle of evidence (see stages.verdict)."""

    stance: records.Stance
    margin: float
    confidence: records.Confidence
    score: float


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
    ) -> WithCalls[ClaimDrafts]:
        """Find the check-worthy claims of a transcript, most important first."""
        ...


class QueryWriter(Protocol):
    """Words searches. Raises ReasonerOutageError or ReasonerRefusalError if there is no answer."""

    @property
    def basis(self) -> records.Maker: ...

    async def write_queries(
        self, video: records.Video, claim: records.Claim, *, max_queries: int
    ) -> WithCalls[tuple[QueryDraft, ...]]:
        """Word the searches that would find evidence for and against a claim."""
        ...


class EvidenceReader(Protocol):
    """Reads pages. Raises ReasonerOutageError or ReasonerRefusalError if there is no answer."""

    @property
    def basis(self) -> records.Basis: ...

    async def read_evidence(
        self, video: records.Video, claim: records.Claim, query: records.Query, page: PageExcerpt
    ) -> WithCalls[EvidenceDraft | None]:
        """Read what a page says about a claim; None if it does not speak of it."""
        ...


class Judge(Protocol):
    """Words single verdicts. Raises ReasonerOutageError or ReasonerRefusalError."""

    @property
    def basis(self) -> records.Basis: ...

    async def judge(
        self,
        video: records.Video,
        claim: records.Claim,
        evidence: Sequence[records.Evidence],
        vote: Vote,
    ) -> WithCalls[VerdictDraft | None]:
        """Word the verdict of a vote over evidence of status ok; None leaves it to the template."""
        ...


class VerdictWriter(Protocol):
    """A reasoner that can word the verdicts of a video, all in one call."""

    async def word_verdicts(
        self,
        video: records.Video,
        verdicts: Sequence[tuple[records.Claim, records.Verdict, Sequence[records.Evidence]]],
    ) -> WithCalls[Mapping[str, str]]:
        """Return words for complete verdicts, by claim id; a claim may have none.

        Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
        """
        ...


class OneReasoner(ClaimFinder, QueryWriter, EvidenceReader, Judge, Protocol):
    """A reasoner that makes all four judgements, such as a language model."""

    @property
    def basis(self) -> records.Maker: ...


@dataclass(frozen=True, slots=True)
class Reasoner:
    """Who makes each of the four judgements of a check."""

    claims: ClaimFinder
    queries: QueryWriter
    evidence: EvidenceReader
    verdicts: Judge
    writer: VerdictWriter | None = None
    """A model that adds words to the verdicts of a video, if the run asks for that."""

    @classmethod
    def of(cls, one: OneReasoner) -> Reasoner:
        """Return a reasoner whose four judgements are made by one."""
        return cls(one, one, one, one)

    @property
    def basis(self) -> records.Basis:
        """Return who reads the evidence, because the verdict rests on it."""
        return self.evidence.basis

    @property
    def bases(self) -> tuple[records.Basis, ...]:
        """Return who words the queries and who reads the evidence."""
        return self.queries.basis, self.evidence.basis


# --- Watching -----------------------------------------------------------------------------------


class Observer:
    """Hears what happens while a video is checked; itself it does nothing with it.

    Must return at once and never raise. `left_out` claims were found beyond those that a run
    checks. `remarked` is a sentence on something that went otherwise than asked for. The code that
    runs the check tells the last three: that another check of the video is waited for, that an
    asset is stored, that the run was asked to stop and closes what it has open.
    """

    def transcript_progressed(self, words: str, share: float) -> None: ...

    def claims_found(self, claims: Sequence[records.Claim], left_out: int = 0) -> None: ...

    def stage_progressed(self, stage: str, claim: records.Claim, done: int, total: int) -> None: ...

    def verdict_reached(self, claim: records.Claim, verdict: records.Verdict) -> None: ...

    def remarked(self, sentence: str) -> None: ...

    def waiting(self) -> None: ...

    def asset_stored(self, asset: str) -> None: ...

    def stopping(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that the flow is handed from outside."""

    reasoner: Reasoner
    searcher: SearchProvider
    fetcher: Fetcher
    ratings: RatingDirectory
    ages: DomainAges
    observer: Observer = field(default_factory=Observer)
    fact_checks: FactCheckLane | None = None
    """Where prior fact checks are looked up; None: the lane is off."""
