"""How much a sentence is worth a check: what is measured of it, and what each measure counts.

What belongs here: the measures of one sentence's words, the reading of its vector, the sum of all,
and the category of a claim. What does not: which claims are chosen (selection.py).

The most telling measure is a linear reading of MiniLM's vectors, fitted to graded talks
(checkworthiness.md beside this file). The weights in FITTED are rounded from a logistic regression
on the annotated videos. benchmarks/claims.py fits them, and scores each video with the weights that
the other videos give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.claims.weights import load_weights
from factible_assets.reasoners.embedded.embedder import Vectors
from factible_assets.reasoners.embedded.text import find_numbers, is_stop_word, tokenise, word_set

Category = Literal["statistical", "historical", "comparative", "factual"]
"""What kind of statement a claim is. The first two are those of Factible."""

Scores = npt.NDArray[np.float64]

FITTED = {
    "worth": 0.5,
    "content": 0.55,
    "numbers": 0.7,
    "first person": -0.7,
    "pointing": -0.3,
    "centre": 0.5,
}
"""Log-odds that each measure adds: the linear reading, in log-odds; the logarithm of the number of
content words; a number, up to 2; the first person; a pronoun that stands for something named
elsewhere, up to 3; likeness to the centre of the talk, in standard deviations within the talk."""

CHOSEN = {"certainty": 1.0, "stands open": -1.0}
"""Log-odds for what makes a claim hard to read, whatever annotators say: how sure it is one whole
sentence, 0 to 1, and whether it points at something that only its surroundings name: with a pronoun
at its head, with "this", "these", "those", "such" or "here" anywhere, or as a subordinate clause
without a main one."""

CONSTANT = -2.7
"""Log-odds of a sentence that has none of this."""

_MOST_NUMBERS, _MOST_POINTING = 2, 3
_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
_POINTING = word_set("it its he she his her him they their them this that these those such")
_DEMONSTRATIVES = word_set("this these those such here here's")
_SUBORDINATE = word_set(
    "although though because since while whereas despite unless until if when which who that for"
)
"""Words that open a clause which needs another one; that stands behind a comma."""
_QUESTION_OPENERS = word_set("who what when where why how which whose what's who's how's where's")
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")


@dataclass(frozen=True, slots=True)
class Wording:
    """Counts of one sentence's words; `numbers` up to 2, `pointing` up to 3."""

    words: int
    content: int
    numbers: int
    first_person: bool
    pointing: int
    stands_open: bool
    is_question: bool


def read_wording(text: str) -> Wording:
    """Count the words of a sentence by what they tell of it."""
    norms = [word.norm for word in tokenise(text)]
    pointing = [norm.partition("'")[0] in _POINTING for norm in norms]
    return Wording(
        words=len(norms),
        content=len({norm for norm in norms if not is_stop_word(norm)}),
        numbers=min(_MOST_NUMBERS, len(find_numbers(text))),
        first_person=not _FIRST_PERSON.isdisjoint(norms),
        pointing=min(_MOST_POINTING, sum(pointing)),
        stands_open=any(pointing[:1])
        or not _DEMONSTRATIVES.isdisjoint(norms)
        or ("," not in text and not _SUBORDINATE.isdisjoint(norms[:1])),
        is_question=text.rstrip("\"'\u201d\u2019) ").endswith("?")
        # Without punctuation: "why is …", "do you …"; but "what we see is …" is none.
        or (
            not (_QUESTION_OPENERS | _AUXILIARIES).isdisjoint(norms[:1])
            and not _AUXILIARIES.isdisjoint(norms[:2])
        ),
    )


def read_worth(vectors: Vectors) -> Scores:
    """Return the log-odds that each text is worth a check, by its vector alone.

    Args:
        vectors: MiniLM's, [texts, 384].
    """
    fitted = load_weights("checkworthiness")
    return (vectors @ fitted["weights"] + fitted["bias"]).astype(np.float64)


def measure(
    wordings: Sequence[Wording], certainties: Sequence[float], worth: Scores, vectors: Vectors
) -> Scores:
    """Return the measures of a talk's sentences, one row each: those of FITTED, those of CHOSEN.

    Args:
        wordings: Counts of each sentence.
        certainties: How likely each is one whole sentence, 0 to 1.
        worth: What read_worth returns for them.
        vectors: Unit vectors of them, by any embedder.
    """
    counts = [
        (math.log(max(1, each.content)), each.numbers, each.first_person, each.pointing)
        for each in wordings
    ]
    centre = vectors @ (vectors / (1 + np.exp(-worth))[:, None]).sum(axis=0)
    # In a short talk one sentence on another topic would lie far out.
    inside = np.clip((centre - centre.mean()) / (float(centre.std()) or 1.0), -2, 2)
    stands_open = [each.stands_open for each in wordings]
    return np.column_stack([worth, counts, inside, certainties, stands_open])


def rate(measures: Scores) -> Scores:
    """Return the log-odds that each sentence is a claim that an annotator would make, too."""
    rated: Scores = CONSTANT + measures @ np.array([*FITTED.values(), *CHOSEN.values()])
    return rated


def categorise(text: str) -> Category:
    """Name the kind of statement: with figures, with years only, with "than", or any other."""
    kinds = {number.kind for number in find_numbers(text)}
    if kinds:
        return "historical" if kinds == {"year"} else "statistical"
    return "comparative" if re.search(r"\bthan\b", text, re.IGNORECASE) else "factual"
