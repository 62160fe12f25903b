"""The searches for a claim, as a language model words them.

What belongs here: asking, and what of the answer is believed. What does not: the words of the
prompt (prompts/queries.md), which queries are asked and in which order (stages.queries).

Source of the method: Factible, section 1.3.3 (table 4, priorities, temporal context, opposing
views).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from factible_assets.reasoners.embedded.embedder import TfidfEmbedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.llm.answers import QueriesAnswer, WordedQuery
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.material import claim_pieces, title_data
from factible_assets.reasoners.llm.wording import plain
from factible_assets.records import Claim, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import QueryDraft

QUERY_WORDS = 16
"""Words of the longest query: twelve are asked for, and a search engine reads not many more."""

_TYPES = 4
_OPERATOR = re.compile(
    r"(?<!\w)[-+]?(?:site|inurl|intitle|intext|allin\w+|filetype|ext|cache|related|link|info|source"
    r"|before|after|loc|location|imagesize|define):\S*",
    re.IGNORECASE,
)
_SEARCH_MARKS = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]|(?:(?<=\\s)|^)[-+](?=\\w)')


async def word_queries(
    desk: Desk, video: Video, claim: Claim, *, max_queries: int
) -> list[QueryDraft]:
    """Word the searches for a claim, of all four types and at least one for the contrary.

    Raises:
        ReasonerOutageError: The model failed.
    """
    answer = await desk.ask(
        desk.prompt.fill(
            "User",
            video_title=("The video's title:\n", title_data("title of the video", video.title)),
            claim=claim_pieces(claim),
            count=str(max(_TYPES, max_queries)),
        ),
        QueriesAnswer,
    )
    drafts = _believed(answer.queries)
    if any(draft.seeks_opposite for draft in drafts):
        return drafts
    own = write_queries(
        claim, embedder=TfidfEmbedder(), video=video, max_queries=max(_TYPES, max_queries)
    )
    return [*drafts, *(draft for draft in own if draft.seeks_opposite)]


def _believed(queries: Sequence[WordedQuery]) -> list[QueryDraft]:
    """Return each search once, as words alone: where to search is not the model's to say."""
    distinct: dict[str, QueryDraft] = {}
    for query in queries:
        text = search_words(query.text)
        if text:
            draft = QueryDraft(text, query.query_type, query.priority, query.seeks_opposite)
            distinct.setdefault(normalise_text(text), draft)
    return list(distinct.values())


def search_words(text: str) -> str:
    """Return a search without operators, quotation marks, addresses and markup."""
    text = _OPERATOR.sub(" ", plain(text))
    return " ".join(_SEARCH_MARKS.sub(" ", text).split()[:QUERY_WORDS])
