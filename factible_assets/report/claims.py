"""One claim as its reader meets it: verdict, evidence by stance, what failed, what was asked.

What belongs here: order, grouping and sentences about one claim. What does not: markup, the video
as a whole (view.py), judgement of any kind; every number here was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from factible_assets.records import (
    Claim,
    Evidence,
    Page,
    PriorFactCheck,
    Query,
    ReviewAction,
    Search,
    Stance,
    Status,
    Step,
    Verdict,
)
from factible_assets.report.data import Outlived, ReportData, VerdictChange
from factible_assets.report.links import quote_url, safe_url, source_links, youtube_id
from factible_assets.report.passages import Passage, quote_passage
from factible_assets.report.words import (
    GROUP_WORDS,
    INCOMPLETE,
    UNJUDGED,
    VIA_WORDS,
    outcome_words,
    plural,
)
from factible_assets.stages.argument import Argument, argue
from factible_assets.stages.evidence import is_later
from factible_assets.stages.reviews import by_claim, latest
from factible_assets.wording import STANCE_WORDS, act_words, moment_url, rating_words

_RATING_ORDER = {"high": 0, "medium": 1, "low": 2, "very_low": 3, "unknown": 4}
_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source of one claim. `at_quote` opens the page at its quote, where browsers can.

    `stored` is the anchor of its stored text, or of its quote in there.
    """

    evidence: Evidence
    anchor: str
    title: str
    link: str | None
    at_quote: str | None
    stored: str | None
    rating_words: str
    class_words: str | None
    via_words: str | None
    rating_reasons: tuple[str, ...]
    passage: Passage | None
    same_origin_as: str | None
    page: Page | None
    is_later: bool


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
class StepView:
    """One step of a strategy; `cited` are the sources that it rests on, by anchor and domain."""

    step: Step
    cited: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PriorView:
    """A review that a fact-checker had published. `link` is None where it must not be followed."""

    review: PriorFactCheck
    link: str | None


