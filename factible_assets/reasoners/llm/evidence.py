"""What one page says of one claim, as a language model reads it.

What belongs here: asking, looking up the quotes, and one round of repair where none of them stands
in the page. What does not: the words of the prompt (prompts/evidence.md), what becomes of a stance
without a quote (stages.evidence, which counts and rejects).

Source of the method: Factible, section 1.3.4, step 4 (stances, qualifiers, time, mere discussion).
"""

from __future__ import annotations

import asyncio

from factible_assets.reasoners.llm.answers import EvidenceAnswer
from factible_assets.reasoners.llm.calls import Desk
from factible_assets.reasoners.llm.excerpt import excerpt
from factible_assets.reasoners.llm.fences import Data, Piece, ShownText
from factible_assets.reasoners.llm.material import claim_pieces, cut, title_data, without_orders
from factible_assets.reasoners.llm.wording import clip, plain
from factible_assets.records import Claim
from factible_assets.stages.evidence import QuoteFinder
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt
from factible_assets.stages.verdict import DEFINITE

SUMMARY_WORDS = 60
_MOST_QUOTES = 3


async def read_source(
    desk: Desk, claim: Claim, page: PageExcerpt, *, limit: int, repair: bool
) -> EvidenceDraft | None:
    """Read what a page says of a claim; None if it does not speak of it or cannot be read.

    Args:
        desk: Where to ask.
        claim: The claim.
        page: The page; at most `limit` characters of it are shown.
        limit: Characters.
        repair: Whether to ask once more if a stance comes without a quote that stands in the page.

    Raises:
        ReasonerOutageError: The model failed.
    """
    shown = await asyncio.to_thread(excerpt, claim.text, page.text, limit=limit)
    if shown is None:
        return None
    material = _material(claim, page, shown)
    answer = await desk.ask(desk.prompt.fill("User", **material), EvidenceAnswer)
    quotes = await asyncio.to_thread(_looked_up, answer, page.text)
    misquotes: tuple[str, ...] = ()
    if repair and _needs_quote(answer) and not quotes.standing:
        misquotes = quotes.missing
        shown_misquotes = "\n".join(cut(plain(quote)) for quote in misquotes) or "(none)"
        answer = await desk.ask(
            desk.prompt.fill(
                "Repair",
                **material,
                stance=answer.stance,
                misquotes=Data("what you quoted", shown_misquotes),
            ),
            EvidenceAnswer,
        )
        quotes = await asyncio.to_thread(_looked_up, answer, page.text)
    if not answer.addresses_claim:
        return None
    # What stands nowhere is offered all the same, so that the stage rejects and counts it.
    offered = dict.fromkeys((*quotes.standing, *quotes.missing, *misquotes))
    return EvidenceDraft(
        stance=answer.stance,
        stance_confidence=answer.stance_confidence,
        relevance=answer.relevance,
        summary=clip(plain(answer.summary), SUMMARY_WORDS),
        quotes=tuple(offered),
    )


def _material(claim: Claim, page: PageExcerpt, shown: str) -> dict[str, Piece | tuple[Piece, ...]]:
    day = page.published_on
    snippet = cut(without_orders(page.snippet)) or "(none)"
    return {
        "claim": claim_pieces(claim),
        "published": "of unknown date" if day is None else f"published on {day.isoformat()}",
        "page_title": ("Its title:\n", title_data("title of the page", page.title)),
        "snippet": ("The excerpt that the search showed:\n", Data("excerpt", snippet)),
        "page": ("The page:\n", Data("page", shown, trimmable=True)),
    }


def _needs_quote(answer: EvidenceAnswer) -> bool:
    return answer.addresses_claim and answer.stance in DEFINITE


class _Quotes:
    """The quotes of an answer: raw text of the page, and what stands nowhere in it."""

    def __init__(self, standing: tuple[str, ...], missing: tuple[str, ...]) -> None:
        self.standing = standing
        self.missing = missing


def _looked_up(answer: EvidenceAnswer, text: str) -> _Quotes:
    """Look quotes up in the whole stored text, also as the model was shown it."""
    finder, shown = QuoteFinder(text), None
    standing, missing = [], []
    for quote in [quote for quote in answer.quotes if quote.strip()][:_MOST_QUOTES]:
        place = finder.find(quote)
        if place is None:
            shown = shown or ShownText(text)
            place = shown.find(quote)
        if place is None:
            missing.append(quote)
        else:
            standing.append(text[slice(*place)])
    return _Quotes(tuple(standing), tuple(missing))
