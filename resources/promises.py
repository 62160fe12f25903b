"""Tells whether a fetched page is the one that the search promised.

It compares the words of the page with those of the search hit, because an error page, a consent
form or a front page has other words in every language. The weight of a word is its number of
letters minus three. Text without spaces is compared by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from resources.pages.base import FetchedPage
from resources.words import SYLLABIC

_LEAST_WEIGHT, _LEAST_SHARE = 24, 0.2
"""Least weight of title, snippet and address, and the least share of it that a page must have."""
_LITTLE_WEIGHT, _LITTLE_SHARE = 12, 0.1
"""The same for fewer words, such as a title alone. Only short pages must have this share."""
_KEPT_SHARE = 0.5
"""The same share for a page whose text the site also has at another address."""
_LONG_PAGE, _LEAST_DENSITY = 100, 0.08
"""Words of a long page, and the share of its words that the hit must have. A long page needs only
one of the two shares, because a snippet may come from a menu or a comment outside the text."""
_SNIPPET_SHARE, _TELLING_WEIGHT = 0.25, 15
"""Least share of the words that only the snippet has, if they have this weight, in shorter pages. A
notice often repeats the title, but never the rest of the snippet."""
_LEAST_LENGTH = 1.5
"""A page is longer than its snippet by this factor; a shorter one was cut off."""
_SNIPPET_IS_TEXT = frozenset({"archive", "snippet"})
"""Origins of pages that may be as short as their snippet, because it is the text."""
_MOST_TITLE = 500
_WORD = re.compile(
    # Letters, digits, and combining marks, which \w does not include.
    "[\\w\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd"
    "\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]+"
)
_SITE_SEPARATOR = re.compile(r"\s[|–—·•»:-]\s|:\s")


@dataclass(frozen=True, slots=True)
class Promise:
    """The title and the snippet of a search hit; either may be empty."""

    title: str
    snippet: str


def enforce(promise: Promise | None, page: FetchedPage) -> FetchedPage:
    """Return the page, or an outage if it breaks its promise."""
    problem = breach_of(promise, page) if promise is not None and page.outcome == "ok" else None
    return page if problem is None else replace(page, outcome="outage", reason=problem, text="")


def breach_of(promise: Promise, page: FetchedPage) -> str | None:
    """Return why a page is not the promised one; None if it is, or if that is uncertain."""
    titles = [title[:_MOST_TITLE] for title in (promise.title, page.title or "")]
    snippet, titled = _words(promise.snippet), set(_words(titles[0]))
    may_be_short = page.via in _SNIPPET_IS_TEXT
    if not snippet and (not titled or may_be_short):
        return None
    promised = {*snippet, *titled, *_words(unquote(urlsplit(page.url).path))}
    weight = _weight(promised)
    if weight < _LITTLE_WEIGHT:
        return None
    words = _without(titles, page.text)
    is_long = len(words) >= _LONG_PAGE
    if not snippet and not is_long:
        # The words of the title are the whole promise. Its repetition as a line of its own is none.
        lines = page.text.splitlines()
        words = [word for line in lines if _without(titles, line) for word in _words(line)]
    share = _share(promised, set(words))
    is_full = bool(snippet) and weight >= _LEAST_WEIGHT
    if not is_full:
        is_other = not is_long and share < _LITTLE_SHARE
    elif is_long:
        telling = [word for word in words if _weigh(word)]
        density = sum(word in promised for word in telling) / max(1, len(telling))
        is_other = share < _LEAST_SHARE and density < _LEAST_DENSITY
    else:
        rest = {*snippet} - {*_words(" ".join(titles))}
        lacks_rest = _weight(rest) >= _TELLING_WEIGHT and _share(rest, set(words)) < _SNIPPET_SHARE
        is_other = share < _LEAST_SHARE or lacks_rest
    if is_other:
        return "another page came: it has next to none of the words that the search showed"
    if is_full and not may_be_short and len(words) < _LEAST_LENGTH * len(snippet):
        return "a part of the page came: it is hardly longer than its search snippet"
    return None


def is_notice(promise: Promise, page: FetchedPage, other: Promise) -> bool:
    """Tell whether a page with the same text as another page of its site is a notice.

    `other` is the promise of the other page. A notice or a front page has less than half of the
    words of each promise. Two addresses of one article have one title.
    """
    title, other_title = (set(_words(hit.title[:_MOST_TITLE])) for hit in (promise, other))
    if 2 * len(title & other_title) > min(len(title), len(other_title)):
        return False
    found = set(_without([promise.title, page.title or ""], page.text))
    return _share({*title, *_words(promise.snippet)}, found) < _KEPT_SHARE


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case; text without spaces as pairs of characters."""
    words: list[str] = []
    for word in _WORD.findall(text.casefold().replace("_", " ")):
        if SYLLABIC.match(word):
            words += (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            words.append(word)
    return words


def _weight(words: Iterable[str]) -> int:
    return sum(map(_weigh, words))


def _weigh(word: str) -> int:
    return 2 if SYLLABIC.match(word) or word.isdigit() else max(0, len(word) - 3)


def _share(words: set[str], found: set[str]) -> float:
    """Return the weight of those words that were found, as a share of the weight of all words."""
    return _weight(words & found) / max(1, _weight(words))


def _without(titles: Iterable[str], text: str) -> list[str]:
    """Return the words of a text without repetitions of a title or of its part without the site."""
    rest = f" {' '.join(_words(text))} "
    for title in titles:
        for part in (title, *_SITE_SEPARATOR.split(title)):
            words = _words(part.strip(" .…"))
            if len(words) > 1:
                rest = rest.replace(f" {' '.join(words)} ", " ")
    return rest.split()
