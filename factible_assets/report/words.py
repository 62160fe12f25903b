"""The words of the reports: outcomes, ratings, amounts.

What belongs here: how a value of a closed vocabulary, a count, a date or a sum is said. What does
not: sentences about one claim (claims.py), markup.
"""

from __future__ import annotations

from datetime import date, datetime

from factible_assets.records import (
    Basis,
    RetrievedVia,
    Stance,
)
from factible_assets.wording import STANCE_WORDS

UNJUDGED = "unjudged"
INCOMPLETE = "incomplete"
OUTCOMES = ("supports", "refutes", "mixed", "unclear", INCOMPLETE, UNJUDGED)
"""Every outcome that a claim can have, in the order of the summaries."""

OUTCOME_WORDS: dict[str, str] = {
    **STANCE_WORDS,
    INCOMPLETE: "incomplete",
    UNJUDGED: "not judged yet",
}

GLYPHS: dict[str, str] = {
    "supports": "✓",
    "refutes": "✕",
    "mixed": "≈",
    "unclear": "?",
    INCOMPLETE: "!",
    UNJUDGED: "·",
}
"""A mark beside each outcome's colour, for eyes and paper that do not tell the colours apart."""

GROUP_WORDS: dict[Stance, str] = {
    "supports": "Supports the claim",
    "refutes": "Refutes the claim",
    "mixed": "Says both",
    "unclear": "Speaks of it, but takes no clear side",
}

VIA_WORDS: dict[RetrievedVia, str] = {
    "scraped": "page text",
    "browser": "page text, by browser",
    "pdf": "PDF text",
    "archive": "archived copy",
    "snippet": "search snippet only",
}


def outcome_words(outcome: str, basis: Basis | None) -> str:
    """Say an outcome, as a leaning where the embedded engine reached it."""
    words = OUTCOME_WORDS[outcome]
    is_leaning = basis == "embedded" and outcome in STANCE_WORDS
    return f"leaning {words}" if is_leaning else words


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """Say a count with its noun."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def dollars(amount: float) -> str:
    """Say a cost; small ones with four digits, as single calls cost less than a cent."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def day(value: date) -> str:
    """Say a day as 4 March 2025."""
    return f"{value.day} {value:%B} {value.year}"


def moment(value: datetime) -> str:
    """Say a time as 4 March 2025, 13:05 UTC."""
    return f"{day(value)}, {value:%H:%M} {value.tzname() or ''}".rstrip()
