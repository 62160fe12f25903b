"""Where sentences end in captions that carry no punctuation.

What belongs here: the small network over MiniLM's states of the words, and the choice of ends from
its probabilities under limits of length. What does not: punctuation (sentences.py).

The network is a layer of gated recurrent units read in both directions (Cho et al., EMNLP 2014).
Its weights, what they were fitted on and how well they do stand in boundaries.md beside this file.
To its log-odds come the captions' line ends and the speaker's pauses; their weights are round and
were chosen where settings beside them do as well (benchmarks/sentences.py).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.claims.weights import load_weights
from factible_assets.reasoners.embedded.embedder import Vectors

SHORTEST = 4
"""Words that a sentence cut by the model has at least."""

LONGEST = 42
"""Words that a sentence cut by the model has at most."""

_CUT = -1.0
"""Log-odds above which a gap is cut, a probability of .27: two sentences run together are worse
than half of one, which its certainty keeps from being chosen."""

_LINE_END = {True: 2.0, False: -0.8, None: 0.0}
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

    def read_words(self, words: Sequence[str]) -> Vectors:
        """Return the model's states of the words, [len(words), 384]."""
        ...


def find_sentences(
    words: Sequence[str], gaps: Sequence[Gap], reader: WordReader
) -> list[tuple[int, int, float]]:
    """Choose the sentences of a run of words without punctuation.

    Gaps are cut from the likeliest end of a sentence on, while that is likely enough (_CUT) or
    there are more than LONGEST words without a cut.

    Args:
        words: The folded words of the run, in order.
        gaps: One per word but the last: what lies after it.
        reader: MiniLM, for whose states the weights were fitted.

    Returns:
        The first and the last word of each, in order, together all words; each with the
        probability that it is one whole sentence: that it begins and ends there and that none ends
        within. Sentences have at least SHORTEST words, unless the run is shorter.
    """
    count = len(words)
    if count < 2 * SHORTEST:
        return [(0, count - 1, 1.0)]
    odds = _read_ends(reader.read_words(words))[:-1]
    odds += [
        _LINE_END[gap.line_end]
        + _PER_SECOND_OF_PAUSE * min(gap.pause, _LONGEST_PAUSE)
        + _MARKER * gap.marker
        for gap in gaps
    ]
    cuts = [0, count]
    for cut in (np.argsort(-odds, kind="stable") + 1).tolist():
        place = bisect(cuts, cut)
        start, end = cuts[place - 1 : place + 1]
        if min(cut - start, end - cut) >= SHORTEST and (
            odds[cut - 1] > _CUT or end - start > LONGEST
        ):
            cuts.insert(place, cut)
    # Logarithms of the probability that a sentence ends at a cut, and that none has ended up to it.
    ends = np.concatenate([[0.0], -np.logaddexp(0, -odds), [0.0]])
    goes_on = np.concatenate([[0.0], -np.logaddexp(0, odds).cumsum()])
    return [
        (start, end - 1, float(np.exp(ends[start] + ends[end] + goes_on[end - 1] - goes_on[start])))
        for start, end in pairwise(cuts)
    ]


def _read_ends(states: Vectors) -> npt.NDArray[np.float64]:
    """Return for each word the log-odds that a sentence ends after it, from MiniLM's states.

    Weights are [in, out], with a leading axis for both directions where there are two.
    """
    net = load_weights("boundaries")
    seen = np.maximum(states @ net["input"] + net["input_bias"], 0)
    # Both directions in one pass: the second reads the words from the last to the first.
    given = np.stack([seen, seen[::-1]]) @ net["given"] + net["given_bias"][:, None]
    units = net["kept"].shape[1]
    hidden = np.zeros((2, 1, units), dtype=np.float32)
    passed = np.empty((2, len(states), units), dtype=np.float32)
    for place in range(len(states)):
        new, old = given[:, place, None], hidden @ net["kept"] + net["kept_bias"][:, None]
        gates = 1 / (1 + np.exp(-(new + old)[..., : 2 * units]))
        reset, update = gates[..., :units], gates[..., units:]
        proposed = np.tanh(new[..., 2 * units :] + reset * old[..., 2 * units :])
        hidden = update * hidden + (1 - update) * proposed
        passed[:, place] = hidden[:, 0]
    read = np.concatenate([passed[0], passed[1, ::-1]], axis=1)
    return (read @ net["output"] + net["output_bias"]).astype(np.float64)
