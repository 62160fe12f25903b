"""Derives the corrections in force from reviewers' actions, and applies them to a check.

The latest action on a query or a source of a claim counts, as in the view standing_reviews
(warehouse/views/60_reviews.sql). A page without an action of its own follows its domain. A reworded
claim is a new claim: its queries, sources, ratings and assignee move along, and the judgements of
the old words stay behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import get_args
from urllib.parse import urlsplit

from factible_assets.records import tables as records
from factible_assets.stages.ids import claim_id, query_id
from factible_assets.stages.queries import query_row
from factible_assets.stages.reliability import LISTED_SCORES
from factible_assets.stages.urls import UnusableUrlError, canonical_url
from resources.search.base import FoundHit

OPINIONS: frozenset[records.ReviewKind] = frozenset({"note", "assess", "assign", "sign"})
"""Actions that change no check."""
QUERY_KINDS: frozenset[records.ReviewKind] = frozenset({"add_query", "edit_query", "remove_query"})
CLAIM_KINDS: frozenset[records.ReviewKind] = frozenset(
    {"reword_claim", "split_claim", "drop_claim", "restore_claim", "add_claim"}
)
"""Actions that change the list of claims."""


@dataclass(frozen=True, slots=True)
class WordedQuery:
    """A query in a reviewer's words; `replaces` has the ids of the queries that it replaces."""

    query_id: str
    text: str
    query_type: records.QueryType | None
    seeks_opposite: bool
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of one claim that are in force."""

    queries: tuple[WordedQuery, ...] = ()  # In order of entry
    removed: frozenset[str] = frozenset()  # The ids of removed or replaced queries
    sources: Mapping[str, records.ReviewAction] = field(default_factory=dict)
    """The latest action that added or blocked a source, by address or domain."""
    stances: Mapping[str, records.ReviewAction] = field(default_factory=dict)
    """The actions that overruled a stance, by address; `ratings` likewise."""
    ratings: Mapping[str, records.ReviewAction] = field(default_factory=dict)

    @property
    def added(self) -> list[FoundHit]:
        """The pages that reviewers added, in order of entry."""
        actions = sorted(self.sources.items(), key=lambda pair: _moment_of(pair[1]))
        urls = [action.value or page for page, action in actions if self.adds(page)]
        return [FoundHit(rank, url, url) for rank, url in enumerate(urls, start=1)]

    def adds(self, canonical: str) -> bool:
        """Whether a reviewer added a page."""
        action = self.sources.get(canonical)
        is_addition = action is not None and action.action == "add_source"
        return is_addition and self.blocked(canonical) is None

    def blocked(self, url: str) -> str | None:
        """Return the reason if a page's address or domain is blocked, else None.

        A page is not blocked if a reviewer added it after the block of its domain.
        """
        try:
            canonical = canonical_url(url)
        except UnusableUrlError:
            return None
        labels = (urlsplit(canonical).hostname or "").split(".")
        domains = [".".join(labels[start:]) for start in range(len(labels))]
        on_domains = [self.sources[domain] for domain in domains if domain in self.sources]
        blocks = [action for action in on_domains if action.action == "block_source"]
        block = max(blocks, key=_moment_of, default=None)
        on_page = self.sources.get(canonical)
        if on_page is not None and on_page.action == "block_source":
            block = on_page
        elif on_page is not None and block and _moment_of(on_page) > _moment_of(block):
            return None
        if block is None:
            return None
        why = f" ({block.reason.rstrip('.')})" if block.reason else ""
        return (
            f"Blocked by a reviewer: {block.reviewer} left out {block.target} on "
            f"{block.acted_at:%Y-%m-%d}{why}."
        )

    def blocked_page(self, canonical: str, final: str) -> str | None:
        """Return the reason if a page is blocked, or the address that it led to; else None."""
        # A page that a reviewer added stays, wherever it leads to.
        return self.blocked(canonical) or (None if self.adds(canonical) else self.blocked(final))


NO_CORRECTIONS = Corrections()


def in_order(actions: Iterable[records.ReviewAction]) -> list[records.ReviewAction]:
    """Return distinct actions in order of time."""
    distinct = {action.action_id: action for action in actions}
    return sorted(distinct.values(), key=_moment_of)


def corrections_by_claim(actions: Iterable[records.ReviewAction]) -> dict[str, Corrections]:
    """Return the corrections of each claim of a video; the actions may be in any order."""
    return {claim: _corrections_of(claim, group) for claim, group in by_claim(actions).items()}


def by_claim(actions: Iterable[records.ReviewAction]) -> dict[str, list[records.ReviewAction]]:
    """Group actions by the claim's current id, including those under its former words."""
    ordered = in_order(actions)
    current_ids = claims_in_force(ordered).names
    groups: dict[str, list[records.ReviewAction]] = {}
    for action in ordered:
        groups.setdefault(current_ids.get(action.claim_id, action.claim_id), []).append(action)
    return groups


