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
from typing import TypeVar

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
from factible_assets.report.data import Outlived, ReportData
from factible_assets.report.links import quote_url, safe_url, source_links
from factible_assets.report.passages import Passage, quote_passage
from factible_assets.report.words import GROUP_WORDS, INCOMPLETE, UNJUDGED
from factible_assets.rows import VerdictChange
from factible_assets.stages.argument import Argument, argue
from factible_assets.stages.evidence import is_later
from factible_assets.stages.reviews import by_claim, latest
from factible_assets.wording import act_words, counted

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
    rating_reasons: tuple[str, ...]
    passage: Passage | None
    origin: str
    same_origin_as: str | None
    page: Page | None
    is_later: bool


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with everything that was found, not found and not checked about it.

    `anchors` are those of its sources by the id of their evidence, for the links of its argument;
    a claim is verbatim if it is worded as it was said, but for case and punctuation. `groups` has
    the sources of each side, the one that won first; `leftovers` by status the sources that say
    nothing and the work that made nothing, in words. `prior` are published reviews with the link to
    each, if it may be followed; `searches` the queries and what became of each in words; `steps`
    those of a strategy with anchor and domain of what each rests on; `reviews` what people did, in
    words, the latest last.
    """

    claim: Claim
    number: int
    anchor: str
    outcome: str
    verdict: Verdict | None
    said: str | None
    is_verbatim: bool
    outlived: Outlived | None
    changes: tuple[VerdictChange, ...]
    argument: Argument
    anchors: Mapping[str, str]
    groups: Mapping[Stance, tuple[SourceView, ...]]
    leftovers: Mapping[Status, tuple[tuple[SourceView, ...], tuple[str, ...]]]
    prior: tuple[tuple[PriorFactCheck, str | None], ...]
    searches: tuple[tuple[Query, tuple[str, ...]], ...]
    steps: tuple[tuple[Step, tuple[tuple[str, str], ...]], ...]
    reviews: tuple[tuple[ReviewAction, str], ...]
    assessment: ReviewAction | None
    ruling: ReviewAction | None

    @property
    def is_leaning(self) -> bool:
        """Whether rules and word statistics judged."""
        return bool(self.verdict and self.verdict.stance and self.verdict.basis == "embedded")


class Shelves:
    """The records of a video, laid out by the claim that they belong to.

    `stored` has the anchor of each stored page text by content hash.
    """

    def __init__(self, data: ReportData, stored: Mapping[str, str]) -> None:
        self._data = data
        self._stored = stored
        self.texts = data.texts
        self.links = source_links(data)
        self.pages = {page.page_id: page for page in data.pages}
        self._verdicts = {verdict.claim_id: verdict for verdict in data.verdicts}
        self._ratings = {rating.domain: rating for rating in data.ratings}
        self.in_order = in_order(data.evidence)
        self._anchors = {id(row): f"e{n}" for n, row in enumerate(self.in_order, 1)}
        self._evidence = _by_claim(self.in_order)
        self._steps = _by_claim(sorted(data.steps, key=lambda step: step.position))
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
        key = claim.claim_id
        verdict = self._verdicts.get(key)
        outcome = UNJUDGED if verdict is None else verdict.stance or INCOMPLETE
        said = None
        if self._data.transcript is not None and claim.char_start is not None:
            said = self._data.transcript.text[claim.char_start : claim.char_end] or None
        ok = self._sources(claim, "ok")
        # The side that won comes first.
        sides = sorted(GROUP_WORDS, key=lambda side: side != outcome)
        groups = {
            side: tuple(each for each in ok if each.evidence.stance == side) for side in sides
        }
        named = {row.evidence_id: (self.anchor_of(row), row.domain) for row in self._data.evidence}
        steps = []
        for step in self._steps[key]:
            # A key point makes nothing: it rests on what it cites.
            ids = step.made or (step.used if step.step == "judge" else ())
            steps.append((step, tuple(named[each] for each in ids if each in named)))
        left: tuple[Status, ...] = ("infra_error", "no_evidence", "skipped")
        return ClaimView(
            claim=claim,
            number=number,
            anchor=claim_anchor(key, number),
            outcome=outcome,
            verdict=verdict,
            said=said,
            is_verbatim=said is not None and _bare(said) == _bare(claim.text),
            outlived=self._data.outlived.get(key),
            changes=tuple(self._changes[key]),
            argument=argue(outcome, self._evidence[key]),
            anchors={row.evidence_id: self.anchor_of(row) for row in self._evidence[key]},
            groups={side: sources for side, sources in groups.items() if sources},
            leftovers={
                status: (self._sources(claim, status), self._work(claim, status)) for status in left
            },
            prior=tuple(
                (review, safe_url(review.url))
                for review in self._prior[key]
                if review.status == "ok"
            ),
            searches=tuple(
                (query, tuple(map(_search_words, self._searches[query.query_id])))
                for query in self._queries[key]
            ),
            steps=tuple(steps),
            reviews=self._acts(claim),
            assessment=latest("assess", self._reviews.get(key, []), key),
            ruling=self._rulings.get(key),
        )

    def anchor_of(self, evidence: Evidence) -> str:
        """Return the anchor of a source, unique in its report."""
        return self._anchors[id(evidence)]

    def _sources(self, claim: Claim, status: Status) -> tuple[SourceView, ...]:
        first_of: dict[str, str] = {}
        views = []
        for row in self._evidence[claim.claim_id]:
            if row.status != status:
                continue
            origin = row.origin or row.domain
            first = first_of.setdefault(origin, row.domain)
            text = self.texts.get(row.content_hash or "")
            passage = quote_passage(row, text)
            stored = self._stored.get(row.content_hash or "") if status == "ok" else None
            if stored and passage and passage.located:
                stored = f"quote-{self.anchor_of(row)}"
            rating = self._ratings.get(row.domain)
            reasons = [*rating.reasons] if rating else []
            if rating and rating.datasets:
                reasons.append(f"listed in {', '.join(rating.datasets)}")
            link = self.links[row.evidence_id]
            views.append(
                SourceView(
                    evidence=row,
                    anchor=self.anchor_of(row),
                    title=row.title.strip() or row.canonical_url,
                    link=link,
                    at_quote=quote_url(link, row.quote) if link and row.quote else None,
                    stored=stored,
                    rating_reasons=tuple(reasons),
                    passage=passage,
                    origin=origin,
                    same_origin_as=None if first == row.domain else first,
                    page=self.pages.get(row.page_id or ""),
                    is_later=is_later(row.published_on, self._data.video),
                )
            )
        return tuple(views)

    def _acts(self, claim: Claim) -> tuple[tuple[ReviewAction, str], ...]:
        known = dict(self._data.reviewed_queries)
        known |= {query.query_id: query.text for query in self._queries[claim.claim_id]}
        told = []
        for act in self._reviews.get(claim.claim_id, ()):
            query = known.get(act.target or "")
            told.append((act, act_words(act.action, act.target, act.value, query)))
            if act.query_id is not None and act.value is not None:
                known[act.query_id] = act.value
        return tuple(told)

    def _work(self, claim: Claim, status: Status) -> tuple[str, ...]:
        """Say which queries, searches and look-ups of a claim ended with a status, and why."""
        queries = self._queries[claim.claim_id]
        lines = [
            f"The query “{query.text}”: {query.reason or status}"
            if query.text
            else f"Writing a query: {query.reason}"
            for query in queries
            if query.status == status
        ]
        lines += [
            f"The search for “{query.text}” at {search.provider}, page {search.page}: "
            f"{search.reason or 'no results'}"
            for query in queries
            for search in self._searches[query.query_id]
            if search.status == status
        ]
        for each in self._prior[claim.claim_id]:
            if each.status == status == "skipped":
                lines.append(f"The review by {each.publisher or each.domain}: {each.reason}")
            elif each.status == status:
                lines.append(f"Prior fact checks at {each.provider}: {each.reason or 'none found'}")
        return tuple(lines)


_Row = TypeVar("_Row", Evidence, PriorFactCheck, Query, Step, VerdictChange)


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


def _search_words(search: Search) -> str:
    where = search.provider if search.page == 1 else f"{search.provider}, page {search.page}"
    if search.status == "infra_error":
        return f"{where}: failed"
    return f"{where}: {counted(search.hit_count, 'result')}"
