"""What people correct about the check of a claim, and what follows from it for the flow.

What belongs here: folding a reviewer's actions into the corrections in force, and applying these to
queries and search results. What does not: storing actions (warehouse/reviews.py), entering them
(cli/review.py), choosing pages (search.py).

The rule: of all that was said about one query, or about one source, of a claim, the latest counts;
the view standing_reviews (warehouse/views/60_reviews.sql) keeps the same rule. A page whose own
address nobody spoke of follows its domain; one that was added after its domain was blocked is an
exception from that block, and one that was added before is blocked with it.

A reviewer's assessment is an opinion beside the verdict. Nothing here reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from factible_assets.records import (
    Claim,
    Query,
    QueryType,
    ReviewAction,
    ReviewKind,
    Search,
    SearchHit,
)
from factible_assets.stages.ids import hit_id, query_id
from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, registrable_domain

REVIEWER = "reviewer"
"""The search provider of sources that a person added."""

OPINIONS: frozenset[ReviewKind] = frozenset({"note", "assess"})
"""What changes no check."""

QUERY_KINDS: frozenset[ReviewKind] = frozenset({"add_query", "edit_query", "remove_query"})


_SOURCE_KINDS: Mapping[ReviewKind, Literal["blocked", "added"]] = {
    "block_source": "blocked",
    "add_source": "added",
}


@dataclass(frozen=True, slots=True)
class WordedQuery:
    """A query in a reviewer's words. `replaces` are the queries in whose place it is asked."""

    query_id: str
    text: str
    query_type: QueryType | None
    seeks_opposite: bool
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceWord:
    """What the latest action says about one source: a canonical URL, or a domain."""

    subject: str
    kind: Literal["blocked", "added"]
    url: str
    reviewer: str
    acted_at: datetime
    place: tuple[datetime, int, str]
    reason: str | None

    @property
    def words(self) -> str:
        """Why a page is left out, as its row says it."""
        why = f" ({self.reason.rstrip('.')})" if self.reason else ""
        return (
            f"Blocked by a reviewer: {self.reviewer} left out {self.subject} on "
            f"{self.acted_at:%Y-%m-%d}{why}."
        )


@dataclass(frozen=True, slots=True)
class Corrections:
    """What reviewers correct about one claim.

    Attributes:
        queries: The queries in their own words, in order of entry.
        unasked: The ids of queries that are not asked.
        sources: The latest word on each canonical URL and each domain, by that subject.
    """

    queries: tuple[WordedQuery, ...] = ()
    unasked: frozenset[str] = frozenset()
    sources: Mapping[str, SourceWord] = field(default_factory=dict)

    @property
    def added(self) -> tuple[SourceWord, ...]:
        """Return the sources that are read whatever the searches find, in order of entry."""
        words = (word for word in self.sources.values() if word.kind == "added")
        found = [word for word in words if self.blocked(word.subject) is None]
        return tuple(sorted(found, key=lambda word: word.place))

    def adds(self, canonical: str) -> bool:
        """Tell whether a reviewer wants a page to be read."""
        word = self.sources.get(canonical)
        return word is not None and word.kind == "added" and self.blocked(canonical) is None

    def blocked(self, url: str) -> str | None:
        """Say why a page is left out: its address is blocked, or its domain; None if neither."""
        try:
            canonical = canonical_url(url)
        except UnusableUrlError:
            return None
        own = self.sources.get(canonical)
        if own is not None and own.kind == "blocked":
            return own.words
        labels = (urlsplit(canonical).hostname or "").split(".")
        names = [".".join(labels[start:]) for start in range(len(labels))]
        words = [self.sources[name] for name in names if name in self.sources]
        blocks = [word for word in words if word.kind == "blocked"]
        latest = max(blocks, key=lambda word: word.place, default=None)
        if latest is None or (own is not None and own.place > latest.place):
            return None
        return latest.words


NO_CORRECTIONS = Corrections()


def in_order(actions: Iterable[ReviewAction]) -> list[ReviewAction]:
    """Return actions in the order in which they were done, each once."""
    distinct = {action.action_id: action for action in actions}
    return sorted(distinct.values(), key=_place)


def corrections_by_claim(actions: Iterable[ReviewAction]) -> dict[str, Corrections]:
    """Fold the actions on the claims of a video, in any order, into what is in force."""
    by_claim: dict[str, list[ReviewAction]] = {}
    for action in in_order(actions):
        by_claim.setdefault(action.claim_id, []).append(action)
    return {claim_id: _fold(done) for claim_id, done in by_claim.items()}


def assessment(actions: Iterable[ReviewAction]) -> ReviewAction | None:
    """Return the latest assessment of a claim, None if there is none or it was taken back."""
    latest = [action for action in in_order(actions) if action.action == "assess"][-1:]
    return latest[0] if latest and latest[0].value is not None else None


