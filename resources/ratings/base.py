"""What is known of a domain: its listed ratings, and its age.

What belongs here: the values. What does not: reading rating sets (datasets.py), asking registries
(registries.py), what a rating or an age is worth (the domain's business).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Rating = Literal["high", "medium", "low", "very_low", "unknown"]
"""How reliable a source is held to be."""
SourceClass = Literal[
    "academic", "government", "news", "encyclopedia", "fact_checker", "satire", "social", "blog",
    "shop", "video", "organisation", "answer_engine", "unknown",
]  # fmt: skip
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
