"""Which sources tell one and the same story, and how much weight stories have.

What belongs here: the likeness of texts, and counting what is independent of each other. What does
not: what the sources say (evidence.py) or what follows from it (verdict.py).

Two sources share an origin if they stand under one registrable domain, or if at least half of the
shorter text's runs of eight words (shingles; Broder, On the resemblance and containment of
documents, 1997) occur in the longer: ten copies of one wire story are one origin. A page that a
user keeps as a file stands under a host that cannot exist (`.invalid`, RFC 2606): such files are
held apart by their texts alone.

What counts is the heaviest set of sources of which no two share an origin. Unlike with clusters, a
page that quotes two independent stories does not turn these into one, and such a set becomes
heavier by no more than the weight of a source that is added: what a missing source could do is
bounded (verdict.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from factible_assets.records import Evidence

SHINGLE_WORDS = 8
SHARED_STORY = 0.5
"""The share of the shorter text's shingles from which two texts are one story."""
_WORD = re.compile(r"\w+")
Node = TypeVar("Node", bound=Hashable)


class StoryIndex:
    """Tells which pieces of evidence share an origin, by their domains and stored texts.

    `texts` maps content hashes to texts. Shingles are computed once per text.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._shingles = cache(lambda content_hash: shingles(texts.get(content_hash, "")))

    def share_origin(self, one: Evidence, other: Evidence) -> bool:
        """Tell whether two pieces of evidence tell one and the same story."""
        if one.domain == other.domain and not _is_unaddressed(one):
            return True
        if one.content_hash is None or other.content_hash is None:
            return False
        if one.content_hash == other.content_hash:
            return True
        first, second = map(self._shingles, (one.content_hash, other.content_hash))
        shorter = min(len(first), len(second))
        return shorter > 0 and len(first & second) >= SHARED_STORY * shorter


def _is_unaddressed(row: Evidence) -> bool:
    return row.domain.endswith(".invalid")


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of a text's runs of eight words; of a shorter text, of all its words."""
    words = _WORD.findall(text.casefold())
    if not words:
        return frozenset()
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return frozenset(hash(tuple(words[start : start + SHINGLE_WORDS])) for start in range(last))


def label_origins(evidence: Sequence[Evidence], stories: StoryIndex) -> tuple[Evidence, ...]:
    """Return the evidence with `origin` filled in for every row that was read.

    Sources that a chain of shared origins links get the domain of the first of them, or its path
    where it is a file without an address. Labels are for readers; weights are not computed from
    them.
    """
    read = {row.evidence_id: row for row in evidence if row.status == "ok"}
    linked = _links(tuple(read.values()), stories)
    labels: dict[str, str] = {}
    for part in _parts(frozenset(linked), linked):
        first = next(row for each, row in read.items() if each in part)
        path = first.canonical_url.partition("://")[2]
        labels |= dict.fromkeys(part, path if _is_unaddressed(first) else first.domain)
    return tuple(row.model_copy(update={"origin": labels.get(row.evidence_id)}) for row in evidence)


def independent_weight(
    sources: Sequence[Evidence], weight: Callable[[Evidence], int], stories: StoryIndex
) -> int:
    """Return the weight of the heaviest set of sources of which no two share an origin.

    Weights are whole numbers, so that a sum does not depend on its order.
    """
    linked = _links(sources, stories)
    return heaviest_independent_set(linked, {row.evidence_id: weight(row) for row in sources})


def _links(sources: Sequence[Evidence], stories: StoryIndex) -> dict[str, frozenset[str]]:
    """Return by the id of each source those of the others that share its origin."""
    return {
        row.evidence_id: frozenset(
            other.evidence_id
            for other in sources
            if other is not row and stories.share_origin(row, other)
        )
        for row in sources
    }


def heaviest_independent_set(
    linked: Mapping[Node, frozenset[Node]], weights: Mapping[Node, int]
) -> int:
    """Return the greatest total weight of nodes of which no two are linked.

    Exact: the node with the most links is left out, or taken without its neighbours; parts that are
    not linked are solved apart. The few sources of a claim are nearly cliques, so it ends at once.
    """

    def total(nodes: frozenset[Node]) -> int:
        return sum(map(best, _parts(nodes, linked)))

    def best(part: frozenset[Node]) -> int:
        busiest = max(part, key=lambda node: len(linked[node] & part))
        if all(len(linked[node] & part) == len(part) - 1 for node in part):
            return max(weights[node] for node in part)
        without = total(part - {busiest})
        return max(without, weights[busiest] + total(part - {busiest} - linked[busiest]))

    return total(frozenset(linked))


def _parts(nodes: frozenset[Node], linked: Mapping[Node, frozenset[Node]]) -> list[frozenset[Node]]:
    """Split nodes into parts that have no link between each other."""
    left, parts = set(nodes), []
    while left:
        pending = {left.pop()}
        part = set(pending)
        while pending:
            found = (linked[pending.pop()] & left) - part
            part |= found
            pending |= found
        left -= part
        parts.append(frozenset(part))
    return parts
