"""Where sentences end in captions that carry no punctuation.

What belongs here: the small boundary model over gaps between words, and the dynamic programme that
picks boundaries under length limits. What does not: punctuation (sentences.py).

The model adds up what MiniLM makes of the two words beside a gap (log-odds of a sentence's end,
from boundary_weights.tsv), the caption's own line ends, the speaker's pauses, and a preference for
spoken lengths. The weights are a logistic regression on the addresses of the presidents of the
United States on the state of the union, which are in the public domain
(benchmarks/boundary_weights.py). How the parts are weighed against each other was chosen from a
plateau of the boundary benchmark (benchmarks/sentences.py): settings beside it are within .02 of
its figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Vectors

SHORTEST = 4
"""Words that a sentence cut by the model has at least."""

LONGEST = 42
"""Words that a sentence cut by the model has at most."""

_USUAL_LENGTH = 15.0
_LENGTH_SPREAD = 0.6  # of the logarithm of the length
_LENGTH_WEIGHT = 0.2

_BASE = -3.3
_STATES = 0.6
_LINE_END = {True: 1.5, False: -0.8, None: 0.4}
_PER_SECOND_OF_PAUSE = 1.5
_LONGEST_PAUSE = 2.0
_MARKER = 1.5


@dataclass(frozen=True, slots=True)
class Gap:
    """What is known of the gap after a word.

    `line_end` is None if the captions' lines are unknown or were not broken by sense; `pause` is
    in seconds; `marker` tells of a sound or speaker marker in the gap.
    """

    line_end: bool | None = None
    pause: float = 0.0
    marker: bool = False


class WordReader(Protocol):
    """Reads words in their context: `embedder.OnnxEmbedder` with MiniLM."""

    def read_words(self, words: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Return the model's states at each word's last and first token."""
        ...


def find_sentences(
    words: Sequence[str], gaps: Sequence[Gap], reader: WordReader
) -> list[tuple[int, int, float]]:
    """Choose the sentences of a run of words without punctuation.

    Args:
        words: The folded words of the run, in order.
        gaps: One per word but the last: what lies after it.
        reader: MiniLM, for whose states the weights were fitted.

    Returns:
        The first and the last word of each, in order, together all words; each with the
        probability (semi-Markov, Sarawagi and Cohen, NIPS 2004) that it is one whole sentence:
        that it begins and ends there and that none ends within. Sentences have SHORTEST to
        LONGEST words, unless the run is shorter. Time grows with len(words) * LONGEST.
    """
    count = len(words)
    if count < 2 * SHORTEST:
        return [(0, count - 1, 1.0)]
    last, first = reader.read_words(words)
    closing, opening = _load_weights().T
    scores = np.zeros(count + 1)
    scores[1:count] = _STATES * (last[:-1] @ closing + first[1:] @ opening)
    scores[1:count] += [_evidence(gap) for gap in gaps]
    cuts = [0, *_best_cuts(scores), count]
    before, after = _log_weights(scores), _log_weights(scores[::-1])[::-1]
    return [
        (
            start,
            end - 1,
            float(np.exp(before[start] + _PREFERENCE[end - start] + after[end] - before[count])),
        )
        for start, end in pairwise(cuts)
    ]


def _evidence(gap: Gap) -> float:
    """Weigh what is known of a gap beside its words; above 0 speaks for an end."""
    pause = _PER_SECOND_OF_PAUSE * min(gap.pause, _LONGEST_PAUSE)
    return _BASE + _LINE_END[gap.line_end] + pause + _MARKER * gap.marker


@lru_cache(maxsize=1)
def _load_weights() -> npt.NDArray[np.float64]:
    """Read the weights of the states before and after a gap: [dimensions, 2]. Loaded once."""
    source = files("factible_assets.reasoners.embedded.claims").joinpath("boundary_weights.tsv")
    return np.loadtxt(source.read_text(encoding="utf-8").splitlines())


def _length_preference() -> npt.NDArray[np.float64]:
    """Weigh sentences by their number of words, 0 to LONGEST: log-normal, zero at its best."""
    lengths = np.arange(1, LONGEST + 1)
    distance = (np.log(lengths) - np.log(_USUAL_LENGTH)) / _LENGTH_SPREAD
    preference = np.concatenate([[-np.inf], -_LENGTH_WEIGHT * distance**2 / 2])
    preference[1:SHORTEST] = -np.inf
    return preference


_PREFERENCE = _length_preference()


def _log_weights(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum up, for each end, the weights of all ways to cut what lies before it (logarithms)."""
    weights = np.full(len(scores), -np.inf)
    weights[0] = scores[0]
    for end in range(SHORTEST, len(scores)):
        low = max(0, end - LONGEST)
        ways = weights[low:end] + _PREFERENCE[end - low : 0 : -1]
        top = ways.max()
        if top > -np.inf:
            weights[end] = top + np.log(np.exp(ways - top).sum()) + scores[end]
    return weights


def _best_cuts(scores: npt.NDArray[np.float64]) -> list[int]:
    """Maximise evidence plus length preference: best[e] = score[e] + max over s of best[s] + …."""
    count = len(scores) - 1
    best = np.full(count + 1, -np.inf)
    best[0] = 0.0
    origin = np.zeros(count + 1, dtype=np.int64)
    for end in range(SHORTEST, count + 1):
        low = max(0, end - LONGEST)
        options = best[low:end] + _PREFERENCE[end - low : 0 : -1]
        choice = int(np.argmax(options))
        best[end] = options[choice] + scores[end]
        origin[end] = low + choice
    cuts: list[int] = []
    end = int(origin[count])
    while end > 0:
        cuts.append(end)
        end = int(origin[end])
    return cuts[::-1]
