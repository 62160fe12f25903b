"""From a reasoner's drafts to the searches that are made for a claim.

What belongs here: which drafts are asked, in which order, and what is added to them. What does not:
wording queries, which is the reasoner's judgement; asking them (search.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from factible_assets.config import QueriesConfig
from factible_assets.records import Claim, Maker, Query, QueryBasis, QueryType
from factible_assets.stages.ids import normalise_text, query_id
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.transcript import storable

_MONTHS = (
    "January|February|March(?=,? \\d)|April|May(?=,? \\d)|June|July|August|September|October"
    "|November|December"
)
_TIME_WORDS = re.compile(
    r"\b(?:"
    r"(?:1[5-9]|20)\d\d(?:s\b|\b)"  # a year or a decade of the printed ages
    r"|Q[1-4]\b"
    r"|(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth) (?:century|quarter)\b"
    rf"|(?:{_MONTHS})\b"
    r"|(?:last|this|past) (?:year|decade|century|month|summer|winter|spring|autumn)\b"
    r"|today\b|yesterday\b"
    r")"
)
_MAX_TIME_WORDS = 3


def build_queries(
    claim: Claim, drafts: Sequence[QueryDraft], config: QueriesConfig, *, basis: Maker
) -> tuple[Query, ...]:
    """Return the queries that are asked for a claim, in the order in which they are tried.

    Factible, section 1.3.3: drafts above `max_priority` are left out, the rest is sorted by
    priority, then by type as in table 4, and cut at `max_queries`. It also asks for opposing views
    and the temporal context: so the last of several gives way to the most urgent draft that seeks
    the opposite, if no other does, and a query that lost all time words of the claim gets them
    back.

    At least one is returned: the most urgent, or the claim's own words if the reasoner worded none.
    """
    said, types = time_words(claim.text), get_args(QueryType)
    repaired = []
    for draft in drafts:
        text = " ".join(storable(draft.text).split())
        if text and said and not any(word.casefold() in text.casefold() for word in said):
            text = " ".join([text, *said[:_MAX_TIME_WORDS]])
        repaired.append(replace(draft, text=text, priority=min(5, max(1, draft.priority))))
    repaired.sort(key=lambda draft: (draft.priority, types.index(draft.query_type)))
    distinct: dict[str, QueryDraft] = {}
    for draft in repaired:
        if draft.text:
            distinct.setdefault(normalise_text(draft.text), draft)
    ordered = list(distinct.values()) or [QueryDraft(claim.text, "direct", 1)]
    urgent = [draft for draft in ordered if draft.priority <= config.max_priority] or ordered[:1]
    kept = urgent[: config.max_queries]
    opposite = next((draft for draft in ordered if draft.seeks_opposite), None)
    # One query alone must ask for the claim itself.
    if opposite and config.max_queries > 1 and not any(draft.seeks_opposite for draft in kept):
        kept = [*kept[: config.max_queries - 1], opposite]
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
        for rank, draft in enumerate(kept, start=1)
    )


def query_row(claim: Claim, text: str, *, basis: QueryBasis, **columns: Any) -> Query:
    """Return a search for a claim, the first and a direct one if `columns` do not say otherwise.

    Of a claim whose queries were not written the text is empty, and `status` and `reason` say why.
    """
    usual = {
        "query_id": query_id(claim.claim_id, text),
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "rank": 1,
        "text": text,
        "query_type": "direct",
        "priority": 1,
        "basis": basis,
    }
    return Query.model_validate(usual | columns)


def time_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say when: years, decades, quarters, months, "last year"."""
    return tuple(dict.fromkeys(match[0] for match in _TIME_WORDS.finditer(text)))
