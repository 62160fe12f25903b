"""How much a sentence is worth a check: what is measured of it, and what each measure counts.

What belongs here: the measures of one sentence's words, the reading of its vector, the sum of all,
and the category of a claim. What does not: which claims are chosen (selection.py).

Most is told by a linear reading of MiniLM's vectors, fitted to graded talks (checkworthiness.md
beside this file). The weights of the few other measures are rounded from a logistic regression on
the annotated videos; benchmarks/claims.py fits them, and reports each video by the weights that the
other videos give.
"""

from __future__ import annotations

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

CONSTANT = -2.0
WEIGHTS = {
    "worth": 0.5,
    "content": 0.1,
    "numbers": 0.5,
    "first person": -1.0,
    "pointing": -0.3,
    "centre": 0.3,
}
"""Log-odds that each measure adds to the constant: the linear reading, in log-odds; a content word,
up to 12; a number, up to 2; the first person; a pronoun that stands for something named elsewhere,
up to 3; likeness to the centre of the talk, in standard deviations within the talk."""

_MOST_CONTENT, _MOST_NUMBERS, _MOST_POINTING = 12, 2, 3
_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
_POINTING = word_set("it its he she his her him they their them this that these those such")
_QUESTION_OPENERS = word_set("who what when where why how which whose what's who's how's where's")
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")


@dataclass(frozen=True, slots=True)
class Wording:
    """Counts of one sentence's words; `numbers` up to 2, `content` up to 12, `pointing` up to 3."""

    words: int
    content: int
    numbers: int
    first_person: bool
    pointing: int
    is_question: bool


def read_wording(text: str) -> Wording:
    """Count the words of a sentence by what they tell of it."""
    norms = [word.norm for word in tokenise(text)]
    return Wording(
        words=len(norms),
        content=min(_MOST_CONTENT, len({norm for norm in norms if not is_stop_word(norm)})),
        numbers=min(_MOST_NUMBERS, len(find_numbers(text))),
        first_person=not _FIRST_PERSON.isdisjoint(norms),
        pointing=min(_MOST_POINTING, sum(norm.partition("'")[0] in _POINTING for norm in norms)),
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


def measure(wordings: Sequence[Wording], worth: Scores, vectors: Vectors) -> Scores:
    """Return the measures of a talk's sentences, one row each, in the order of WEIGHTS.

    Args:
        wordings: Counts of each sentence.
        worth: What read_worth returns for them.
        vectors: Unit vectors of them, by any embedder.
    """
    counts = [(each.content, each.numbers, each.first_person, each.pointing) for each in wordings]
    centre = vectors @ (vectors / (1 + np.exp(-worth))[:, None]).sum(axis=0)
    spread = float(centre.std()) or 1.0
    return np.column_stack([worth, counts, (centre - centre.mean()) / spread])


def rate(measures: Scores) -> Scores:
    """Return the log-odds that each sentence is a claim that an annotator would make, too."""
    rated: Scores = CONSTANT + measures @ np.array(list(WEIGHTS.values()))
    return rated


def categorise(text: str) -> Category:
    """Name the kind of statement: with figures, with years only, with "than", or any other."""
    kinds = {number.kind for number in find_numbers(text)}
    if kinds:
        return "historical" if kinds == {"year"} else "statistical"
    return "comparative" if re.search(r"\bthan\b", text, re.IGNORECASE) else "factual"
