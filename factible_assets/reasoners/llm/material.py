"""The material that several prompts are given: a claim, a title, what is known of a video.

What belongs here: how such material is cut and named before it is fenced. What does not: the fence
(fences.py), material that only one judgement needs.
"""

from __future__ import annotations

from datetime import UTC, datetime

from factible_assets.reasoners.llm.fences import OMISSION, Data, Piece
from factible_assets.records import Claim, Video

_LONGEST_TITLE = 300
_MOST_CHARACTERS = 600


def claim_data(claim: Claim) -> Data:
    """Return a claim with what is known of its background. It was said by a stranger: data."""
    lines = [claim.text, claim.context and f"Context: {claim.context}"]
    return Data("claim", "\n".join(cut(" ".join(line.split())) for line in lines if line))


def claim_pieces(claim: Claim) -> tuple[Piece, ...]:
    """Return a claim after the words that announce it."""
    return ("The claim:\n", claim_data(claim))


def video_data(video: Video) -> Data:
    """Return what is known of a video, in its publisher's words: data."""
    known = (
        ("Title", video.title),
        ("Channel", video.channel),
        ("Published", video.published_on and video.published_on.isoformat()),
        ("Language", video.language),
    )
    lines = [f"{name}: {title_line(text)}" for name, text in known if text]
    return Data("video", "\n".join(lines) or "(unknown)")


def title_line(title: str) -> str:
    """Return a title on one line, of a bounded length."""
    return cut(" ".join(title.split()), _LONGEST_TITLE)


def this_month() -> str:
    """Return the present month, such as "May 2026": a day would ask every question anew daily."""
    return datetime.now(UTC).strftime("%B %Y")


def cut(text: str, characters: int = _MOST_CHARACTERS) -> str:
    """Cut a text at a word, so that no title or excerpt can fill a prompt."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rsplit(' ', 1)[0][:characters]} {OMISSION}"
