"""What is asked about pictures and what comes back, and the doors of those who answer.

What belongs here: values and protocols. What does not: any service's wire format, looking into the
bytes of a picture (inspect.py), and any judgement of what is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

MatchKind = Literal["exact", "partial", "similar"]
"""How a picture found elsewhere relates to the one asked about: the whole of it, a part of it (or a
part of which it is), or one that merely looks like it."""


@dataclass(frozen=True, slots=True)
class ImageMatch:
    """A picture that was found elsewhere: by itself, on a page that shows it, or both."""

    kind: MatchKind
    image_url: str | None = None
    page_url: str | None = None
    page_title: str | None = None


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """What a service said of one picture: matches, or a score from 0 to 1, or why there is none.

    `reason` is a sentence without secrets and is there with every outage. Latency in seconds.
    """

    provider: str
    outcome: Literal["ok", "outage"]
    matches: Sequence[ImageMatch] = ()
    score: float | None = None
    reason: str | None = None
    latency_seconds: float = 0.0


class NoPictureError(Exception):
    """A picture cannot be had or read. The text is a sentence; `is_outage`: another time it may."""

    def __init__(self, sentence: str, *, is_outage: bool = False) -> None:
        super().__init__(sentence)
        self.is_outage = is_outage


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What one picture says of itself; its size in pixels.

    `taken_at` is in the camera's own time, `software` what wrote the file. `error_level`, from 0 to
    1, is how unevenly the picture changes when it is compressed once more: the share of blocks
    whose change is more than three times the median's. A region that was pasted in has been
    compressed less often than its surroundings (error level analysis; Krawetz, "A Picture's Worth",
    2007). None for a format that loses nothing.
    """

    width: int
    height: int
    taken_at: datetime | None
    camera: str | None
    software: str | None
    error_level: float | None


class ImageService(Protocol):
    """A service that is shown a picture: a reverse search, or a detector of generated faces."""

    async def ask(self, picture: bytes) -> ImageAnswer:
        """Show a picture (JPEG, PNG or WebP, as it was fetched). A failure is an answer too."""
