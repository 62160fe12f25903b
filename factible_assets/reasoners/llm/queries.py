"""The searches for a claim, as a language model words them.

What belongs here: asking, and what of the answer is believed. What does not: the words of the
prompt (prompts/queries.md), which queries are asked and in which order (stages.queries).

Source of the method: Factible, section 1.3.3 (table 4, priorities, temporal context, opposing
views).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from factible_assets.reasoners.embedded.embedder import TfidfEmbedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.llm.answers import QueriesAnswer
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.prompts import Piece, claim_data
from factible_assets.reasoners.llm.wording import asks_of_the_video, plain
from factible_assets.records import Claim, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import QueryDraft

QUERY_WORDS = 16
"""Words of the longest query: twelve are asked for, and a search engine reads not many more."""

_TYPES = 4
_FEWEST = 2
_QUERY_TOKENS = 45
_OPERATOR = re.compile(
    r"(?<!\w)[-+]?(?:site|inurl|intitle|intext|allin\w+|filetype|ext|cache|related|link|info|source"
    r"|before|after|loc|location|imagesize|define):\S*",
    re.IGNORECASE,
)
_SEARCH_MARKS = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]|(?:(?<=\\s)|^)[-+](?=\\w)')


@dataclass(frozen=True, slots=True)
class AskedClaim:
    """A claim whose searches are asked for, and how many of them are used."""

    video: Video
    claim: Claim
    max_queries: int


async def ask_queries(desk: Desk, asked: Sequence[AskedClaim]) -> dict[int, list[QueryDraft]]:
    """Ask for the searches of some claims of a video in one call; by the place of their claim."""
    claims: list[Piece] = []
    for number, each in enumerate(asked, start=1):
        claims += [f"Claim {number}:\n", claim_data(each.claim)]
    count = max(_TYPES, *(each.max_queries for each in asked))
    most = count * len(asked)
    room = max(desk.stage.max_tokens, _QUERY_TOKENS * most)
    answer = await desk.ask(
        "User", QueriesAnswer, max_tokens=room, most=most, claims=claims, count=str(count)
    )
    # Each search once, as words alone: where to search is not the model's to say.
    found: dict[int, dict[str, QueryDraft]] = {}
    for query in answer.queries:
        place, text = (0 if len(asked) == 1 else query.claim - 1), search_words(query.text)
        if not text or not 0 <= place < len(asked):
            continue
        if not asks_of_the_video(text) or asks_of_the_video(asked[place].claim.text):
            draft = QueryDraft(text, query.query_type, query.priority, query.seeks_opposite)
            found.setdefault(place, {}).setdefault(normalise_text(text), draft)
    return {place: list(drafts.values()) for place, drafts in found.items()}


async def settle_queries(
    desk: Desk, asked: AskedClaim, drafts: list[QueryDraft] | None
) -> tuple[QueryDraft, ...]:
    """Return the searches for a claim, one for the contrary at least.

    A claim that was left out of an answer is asked about once more and alone. To one search, said
    again and again as small models do, the claim's own words are added.
    """
    if drafts is None and not desk.calls:  # it was not asked about alone
        drafts = (await ask_queries(desk, [asked])).get(0)
    drafts = drafts or []
    is_one, is_contrary = len(drafts) < _FEWEST, any(draft.seeks_opposite for draft in drafts)
    if not is_one and is_contrary:
        return tuple(drafts)
    spare = [each for each in plain_queries(asked) if is_one or each.seeks_opposite]
    return (*drafts, *spare)


def plain_queries(asked: AskedClaim) -> tuple[QueryDraft, ...]:
    """Word the searches for a claim without a model, in the claim's own words."""
    most = max(_TYPES, asked.max_queries)
    return write_queries(asked.claim, embedder=TfidfEmbedder(), video=asked.video, max_queries=most)


def search_words(text: str) -> str:
    """Return a search without operators, quotation marks, addresses and markup."""
    text = _OPERATOR.sub(" ", plain(text))
    return " ".join(_SEARCH_MARKS.sub(" ", text).split()[:QUERY_WORDS])
