"""Compares a claim with claims of other videos: the same, the contrary, or another figure.

Sentence embeddings compare the meaning; names, figures and negations tell the claims apart, as in
the plain reader of pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from factible_assets.reasoners.embedded.text import fold, is_english
from factible_assets.reasoners.readers.plain import roles_of, terms_of
from factible_assets.reasoners.readers.quantities import Quantity
from factible_assets.stages.queries import time_words

Relation: TypeAlias = Literal["same", "contrary", "other figure", "similar"]
"""`similar`: close in meaning, and the rules cannot tell whether the claims agree."""

SAME_MEANING = 0.82
"""The least cosine (MiniLM) of claims about the same thing; docs/sql-cookbook.md explains it."""

_NAME = re.compile(r"(?<=\s)[A-Z][\w-]+")
_WORD = re.compile(r"[\w-]+")
_ROUNDED, _ABOUT = 0.002, 0.15


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A claim of another video that matches `claim`; `similarity` is their cosine."""

    claim: str
    other_claim_id: str
    similarity: float
    relation: Relation


def matches_of(candidates: Iterable[tuple[str, str, str]]) -> list[Counterpart]:
    """Compare claims with candidates (claim, id and text of the other); the nearest come first.

    Raises SetupError: The embeddings cannot be loaded.
    """
    from factible_assets.reasoners.embedded.embedder import minilm

    pairs = list(candidates)
    embed = minilm().embed
    vectors = embed([text for claim, _, other in pairs for text in (claim, other)])
    matches = []
    for (claim, other_id, other), one, two in zip(pairs, vectors[::2], vectors[1::2], strict=True):
        cosine = float(one @ two)
        relation = relation_of(claim, other) if cosine >= SAME_MEANING else None
        if relation is not None:
            matches.append(Counterpart(claim, other_id, round(min(cosine, 1.0), 4), relation))
    return sorted(matches, key=lambda match: -match.similarity)


def stands_alone(claim: str) -> bool:
    """Whether an English claim means the same in any video.

    Pronouns ("he", "this", "my") and times without a figure ("last year") depend on the video.
    """
    # It loads numpy, which Dagster's definitions do without.
    from factible_assets.reasoners.embedded.claims.checkworthiness import count_words

    counts = count_words(claim)
    is_timed = any(not any(map(str.isdigit, word)) for word in time_words(claim))
    return is_english(claim) is not False and not (
        counts.needs_context or counts.first_person or is_timed
    )


def relation_of(one: str, other: str) -> Relation | None:
    """Tell how two claims of close meaning differ; None if they name different things.

    They are the same, or contrary, only if they have the same content words and limits, in order.
    """
    if _names(one, other) and _names(other, one):
        return None
    first, second = terms_of(fold(one)), terms_of(fold(other))
    figures, theirs = first.quantities, second.quantities
    are_parallel = [figure.dimension for figure in figures] == [
        figure.dimension for figure in theirs
    ]
    if are_parallel:
        figures_differ = any(map(_differs, figures, theirs))
    else:
        # A figure differs if the other claim has figures of its kind, and none agrees.
        comparable = (
            (figure, [their for their in theirs if figure.is_like(their)]) for figure in figures
        )
        figures_differ = any(
            alike and all(_differs(figure, their) for their in alike)
            for figure, alike in comparable
        )
    if figures_differ:
        return "other figure"
    if (
        first.stems != second.stems
        or not are_parallel
        or roles_of(one) != roles_of(other)
        or first.limits != second.limits
        or first.is_bounded != second.is_bounded
    ):
        return "similar"
    return "contrary" if (first.negations - second.negations) % 2 else "same"


def _differs(one: Quantity, other: Quantity) -> bool:
    """Whether two figures differ by more than their rounding, or have opposite bounds."""
    bounds = {one.bound, other.bound}
    if bounds & {"at_least", "at_most"}:
        return bounds == {"at_least", "at_most"}
    share = 0.0 if one.dimension == "year" else _ABOUT if "about" in bounds else _ROUNDED
    tolerance = max(one.half_decade, other.half_decade, share * abs(one.value))
    return abs(one.value - other.value) > tolerance


def _names(text: str, without: str) -> set[str]:
    """Return the capitalised words of a text, except its first word, that another text lacks."""
    return {name.casefold() for name in _NAME.findall(text)} - {*_WORD.findall(without.casefold())}