def latest(
    kind: records.ReviewKind, actions: Iterable[records.ReviewAction], claim: str | None = None
) -> records.ReviewAction | None:
    """Return the latest action of a kind, None if it takes the action back or there is none.

    `claim` restricts it to one claim id; None: actions under any former words of the claim count.
    """
    of_kind = (act for act in actions if act.action == kind and claim in {None, act.claim_id})
    last = max(of_kind, key=_moment_of, default=None)
    return last if last is not None and last.value is not None else None


# --- Claims -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordedClaim:
    """A claim in a reviewer's words.

    `replaces` is the id of the claim that it replaces; None: it is an addition. `selected` are the
    words of the transcript that the reviewer selected, if any.
    """

    claim_id: str
    text: str
    replaces: str | None = None
    selected: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimsInForce:
    """The list of claims after the reviewers' actions, by claim id.

    `names` maps each former id of a claim to its current id. `gone` has the action that dropped or
    split a claim.
    """

    names: Mapping[str, str]
    worded: Mapping[str, WordedClaim]
    gone: Mapping[str, records.ReviewAction]


def claims_in_force(actions: Iterable[records.ReviewAction]) -> ClaimsInForce:
    """Return the list of claims after the actions on the claims of a video, in any order."""
    names: dict[str, str] = {}
    worded: dict[str, WordedClaim] = {}
    gone: dict[str, records.ReviewAction] = {}
    parts: dict[str, list[str]] = {}  # of claims that were split
    ordered = in_order(actions)
    texts = {
        claim_id(action.video_id, text): text
        for action in ordered
        if action.action in CLAIM_KINDS
        for text in (action.value or "").splitlines()
    }
    for action in ordered:
        claim, value = names.get(action.claim_id, action.claim_id), action.value or ""
        if action.action == "add_claim":
            claim = names[action.claim_id] = action.claim_id
            gone.pop(claim, None)
            worded[claim] = WordedClaim(claim, value, selected=action.target)
        elif action.action == "reword_claim":
            new = claim_id(action.video_id, value)
            before = worded.pop(claim, None)
            names = {old: new if name == claim else name for old, name in names.items()}
            names |= {claim: new, new: new}
            if claim in gone:
                gone[new] = gone.pop(claim)
            before = before or WordedClaim(claim, value, replaces=claim)
            worded[new] = replace(before, claim_id=new, text=value)
        elif action.action == "split_claim":
            texts_of_parts = {claim_id(action.video_id, text): text for text in value.splitlines()}
            selected = worded[claim].selected if claim in worded else None
            gone[claim] = action
            parts[claim] = list(texts_of_parts)
            for part, text in texts_of_parts.items():
                names[part] = part
                gone.pop(part, None)
                worded[part] = WordedClaim(part, text, claim, selected)
        elif action.action == "drop_claim":
            gone[claim] = action
        elif action.action == "restore_claim":
            gone.pop(claim, None)
            for part in parts.pop(claim, ()):
                worded.pop(names.get(part, part), None)
            # The restored claim may have got other words in the meantime.
            worded.setdefault(claim, WordedClaim(claim, texts.get(claim, value), replaces=claim))
    return ClaimsInForce(names, worded, gone)


# --- Queries and sources ------------------------------------------------------------------------


