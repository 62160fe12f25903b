"""The searches for a claim, as a language model words them.

What belongs here: asking, and the part of the answer that is believed. What does not: the words of
the prompt (prompts/queries.md), which queries are asked and in which order (stages.queries).

The searches of a transcript's claims come with the claims, in one call. They are then kept as the
answers to the questions that this module asks, so that no claim is asked about twice.

Source of the method: Factible, section 1.3.3 (table 4, priorities, temporal context, opposing
views).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from factible_assets.reasoners.embedded.embedder import TfidfEmbedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.llm.answers import QueriesAnswer
from factible_assets.reasoners.llm.calls import Conversation, Material
from factible_assets.reasoners.llm.prompts import claim_data
from factible_assets.reasoners.llm.wording import asks_of_the_video, plain
from factible_assets.records import Claim, QueryType, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import ClaimDraft, QueryDraft
from resources.llm.base import RememberingModel

QUERY_WORDS = 16
"""Words of the longest query: twelve are asked for, and a search engine reads not many more."""
USUAL = 3
"""Searches that a claim comes with."""

_ORDER: tuple[tuple[QueryType, int, bool], ...] = (
    ("direct", 1, False),
    ("alternative", 1, True),
    ("source", 2, False),
    ("context", 3, False),
)
"""Type, priority and whether it seeks the opposite, by the place that the prompt gives a search."""
_OPERATOR = re.compile(
    r"(?<!\w)[-+]?(?:site|inurl|intitle|intext|allin\w+|filetype|ext|cache|related|link|info|source"
    r"|before|after|loc|location|imagesize|define):\S*",
    re.IGNORECASE,
)
_SEARCH_MARKS = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]|(?:(?<=\\s)|^)[-+](?=\\w)')


async def ask_queries(talk: Conversation, claim: Claim, count: int) -> tuple[QueryDraft, ...]:
    """Ask for the searches for a claim; at least one of them seeks the contrary.

    Raises ReasonerOutageError if the model failed, ReasonerRefusalError if it declined.
    """
    answer = await talk.ask("User", QueriesAnswer, _material(claim, count), most=count)
    return drafts_of(talk.video, claim, answer.searches)


async def remember_queries(talk: Conversation, claim: ClaimDraft) -> None:
    """Keep the searches that came with a claim, so that asking for them costs no call."""
    model = talk.stage.model
    if isinstance(model, RememberingModel) and claim.searches:
        request = talk.request("User", QueriesAnswer, _material(claim, USUAL), most=USUAL)
        await model.remember(request, QueriesAnswer(searches=list(claim.searches)))


def _material(claim: Claim | ClaimDraft, count: int) -> Material:
    return {"claim": ("The claim:\n", claim_data(claim)), "count": str(count)}


def drafts_of(video: Video, claim: Claim, searches: Sequence[str]) -> tuple[QueryDraft, ...]:
    """Return searches as words alone, each once, and one that seeks the contrary at least.

    To a single search, said again and again as small models do, the claim's own words are added.
    """
    drafts: dict[str, QueryDraft] = {}
    for place, written in enumerate(searches):
        kind, priority, opposite = _ORDER[min(place, len(_ORDER) - 1)]
        text = search_words(written)
        if text and (not asks_of_the_video(text) or asks_of_the_video(claim.text)):
            draft = QueryDraft(text, kind, priority, opposite)
            drafts.setdefault(normalise_text(text), draft)
    found = tuple(drafts.values())
    is_one = len(found) < len(_ORDER[:2])
    if not is_one and any(draft.seeks_opposite for draft in found):
        return found
    spare = plain_queries(video, claim, len(_ORDER))
    return (*found, *(each for each in spare if is_one or each.seeks_opposite))


def plain_queries(video: Video, claim: Claim, count: int) -> tuple[QueryDraft, ...]:
    """Word the searches for a claim without a model, in the claim's own words."""
    most = max(len(_ORDER), count)
    found = write_queries(claim, embedder=TfidfEmbedder(), video=video, max_queries=most)
    return tuple(replace(each, basis="embedded") for each in found)


def search_words(text: str) -> str:
    """Return a search without operators, quotation marks, addresses and markup."""
    text = _OPERATOR.sub(" ", plain(text))
    return " ".join(_SEARCH_MARKS.sub(" ", text).split()[:QUERY_WORDS])
