"""The listed ratings and the age of a domain, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

import idna

Rating = Literal["high", "medium", "low", "very_low", "unknown"]
SourceClass = Literal[
    "academic", "government", "news", "encyclopedia", "fact_checker", "satire", "social", "blog",
    "shop", "video", "organisation", "answer_engine", "unknown",
]  # fmt: skip
"""The kind of publisher of a domain; an answer engine is a language model's service."""
_HOST = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}")


def ascii_host(text: str) -> str | None:
    """Return a lower-case host name in ASCII; None if the text is no host name with a domain."""
    try:
        host = text if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
    except UnicodeError:
        return None
    return host if _HOST.fullmatch(host) else None


def journal_key(name: str) -> str:
    """Return the key of a journal among the domains of a rating set; no domain has a colon."""
    words = re.findall(r"\w+", name.casefold().replace("&", " and "))
    return f"journal:{' '.join(words).removeprefix('the ')}"


@dataclass(frozen=True, slots=True)
class ListedRating:
    """The rating of one host in one rating set, as of the day that the set describes.

    `domain` is lower case, without `www.`; of a journal it is the `journal_key`.
    """

    dataset: str
    domain: str
    rating: Rating
    source_class: SourceClass = "unknown"
    reason: str = ""
    bias: str | None = None
    as_of: date | None = None
    score: float | None = None
    """From 0 to 1, if the set states one."""


@dataclass(frozen=True, slots=True)
class DomainAge:
    """An age in years, or the reason why it is unknown or the registry failed."""

    outcome: Literal["ok", "unknown", "outage"]
    years: float | None = None
    reason: str | None = None
