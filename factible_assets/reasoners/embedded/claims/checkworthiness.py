"""Scores how likely an annotator would choose a sentence as a claim, by weighted features.

The strongest feature is a linear model of MiniLM's vectors, fitted to graded talks
(checkworthiness.md). `benchmarks/claims.py` fits the other weights to the annotated videos.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Vectors, load_weights
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    find_numbers,
    is_stop_word,
    tokenise,
    word_set,
)

Category = Literal["statistical", "historical", "comparative", "factual"]
"""The kind of a claim; the first two are those of Factible."""

Scores = npt.NDArray[np.float64]

FITTED = {
    "worth": 0.5,
    "content": 0.55,
    "numbers": 0.7,
    "first person": -0.7,
    "pointing": -0.3,
    "centre": 0.5,
}
"""Log-odds per unit of each feature: the linear model, in log-odds; the logarithm of the number of
content words; numbers, up to 2; the first person; pronouns that refer to something else, up to 3;
similarity to the centre of the talk, in standard deviations within the talk."""

CHOSEN = {"certainty": 1.0, "needs context": -1.0}
"""Log-odds for readability, which annotators do not grade: the certainty that the claim is one
whole sentence, 0 to 1, and whether it needs its context: it opens with a pronoun, or contains
"this", "these", "those", "such" or "here"."""

CONSTANT = -2.7
"""Log-odds of a sentence without any of these features."""


def worth_of(vectors: Vectors) -> Scores:
    """Return the log-odds that each text is worth a check, from MiniLM's vectors [texts, 384]."""
    fitted = load_weights("checkworthiness")
    return (vectors @ fitted["weights"] + fitted["bias"]).astype(np.float64)


def features_of(
    counts: Sequence[WordCounts], certainties: Sequence[float], worth: Scores, vectors: Vectors
) -> Scores:
    """Return the features of a talk's sentences, one row each: those of FITTED, then of CHOSEN.

    `certainties` are the probabilities of whole sentences; `worth` comes from `worth_of`.
    """
    by_words = [
        (math.log(max(1, count.content)), count.numbers, count.first_person, count.pointing)
        for count in counts
    ]
    # The centre of the talk is the mean of its sentences, weighted by their worth.
    to_centre = vectors @ (vectors / (1 + np.exp(-worth))[:, None]).sum(axis=0)
    # Clipped, because a sentence on another topic lies far out in a short talk.
    inside = np.clip((to_centre - to_centre.mean()) / (float(to_centre.std()) or 1.0), -2, 2)
    needs_context = [count.needs_context for count in counts]
    return np.column_stack([worth, by_words, inside, certainties, needs_context])


def log_odds(features: Scores) -> Scores:
    """Return the log-odds that an annotator would choose each sentence."""
    odds: Scores = CONSTANT + features @ np.array([*FITTED.values(), *CHOSEN.values()])
    return odds


def categorise(text: str) -> Category:
    """Classify a statement: with figures, with years only, with "than", or any other."""
    kinds = {number.kind for number in find_numbers(text)}
    if kinds:
        return "historical" if kinds == {"year"} else "statistical"
    return "comparative" if re.search(r"\bthan\b", text, re.IGNORECASE) else "factual"


# --- Counts of words ----------------------------------------------------------------------------

_MOST_NUMBERS, _MOST_POINTING = 2, 3
_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
_POINTING = word_set("it its he she his her him they their them this that these those such")
_DEMONSTRATIVES = word_set("this these those such here here's")
_QUESTION_OPENERS = word_set("who what when where why how which whose what's who's how's where's")
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts over the words of a sentence; `numbers` up to 2, `pointing` up to 3."""

    words: int
    content: int
    numbers: int
    first_person: bool
    pointing: int
    needs_context: bool
    is_question: bool


def count_words(text: str) -> WordCounts:
    norms = [word.norm for word in tokenise(text)]
    content = {norm for norm in norms if not is_stop_word(norm)}
    pointing = [norm.partition("'")[0] in _POINTING for norm in norms]
    return WordCounts(
        words=len(norms),
        content=0 if content <= NEGATIONS else len(content),
        numbers=min(_MOST_NUMBERS, len(find_numbers(text))),
        first_person=not _FIRST_PERSON.isdisjoint(norms),
        pointing=min(_MOST_POINTING, sum(pointing)),
        needs_context=any(pointing[:1]) or not _DEMONSTRATIVES.isdisjoint(norms),
        is_question=text.rstrip("\"'\u201d\u2019) ").endswith("?")
        # Without punctuation: "why is …", "do you …", but not "what we see is …".
        or (
            not (_QUESTION_OPENERS | _AUXILIARIES).isdisjoint(norms[:1])
            and not _AUXILIARIES.isdisjoint(norms[:2])
        ),
    )
