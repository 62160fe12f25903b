"""Finds the ends of sentences in captions without punctuation.

The model is a bidirectional layer of gated recurrent units (Cho et al., EMNLP 2014) over MiniLM's
states of the words; boundaries.md describes its weights. Line ends of the captions and pauses of
the speaker add to its log-odds, with round weights whose neighbours do as well
(benchmarks/sentences.py).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Vectors, load_weights, minilm

SHORTEST, LONGEST = 4, 42
"""Words of a sentence that the model cuts."""

_CUT = -1.0
"""Log-odds above which a gap is cut, a probability of .27: two joined sentences are worse than half
a sentence, because its low certainty keeps it from selection."""

_LINE_END = {True: 2.0, False: -0.8, None: 0.0}
_PER_SECOND_OF_PAUSE = 1.5
_LONGEST_PAUSE = 2.0
_MARKER = 1.5


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap after a word.

    `line_end` is None if the lines of the captions are unknown or arbitrary; `pause` is in seconds;
    `marker`: the gap holds a sound or speaker marker.
    """

    line_end: bool | None = None
    pause: float = 0.0
    marker: bool = False


def find_sentences(
    runs: Sequence[tuple[Sequence[str], Sequence[Gap]]],
) -> list[list[tuple[int, int, float]]]:
    """Split runs of folded words without punctuation into sentences, each run on its own.

    A run has one gap fewer than words. Gaps are cut in the order of their likelihood, as long as it
    exceeds `_CUT` or more than LONGEST words remain without a cut.

    Returns for each run the first and last word of each sentence, and the probability that it is
    one whole sentence. Sentences have at least SHORTEST words, unless the run is shorter.
    """
    long = [words for words, _ in runs if len(words) >= 2 * SHORTEST]
    odds = iter(_read_ends(minilm().read_words(long)) if long else [])
    return [
        _divide(len(words), gaps, next(odds)[:-1])
        if len(words) >= 2 * SHORTEST
        else [(0, len(words) - 1, 1.0)]
        for words, gaps in runs
    ]


def _divide(
    count: int, gaps: Sequence[Gap], odds: npt.NDArray[np.float64]
) -> list[tuple[int, int, float]]:
    """Cut a run of `count` words; `odds`: the model's log-odds of an end in each gap."""
    odds = odds + [
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
    # Log-probabilities of an end at each cut, and of no end up to it.
    ends = np.concatenate([[0.0], -np.logaddexp(0, -odds), [0.0]])
    goes_on = np.concatenate([[0.0], -np.logaddexp(0, odds).cumsum()])
    return [
        (start, end - 1, float(np.exp(ends[start] + ends[end] + goes_on[end - 1] - goes_on[start])))
        for start, end in pairwise(cuts)
    ]


def _read_ends(runs: Sequence[Vectors]) -> list[npt.NDArray[np.float64]]:
    """Return the log-odds of an end of sentence after each word of each run, from MiniLM's states.

    Weights have the shape [in, out], with a leading axis for the two directions.
    """
    net = load_weights("boundaries")
    inputs = np.maximum(np.concatenate(runs) @ net["input"] + net["input_bias"], 0)
    gate_inputs = inputs @ net["given"] + net["given_bias"][:, None]
    lengths = np.array([len(run) for run in runs])
    starts = np.concatenate([[0], lengths.cumsum()[:-1]])
    # All runs and both directions in one pass, the longest runs first: the second reads backwards.
    order = np.argsort(-lengths, kind="stable")
    firsts, lasts = starts[order], (starts + lengths - 1)[order]
    units = net["kept"].shape[1]
    hidden = np.zeros((2, len(runs), units), dtype=np.float32)
    states = np.empty((2, len(inputs), units), dtype=np.float32)
    for step in range(lengths.max()):
        count = int((lengths > step).sum())
        hidden = hidden[:, :count]
        places = np.stack([firsts[:count] + step, lasts[:count] - step])
        new = np.take_along_axis(gate_inputs, places[..., None], axis=1)
        old = hidden @ net["kept"] + net["kept_bias"][:, None]
        gates = 1 / (1 + np.exp(-(new + old)[..., : 2 * units]))
        reset, update = gates[..., :units], gates[..., units:]
        proposed = np.tanh(new[..., 2 * units :] + reset * old[..., 2 * units :])
        hidden = update * hidden + (1 - update) * proposed
        np.put_along_axis(states, places[..., None], hidden, axis=1)
    both = np.concatenate([states[0], states[1]], axis=1)
    ends = (both @ net["output"] + net["output_bias"]).astype(np.float64)
    return np.split(ends, starts[1:])