def _fold(actions: Sequence[ReviewAction]) -> Corrections:
    worded: dict[str, WordedQuery] = {}
    unasked: set[str] = set()
    sources: dict[str, SourceWord] = {}
    for action in actions:
        if action.action in QUERY_KINDS:
            replaced: tuple[str, ...] = ()
            if action.target is not None:
                before = worded.pop(action.target, None)
                unasked.add(action.target)
                replaced = (*(before.replaces if before else ()), action.target)
            if action.query_id is not None and action.value is not None:
                unasked.discard(action.query_id)
                worded[action.query_id] = WordedQuery(
                    action.query_id,
                    action.value,
                    action.query_type,
                    action.seeks_opposite,
                    replaced,
                )
        elif action.target is not None:
            sources.pop(action.target, None)
            if kind := _SOURCE_KINDS.get(action.action):
                sources[action.target] = SourceWord(
                    subject=action.target,
                    kind=kind,
                    url=action.value or action.target,
                    reviewer=action.reviewer,
                    acted_at=action.acted_at,
                    place=_place(action),
                    reason=action.reason,
                )
    return Corrections(tuple(worded.values()), frozenset(unasked), sources)


def _place(action: ReviewAction) -> tuple[datetime, int, str]:
    return action.acted_at, action.position, action.action_id


# --- Applying -----------------------------------------------------------------------------------


def corrected_queries(
    claim: Claim, written: Sequence[Query], corrections: Corrections
) -> tuple[Query, ...]:
    """Return the queries that are asked for a claim, ranked from 1.

    Written ones in their order, a replaced one in its place in the reviewer's words; then those
    that a reviewer added. Applying corrections to what they were applied to before changes nothing.
    If nothing is left to ask, the claim's own words are, for a claim without a query could never
    have a complete verdict.
    """
    worded = {query.query_id: query for query in corrections.queries}
    instead = {each: query for query in corrections.queries for each in query.replaces}
    kept: dict[str, Query] = {}
    for query in written:
        if query.query_id in worded:
            kept.setdefault(query.query_id, query)
        elif query.query_id in instead:
            mine = instead[query.query_id]
            kept.setdefault(mine.query_id, _worded_row(claim, mine, like=query))
        elif query.query_id not in corrections.unasked:
            kept.setdefault(query.query_id, query)
    for mine in corrections.queries:
        kept.setdefault(mine.query_id, _worded_row(claim, mine))
    if not kept and written:
        kept[claim.claim_id] = written[0].model_copy(
            update={
                "query_id": query_id(claim.claim_id, claim.text),
                "text": claim.text,
                "query_type": "direct",
                "priority": 1,
                "seeks_opposite": False,
                "status": "ok",
                "reason": None,
            }
        )
    return tuple(
        query.model_copy(update={"rank": rank}) for rank, query in enumerate(kept.values(), start=1)
    )


def _worded_row(claim: Claim, mine: WordedQuery, like: Query | None = None) -> Query:
    return Query(
        query_id=mine.query_id,
        claim_id=claim.claim_id,
        video_id=claim.video_id,
        rank=1,
        text=mine.text,
        query_type=mine.query_type or (like.query_type if like else "direct"),
        priority=like.priority if like else 1,
        seeks_opposite=mine.seeks_opposite,
        basis="reviewer",
    )


def with_added_sources(
    queries: Sequence[Query],
    searches: Sequence[Search],
    hits: Sequence[SearchHit],
    corrections: Corrections,
) -> tuple[tuple[Search, ...], tuple[SearchHit, ...]]:
    """Put the sources that a reviewer added among what the searches of a claim found.

    They are results of the provider `reviewer`, under the first query that could be asked; one that
    this query found itself is marked as found by both.
    """
    added = corrections.added
    under = next((query for query in queries if query.status == "ok"), None)
    if under is None or not added:
        return tuple(searches), tuple(hits)
    merged = {(hit.query_id, hit.canonical_url): hit for hit in hits}
    for rank, word in enumerate(added, start=1):
        place = under.query_id, word.subject
        if held := merged.get(place):
            merged[place] = held.model_copy(update={"provider": f"{held.provider}+{REVIEWER}"})
            continue
        merged[place] = SearchHit(
            hit_id=hit_id(under.query_id, word.subject),
            query_id=under.query_id,
            claim_id=under.claim_id,
            video_id=under.video_id,
            provider=REVIEWER,
            page=1,
            rank=rank,
            title=word.url,
            url=word.url,
            canonical_url=word.subject,
            domain=registrable_domain(host_of(word.url)),
            snippet="",
        )
    asked = Search(
        query_id=under.query_id,
        claim_id=under.claim_id,
        video_id=under.video_id,
        provider=REVIEWER,
        page=1,
        hit_count=len(added),
        latency_seconds=0.0,
        status="ok",
    )
    return (*searches, asked), tuple(merged.values())


def applied_by(
    actions: Iterable[ReviewAction], claim_ids: frozenset[str], stages: frozenset[str]
) -> tuple[str, ...]:
    """Return the ids of the actions that a run of these stages on these claims keeps to."""
    needed: dict[ReviewKind, str] = {
        **dict.fromkeys(QUERY_KINDS, "queries"),
        "add_source": "search_hits",
        "block_source": "evidence",
        "unblock_source": "evidence",
    }
    return tuple(
        action.action_id
        for action in in_order(actions)
        if action.claim_id in claim_ids and needed.get(action.action) in stages
    )
