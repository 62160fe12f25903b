"""From a query to the words that are looked for.

What belongs here: when two queries are the same, and FTS5's match syntax. What does not: SQL.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_MAX_QUERY_WORDS: Final = 64
"""A longer query is cut: its first words say what is asked."""

_FUNCTION_WORDS: Final = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can could did do does doing down during each few for from further had
has have having he her here hers him his how i if in into is it its itself just me more most my
no nor not of off on once only or other our out over own s same she should so some such t than
that the their them then there these they this those through to too under until up very was we
were what when where which while who whom why will with would you your
"""
_STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split())

_QUOTES = re.compile("[\"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]")


def query_key(query: str) -> str:
    """Fold a query to what makes it the same query: Unicode form, case, white space, quotes."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    folded = _QUOTES.sub("", folded)
    return re.sub(r"\s+", " ", folded).strip().rstrip(".?!").rstrip()


def match_expression(query: str) -> str:
    """Return an FTS5 expression that matches any word of a query; empty if it has none.

    Every word becomes a quoted string, in which FTS5 knows no syntax. A word with inner marks
    ("U.S.", "COVID-19", "1.5") becomes a phrase of its parts. Words that stand in every text are
    left out, unless there are no others.
    """
    words: dict[str, None] = {}
    for chunk in unicodedata.normalize("NFKC", query).casefold().split():
        parts = re.findall(r"[^\W_]+", chunk)
        if parts:
            words.setdefault(" ".join(parts))
    telling = [word for word in words if word not in _STOP_WORDS] or list(words)
    return " OR ".join(f'"{word}"' for word in telling[:_MAX_QUERY_WORDS])
