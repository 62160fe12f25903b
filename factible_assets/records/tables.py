"""The rows of the warehouse: one class per table, with the rules for a single row.

The order of the classes is the order of the method. The warehouse adds `run_id` and `checked_at`
to each row when it writes. All times are timezone-aware UTC, all scores are in [0, 1], and text
offsets count Unicode code points in the stored text, half-open as in Python slices.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

import resources.images.base as images
import resources.ratings.base as domains
from factible_assets.records import stances
from resources.llm.base import ModelCall
from resources.pages.base import Via
from resources.transcripts.base import TranscriptKind

Score = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]
Rank = Annotated[int, Field(ge=1)]
"""A place in an order, from 1; the comments of the columns in warehouse/schema say in which."""
Status = Literal["ok", "no_evidence", "infra_error", "skipped"]
"""The outcome of one piece of work.

`ok`: done, with a result. `no_evidence`: done, without a result. `infra_error`: failed, because of
the service in `reason`. `skipped`: not attempted, because of the rule in `reason`. An outage is
never data: only `ok` rows have a stance.
"""

Stance = stances.Stance
"""The stance of evidence, or of a verdict, to a claim."""
Rating = domains.Rating
SourceClass = domains.SourceClass
MatchKind = images.MatchKind
Veracity = Literal["pants-fire", "false", "barely-true", "half-true", "mostly-true", "true"]
"""The truth of a claim on six levels, from worst to best; see records/scales.py."""
Answered = Literal["answered", "partly", "not"]
"""Whether evidence answers a question (Chen et al. 2023, arXiv:2305.11859, section 6.2)."""
QueryType = Literal["direct", "alternative", "source", "context"]
"""The four search strategies (Factible, section 1.3.3, table 4)."""
Confidence = Literal["low", "medium", "high"]
Maker = Literal["embedded", "llm"]
"""The reasoner that found a claim or wrote a query."""
Basis = Literal["embedded", "labels", "llm"]
"""The judge: the embedded engine, the label probabilities of a small language model, or a large
language model. Verdicts of the first two are automatic leanings."""
QueryBasis = Literal["embedded", "llm", "reviewer"]
"""The author of a query."""
ClaimBasis = Literal["embedded", "llm", "given", "reviewer"]
"""The author of a claim. `given`: the corpus states it; `reviewer`: a person reworded it."""
Criterion = Literal[
    "claim_quality", "query_relevance", "evidence_relevance", "explanation_quality",
    "reasoning_hallucination", "evidence_hallucination", "label_justification",
]  # fmt: skip
"""The criteria of scores from 0 to 2; see evaluation/judging/judge.py."""
CallStage = Literal["claims", "queries", "evidence", "verdicts"]
"""The assets that may call a language model, in the order of the method."""
StepKind = Literal[
    "decompose", "plan", "query", "retrieve", "select", "summarise", "read", "reason", "judge",
    "calibrate",
]  # fmt: skip
"""The kinds of a strategy's steps, in the order of the method."""


