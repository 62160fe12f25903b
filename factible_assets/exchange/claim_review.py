"""ClaimReview, the mark-up in which fact-checkers publish: reading it.

What belongs here: finding reviews in JSON-LD and what each says. What does not: writing them
(claim_review_writing.py), the corpus format.

Source of the form: schema.org/ClaimReview, and what Google documents of it as required: a
claimReviewed, a reviewRating with an alternateName or a number, a url. Reviews are found wherever
publishers put them: alone, in a list, in @graph, in a DataFeed, as the mainEntity of a page. An
@id that refers to another node of the same file is followed; nothing is ever fetched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.claims import StatedClaim, StatedClaims
from factible_assets.exchange.json_items import whole
from factible_assets.methods.scales import stance_of_rating
from resources.lines import FileProblem, Place, PlacedError, shown

_CONTAINERS: Final = (
    "@graph",
    "dataFeedElement",
    "item",
    "itemListElement",
    "mainEntity",
    "mainEntityOfPage",
    "hasPart",
    "review",
    "subjectOf",
)
_MAX_NODES: Final = 1_000_000
_MAX_REFERENCES: Final = 4
_ISO_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_claim_reviews(text: str, file: Path) -> StatedClaims:
    """Read every ClaimReview of a JSON-LD file. Never raises: what cannot be used is a problem."""
    try:
        document = whole(text)
    except PlacedError as error:
        return StatedClaims((), (error.at(file),))
    found = list(_reviews(document.value))
    if not found:
        sentence = "There is no ClaimReview in this file. Give JSON-LD that contains some."
        return StatedClaims((), (FileProblem(file, document.line, sentence),))
    graph = _Graph(document.value)
    lines = document.line_of(*(place for place, _ in found))
    claims: list[StatedClaim] = []
    problems: list[FileProblem] = []
    for number, ((_, node), line) in enumerate(zip(found, lines, strict=True), start=1):
        try:
            claims.append(_stated(node, graph, line))
        except ValueError as error:
            sentence = f"Review {number} ({shown(_text(node.get('claimReviewed')))}): {error}"
            problems.append(FileProblem(file, line, sentence))
    return StatedClaims(tuple(claims), tuple(problems))


class _Graph:
    """The nodes of a document by their @id."""

    def __init__(self, value: Any) -> None:
        self._nodes: dict[str, Mapping[str, Any]] = {}
        for _, node in _nodes(value):
            name = node.get("@id")
            if isinstance(name, str) and len(node) > 1:
                self._nodes.setdefault(name, node)

    def node(self, value: Any) -> Mapping[str, Any]:
        """Return the node that a value is or refers to; an empty one if it is none."""
        for _ in range(_MAX_REFERENCES):
            if isinstance(value, list):
                value = value[0] if value else None
            if isinstance(value, str):
                return self._nodes.get(value, {})
            if not isinstance(value, dict):
                return {}
            name = value.get("@id")
            if len(value) > 1 or not isinstance(name, str) or name not in self._nodes:
                return value
            value = self._nodes[name]
        return {}


def _nodes(value: Any) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield every object of a document in order, by a loop that no depth overflows."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    seen = 0
    while waiting and seen < _MAX_NODES:
        place, current = waiting.pop()
        seen += 1
        if isinstance(current, dict):
            yield place, current
            inner: list[tuple[Place, Any]] = [((*place, k), v) for k, v in current.items()]
        elif isinstance(current, list):
            inner = [((*place, index), each) for index, each in enumerate(current)]
        else:
            continue
        waiting.extend(reversed([each for each in inner if isinstance(each[1], dict | list)]))


def _reviews(value: Any) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield the reviews that stand where publishers put them, not inside other reviews."""
    for place, node in _nodes(value):
        steps = [step for step in place if isinstance(step, str)]
        if all(step in _CONTAINERS for step in steps) and _is_review(node):
            yield place, node


def _is_review(node: Mapping[str, Any]) -> bool:
    kinds = node.get("@type")
    each = kinds if isinstance(kinds, list) else [kinds]
    return any(
        isinstance(kind, str) and re.split(r"[/:#]", kind)[-1] == "ClaimReview" for kind in each
    )


def _stated(node: Mapping[str, Any], graph: _Graph, line: int) -> StatedClaim:
    text = _text(node.get("claimReviewed"))
    if not text:
        raise ValueError("claimReviewed is missing. Add the claim, or take the review out.")
    rating = graph.node(node.get("reviewRating"))
    words = _text(rating.get("alternateName")) or _text(rating.get("name"))
    value = _number(rating.get("ratingValue"))
    if not words and value is None:
        raise ValueError(
            "reviewRating has neither an alternateName nor a ratingValue. Add one, or take the "
            "review out."
        )
    item = graph.node(node.get("itemReviewed"))
    return StatedClaim(
        ClaimEntry(
            text=text,
            stance=stance_of_rating(
                words, value, _number(rating.get("worstRating")), _number(rating.get("bestRating"))
            ),
            label=words or (None if value is None else f"{value:g}"),
            reasoning=_text(rating.get("ratingExplanation"))
            or _text(node.get("reviewBody"))
            or _text(node.get("description")),
            speaker=_text(graph.node(item.get("author")).get("name")) or _text(item.get("author")),
            said_on=_day(item.get("datePublished")),
            appeared_at=_url(item.get("firstAppearance"), graph)
            or _url(item.get("appearance"), graph)
            or _url(item.get("url"), graph),
            review_url=_url(node.get("url"), graph),
            review_publisher=_text(graph.node(node.get("author")).get("name"))
            or _text(graph.node(node.get("publisher")).get("name")),
        ),
        line=line,
        language=_text(node.get("inLanguage")),
    )


def _text(value: Any) -> str | None:
    """Return the text of a value that may be a list of texts or carry a language."""
    for _ in range(_MAX_REFERENCES):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("@value")
    if not isinstance(value, str):
        return None
    # Half a surrogate pair is no character, and no file could hold it.
    whole_characters = value.encode("utf-8", "replace").decode()
    return whole_characters.strip() or None


def _url(value: Any, graph: _Graph) -> str | None:
    text = _text(value)
    if text is None:
        node = graph.node(value)
        text = _text(node.get("url")) or _text(node.get("@id"))
    return text if text and text.lower().startswith(("http://", "https://")) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _day(value: Any) -> date | None:
    text = _text(value)
    match = _ISO_DAY.match(text) if text else None
    try:
        return date.fromisoformat(match.group()) if match else None
    except ValueError:
        return None
