"""A report as its reader meets it: records arranged, counted and put into words.

What belongs here: order, grouping, labels, which links are safe. What does not: markup, colours,
judgement of any kind; every number here was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from factible_assets.presentation import STANCE_WORDS, moment_url
from factible_assets.records import (
    Claim,
    Evidence,
    Query,
    ReliabilityRating,
    Search,
    Stance,
    Status,
    Verdict,
    Video,
)
from factible_assets.report.data import Outlived, ReportData
from factible_assets.report.passages import Block, Passage, quote_passage, transcript_blocks

UNJUDGED = "unjudged"
INCOMPLETE = "incomplete"
OUTCOMES = ("supports", "refutes", "mixed", "unclear", INCOMPLETE, UNJUDGED)
"""Every outcome that a claim can have, in the order of the summary."""

_OUTCOME_WORDS = {
    **{stance: words.capitalize() for stance, words in STANCE_WORDS.items()},
    INCOMPLETE: "Incomplete",
    UNJUDGED: "Not judged yet",
}
_GROUP_WORDS: dict[Stance, str] = {
    "supports": "Supports the claim",
    "refutes": "Refutes the claim",
    "mixed": "Says both",
    "unclear": "Speaks of it, but takes no clear side",
}
_VIA_WORDS = {
    "scraped": "page text",
    "browser": "page text, by browser",
    "pdf": "PDF text",
    "archive": "archived copy",
    "snippet": "search snippet only",
}
_RATING_ORDER = {"high": 0, "medium": 1, "low": 2, "very_low": 3, "unknown": 4}
_LINKABLE = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}]+", re.IGNORECASE)
_MAX_URL_LENGTH = 4096
_ID = re.compile(r"[A-Za-z0-9_-]+")


def safe_url(url: str | None) -> str | None:
    """Return `url` if a reader may be sent there, else None: http or https, a host, no user name.

    A user name is refused because it makes one host look like another.
    """
    if url is None or len(url) > _MAX_URL_LENGTH or not _LINKABLE.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        has_user = "@" in parts.netloc
    except ValueError:
        return None
    return url if parts.hostname and not has_user else None


@dataclass(frozen=True, slots=True)
class Count:
    """How many claims ended one way. `offset` and `share` place it in a bar of width 100."""

    outcome: str
    words: str
    number: int
    offset: float
    share: float


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source of one claim."""

    evidence: Evidence
    title: str
    link: str | None
    rating_words: str
    class_words: str | None
    via_words: str | None
    rating_reasons: tuple[str, ...]
    passage: Passage | None
    same_origin_as: str | None


@dataclass(frozen=True, slots=True)
class StanceGroup:
    """The sources of one claim that take the same side."""

    stance: Stance
    words: str
    sources: tuple[SourceView, ...]
    origins: int


@dataclass(frozen=True, slots=True)
class SearchView:
    """One query and what became of it at each provider."""

    query: Query
    outcomes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with everything that was found, not found and not checked about it."""

    claim: Claim
    number: int
    anchor: str
    outcome: str
    outcome_words: str
    verdict: Verdict | None
    jump: str | None
    said: str | None
    vote_words: str | None
    outlived: Outlived | None
    groups: tuple[StanceGroup, ...]
    failed: tuple[SourceView, ...]
    failed_work: tuple[str, ...]
    empty: tuple[SourceView, ...]
    empty_searches: tuple[str, ...]
    skipped: tuple[SourceView, ...]
    skipped_work: tuple[str, ...]
    searches: tuple[SearchView, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """A paragraph of the transcript with the link to its second."""

    block: Block
    jump: str | None


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything that the template prints."""

    video: Video
    video_link: str | None
    thesis: str | None
    run_id: str | None
    checked_at: datetime | None
    is_leaning: bool
    bases: tuple[str, ...]
    counts: tuple[Count, ...]
    claims: tuple[ClaimView, ...]
    by_id: Mapping[str, ClaimView]
    incomplete: tuple[ClaimView, ...]
    transcript: tuple[BlockView, ...]
    transcript_words: str | None
    facts: tuple[tuple[str, str], ...]


def arrange(data: ReportData) -> ReportView:
    """Arrange the records of one video for its reader, claims in order of time."""
    claims = _claim_views(data)
    by_id = {view.claim.claim_id: view for view in claims}
    bases = sorted({v.basis for v in data.verdicts} or {c.basis for c in data.claims})
    return ReportView(
        video=data.video,
        video_link=safe_url(data.video.url),
        thesis=next((claim.thesis for claim in data.claims if claim.thesis), None),
        run_id=data.run_id,
        checked_at=data.checked_at,
        is_leaning="embedded" in bases,
        bases=tuple(bases),
        counts=_counts([view.outcome for view in claims]),
        claims=claims,
        by_id=by_id,
        incomplete=tuple(view for view in claims if view.outcome == INCOMPLETE),
        transcript=_transcript(data),
        transcript_words=_transcript_words(data),
        facts=_facts(data),
    )


