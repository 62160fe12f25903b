"""Writes the searches for a claim with a language model.

Source of the method: Factible, section 1.3.3 (table 4, priorities, temporal context, opposing
views). The call that finds a transcript's claims also words their searches. They enter the cache
as answers to the prompt of this module, so that no claim needs a second call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.llm.answers import QueriesAnswer
from factible_assets.reasoners.llm.conversation import Conversation, Material
from factible_assets.reasoners.llm.plain_text import plain
from factible_assets.reasoners.llm.prompts import claim_data
from factible_assets.records.tables import Claim, QueryType, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import ClaimDraft, QueryDraft

QUERY_WORDS = 16
"""Words of the longest query: the prompt asks for twelve, and search engines read few more."""
SEARCHES_PER_CLAIM = 3
"""Searches that come with a claim."""

_ORDER: tuple[tuple[QueryType, int, bool], ...] = (
    ("direct", 1, False),
    ("alternative", 1, True),
    ("source", 2, False),
    ("context", 3, False),
)
"""Type, priority and whether it seeks the opposite, by the position of a search in the answer."""
_OPERATOR = re.compile(
    r"(?<!\w)[-+]?(?:site|inurl|intitle|intext|allin\w+|filetype|ext|cache|related|link|info|source"
    r"|before|after|loc|location|imagesize|define):\S*",
    re.IGNORECASE,
)
_SEARCH_MARKS = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]|(?:(?<=\\s)|^)[-+](?=\\w)')


async def ask_queries(
    conversation: Conversation, claim: Claim, count: int
) -> tuple[QueryDraft, ...]:
    """Ask for the searches for a claim; at least one of them seeks the opposite.

    Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
    """
    answer = await conversation.ask("User", QueriesAnswer, _material(claim, count), most=count)
    return _drafts(conversation.video, claim, answer.searches)


async def remember_queries(conversation: Conversation, claim: ClaimDraft) -> None:
    """Cache the searches that came with a claim as the answer to the prompt for searches."""
    if claim.searches:
        answer = QueriesAnswer(searches=list(claim.searches))
        await conversation.remember(
            "User", answer, _material(claim, SEARCHES_PER_CLAIM), most=SEARCHES_PER_CLAIM
        )


def _material(claim: Claim | ClaimDraft, count: int) -> Material:
    return {"claim": ("The claim:\n", claim_data(claim)), "count": str(count)}


def _drafts(video: Video, claim: Claim, searches: Sequence[str]) -> tuple[QueryDraft, ...]:
    """Clean the searches, drop repetitions and add one that seeks the opposite if none does.

    Small models repeat a single search; then the claim's own words are searched too.
    """
    drafts: dict[str, QueryDraft] = {}
    for place, search in enumerate(searches):
        kind, priority, opposite = _ORDER[min(place, len(_ORDER) - 1)]
        if text := search_words(search):
            draft = QueryDraft(text, kind, priority, opposite)
            drafts.setdefault(normalise_text(text), draft)
    written = tuple(drafts.values())
    is_single = len(written) <= 1
    if not is_single and any(draft.seeks_opposite for draft in written):
        return written
    spare = plain_queries(video, claim, len(_ORDER))
    return (*written, *(draft for draft in spare if is_single or draft.seeks_opposite))


def plain_queries(video: Video, claim: Claim, count: int) -> tuple[QueryDraft, ...]:
    """Write searches in the claim's own words, without a model."""
    most = max(len(_ORDER), count)
    drafts = write_queries(claim, embedder=minilm(), video=video, max_queries=most)
    return tuple(replace(draft, basis="embedded") for draft in drafts)


def search_words(text: str) -> str:
    """Remove operators, quotation marks, addresses and markup from a search, and shorten it."""
    text = _OPERATOR.sub(" ", plain(text))
    return " ".join(_SEARCH_MARKS.sub(" ", text).split()[:QUERY_WORDS])
