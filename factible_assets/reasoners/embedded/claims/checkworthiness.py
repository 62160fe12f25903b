"""How much a single sentence sounds like a checkable statement of fact.

What belongs here: signs in the wording of one sentence, their weights, the category that they
suggest, and what its vector says. What does not: how central the sentence is to its video
(selection.py).

The signs are those that annotators of check-worthy claims go by (ClaimBuster: Hassan et al., KDD
2017; Factible, section 1.3.2): figures, causes, comparisons and named things speak for a claim;
the first person, opinion, questions and talk about the video speak against.
Weights are set by hand, few and round, and were not fitted; how many content words are enough was
settled on the claim benchmark (benchmarks/claims.py). What has none of the signs and is talk all
the same ("Grab your passport, we're heading south") is told by a linear reading of MiniLM's
vectors, whose weights were fitted to graded talks (checkworthiness.md beside this file).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.claims.weights import load_weights
from factible_assets.reasoners.embedded.claims.wording import WORDS
from factible_assets.reasoners.embedded.embedder import Vectors
from factible_assets.reasoners.embedded.text import (
    Word,
    find_numbers,
    is_stop_word,
    tokenise,
    word_set,
)

Category = Literal["statistical", "causal", "historical", "scientific", "comparative", "factual"]
"""What kind of statement a claim is. The first three and "scientific" are those of Factible."""


def _pattern(sign: str) -> re.Pattern[str]:
    return re.compile(WORDS["signs"][sign].replace("\n", ""), re.IGNORECASE)


_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
SIGNS: dict[str, tuple[float, re.Pattern[str] | frozenset[str]]] = {
    "causal": (0.3, _pattern("causal")),
    "comparative": (0.2, _pattern("comparative")),
    "scientific": (0.3, _pattern("scientific")),
    "historical": (0.3, _pattern("historical")),
    "opinion": (-0.5, _pattern("opinion")),
    "about the video": (-1.0, _pattern("about the video")),
    "first person": (-1.5, _FIRST_PERSON),
    "second person": (-0.7, word_set("you yours yourself you're you've you'll you'd")),
    "of a story": (-0.8, word_set("he she him her his he's she's")),
}
"""What each sign adds to a sentence that has the pattern, or one of the words."""

_QUESTION_OPENERS = word_set(
    "who what when where why how which whose is are was were do does did can could will would"
    " should have has what's who's how's where's"
)
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")
_ASKS_WITHIN = re.compile(r"(?<!and )\bso (?:is|are|was|were|does|did) (?!that\b)", re.IGNORECASE)
"""How a question begins inside of words without punctuation: "… in the 1920s so is it bad"."""
_ENOUGH_CONTENT = 12


@dataclass(frozen=True, slots=True)
class Signs:
    """What the wording of a sentence shows: counts, the names of its signs, and their sum.

    `wording` is above 0 for what sounds like a claim, below 0 for talk; about -5 to 4.
    """

    words: int
    content_words: int
    numbers: int
    shown: frozenset[str]
    wording: float


def read_signs(text: str) -> Signs:
    """Read the signs of one sentence."""
    words = tokenise(text)
    norms = [word.norm for word in words]
    present = set(norms)
    straight = text.replace("\u2019", "'")
    shown = frozenset(
        name
        for name, (_, sign) in SIGNS.items()
        if (sign.search(straight) if isinstance(sign, re.Pattern) else present & sign)
    )
    content = len({norm for norm in norms if not is_stop_word(norm)})
    numbers = len(find_numbers(text))
    score = 2.0 * min(content, _ENOUGH_CONTENT) / _ENOUGH_CONTENT
    score += 0.5 * min(numbers, 2) + 0.2 * min(_count_names(text, words), 2)
    score += sum(SIGNS[name][0] for name in shown)
    score -= 1.0 * _is_question(text, norms)
    return Signs(len(words), content, numbers, shown, score)


def read_doubts(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Return what speaks against each text as a claim, in units of wording, at most 0.

    Those are its log-odds of being worth a check where they are below even. Which of two claims is
    worth more they do not tell as well as signs and place do (docs/tried.md).

    Args:
        vectors: MiniLM's, [texts, 384].
    """
    fitted = load_weights("checkworthiness")
    odds: npt.NDArray[np.float64] = (vectors @ fitted["weights"] + fitted["bias"]).astype(
        np.float64
    )
    return np.minimum(odds, 0.0)


def categorise(signs: Signs, *, dated: bool) -> Category:
    """Name the kind of statement; `dated` tells that its only numbers are years."""
    if signs.numbers and not dated:
        return "statistical"
    if "causal" in signs.shown:
        return "causal"
    if dated or "historical" in signs.shown:
        return "historical"
    if "scientific" in signs.shown:
        return "scientific"
    return "comparative" if "comparative" in signs.shown else "factual"


def _count_names(text: str, words: list[Word]) -> int:
    """Count words with a capital inside a sentence; in all-capitals or captions there are none."""
    capitals = sum(
        text[word.start].isupper() and word.norm not in _FIRST_PERSON for word in words[1:]
    )
    return 0 if capitals > len(words) / 2 else capitals


def _is_question(text: str, norms: list[str]) -> bool:
    if text.rstrip("\"'\u201d\u2019) ").endswith("?") or _ASKS_WITHIN.search(text):
        return True
    # Without punctuation: "why is …", "do you …"; but "what we see is …" is none.
    return not _QUESTION_OPENERS.isdisjoint(norms[:1]) and not _AUXILIARIES.isdisjoint(norms[:2])