def _counts(outcomes: Sequence[str]) -> tuple[Count, ...]:
    found = Counter(outcomes)
    counts: list[Count] = []
    offset = 0.0
    for outcome in OUTCOMES:
        if number := found[outcome]:
            share = 100.0 * number / len(outcomes)
            counts.append(Count(outcome, _OUTCOME_WORDS[outcome], number, offset, share))
            offset += share
    return tuple(counts)


def _claim_views(data: ReportData) -> tuple[ClaimView, ...]:
    in_time = sorted(
        data.claims,
        key=lambda c: (c.start_seconds is None, c.start_seconds or 0.0, c.char_start or 0, c.rank),
    )
    shelves = _Shelves(data)
    return tuple(shelves.claim_view(claim, number) for number, claim in enumerate(in_time, 1))


class _Shelves:
    """The records of a video, laid out by the claim that they belong to."""

    def __init__(self, data: ReportData) -> None:
        self._data = data
        self._verdicts = {verdict.claim_id: verdict for verdict in data.verdicts}
        self._ratings = {rating.domain: rating for rating in data.ratings}
        self._evidence: dict[str, list[Evidence]] = defaultdict(list)
        self._queries: dict[str, list[Query]] = defaultdict(list)
        self._searches: dict[str, list[Search]] = defaultdict(list)
        for evidence in sorted(data.evidence, key=_evidence_order):
            self._evidence[evidence.claim_id].append(evidence)
        for query in sorted(data.queries, key=lambda query: query.rank):
            self._queries[query.claim_id].append(query)
        for search in sorted(data.searches, key=lambda search: (search.provider, search.page)):
            self._searches[search.query_id].append(search)

    def claim_view(self, claim: Claim, number: int) -> ClaimView:
        verdict = self._verdicts.get(claim.claim_id)
        outcome = _outcome(verdict)
        searches = self._search_views(claim)
        return ClaimView(
            claim=claim,
            number=number,
            # An id reaches an attribute and a fragment, so an odd one is replaced, never trusted.
            anchor=claim.claim_id if _ID.fullmatch(claim.claim_id) else f"n{number}",
            outcome=outcome,
            outcome_words=_OUTCOME_WORDS[outcome],
            verdict=verdict,
            jump=moment_url(self._data.video, claim.start_seconds),
            said=self._said(claim),
            vote_words=_vote_words(verdict),
            outlived=self._data.outlived.get(claim.claim_id),
            groups=self._groups(claim),
            failed=self._sources(claim, "infra_error"),
            failed_work=self._work(claim, "infra_error"),
            empty=self._sources(claim, "no_evidence"),
            empty_searches=self._work(claim, "no_evidence"),
            skipped=self._sources(claim, "skipped"),
            skipped_work=self._work(claim, "skipped"),
            searches=searches,
        )

    def _said(self, claim: Claim) -> str | None:
        if self._data.transcript is None or claim.char_start is None:
            return None
        return self._data.transcript.text[claim.char_start : claim.char_end] or None

    def _groups(self, claim: Claim) -> tuple[StanceGroup, ...]:
        ok = self._sources(claim, "ok")
        groups = []
        for stance, words in _GROUP_WORDS.items():
            sources = tuple(source for source in ok if source.evidence.stance == stance)
            if sources:
                origins = len({_origin(source.evidence) for source in sources})
                groups.append(StanceGroup(stance, words, sources, origins))
        return tuple(groups)

    def _sources(self, claim: Claim, status: Status) -> tuple[SourceView, ...]:
        first_of: dict[str, str] = {}
        views = []
        for evidence in self._evidence[claim.claim_id]:
            if evidence.status == status:
                first = first_of.setdefault(_origin(evidence), evidence.domain)
                told_by = None if first == evidence.domain else first
                views.append(self._source_view(evidence, told_by))
        return tuple(views)

    def _source_view(self, evidence: Evidence, same_origin_as: str | None) -> SourceView:
        text = self._data.page_texts.get(evidence.content_hash or "")
        rating = self._ratings.get(evidence.domain)
        is_classed = evidence.source_class != "unknown"
        return SourceView(
            evidence=evidence,
            title=evidence.title.strip() or evidence.canonical_url,
            link=safe_url(evidence.canonical_url),
            rating_words=_rating_words(evidence),
            class_words=evidence.source_class.replace("_", " ") if is_classed else None,
            via_words=_VIA_WORDS.get(evidence.via) if evidence.via else None,
            rating_reasons=_rating_reasons(rating),
            passage=quote_passage(evidence, text),
            same_origin_as=same_origin_as,
        )

    def _search_views(self, claim: Claim) -> tuple[SearchView, ...]:
        return tuple(
            SearchView(query, tuple(map(_search_words, self._searches[query.query_id])))
            for query in self._queries[claim.claim_id]
        )

    def _work(self, claim: Claim, status: Status) -> tuple[str, ...]:
        """Say which queries and searches of a claim ended with a status, and why."""
        lines = [
            f"Writing a query: {query.reason}"
            if not query.text
            else f"The query “{query.text}”: {query.reason or status}"
            for query in self._queries[claim.claim_id]
            if query.status == status
        ]
        for query in self._queries[claim.claim_id]:
            lines += [
                f"The search for “{query.text}” at {search.provider}, page {search.page}: "
                f"{search.reason or 'no results'}"
                for search in self._searches[query.query_id]
                if search.status == status
            ]
        return tuple(lines)


