"""Reads the verdict that a fact check publishes as ClaimReview markup (schema.org/ClaimReview).

Search engines show this verdict, and readers see it on the page in the words of the publisher.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

import lxml.html

_JSON_LD = "//script[@type='application/ld+json']"
_MOST_REVIEWS = 3
"""Pages with more reviews are lists of fact checks."""
_MOST_OBJECTS = 1_000
_LONGEST_CLAIM, _LONGEST_RATING = 300, 60
"""Characters; longer texts are no statement and no rating."""


def review_text(tree: lxml.html.HtmlElement, url: str) -> str:
    """Return the reviewed claims and their ratings, two lines for each review of this page.

    Empty if there is none, or if a claim or rating has no text of a usual length. A review of
    another address belongs to a page that this one only lists.
    """
    objects = (node for script in tree.xpath(_JSON_LD) for node in _objects(script.text or ""))
    reviews = [node for node in islice(objects, _MOST_OBJECTS) if _is_review_of(node, url)]
    lines: list[str] = []
    for review in reviews if len(reviews) <= _MOST_REVIEWS else ():
        claim, rating = _line(review.get("claimReviewed")), _rating(review.get("reviewRating"))
        if 0 < len(claim) <= _LONGEST_CLAIM and 0 < len(rating) <= _LONGEST_RATING:
            lines += [f"ClaimReview claim: {claim}", f"ClaimReview rating: {rating}"]
    return "\n".join(dict.fromkeys(lines))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON text, the outer ones first; none if it is damaged."""
    waiting = deque[Any]()
    with suppress(ValueError, RecursionError):
        waiting.append(json.loads(text, strict=False))  # many texts have raw line breaks
    while waiting:
        value = waiting.popleft()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _is_review_of(node: dict[str, Any], url: str) -> bool:
    kinds = node.get("@type")
    if "ClaimReview" not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    address = node.get("url")
    if not isinstance(address, str) or not address:
        return True
    with suppress(ValueError):
        own, named = (unquote(urlsplit(link).path).rstrip("/") for link in (url, address))
        return own == named
    return False


def _rating(rating: Any) -> str:
    """Return the rating in words, with its place on the scale if that is stated."""
    if not isinstance(rating, dict):
        return ""
    words = _line(rating.get("alternateName") or rating.get("name"))
    value, best = _line(rating.get("ratingValue")), _line(rating.get("bestRating"))
    place = f"{value} of {best}" if value and best else ""
    return ", ".join(filter(None, (words, place)))


def _line(value: Any) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
