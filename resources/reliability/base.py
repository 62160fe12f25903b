"""What is known of a domain: its listed ratings, and its age; and the door to who registers it.

What belongs here: the values, and the ways in which a registry has no answer. What does not:
reading rating sets (datasets.py), asking registries (ages.py, rdap.py, whois_registry.py), what a
rating or an age is worth (the domain's business).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol

Rating = Literal["high", "medium", "low", "very_low", "unknown"]
"""How reliable a source is held to be."""

SourceClass = Literal[
    "academic",
    "government",
    "news",
    "encyclopedia",
    "fact_checker",
    "satire",
    "social",
    "blog",
    "shop",
    "video",
    "organisation",
    "answer_engine",
    "unknown",
]
"""What kind of publisher stands behind a domain; an answer engine is a language model's service."""


@dataclass(frozen=True, slots=True)
class ListedRating:
    """What one rating set says of one host. `domain` is lower case, without `www.`.

    `as_of` is the day that the set describes, None if nobody says.
    """

    dataset: str
    domain: str
    rating: Rating
    source_class: SourceClass = "unknown"
    reason: str = ""
    bias: str | None = None
    as_of: date | None = None
    score: float | None = None
    """From 0 to 1, where the set states one beside the rating."""


@dataclass(frozen=True, slots=True)
class DomainAge:
    """An age in years, or why there is none: unknown for good, or an outage of the registry."""

    outcome: Literal["ok", "unknown", "outage"]
    years: float | None = None
    reason: str | None = None


class RegistryError(Exception):
    """A registry has no answer. `reason` is a sentence for a person, without its first capital."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RegistryOutageError(RegistryError):
    """The registry failed, and may answer another time."""


class NotRegisteredError(RegistryError):
    """The registry is sure that nobody registered this domain."""


class Registry(Protocol):
    """Knows when domains were registered."""

    async def registered_at(self, domain: str) -> datetime | None:
        """Return when a registrable domain was registered, with a time zone.

        None if this registry does not say: another one may.

        Args:
            domain: In ASCII, lower case, without a closing dot.

        Raises:
            NotRegisteredError: The domain is free.
            RegistryOutageError: The registry failed.
        """
        ...