def _evidence_order(evidence: Evidence) -> tuple[int, float, str, str]:
    rating = _RATING_ORDER[evidence.rating]
    return rating, -evidence.rating_score, evidence.title, evidence.canonical_url


def _origin(evidence: Evidence) -> str:
    return evidence.origin or evidence.domain


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None:
        return UNJUDGED
    return verdict.stance or INCOMPLETE


def _vote_words(verdict: Verdict | None) -> str | None:
    if verdict is None or verdict.vote_stance is None:
        return None
    words = STANCE_WORDS[verdict.vote_stance]
    return words if verdict.vote_margin is None else f"{words} (margin {verdict.vote_margin:+.2f})"


def _rating_words(evidence: Evidence) -> str:
    if evidence.rating == "unknown":
        return "reliability unknown"
    return f"{evidence.rating.replace('_', ' ')} reliability"


def _rating_reasons(rating: ReliabilityRating | None) -> tuple[str, ...]:
    if rating is None:
        return ()
    listed = (f"listed in {', '.join(rating.datasets)}",) if rating.datasets else ()
    return (*rating.reasons, *listed)


def _search_words(search: Search) -> str:
    where = search.provider if search.page == 1 else f"{search.provider}, page {search.page}"
    if search.status == "infra_error":
        return f"{where}: failed"
    return f"{where}: {plural(search.hit_count, 'result')}"


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """Say a count with its noun."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def _transcript(data: ReportData) -> tuple[BlockView, ...]:
    if data.transcript is None:
        return ()
    blocks = transcript_blocks(data.transcript.text, data.segments, data.claims)
    return tuple(BlockView(b, moment_url(data.video, b.start_seconds)) for b in blocks)


def _transcript_words(data: ReportData) -> str | None:
    if data.transcript is None:
        return None
    kinds = {"manual": "Captions written by a person", "generated": "Automatic captions"}
    kind = kinds.get(data.transcript.kind, "A transcript of unknown making")
    language = f", language {data.transcript.language}" if data.transcript.language else ""
    times = "" if data.segments else "; it has no times"
    return f"{kind}{language}, from {data.transcript.provider}{times}."


def _facts(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Count the work behind the report."""
    statuses = Counter(evidence.status for evidence in data.evidence)
    facts = [
        ("Claims", f"{len(data.claims):,}"),
        ("Queries", f"{sum(bool(query.text) for query in data.queries):,}"),
        ("Searches", f"{len(data.searches):,}"),
        ("Sources that speak of a claim", f"{statuses['ok']:,}"),
        ("Sources with nothing on it", f"{statuses['no_evidence']:,}"),
        ("Sources that failed", f"{statuses['infra_error']:,}"),
        ("Sources skipped", f"{statuses['skipped']:,}"),
        ("Domains rated", f"{len(data.ratings):,}"),
        ("Quotes rejected as not verbatim", f"{_rejected(data.evidence):,}"),
        ("Transcript", plural(len(data.transcript.text), "character") if data.transcript else "–"),
    ]
    if data.calls:
        facts.append(("Model calls", f"{len(data.calls):,}"))
        facts.append(("Models", ", ".join(sorted({call.model for call in data.calls}))))
        facts.append(("Cost", f"${sum(call.cost_usd for call in data.calls):.4f}"))
    return tuple(facts)


def _rejected(evidence: Iterable[Evidence]) -> int:
    return sum(row.rejected_quotes for row in evidence)
