"""The material that several prompts are given: a claim, a title, a text without orders.

What belongs here: how such material is cut and named before it is fenced. What does not: the fence
(fences.py), material that only one judgement needs.
"""

from __future__ import annotations

from factible_assets.reasoners.embedded.page_text import page_sentences, readable
from factible_assets.reasoners.llm.fences import OMISSION, Data, Piece
from factible_assets.records import Claim

_MOST_CHARACTERS = 600
_LONGEST_TITLE = 300


def claim_pieces(claim: Claim) -> tuple[Piece, ...]:
    """Return a claim with what is known of its background. It was said by a stranger: data."""
    pieces: list[Piece] = ["The claim:\n", Data("claim", cut(claim.text))]
    background = [
        ("What a reader has to know", claim.context),
        ("The thesis of the video", claim.thesis),
    ]
    known = [f"{name}: {cut(text)}" for name, text in background if text]
    if known:
        pieces += ["\n\nIts background:\n", Data("background", "\n".join(known))]
    return tuple(pieces)


def title_data(label: str, title: str) -> Data:
    """Return a title as data."""
    return Data(label, cut(without_orders(title), _LONGEST_TITLE) or "(none)")


def without_orders(text: str) -> str:
    """Return the sentences of a short text that report something.

    Sentences that address their reader with instructions, and notices of a website, are left out:
    what a stranger orders is not what he reports.
    """
    sentences = page_sentences(text)
    kept = readable(sentences)
    if len(kept) == len(sentences):
        return text
    return " ".join([*(sentence.text for sentence in kept), OMISSION])


def cut(text: str, characters: int = _MOST_CHARACTERS) -> str:
    """Cut a text at a word, so that no title or excerpt can fill a prompt."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rsplit(' ', 1)[0][:characters]} {OMISSION}"
