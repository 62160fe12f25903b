"""What people correct about the check of a claim, and what follows from it for the flow.

What belongs here: folding a reviewer's actions into what is in force, and applying that to queries,
search results and evidence. What does not: making claims of words (claims.py), storing actions
(warehouse/reviews.py), entering them (cli/review.py), choosing pages (search.py).

Of all that was said about one query, or one source, of a claim, the latest counts; the view
standing_reviews (warehouse/views/60_reviews.sql) keeps the same rule. A page whose own address
nobody spoke of follows its domain; one that was added after its domain was blocked is an exception,
and one that was added before is blocked with it.

A claim that is reworded is another claim, and what was done to it follows it: its queries, its
sources and their ratings, who it is assigned to. What judges its words does not: assessments,
rulings, and the stance of a source. Assessments and rulings are opinions that no check reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args
from urllib.parse import urlsplit

from factible_assets import records
from factible_assets.stages.ids import claim_id, hit_id, query_id
from factible_assets.stages.queries import query_row
from factible_assets.stages.reliability import LISTED_SCORES
from factible_assets.stages.urls import UnusableUrlError, canonical_url, domain_of

REVIEWER = "reviewer"
"""The search provider of sources that a person added."""
OPINIONS: frozenset[records.ReviewKind] = frozenset({"note", "assess", "assign", "sign"})
"""What changes no check."""
QUERY_KINDS: frozenset[records.ReviewKind] = frozenset({"add_query", "edit_query", "remove_query"})
CLAIM_KINDS: frozenset[records.ReviewKind] = frozenset(
    {"reword_claim", "split_claim", "drop_claim", "restore_claim", "add_claim"}
)
"""What changes the list of claims."""


@dataclass(frozen=True, slots=True)
class WordedQuery:
    """A query in a reviewer's words. `replaces` are the queries in whose place it is asked."""

    query_id: str
    text: str
    query_type: records.QueryType | None
    seeks_opposite: bool
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corrections:
    """What reviewers correct about one claim.

    `queries` are in their own words, in order of entry; `unasked` are the ids of those that are not
    asked. By address or domain, `sources` has the act that blocked or added it last; by address,
    `stances` and `ratings` have who overruled them.
    """

    queries: tuple[WordedQuery, ...] = ()
    unasked: frozenset[str] = frozenset()
    sources: Mapping[str, records.ReviewAction] = field(default_factory=dict)
    stances: Mapping[str, records.ReviewAction] = field(default_factory=dict)
    ratings: Mapping[str, records.ReviewAction] = field(default_factory=dict)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the addresses that are read whatever the searches find, in order of entry."""
        acts = sorted(self.sources.items(), key=lambda pair: _place(pair[1]))
        return tuple(canonical for canonical, _ in acts if self.adds(canonical))

    def adds(self, canonical: str) -> bool:
        """Tell whether a reviewer wants a page to be read."""
        act = self.sources.get(canonical)
        return act is not None and act.action == "add_source" and self.blocked(canonical) is None

    def blocked(self, url: str) -> str | None:
        """Say why a page is left out: its address is blocked, or its domain; None if neither."""
        try:
            canonical = canonical_url(url)
        except UnusableUrlError:
            return None
        own = self.sources.get(canonical)
        labels = (urlsplit(canonical).hostname or "").split(".")
        names = [".".join(labels[start:]) for start in range(len(labels))]
        acts = [self.sources[name] for name in names if name in self.sources]
        last = max((act for act in acts if act.action == "block_source"), key=_place, default=None)
        if own is not None and (
            own.action == "block_source" or (last and _place(own) > _place(last))
        ):
            last = own
        if last is None or last.action != "block_source":
            return None
        why = f" ({last.reason.rstrip('.')})" if last.reason else ""
        return (
            f"Blocked by a reviewer: {last.reviewer} left out {last.target} on "
            f"{last.acted_at:%Y-%m-%d}{why}."
        )


NO_CORRECTIONS = Corrections()


def in_order(actions: Iterable[records.ReviewAction]) -> list[records.ReviewAction]:
    """Return actions in the order in which they were done, each once."""
    distinct = {action.action_id: action for action in actions}
    return sorted(distinct.values(), key=_place)


def corrections_by_claim(actions: Iterable[records.ReviewAction]) -> dict[str, Corrections]:
    """Fold the actions on the claims of a video, in any order, into what is in force."""
    return {claim: _fold(claim, done) for claim, done in by_claim(actions).items()}


def by_claim(actions: Iterable[records.ReviewAction]) -> dict[str, list[records.ReviewAction]]:
    """Return what was done to each claim in order, under its former words too, by its id now."""
    ordered = in_order(actions)
    names = claims_in_force(ordered).names
    found: dict[str, list[records.ReviewAction]] = {}
    for action in ordered:
        found.setdefault(names.get(action.claim_id, action.claim_id), []).append(action)
    return found


def latest(
    kind: records.ReviewKind, actions: Iterable[records.ReviewAction], claim: str | None = None
) -> records.ReviewAction | None:
    """Return the latest act of a kind on one claim, None if there is none or it was taken back.

    `claim` is the id of the words on which it must have been done; None: any of the claim's.
    """
    done = (each for each in actions if each.action == kind and claim in {None, each.claim_id})
    last = max(done, key=_place, default=None)
    return last if last is not None and last.value is not None else None


# --- Claims -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordedClaim:
    """A claim in a reviewer's words, whose id it has; added if it is `like` none.

    `said` are the words of the transcript that the reviewer pointed to, if any.
    """

    claim_id: str
    text: str
    like: str | None = None
    said: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimsInForce:
    """What reviewers made of the list of claims, each by id.

    `names`: what a claim is called now, by every id that it had under other words. `gone`: why a
    claim is not checked any more, as it was dropped or split.
    """

    names: Mapping[str, str]
    worded: Mapping[str, WordedClaim]
    gone: Mapping[str, records.ReviewAction]


def claims_in_force(actions: Iterable[records.ReviewAction]) -> ClaimsInForce:
    """Fold the actions on the claims of a video, in any order, into its list of claims."""
    names: dict[str, str] = {}
    worded: dict[str, WordedClaim] = {}
    gone: dict[str, records.ReviewAction] = {}
    parts: dict[str, list[str]] = {}
    ordered = in_order(actions)
    words = {
        claim_id(action.video_id, each): each
        for action in ordered
        if action.action in CLAIM_KINDS
        for each in (action.value or "").splitlines()
    }
    for action in ordered:
        mine, value = names.get(action.claim_id, action.claim_id), action.value or ""
        if action.action == "add_claim":
            mine = names[action.claim_id] = action.claim_id
            gone.pop(mine, None)
            worded[mine] = WordedClaim(mine, value, said=action.target)
        elif action.action == "reword_claim":
            made = claim_id(action.video_id, value)
            before = worded.pop(mine, None)
            names = {old: made if now == mine else now for old, now in names.items()}
            names |= {mine: made, made: made}
            if mine in gone:
                gone[made] = gone.pop(mine)
            like, said = (before.like, before.said) if before else (mine, None)
            worded[made] = WordedClaim(made, value, like, said)
        elif action.action == "split_claim":
            wordings = {claim_id(action.video_id, each): each for each in value.splitlines()}
            said = worded[mine].said if mine in worded else None
            gone[mine] = action
            parts[mine] = list(wordings)
            for made, text in wordings.items():
                names[made] = made
                gone.pop(made, None)
                worded[made] = WordedClaim(made, text, mine, said)
        elif action.action == "drop_claim":
            gone[mine] = action
        elif action.action == "restore_claim":
            gone.pop(mine, None)
            for part in parts.pop(mine, ()):
                worded.pop(names.get(part, part), None)
            # What is restored may be called otherwise by now.
            worded.setdefault(mine, WordedClaim(mine, words.get(mine, value), like=mine))
    return ClaimsInForce(names, worded, gone)


# --- Queries and sources ------------------------------------------------------------------------


def _fold(claim: str, actions: Sequence[records.ReviewAction]) -> Corrections:
    worded: dict[str, WordedQuery] = {}
    unasked: set[str] = set()
    sources: dict[str, records.ReviewAction] = {}
    stances: dict[str, records.ReviewAction] = {}
    ratings: dict[str, records.ReviewAction] = {}
    # A query in a reviewer's words goes with its claim when that is reworded, under a new id.
    moved: dict[str, str] = {}
    for action in actions:
        target = action.target or ""
        if action.action in QUERY_KINDS:
            replaced: tuple[str, ...] = ()
            if action.target is not None:
                target = moved.get(target, target)
                before = worded.pop(target, None)
                unasked.add(target)
                replaced = (*(before.replaces if before else ()), target)
            if action.query_id is not None and action.value is not None:
                own, made = action.claim_id == claim, query_id(claim, action.value)
                made = moved[action.query_id] = action.query_id if own else made
                unasked.discard(made)
                opposite = action.seeks_opposite
                worded[made] = WordedQuery(
                    made, action.value, action.query_type, opposite, replaced
                )
        elif action.action in {"block_source", "unblock_source", "add_source"}:
            sources.pop(target, None)
            if action.action != "unblock_source":
                sources[target] = action
        elif action.action == "overrule_source" and action.value is None:
            stances.pop(target, None)
            ratings.pop(target, None)
        elif action.action == "overrule_source" and action.value in get_args(records.Rating):
            ratings[target] = action
        elif action.action == "overrule_source" and action.claim_id == claim:
            stances[target] = action
    return Corrections(tuple(worded.values()), frozenset(unasked), sources, stances, ratings)


def _place(action: records.ReviewAction) -> tuple[datetime, int, str]:
    return action.acted_at, action.position, action.action_id


# --- Applying -----------------------------------------------------------------------------------


def corrected_queries(
    claim: records.Claim, written: Sequence[records.Query], corrections: Corrections
) -> tuple[records.Query, ...]:
    """Return the queries that are asked for a claim, ranked from 1.

    Written ones in their order, a replaced one in its place; then those that a reviewer added. Done
    twice it changes nothing. If nothing is left to ask, the claim's own words are, for a claim
    without a query could never have a complete verdict.
    """
    worded = {query.query_id for query in corrections.queries}
    instead = {each: query for query in corrections.queries for each in query.replaces}
    kept: dict[str, records.Query] = {}

    def enter(
        mine: WordedQuery, query_type: records.QueryType = "direct", priority: int = 1
    ) -> None:
        row = query_row(
            claim,
            mine.text,
            basis="reviewer",
            query_id=mine.query_id,
            query_type=mine.query_type or query_type,
            priority=priority,
            seeks_opposite=mine.seeks_opposite,
        )
        kept.setdefault(mine.query_id, row)

    for query in written:
        if query.query_id in instead and query.query_id not in worded:
            enter(instead[query.query_id], query.query_type, query.priority)
        elif query.query_id in worded or query.query_id not in corrections.unasked:
            kept.setdefault(query.query_id, query)
    for mine in corrections.queries:
        enter(mine)
    if not kept and written:
        kept[claim.claim_id] = query_row(claim, claim.text, basis=written[0].basis)
    ranked = enumerate(kept.values(), start=1)
    return tuple(query.model_copy(update={"rank": rank}) for rank, query in ranked)


def with_added_sources(
    queries: Sequence[records.Query],
    searches: Sequence[records.Search],
    hits: Sequence[records.SearchHit],
    corrections: Corrections,
) -> tuple[tuple[records.Search, ...], tuple[records.SearchHit, ...]]:
    """Put the sources that a reviewer added among what the searches of a claim found.

    They are results of the provider `reviewer`, under the first query that could be asked; one that
    this query found itself is found by both.
    """
    added = corrections.added
    under = next((query for query in queries if query.status == "ok"), None)
    if under is None or not added:
        return tuple(searches), tuple(hits)
    own: dict[str, Any] = {
        "query_id": under.query_id,
        "claim_id": under.claim_id,
        "video_id": under.video_id,
        "provider": REVIEWER,
        "page": 1,
    }
    merged = {(hit.query_id, hit.canonical_url): hit for hit in hits}
    for rank, canonical in enumerate(added, start=1):
        place, url = (under.query_id, canonical), corrections.sources[canonical].value or canonical
        if held := merged.get(place):
            merged[place] = held.model_copy(update={"provider": f"{held.provider}+{REVIEWER}"})
            continue
        merged[place] = records.SearchHit(
            **own,
            hit_id=hit_id(*place),
            rank=rank,
            title=url,
            url=url,
            canonical_url=canonical,
            domain=domain_of(url),
            snippet="",
        )
    asked = records.Search(**own, hit_count=len(added), latency_seconds=0.0, status="ok")
    return (*searches, asked), tuple(merged.values())


def with_overrulings(row: records.Evidence, corrections: Corrections) -> records.Evidence:
    """Return evidence as reviewers overruled it; what the machine said stays beside it."""
    if row.status != "ok":
        return row
    changes: dict[str, object] = {}
    said = [row.reason] if row.reason else []
    overruled = (corrections.stances, corrections.ratings)
    for action in filter(None, (acts.get(row.canonical_url) for acts in overruled)):
        new = action.value
        if new in get_args(records.Rating):
            score = next(score for name, score in LISTED_SCORES.items() if name == new)
            changes |= {"rating": new, "rating_score": score, "machine_rating": row.rating}
            what = f"its rating from {row.rating} to {new}".replace("_", " ")
        else:
            changes |= {"stance": new, "stance_confidence": 1.0, "machine_stance": row.stance}
            what = f"{row.stance} to {new}"
        why = (action.reason or "").rstrip(".")
        said.append(f"Overruled by {action.reviewer} on {action.acted_at:%Y-%m-%d}, {what}: {why}.")
    return row.model_copy(update={**changes, "reason": " ".join(said)}) if changes else row


def applied_by(
    actions: Iterable[records.ReviewAction], claim_ids: frozenset[str], stages: frozenset[str]
) -> tuple[str, ...]:
    """Return the ids of the actions that a run of these stages on these claims keeps to.

    Who words a claim is heard once it is checked; who drops one, at once.
    """
    needed: dict[records.ReviewKind, str] = {
        **dict.fromkeys(QUERY_KINDS | CLAIM_KINDS, "queries"),
        "add_source": "search_hits",
        "block_source": "evidence",
        "unblock_source": "evidence",
        "overrule_source": "evidence",
    }
    kept = []
    for claim, done in by_claim(actions).items():
        for action in done:
            concerned = {claim}
            if action.action in CLAIM_KINDS:
                words = (action.value or "").splitlines()
                concerned = {claim_id(action.video_id, each) for each in words}
            if needed.get(action.action) in stages and (not concerned or concerned & claim_ids):
                kept.append(action)
    return tuple(action.action_id for action in sorted(kept, key=_place))