class Record(BaseModel):
    """The base of all rows: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    table: ClassVar[str]
    view: ClassVar[str]
    order: ClassVar[tuple[str, ...]]
    key: ClassVar[tuple[str, ...]]
    assets: ClassVar[tuple[str, ...]]
    volatile: ClassVar[frozenset[str]]

    def __init_subclass__(
        cls,
        *,
        table: str = "",
        view: str = "",
        key: str = "",
        order: str = "",
        assets: str | None = None,
        volatile: str = "",
        **others: Any,
    ) -> None:
        """Describe the table. `key`, `order`, `assets` and `volatile` are comma-separated lists.

        Args:
            table: The table.
            view: The view of the current rows (default: `current_` and the table).
            key: The columns that identify a row within one video's set. The table declares no such
                key; docs/performance.md says why.
            order: The columns to sort by when reading (default: the key).
            assets: The assets that write the table (default: the one with its name). Each of
                several writes the rows of its own stage.
            volatile: Fields, such as latencies, that the data version ignores.
            others: Further arguments of pydantic.
        """
        super().__init_subclass__(**others)
        cls.table, cls.view = table, view or f"current_{table}"
        cls.key, cls.order = _names(key), _names(order or key)
        cls.assets = _names(table if assets is None else assets)
        cls.volatile = frozenset(_names(volatile))


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split(", ")) if words else ()


class Video(Record, table="videos", key="video_id", assets="transcripts"):
    """A video of the corpus. `video_id` is also its partition key."""

    video_id: str = Field(min_length=1, max_length=128)
    title: str
    url: str | None = None
    channel: str | None = None
    duration_seconds: Seconds | None = None
    published_on: date | None = None
    language: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    corpus: str | None = None  # The corpus file that lists the video


class Transcript(Record, table="transcripts", key="video_id"):
    """The spoken text; every offset indexes `text`."""

    video_id: str
    text: str = Field(min_length=1)
    language: str | None = None
    kind: TranscriptKind = "unknown"
    provider: str  # The source of the transcript, such as file or youtube
    content_hash: str  # SHA-256 of the text, hexadecimal


class TranscriptSegment(Record, table="transcript_segments", key="position", assets="transcripts"):
    """One caption, or one paragraph of a text with speakers but without times.

    A text without times and speakers has no segments.
    """

    video_id: str
    position: Count
    start_seconds: Seconds | None
    duration_seconds: Seconds
    char_start: Count
    char_end: Count
    speaker: str | None = None  # The source's name or label, such as Ann or SPEAKER_01

    @property
    def begins(self) -> float:
        """The start in seconds; 0 in a text without times."""
        return self.start_seconds or 0.0

    @model_validator(mode="after")
    def _span_is_ordered(self) -> Self:
        if self.char_end < self.char_start:
            raise ValueError("char_end lies before char_start")
        return self


class Claim(Record, table="claims", key="claim_id", order="rank, claim_id"):
    """A check-worthy factual statement of the video."""

    claim_id: str
    video_id: str
    rank: Rank
    text: str = Field(min_length=1)
    importance: Score  # How much the video's thesis rests on the claim
    extraction_confidence: Score
    category: str | None = None
    context: str | None = None  # Background for understanding the claim
    thesis: str | None = None  # The video's thesis, in at most 25 words
    claims_found: Rank | None = None  # In the video, before max_claims
    char_start: Count | None = None
    char_end: Count | None = None
    match_score: Score | None = None  # Similarity of the claim to transcript[char_start:char_end]
    start_seconds: Seconds | None = None
    end_seconds: Seconds | None = None
    speaker: str | None = None  # By the transcript or the corpus
    basis: ClaimBasis

    @model_validator(mode="after")
    def _location_and_time_fit(self) -> Self:
        unknown = [self.char_start is None, self.char_end is None, self.match_score is None]
        if any(unknown) and not all(unknown):
            raise ValueError("char_start, char_end and match_score come together or not at all")
        if self.char_start is not None and self.char_end is not None:
            if self.char_end <= self.char_start:
                raise ValueError("char_end must lie after char_start")
        elif self.start_seconds is not None:
            raise ValueError("a claim that was not located has no time")
        return self

    @property
    def place_in_time(self) -> tuple[float, ...]:
        """A sort key by time; claims without a time come last."""
        start = self.start_seconds
        return start is None, start or 0.0, self.char_start or 0, self.rank


class Query(Record, table="queries", key="query_id", order="claim_id, rank, query_id"):
    """A search query for one claim. If `text` is empty, `reason` says why."""

    query_id: str
    claim_id: str
    video_id: str
    rank: Rank
    text: str
    query_type: QueryType
    priority: int = Field(ge=1, le=5)  # 1 is essential, 5 completes
    seeks_opposite: bool = False  # Whether the query seeks the opposite of the claim
    basis: QueryBasis
    status: Status = "ok"
    reason: str | None = None


class Search(
    Record,
    table="searches",
    key="query_id, provider, page",
    order="claim_id, query_id, provider, page",
    assets="search_hits",
    volatile="latency_seconds",
):
    """One request to a search provider for one page of results.

    `no_evidence` means that the provider had no results.
    """

    query_id: str
    claim_id: str
    video_id: str
    provider: str
    page: int = Field(ge=1)
    hit_count: Count
    latency_seconds: Seconds
    status: Status
    reason: str | None = None


class SearchHit(
    Record, table="search_hits", key="hit_id", order="claim_id, query_id, provider, rank, hit_id"
):
    """One search result."""

    hit_id: str
    query_id: str
    claim_id: str
    video_id: str
    provider: str
    page: int = Field(ge=1)
    rank: Rank
    title: str
    url: str  # In the provider's form
    canonical_url: str
    domain: str  # The registrable domain
    snippet: str
    published_on: date | None = None
    citation_count: int | None = None  # Citations of the paper, from providers of papers
    journal: str | None = None  # Journal of the paper, from providers of papers


class PriorFactCheck(
    Record,
    table="prior_fact_checks",
    key="prior_fact_check_id",
    order="claim_id, rank, prior_fact_check_id",
    assets="search_hits",
    volatile="latency_seconds",
):
    """A published fact-check of a similar claim.

    Verdicts ignore its rating, but its page may be evidence. A claim after a look-up has at least
    one row. `ok`: a review of the claim. `skipped`: a review that the rule in `reason` excludes.
    `no_evidence` and `infra_error` have no review and are the claim's only row.
    """

    prior_fact_check_id: str
    claim_id: str
    video_id: str
    provider: str
    rank: Rank
    status: Status
    reason: str | None = None
    publisher: str | None = None  # The publisher's own name
    domain: str | None = None  # The publisher's registrable domain
    url: str | None = None  # Of the review, in the provider's form
    canonical_url: str | None = None
    title: str | None = None
    claim_reviewed: str | None = None  # The reviewed claim, in the review's words
    claimant: str | None = None  # The author of the reviewed claim
    # The publisher's own words, such as Mostly false; scales differ.
    textual_rating: str | None = None
    reviewed_on: date | None = None
    claimed_on: date | None = None
    language: str | None = None  # Of the review, such as en (BCP 47)
    similarity: Score | None = None  # Of the reviewed claim and the video's
    latency_seconds: Seconds = 0.0  # Of the look-up that found it

    @model_validator(mode="after")
    def _only_reviews_have_an_address(self) -> Self:
        is_review = self.status in {"ok", "skipped"}
        if {is_review} != {self.url is not None, self.canonical_url is not None}:
            raise ValueError("exactly the reviews that were found, kept or left out, have a URL")
        if is_review == (self.similarity is None):
            raise ValueError("exactly the reviews that were found have a similarity")
        if self.status in {"skipped", "infra_error"} and self.reason is None:
            raise ValueError("a skipped or failed row needs a reason")
        return self


class ReliabilityRating(
    Record, table="reliability_ratings", key="domain", volatile="domain_age_years"
):
    """The reliability of one domain, with the reasons."""

    video_id: str
    domain: str
    rating: Rating
    score: Score
    source_class: SourceClass
    bias: str | None = None
    datasets: tuple[str, ...] = ()  # The rating sets that list it
    listed_as: str | None = None  # The deciding parent domain, if it was not `domain`
    reasons: tuple[str, ...]
    domain_age_years: float | None = Field(default=None, ge=0)
    status: Status = "ok"  # infra_error: the domain age is missing


class Page(
    Record,
    table="pages",
    key="page_id",
    order="canonical_url, page_id",
    assets="evidence",
    volatile="latency_seconds, retrieved_at",
):
    """One attempt to fetch a page. `page_texts` has its text.

    `no_evidence`: the site answered without readable text (gone, forbidden, a bot wall, empty).
    `infra_error`: the fetch failed and may succeed later.
    """

    page_id: str
    video_id: str
    canonical_url: str
    final_url: str | None = None
    domain: str
    status: Status
    reason: str | None = None
    http_status: int | None = None
    via: Via | None = None
    title: str | None = None
    author: str | None = None
    published_on: date | None = None
    content_hash: str | None = None  # Key into page_texts
    byte_count: Count | None = None
    retrieved_at: datetime
    latency_seconds: Seconds = 0.0
    etag: str | None = None
    last_modified: str | None = None

    @model_validator(mode="after")
    def _readable_page_has_text(self) -> Self:
        if (self.status == "ok") != (self.content_hash is not None):
            raise ValueError("exactly the pages with status ok have a content_hash")
        return self


class PageText(Record, table="page_texts", key="content_hash", assets="evidence"):
    """The text of a page, stored once per content."""

    content_hash: str  # SHA-256 of the text, hexadecimal
    text: str = Field(min_length=1)


class Evidence(
    Record, table="evidence", key="evidence_id", order="claim_id, rating_score DESC, evidence_id"
):
    """The stance of one page on one claim, or the reason why there is none.

    A quote must be in the page: `page_texts.text[quote_start:quote_end]` is exactly the quote.
    """

    evidence_id: str
    claim_id: str
    video_id: str
    hit_id: str
    query_id: str
    canonical_url: str
    domain: str
    title: str
    status: Status
    reason: str | None = None
    stance: Stance | None = None
    stance_confidence: Score | None = None
    relevance: Score | None = None
    quote: str | None = None
    quote_start: Count | None = None
    quote_end: Count | None = None
    summary: str | None = None
    page_id: str | None = None
    content_hash: str | None = None
    via: Via | None = None
    published_on: date | None = None
    rating: Rating
    rating_score: Score
    bias: str | None = None
    source_class: SourceClass = "unknown"
    origin: str | None = None  # Sources with one origin repeat the same story
    rejected_quotes: Count = 0  # The reasoner's quotes that are not in the page
    basis: Basis | None = None
    # Whether the search snippet stands in for a page that could not be fetched.
    page_due: bool = False
    machine_stance: str | None = None  # Before a reviewer overruled `stance`
    machine_rating: str | None = None  # Before a reviewer overruled `rating`
    ground: str | None = None  # The embedded engine's ground, such as assertion or rating
    reused_claim_id: str | None = None  # The claim of another video for which it was read
    reused_from: str | None = None  # That check in a sentence: its video and day

    @model_validator(mode="after")
    def _only_read_evidence_has_a_stance(self) -> Self:
        if (self.status == "ok") != (self.stance is not None):
            raise ValueError("exactly the evidence with status ok has a stance")
        if self.status != "ok" and self.reason is None:
            raise ValueError("evidence that is not ok needs a reason")
        unknown = (self.quote is None, self.quote_start is None, self.quote_end is None)
        if any(unknown) and not all(unknown):
            raise ValueError("quote, quote_start and quote_end come together or not at all")
        return self


class Verdict(
    Record,
    table="verdict_history",
    view="current_verdicts",
    key="claim_id",
    order="evidence_quality DESC, rank, claim_id",
    assets="verdicts",
):
    """The verdict on one claim.

    `complete` verdicts have a stance. `incomplete` ones have none: services failed, and the missing
    sources could change the stance.
    """

    claim_id: str
    video_id: str
    rank: Rank
    status: Literal["complete", "incomplete"]
    evidence_status: Literal["ok", "no_evidence", "infra_error"]
    reason: str | None = None
    stance: Stance | None = None
    confidence: Confidence | None = None
    confidence_score: Score | None = None
    summary: str
    vote_stance: Stance | None = None  # The reliability-weighted vote over the evidence's stances
    vote_margin: float | None = Field(default=None, ge=-1.0, le=1.0)
    reasoner_stance: Stance | None = None  # The reasoner's own verdict, beside the vote
    disagreement: bool = False  # Whether the vote and the reasoner differ
    evidence_quality: Score
    supporting: Count
    refuting: Count
    mixed: Count
    unclear: Count
    independent_origins: Count
    missing: Count  # Sources that are unread because services failed
    # Whether a failed service left the stance, its confidence or its words open.
    recheck_due: bool = False
    basis: Basis
    veracity: Veracity | None = None  # For methods that use six levels
    strategy: str = "standard"  # The name of the strategy

    @model_validator(mode="after")
    def _only_complete_verdicts_have_a_stance(self) -> Self:
        judged = (self.stance is not None, self.confidence is not None)
        if any(judged) != all(judged) or all(judged) != (self.status == "complete"):
            raise ValueError("exactly the complete verdicts have a stance and a confidence")
        if self.status == "incomplete" and self.reason is None:
            raise ValueError("an incomplete verdict needs a reason")
        return self


class Step(
    Record, table="steps", key="claim_id, position", assets="verdicts", volatile="cost_usd, seconds"
):
    """One step of a strategy for a claim. The standard strategy records none.

    `skipped`: a rule in `reason`, such as a budget, ended the step without a result.
    """

    claim_id: str
    video_id: str
    strategy: str
    round: Rank  # A new plan begins a new round
    position: Rank  # Among the claim's steps
    step: StepKind
    technique: str  # In the strategy's own words
    asked: str = ""
    got: str = ""
    used: tuple[str, ...] = ()  # Ids of its input rows
    made: tuple[str, ...] = ()  # Ids of its output rows
    calls: Count = 0  # Model calls
    tokens: Count = 0
    cost_usd: float = Field(default=0.0, ge=0)
    seconds: Seconds = 0.0
    status: Status = "ok"
    reason: str | None = None


class LlmCall(
    ModelCall,
    Record,
    table="llm_calls",
    key="call_id",
    order="stage, call_id",
    assets="claims, queries, evidence, verdicts",
    volatile="cache_hit, cached_tokens, call_id, cost_usd, latency_seconds, request_id",
):
    """One call of a language model, with its purpose."""

    call_id: str
    request_id: str | None = None  # Shared by all rows of one request
    video_id: str
    stage: CallStage
    claim_id: str | None = None
    query_id: str | None = None
    canonical_url: str | None = None
    prompt_version: str


class MediaFinding(
    Record, table="media", key="finding_id", order="picture, kind, rank", volatile="latency_seconds"
):
    """One finding about a picture of a video: a hint for readers that verdicts ignore.

    An inspected picture has a row of metadata. An unavailable picture has a single row with the
    reason. Services without a key are `skipped`.
    """

    finding_id: str
    video_id: str
    picture: str  # thumbnail, or the moment of a frame, as in frame at 0:42
    content_hash: str | None = None  # SHA-256 of the picture's bytes
    kind: Literal["metadata", "error_level", "match", "miscaption", "deepfake"]
    rank: Rank
    provider: str  # The service; this project itself is local
    match_class: MatchKind | None = None  # The relation of a picture elsewhere
    claim_id: str | None = None  # The claim that the caption is compared with
    url: str | None = None  # The page, or else the picture, elsewhere
    title: str | None = None
    published_on: date | None = None  # Of the page elsewhere
    score: Score | None = None  # How strong the hint is
    status: Status
    reason: str | None = None  # The finding in words, or why there is none
    latency_seconds: Seconds = 0.0

    @model_validator(mode="after")
    def _failure_has_a_reason(self) -> Self:
        if self.status != "ok" and self.reason is None:
            raise ValueError(f"a finding that is {self.status} needs a reason")
        return self


ReviewKind = Literal[
    "add_query", "edit_query", "remove_query",
    "block_source", "unblock_source", "add_source", "overrule_source",
    "reword_claim", "split_claim", "drop_claim", "restore_claim", "add_claim",
    "assign", "note", "assess", "sign",
]  # fmt: skip
"""The actions of a reviewer on a claim.