def _corrections_of(claim: str, actions: Sequence[records.ReviewAction]) -> Corrections:
    """Return the corrections of one claim (its id) from its actions in order of time."""
    worded: dict[str, WordedQuery] = {}
    removed: set[str] = set()
    sources: dict[str, records.ReviewAction] = {}
    stances: dict[str, records.ReviewAction] = {}
    ratings: dict[str, records.ReviewAction] = {}
    # A reviewer's query moves along with a reworded claim, under a new id.
    new_ids: dict[str, str] = {}
    for action in actions:
        target = action.target or ""
        if action.action in QUERY_KINDS:
            replaces: tuple[str, ...] = ()
            if action.target is not None:
                target = new_ids.get(target, target)
                before = worded.pop(target, None)
                removed.add(target)
                replaces = (*(before.replaces if before else ()), target)
            if action.query_id is not None and action.value is not None:
                is_moved = action.claim_id != claim
                new = query_id(claim, action.value) if is_moved else action.query_id
                new_ids[action.query_id] = new
                removed.discard(new)
                worded[new] = WordedQuery(
                    new, action.value, action.query_type, action.seeks_opposite, replaces
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
    return Corrections(tuple(worded.values()), frozenset(removed), sources, stances, ratings)


def _moment_of(action: records.ReviewAction) -> tuple[datetime, int, str]:
    """Return the key that puts actions into order of time."""
    return action.acted_at, action.position, action.action_id


# --- Applying -----------------------------------------------------------------------------------


def corrected_queries(
    claim: records.Claim, written: Sequence[records.Query], corrections: Corrections
) -> tuple[records.Query, ...]:
    """Return the queries of a claim after corrections, ranked from 1.

    The written ones keep their order, replacements take the place of the replaced, and additions
    follow. Applying corrections twice changes nothing. If no query remains, the claim's own words
    become one, because a claim without a query could never have a complete verdict.
    """
    worded_ids = {query.query_id for query in corrections.queries}
    replacements = {old: query for query in corrections.queries for old in query.replaces}
    rows: dict[str, records.Query] = {}

    def add(new: WordedQuery, query_type: records.QueryType = "direct", priority: int = 1) -> None:
        row = query_row(
            claim,
            new.text,
            basis="reviewer",
            query_id=new.query_id,
            query_type=new.query_type or query_type,
            priority=priority,
            seeks_opposite=new.seeks_opposite,
        )
        rows.setdefault(new.query_id, row)

    for query in written:
        if query.query_id in replacements and query.query_id not in worded_ids:
            add(replacements[query.query_id], query.query_type, query.priority)
        elif query.query_id in worded_ids or query.query_id not in corrections.removed:
            rows.setdefault(query.query_id, query)
    for query_of_reviewer in corrections.queries:
        add(query_of_reviewer)
    if not rows and written:
        rows[claim.claim_id] = query_row(claim, claim.text, basis=written[0].basis)
    ranked = enumerate(rows.values(), start=1)
    return tuple(query.model_copy(update={"rank": rank}) for rank, query in ranked)


def with_overrulings(row: records.Evidence, corrections: Corrections) -> records.Evidence:
    """Return evidence with reviewers' overrulings; the machine's values stay in their columns."""
    if row.status != "ok":
        return row
    changes: dict[str, object] = {}
    reasons = [row.reason] if row.reason else []
    url = row.canonical_url
    for action in filter(None, (corrections.stances.get(url), corrections.ratings.get(url))):
        new, old, column = action.value, str(row.stance), ""
        if new in get_args(records.Rating):
            old, column = row.rating, "rating "
            score = next(score for name, score in LISTED_SCORES.items() if name == new)
            changes |= {"rating": new, "rating_score": score, "machine_rating": old}
        else:
            changes |= {"stance": new, "stance_confidence": 1.0, "machine_stance": old}
        verb, change = ("Confirmed", new) if new == old else ("Overruled", f"{old} to {new}")
        by_whom = f"{verb} by {action.reviewer} on {action.acted_at:%Y-%m-%d}"
        label, why = f"{column}{change}".replace("_", " "), (action.reason or "").rstrip(".")
        reasons.append(f"{by_whom}, {label}: {why}.")
    return row.model_copy(update={**changes, "reason": " ".join(reasons)}) if changes else row


def applied_by(
    actions: Iterable[records.ReviewAction], claim_ids: frozenset[str], stages: frozenset[str]
) -> tuple[str, ...]:
    """Return the ids of the actions that a run of these stages on these claims applies.

    An action that words a claim applies when the run checks that claim; a drop applies at once.
    """
    stage_of: dict[records.ReviewKind, str] = {
        **dict.fromkeys(QUERY_KINDS | CLAIM_KINDS, "queries"),
        "add_source": "search_hits",
        "block_source": "evidence",
        "unblock_source": "evidence",
        "overrule_source": "evidence",
    }
    applied = []
    for claim, group in by_claim(actions).items():
        for action in group:
            concerned = {claim}
            if action.action in CLAIM_KINDS:
                texts = (action.value or "").splitlines()
                concerned = {claim_id(action.video_id, text) for text in texts}
            if stage_of.get(action.action) in stages and (not concerned or concerned & claim_ids):
                applied.append(action)
    return tuple(action.action_id for action in sorted(applied, key=_moment_of))
