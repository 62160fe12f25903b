"""The material that several prompts are given: a claim, a title, what is known of a video.

What belongs here: how such material is cut and named before it is fenced. What does not: the fence
(fences.py), material that only one judgement needs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from factible_assets.reasoners.llm.fences import OMISSION, Data, Piece
from factible_assets.records import Claim, Video

_LONGEST_TITLE = 300
_MOST_CHARACTERS = 600
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")


def claim_data(claim: Claim, channel: str | None = None) -> Data:
    """Return a claim with what is known of its background. It was said by a stranger: data."""
    lines = [
        claim.text,
        claim.context and f"Context: {claim.context}",
        channel and f"Channel: {channel}",
    ]
    return Data("claim", "\n".join(cut(" ".join(line.split())) for line in lines if line))


def claim_pieces(claim: Claim, video: Video | None = None) -> tuple[Piece, ...]:
    """Return a claim after the words that announce it, and when and by whom it was said."""
    if video is None:
        return ("The claim:\n", claim_data(claim))
    when = f", from a video of {video.published_on}" if video.published_on else ""
    return (f"The claim{when}:\n", claim_data(claim, video.channel))


def in_language(video: Video, wish: str | None) -> str:
    """Return what to write in: the reader's language, else the claim's, and which that is."""
    if wish is not None:
        return f"the reader's language ({wish}), whatever that of the claim"
    tag = video.language or ""
    return f"the claim's language ({tag})" if _LANGUAGE.fullmatch(tag) else "the claim's language"


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


def this_year() -> str:
    """Return the present year, for what is asked most often and kept longest: pages."""
    return datetime.now(UTC).strftime("%Y")


def cut(text: str, characters: int = _MOST_CHARACTERS) -> str:
    """Cut a text at a word, so that no title or excerpt can fill a prompt."""
    if len(text) <= characters:
        return text
    return f"{text[:characters].rsplit(' ', 1)[0][:characters]} {OMISSION}"
