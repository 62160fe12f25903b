"""Reads ClaimReview, the mark-up of published fact-checks (schema.org/ClaimReview).

Google requires a claimReviewed, a reviewRating with an alternateName or a number, and a url.
Publishers put reviews alone, in a list, on lines of their own, in @graph, in a DataFeed, or as the
mainEntity of a page. The reader follows an @id to another node of the same file and fetches
nothing.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.claims import AnnotatedClaim, ClaimsAndProblems
from factible_assets.exchange.json_items import JsonItem, items_of_lines, items_of_list
from factible_assets.records.scales import stance_of_claim_review
from resources.text_files import FileProblem, PlacedError, quoted, read_json

_CONTAINERS: Final = (
    "@graph", "dataFeedElement", "item", "itemListElement", "mainEntity", "mainEntityOfPage",
    "hasPart", "review", "subjectOf",
)  # fmt: skip
"""The keys under which publishers put reviews."""
_MAX_REFERENCES: Final = 4
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_ISO_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")

Node: TypeAlias = Mapping[str, Any]
Graph: TypeAlias = Mapping[str, Node]
"""The nodes of a file by their @id."""


def read_claim_reviews(text: str, file: Path) -> ClaimsAndProblems:
    """Read every ClaimReview of a file. Never raises: unusable parts become problems."""
    graph: dict[str, Node] = {}
    reviews: list[tuple[int | None, Node]] = []
    problems: list[FileProblem] = []
    try:
        for item in _documents(text, file):
            if isinstance(item, FileProblem):
                problems.append(item)
            else:
                reviews += [(item.line, node) for node in _reviews(item.value, graph)]
    except PlacedError as error:
        problems.append(error.at(file))
    if not reviews and not problems:
        sentence = "There is no ClaimReview in this file. Give JSON-LD that contains some."
        problems.append(FileProblem(file, 1, sentence))
    yield from problems
    for number, (line, node) in enumerate(reviews, start=1):
        try:
            yield _claim_of(node, graph, line)
        except ValueError as error:
            sentence = f"Review {number} ({quoted(_text(node.get('claimReviewed')))}): {error}"
            yield FileProblem(file, line, sentence)


def _documents(text: str, file: Path) -> Iterator[JsonItem | FileProblem]:
    """Yield the items of a list, the values of JSON Lines, or the one value of the file.

    Raises PlacedError: The text is no JSON, or no JSON from some item on.
    """
    first_line, _, rest = text.strip().partition("\n")
    if first_line.startswith("["):
        yield from items_of_list(text)
    elif rest and first_line.startswith("{") and first_line.rstrip().endswith("}"):
        yield from items_of_lines(text.encode().splitlines(), file)
    else:
        # Publishers leave line breaks in texts, which `strict` would refuse.
        yield JsonItem(read_json(text, partial(json.loads, strict=False)), 1, None)


def _reviews(document: Any, graph: dict[str, Node]) -> Iterator[Node]:
    """Yield the reviews in the places where publishers put them; add every node to the graph.

    A loop, because recursion could overflow.
    """
    waiting = [(document, True)]
    while waiting:
        current, is_public = waiting.pop()
        inner: list[tuple[Any, bool]] = []
        if isinstance(current, dict):
            if isinstance(current.get("@id"), str) and len(current) > 1:
                graph.setdefault(current["@id"], current)
            if is_public and _is_review(current):
                yield current
            inner = [(value, is_public and key in _CONTAINERS) for key, value in current.items()]
        elif isinstance(current, list):
            inner = [(value, is_public) for value in current]
        waiting += reversed(inner)


def _is_review(node: Node) -> bool:
    kinds = node.get("@type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    return any(re.split(r"[/:#]", str(kind))[-1] == "ClaimReview" for kind in listed)


def _claim_of(node: Node, graph: Graph, line: int | None) -> AnnotatedClaim:
    """Return the claim of a review. Raises ValueError if it has no text or no rating."""
    text = _text(node.get("claimReviewed"))
    if not text:
        raise ValueError("claimReviewed is missing. Add the claim, or take the review out.")
    rating = _resolved(node.get("reviewRating"), graph)
    words = _text(rating.get("alternateName")) or _text(rating.get("name"))
    value, worst, best = (
        _number(rating.get(key)) for key in ("ratingValue", "worstRating", "bestRating")
    )
    if not words and value is None:
        raise ValueError(
            "reviewRating has neither an alternateName nor a ratingValue. Add one, or take the "
            "review out."
        )
    item = _resolved(node.get("itemReviewed"), graph)
    said_on = None
    if day := _ISO_DAY.match(_text(item.get("datePublished")) or ""):
        with suppress(ValueError):
            said_on = date.fromisoformat(day.group())
    author = _resolved(item.get("author"), graph)
    publishers = (_resolved(node.get(key), graph) for key in ("author", "publisher"))
    appeared = (_url(item.get(key), graph) for key in ("firstAppearance", "appearance", "url"))
    reasons = (rating.get("ratingExplanation"), node.get("reviewBody"), node.get("description"))
    claim = ClaimEntry(
        text=text,
        stance=stance_of_claim_review(words, value, worst, best),
        label=words or (None if value is None else f"{value:g}"),
        reasoning=next(filter(None, map(_text, reasons)), None),
        speaker=_text(author.get("name")) or _text(item.get("author")),
        said_on=said_on,
        appeared_at=next(filter(None, appeared), None),
        review_url=_url(node.get("url"), graph),
        review_publisher=next(
            filter(None, (_text(publisher.get("name")) for publisher in publishers)), None
        ),
    )
    return AnnotatedClaim(claim, line, language=_text(node.get("inLanguage")))


def _resolved(value: Any, graph: Graph) -> Node:
    """Return the node itself, or the node that it refers to, or an empty one."""
    for _ in range(_MAX_REFERENCES):
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str):
            return graph.get(value, {})
        if not isinstance(value, dict):
            return {}
        name = value.get("@id")
        if len(value) > 1 or not isinstance(name, str) or name not in graph:
            return value
        value = graph[name]
    return {}


def _text(value: Any) -> str | None:
    """Return the text of a value that may be a list of texts or a language map.

    It decodes HTML entities twice, because some publishers encode them twice.
    """
    for _ in range(_MAX_REFERENCES):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("@value")
    if not isinstance(value, str):
        return None
    # Half a surrogate pair is no character, and no file can store it.
    text = value.encode("utf-8", "replace").decode()
    for _ in range(2):
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]).replace("\xa0", " "), text)
    return text.strip() or None


def _url(value: Any, graph: Graph) -> str | None:
    node = _resolved(value, graph)
    text = _text(value) or _text(node.get("url")) or _text(node.get("@id"))
    return text if text and text.lower().startswith(("http://", "https://")) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