@dataclass(frozen=True, slots=True)
class ReviewView:
    """What one reviewer did at one moment, in words, the latest last."""

    action: ReviewAction
    words: str


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with everything that was found, not found and not checked about it.

    `anchors` are those of its sources by the id of their evidence, for the links of its argument.
    `seconds` is the whole second to which the video can be moved, `jump` the link to it; a claim is
    verbatim if it is worded as it was said, but for case and punctuation.
    """

    claim: Claim
    number: int
    anchor: str
    outcome: str
    outcome_words: str
    verdict: Verdict | None
    is_leaning: bool
    seconds: int | None
    jump: str | None
    said: str | None
    is_verbatim: bool
    vote_words: str | None
    outlived: Outlived | None
    changes: tuple[VerdictChange, ...]
    argument: Argument
    anchors: Mapping[str, str]
    groups: tuple[StanceGroup, ...]
    prior: tuple[PriorView, ...]
    failed: tuple[SourceView, ...]
    failed_work: tuple[str, ...]
    empty: tuple[SourceView, ...]
    empty_searches: tuple[str, ...]
    skipped: tuple[SourceView, ...]
    skipped_work: tuple[str, ...]
    searches: tuple[SearchView, ...]
    steps: tuple[StepView, ...]
    reviews: tuple[ReviewView, ...]
    assessment: ReviewAction | None
    ruling: ReviewAction | None


class Shelves:
    """The records of a video, laid out by the claim that they belong to.

    Args:
        data: The records.
        stored: The anchor of each stored page text, by content hash.
    """

    def __init__(self, data: ReportData, stored: Mapping[str, str]) -> None:
        self._data = data
        self._stored = stored
        self.texts = data.texts
        self.links = source_links(data)
        self.pages = {page.page_id: page for page in data.pages}
        self._verdicts = {verdict.claim_id: verdict for verdict in data.verdicts}
        self._ratings = {rating.domain: rating for rating in data.ratings}
        self._anchors = {id(row): f"e{n}" for n, row in enumerate(in_order(data.evidence), 1)}
        self._evidence = _by_claim(in_order(data.evidence))
        self._steps = _by_claim(sorted(data.steps, key=lambda step: step.position))
        self._named = {
            row.evidence_id: (self._anchors[id(row)], row.domain) for row in data.evidence
        }
        self._queries = _by_claim(sorted(data.queries, key=lambda query: query.rank))
        self._prior = _by_claim(sorted(data.prior_fact_checks, key=lambda review: review.rank))
        self._reviews = by_claim(data.reviews)
        self._rulings = data.rulings
        self._changes = _by_claim(sorted(data.changes, key=lambda change: change.checked_at))
        self._searches: dict[str, list[Search]] = defaultdict(list)
        for search in sorted(data.searches, key=lambda search: (search.provider, search.page)):
            self._searches[search.query_id].append(search)

    def claim_view(self, claim: Claim, number: int) -> ClaimView:
        """Return a claim with its number in order of time, from 1."""
        verdict = self._verdicts.get(claim.claim_id)
        outcome = UNJUDGED if verdict is None else verdict.stance or INCOMPLETE
        said = None
        if self._data.transcript is not None and claim.char_start is not None:
            said = self._data.transcript.text[claim.char_start : claim.char_end] or None
        jump = moment_url(self._data.video, claim.start_seconds)
        reviews = self._reviews.get(claim.claim_id, [])
        # The side that won comes first.
        groups = tuple(sorted(self._groups(claim), key=lambda group: group.stance != outcome))
        return ClaimView(
            claim=claim,
            number=number,
            anchor=claim_anchor(claim.claim_id, number),
            outcome=outcome,
            outcome_words=outcome_words(outcome, None),
            verdict=verdict,
            is_leaning=verdict is not None
            and verdict.basis == "embedded"
            and outcome != INCOMPLETE,
            seconds=None if claim.start_seconds is None else int(claim.start_seconds),
            jump=jump if youtube_id(self._data.video) else None,
            said=said,
            is_verbatim=said is not None and _bare(said) == _bare(claim.text),
            vote_words=_vote_words(verdict),
            outlived=self._data.outlived.get(claim.claim_id),
            changes=tuple(self._changes[claim.claim_id]),
            argument=argue(outcome, self._evidence[claim.claim_id]),
            anchors={
                row.evidence_id: self.anchor_of(row) for row in self._evidence[claim.claim_id]
            },
            groups=groups,
            prior=tuple(
                PriorView(review, safe_url(review.url))
                for review in self._prior[claim.claim_id]
                if review.status == "ok"
            ),
            failed=self._sources(claim, "infra_error"),
            failed_work=self._work(claim, "infra_error"),
            empty=self._sources(claim, "no_evidence"),
            empty_searches=self._work(claim, "no_evidence"),
            skipped=self._sources(claim, "skipped"),
            skipped_work=self._work(claim, "skipped"),
            searches=tuple(
                SearchView(query, tuple(map(_search_words, self._searches[query.query_id])))
                for query in self._queries[claim.claim_id]
            ),
            steps=tuple(self._step_view(step) for step in self._steps[claim.claim_id]),
            reviews=self._review_views(claim),
            assessment=latest("assess", reviews, claim.claim_id),
            ruling=self._rulings.get(claim.claim_id),
        )

    def quotes_in(self, content_hash: str) -> list[Evidence]:
        """Return the evidence that was read in one stored text, in order."""
        return [
            row
            for row in in_order(self._data.evidence)
            if row.content_hash == content_hash and row.status == "ok"
        ]

    def anchor_of(self, evidence: Evidence) -> str:
        """Return the anchor of a source, unique in its report."""
        return self._anchors[id(evidence)]

    def _step_view(self, step: Step) -> StepView:
        # A key point makes nothing: it rests on what it cites.
        ids = step.made or (step.used if step.step == "judge" else ())
        return StepView(step, tuple(self._named[each] for each in ids if each in self._named))

    def _groups(self, claim: Claim) -> tuple[StanceGroup, ...]:
        ok = self._sources(claim, "ok")
        groups = []
        for stance, words in GROUP_WORDS.items():
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
        text = self.texts.get(evidence.content_hash or "")
        rating = self._ratings.get(evidence.domain)
        page = self.pages.get(evidence.page_id or "")
        is_classed = evidence.source_class != "unknown"
        passage = quote_passage(evidence, text)
        reasons = [*rating.reasons] if rating else []
        if rating and rating.datasets:
            reasons.append(f"listed in {', '.join(rating.datasets)}")
        link = self.links[evidence.evidence_id]
        return SourceView(
            evidence=evidence,
            anchor=self.anchor_of(evidence),
            title=evidence.title.strip() or evidence.canonical_url,
            link=link,
            at_quote=quote_url(link, evidence.quote) if link and evidence.quote else None,
            stored=self._stored_anchor(evidence, passage),
            rating_words=rating_words(evidence.rating),
            class_words=evidence.source_class.replace("_", " ") if is_classed else None,
            via_words=VIA_WORDS.get(evidence.via) if evidence.via else None,
            rating_reasons=tuple(reasons),
            passage=passage,
            same_origin_as=same_origin_as,
            is_later=is_later(evidence.published_on, self._data.video),
            page=page,
        )

    def _stored_anchor(self, evidence: Evidence, passage: Passage | None) -> str | None:
        """Return where the stored text is shown: at the quote, if it is located there."""
        text = self._stored.get(evidence.content_hash or "")
        if text is None or evidence.status != "ok":
            return None
        return f"quote-{self.anchor_of(evidence)}" if passage and passage.located else text

    def _review_views(self, claim: Claim) -> tuple[ReviewView, ...]:
        known = dict(self._data.reviewed_queries)
        known |= {query.query_id: query.text for query in self._queries[claim.claim_id]}
        views = []
        for action in self._reviews.get(claim.claim_id, ()):
            query = known.get(action.target or "")
            words = act_words(action.action, action.target, action.value, query)
            views.append(ReviewView(action, words))
            if action.query_id is not None and action.value is not None:
                known[action.query_id] = action.value
        return tuple(views)

    def _work(self, claim: Claim, status: Status) -> tuple[str, ...]:
        """Say which queries, searches and look-ups of a claim ended with a status, and why."""
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
        for each in self._prior[claim.claim_id]:
            if each.status == status == "skipped":
                lines.append(f"The review by {each.publisher or each.domain}: {each.reason}")
            elif each.status == status:
                lines.append(f"Prior fact checks at {each.provider}: {each.reason or 'none found'}")
        return tuple(lines)


class _OfClaim(Protocol):
    @property
    def claim_id(self) -> str: ...


_Row = TypeVar("_Row", bound=_OfClaim)


def _by_claim(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        found[row.claim_id].append(row)
    return found


def claim_anchor(claim_id: str, number: int) -> str:
    """Return what a claim's id is in attributes and fragments.

    An odd id is replaced by the claim's number in order of time, never trusted.
    """
    return claim_id if _ID.fullmatch(claim_id) else f"n{number}"


def in_order(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return evidence, the most reliable first."""
    return sorted(
        evidence,
        key=lambda row: (
            _RATING_ORDER[row.rating],
            -row.rating_score,
            row.title,
            row.canonical_url,
        ),
    )


def _bare(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def _origin(evidence: Evidence) -> str:
    return evidence.origin or evidence.domain


def _vote_words(verdict: Verdict | None) -> str | None:
    if verdict is None or verdict.vote_stance is None:
        return None
    words = STANCE_WORDS[verdict.vote_stance]
    return words if verdict.vote_margin is None else f"{words} (margin {verdict.vote_margin:+.2f})"


def _search_words(search: Search) -> str:
    where = search.provider if search.page == 1 else f"{search.provider}, page {search.page}"
    if search.status == "infra_error":
        return f"{where}: failed"
    return f"{where}: {plural(search.hit_count, 'result')}"
