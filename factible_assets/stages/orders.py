"""Judges orders that a page gives to its reader by their effect.

What belongs here: reading a page again without the passage that decided, and what follows if it
then says the contrary. What does not: telling an order from other sentences by its words, and
fencing what a language model reads (reasoners/llm).

Anybody can plant a sentence in a page: in a comment, a listing, a profile. A page that supports a
claim only as long as that sentence stands there, and refutes it otherwise, takes no side.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from factible_assets.stages.evidence import QuoteFinder, whole_sentences
from factible_assets.stages.ports import EvidenceDraft, WithCalls
from factible_assets.stances import SIDES

Read: TypeAlias = Callable[[str], Awaitable[WithCalls[EvidenceDraft | None] | str]]
"""Reads a text in the place of the page's, or says why it is left unread."""

_DISPUTED = "Without the passage that decides, the page says the contrary, so it takes no side."


async def unswayed(
    judged: WithCalls[EvidenceDraft | None], text: str, read: Read
) -> WithCalls[EvidenceDraft | None]:
    """Return a reading; one that a single passage turns becomes unclear.

    `text` is read once more if the reading takes a side: without its quotes, wherever they stand,
    and the sentences around them. Raises the errors of `read`.
    """
    draft = judged.value
    if draft is None or draft.stance not in SIDES:
        return judged
    rest = _without(draft.quotes, text)
    if rest == text or not rest.strip():
        return judged
    again = await read(rest)
    if isinstance(again, str):
        return judged
    calls = (*judged.calls, *again.calls)
    other = again.value
    if other is None or other.stance not in SIDES - {draft.stance}:
        return WithCalls(draft, calls)
    unclear = replace(
        draft, stance="unclear", stance_confidence=0.0, ground=None, summary=_DISPUTED
    )
    return WithCalls(unclear, calls)


def _without(quotes: tuple[str, ...], text: str) -> str:
    finder = QuoteFinder(text)
    places = (finder.find(quote) for quote in quotes if quote.strip())
    passages = {text[slice(*whole_sentences(text, *place))] for place in places if place}
    for passage in sorted(passages, key=len, reverse=True):
        text = text.replace(passage, " ")
    return text
