"""The words of the reports: outcomes, sides, ways of reading, days.

What belongs here: how a value of a closed vocabulary or a date is said. What does not: sentences
about one claim (claims.py), markup, what other rooms say too (wording.py).
"""

from __future__ import annotations

from datetime import date, datetime

from factible_assets.records import Basis, RetrievedVia, Stance
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


def day(value: date) -> str:
    """Say a day as 4 March 2025."""
    return f"{value.day} {value:%B} {value.year}"


def moment(value: datetime) -> str:
    """Say a time as 4 March 2025, 13:05 UTC."""
    return f"{day(value)}, {value:%H:%M} {value.tzname() or ''}".rstrip()
