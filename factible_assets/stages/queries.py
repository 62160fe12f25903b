"""Makes the queries of a claim from a reasoner's drafts: repairs, sorts and chooses them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from factible_assets.config import QueriesConfig
from factible_assets.records.tables import Claim, Maker, Query, QueryBasis, QueryType
from factible_assets.stages.ids import normalise_text, query_id
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.transcript import storable

_MONTHS = (
    "January|February|March(?=,? \\d)|April|May(?=,? \\d)|June|July|August|September|October"
    "|November|December"
)
_TIME_WORDS = re.compile(
    r"\b(?:"
    r"(?:1[5-9]|20)\d\d(?:s\b|\b)"  # a year or a decade since 1500
    r"|Q[1-4]\b"
    r"|(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth) (?:century|quarter)\b"
    rf"|(?:{_MONTHS})\b"
    r"|(?i:last|this|past) (?:year|decade|century|month|summer|winter|spring|autumn)\b"
    r"|(?i:today|yesterday)\b"
    r")"
)
_MAX_TIME_WORDS = 3

MAX_PRIORITY = 3
"""A query of a lower priority (a higher number) is asked only in a second round (Factible)."""

LOWEST_PRIORITY = 5


def build_queries(
    claim: Claim,
    drafts: Sequence[QueryDraft],
    config: QueriesConfig,
    *,
    basis: Maker,
    max_priority: int = MAX_PRIORITY,
) -> tuple[Query, ...]:
    """Return the queries of a claim in their order; at least one.

    Factible, section 1.3.3: drop drafts above `max_priority`, sort by priority, then by type as in
    table 4, and cut at `max_queries`. The section also wants opposing views and the temporal
    context: if no kept draft seeks the opposite, the most urgent one that does takes the last
    place, and a draft without the claim's time words gets them back.

    If no draft remains, the most urgent one stays; without drafts, the claim's own words.
    """
    types = get_args(QueryType)
    repaired = [_repaired(draft, claim) for draft in drafts]
    repaired.sort(key=lambda draft: (draft.priority, types.index(draft.query_type)))
    distinct: dict[str, QueryDraft] = {}
    for draft in repaired:
        if draft.text:
            distinct.setdefault(normalise_text(draft.text), draft)
    ordered = list(distinct.values()) or [QueryDraft(claim.text, "direct", 1)]
    urgent = [draft for draft in ordered if draft.priority <= max_priority] or ordered[:1]
    chosen = urgent[: config.max_queries]
    opposite = next((draft for draft in ordered if draft.seeks_opposite), None)
    # One query alone must ask for the claim itself.
    if opposite and config.max_queries > 1 and not any(draft.seeks_opposite for draft in chosen):
        chosen = [*chosen[: config.max_queries - 1], opposite]
    return tuple(
        query_row(
            claim,
            draft.text,
            basis=draft.basis or basis,
            rank=rank,
            query_type=draft.query_type,
            priority=draft.priority,
            seeks_opposite=draft.seeks_opposite,
        )
        for rank, draft in enumerate(chosen, start=1)
    )


def _repaired(draft: QueryDraft, claim: Claim) -> QueryDraft:
    """Return a draft with its priority in range and with the claim's time words if it has none."""
    text = " ".join(storable(draft.text).split())
    times = time_words(claim.text)
    if text and not any(word.casefold() in text.casefold() for word in times):
        text = " ".join([text, *times[:_MAX_TIME_WORDS]])
    return replace(draft, text=text, priority=min(LOWEST_PRIORITY, max(1, draft.priority)))


def query_row(claim: Claim, text: str, *, basis: QueryBasis, **columns: Any) -> Query:
    """Return a query row; by default the first query of its claim, and a direct one.

    A claim without queries has a row with an empty text, whose `status` and `reason` say why.
    """
    defaults = {
        "query_id": query_id(claim.claim_id, text),
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "rank": 1,
        "text": text,
        "query_type": "direct",
        "priority": 1,
        "basis": basis,
    }
    return Query.model_validate(defaults | columns)


def time_words(text: str) -> tuple[str, ...]:
    """Return a text's words for times: years, decades, quarters, months, "last year"."""
    return tuple(dict.fromkeys(match[0] for match in _TIME_WORDS.finditer(text)))