`unblock_source` withdraws a block or an addition, `restore_claim` a drop or a split. An action
whose value is missing withdraws the earlier ones of its kind. `assess` is the reviewer's own
verdict and `sign` a signed ruling; both appear beside the machine's verdict and never replace it.
"""

Prose = Annotated[str | None, Field(max_length=4000)]
_WITH_QUERY = frozenset({"add_query", "edit_query"})
_WITH_TARGET = frozenset({
    "edit_query", "remove_query", "block_source", "unblock_source", "add_source", "overrule_source",
})  # fmt: skip
_WITH_WORDS = _WITH_QUERY | {
    "add_source", "note", "reword_claim", "split_claim", "restore_claim", "add_claim"
}  # fmt: skip
"""The actions that need a query, a target and words."""


class ReviewAction(Record, table="review_actions", assets=""):
    """One action of a reviewer on a claim, never changed later.

    Actions belong to no run and no asset.
    """

    action_id: str
    video_id: str
    claim_id: str
    reviewer: str = Field(min_length=1, max_length=80)
    acted_at: datetime
    position: Rank = 1  # Among simultaneous actions
    action: ReviewKind
    # A query_id, the canonical URL of a source, a domain; for an added claim its passage in the
    # transcript; for a ruling its scale.
    target: str | None = None
    # The text of a query, a note or a claim (for a split one part per line), the given URL of a
    # source, a stance, a rating, a person, or the label of a ruling.
    value: Prose = None
    query_id: str | None = None  # Of the new query
    query_type: QueryType | None = None
    seeks_opposite: bool = False
    reason: Prose = None  # For a ruling its prose
    stance: Stance | None = None  # The stance of the ruling's label
    organisation: str | None = None  # The organisation behind a ruling

    @model_validator(mode="after")
    def _action_has_what_it_needs(self) -> Self:
        if self.action in _WITH_TARGET and self.target is None:
            raise ValueError(f"{self.action} needs a target")
        if self.action in _WITH_WORDS and not (self.value or "").strip():
            raise ValueError(f"{self.action} needs words")
        if (self.action in _WITH_QUERY) != (self.query_id is not None):
            raise ValueError("exactly the words of a query have a query_id")
        if self.action == "assess" and self.value not in {None, *stances.STANCES}:
            raise ValueError("an assessment is a stance, or none")
        choices = (*stances.STANCES, *get_args(Rating), None)
        if self.action == "overrule_source" and self.value not in choices:
            raise ValueError("a source is overruled with a stance, a rating or none")
        if self.action == "sign" and (self.value is None) != (self.stance is None):
            raise ValueError("exactly a ruling with a label has a stance")
        is_decision = self.action in {"overrule_source", "sign"} and self.value is not None
        if (is_decision or self.action == "drop_claim") and not (self.reason or "").strip():
            raise ValueError(f"{self.action} needs a reason")
        return self


class JudgementRow(Record, table="judgements", assets=""):
    """The score of a language model as judge for one subject. It belongs to no asset."""

    judgement_id: str
    judging_id: str
    video_id: str
    claim_id: str
    subject_kind: str
    subject_id: str
    criterion: Criterion
    outcome: str
    score: int | None
    normalised: float | None
    reason: str
    quote: str | None
    provider: str
    model: str
    prompt_version: str
    question_hash: str
    calls: int
    cost_usd: float
    price_known: bool
    judged_at: datetime


ALL_RECORDS: tuple[type[Record], ...] = tuple(
    record for record in Record.__subclasses__() if record.assets
)
"""The record classes that assets write, in the order of the method."""
ASSET_RECORDS: dict[str, tuple[type[Record], ...]] = {
    asset: tuple(record for record in ALL_RECORDS if asset in record.assets)
    for asset in dict.fromkeys(asset for record in ALL_RECORDS for asset in record.assets)
}
"""The record classes of each asset, in the order of the method."""
METHOD: tuple[str, ...] = tuple(asset for asset in ASSET_RECORDS if asset != "media")
"""The assets of a fact-check; `media` is optional."""
MAIN_RECORD: dict[str, type[Record]] = {
    asset: next(record for record in records if record.view == f"current_{asset}")
    for asset, records in ASSET_RECORDS.items()
}
"""The record class with the asset's name."""
