"""The values and the protocol of picture services, and the metadata of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

MatchKind = Literal["exact", "partial", "similar"]
"""Whether a picture found elsewhere is the same, shares a part with it, or merely looks like it."""


@dataclass(frozen=True, slots=True)
class ImageMatch:
    """A picture found elsewhere: its own address, that of a page that shows it, or both."""

    kind: MatchKind
    image_url: str | None = None
    page_url: str | None = None
    page_title: str | None = None


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """A service's answer about one picture: matches, or a score from 0 to 1, or an outage.

    Every outage has a `reason`, a sentence without secrets. Latency is in seconds.
    """

    provider: str
    outcome: Literal["ok", "outage"]
    matches: Sequence[ImageMatch] = ()
    score: float | None = None
    reason: str | None = None
    latency_seconds: float = 0.0


class NoPictureError(Exception):
    """A picture is missing or unreadable. `is_outage`: it may be available later."""

    def __init__(self, sentence: str, *, is_outage: bool = False) -> None:
        super().__init__(sentence)
        self.is_outage = is_outage


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The size of a picture in pixels, and its metadata.

    `taken_at` is in the camera's own time; `software` wrote the file. `error_level`, from 0 to 1,
    is the share of blocks that change more than three times as much as the median block when the
    picture is compressed again. A pasted region has undergone fewer compressions than its
    surroundings (error level analysis; Krawetz, "A Picture's Worth", 2007). None for lossless
    formats.
    """

    width: int
    height: int
    taken_at: datetime | None
    camera: str | None
    software: str | None
    error_level: float | None


class ImageService(Protocol):
    """A reverse image search, or a detector of generated faces."""

    async def ask(self, picture: bytes) -> ImageAnswer:
        """Send a picture (the original JPEG, PNG or WebP). A failure is an answer, no error."""
