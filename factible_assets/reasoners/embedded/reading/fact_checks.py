"""Claims that a page quotes in order to rate them: "Claim: … Rating: false".

What belongs here: finding the quoted claim and its rating, whatever their layout. What does not:
whether it is the claim in question (statements.py).

The line after "Claim" is never the page's own assertion; read as one it would turn every
fact-check round. The rating beside it decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from factible_assets.reasoners.embedded.lexicon import RatingWord, load_lexicon
from factible_assets.reasoners.embedded.page_text import PageSentence
from factible_assets.reasoners.embedded.text import tokenise


@dataclass(frozen=True, slots=True)
class FactCheck:
    """A quoted claim and its rating, None where the page states none.

    `first` and `last` are the indices of the sentences that hold the two.
    """

    claimed: str
    rating: RatingWord | None
    first: int
    last: int


_BULLET = r"^[\s\-*\u2022\u25cf|>]*"
_CLAIM_LABEL = re.compile(
    _BULLET
    + r"(?:(?:the|our|this)\s+)?(?P<label>claim|statement|assertion|myth|rumou?r)"
    + r"(?:\s+(?:checked|reviewed|in question|\d+))?\s*(?:[:\u2013\u2014]|\s-)\s*(?P<rest>.*)$"
    + "|"
    + _BULLET
    + r"(?:(?:the|our|this)\s+)?(?P<alone>claim|statement|assertion|myth)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_RATING_LABEL = re.compile(
    r"(?:^[\s\-*\u2022\u25cf|>]*|(?<=\s))(?:(?:the|our|final)\s+)*"
    r"(?:rating|verdict|ruling|conclusion|result|assessment|finding|fact[- ]check|status)"
    r"(?:\s*[:\u2013\u2014]\s*|\s+-\s+|\s*$)(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_REACH = 3
"""Sentences after a quoted claim among which its rating stands."""


def find_fact_checks(sentences: Sequence[PageSentence]) -> list[FactCheck]:
    """Find the quoted claims of a page in order, without overlap."""
    found: list[FactCheck] = []
    index = 0
    while index < len(sentences):
        check = _check_at(sentences, index)
        if check is not None:
            found.append(check)
            index = check.last
        index += 1
    return found


def _check_at(sentences: Sequence[PageSentence], first: int) -> FactCheck | None:
    label = _CLAIM_LABEL.match(sentences[first].text)
    if label is None:
        return None
    claimed, last = label["rest"] or "", first
    inline = _RATING_LABEL.search(claimed)
    if inline is not None:
        said = claimed[: inline.start()].strip()
        return FactCheck(said, read_rating(inline["rest"]), first, first)
    if not claimed.strip():
        last = first + 1
        if last >= len(sentences):
            return None
        claimed = re.sub(_BULLET, "", sentences[last].text)
    for index in range(last + 1, min(last + 1 + _REACH, len(sentences))):
        rated = _RATING_LABEL.match(sentences[index].text)
        if rated is None:
            continue
        told, place = rated["rest"].strip(), index
        if not told and index + 1 < len(sentences):
            place = index + 1
            told = re.sub(_BULLET, "", sentences[place].text)
        rating = read_rating(told)
        if rating is not None:
            return FactCheck(claimed, rating, first, place)
        break
    kind = (label["label"] or label["alone"]).lower()
    return FactCheck(claimed, "false" if kind == "myth" else None, first, last)


_LONGEST_RATING = 8


def read_rating(text: str) -> RatingWord | None:
    """Read the words of a rating ("mostly false", "Half true"); None if it is none known."""
    opening = " ".join(word.norm for word in tokenise(text)[:_LONGEST_RATING])
    return next((each for each, words in load_lexicon().ratings if words.match(opening)), None)
