"""Where sentences end in captions that carry no punctuation.

What belongs here: the small boundary model over gaps between words, and the dynamic programme that
picks boundaries under length limits. What does not: punctuation (sentences.py).

The model is a sum of evidence for and against an end at a gap, in the manner of log-odds: the
caption's own line ends and the speaker's pauses, words that cannot close an English sentence
("of", "the"), words that tend to open one ("so", "but", "there's"), and a preference for spoken
lengths. The weights are set by hand from grammar, not fitted; the scale of line ends and the base
rate were settled in round steps on the boundary benchmark (benchmarks/sentences.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.text import word_set

SHORTEST = 4
"""Words that a sentence cut by the model has at least."""

LONGEST = 42
"""Words that a sentence cut by the model has at most."""

_USUAL_LENGTH = 15.0
_LENGTH_SPREAD = 0.6  # of the logarithm of the length
_LENGTH_WEIGHT = 0.7

_BASE = -1.0
_LINE_END = 1.5
_INSIDE_LINE = -0.8
_PER_SECOND_OF_PAUSE = 1.5
_LONGEST_PAUSE = 2.0
_MARKER = 1.5
_CANNOT_CLOSE = -3.5
_SELDOM_CLOSES = -1.5
_OPENS = 2.4
_OFTEN_OPENS = 1.3
_CANNOT_OPEN = -2.5

# Words after which an English sentence is not over: determiners, prepositions, conjunctions,
# subject pronouns, auxiliaries.
OPEN_ENDED = word_set(
    """
    a an the this these those my your his its our their some any every each no both either neither
    of to in on at by for with from into onto upon about above across after against along among
    around before behind below beneath beside between beyond despite during except inside like near
    off over per since than through throughout toward towards under until unlike via within without
    and or but nor so because although though while whereas if unless whether as when where who
    whom whose which that what why how
    i we he she they i'm we're they're you're he's she's it's that's there's i've we've they've
    you've i'll we'll they'll you'll let's who's what's
    am is are was were be been being has have had do does did can could will would shall should may
    might must cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't couldn't
    shouldn't haven't hasn't hadn't
    very really quite just only even also almost nearly too more most less least such other another
    many much few several various certain
    mr mrs ms dr st prof
    """
)

# Words that close sentences now and then, but mostly continue.
_MOSTLY_CONTINUED = word_set(
    """
    you it not up out down then get got make makes made take takes took give gives gave go goes
    going come comes came know knows think thinks thought believe see sees saw say says said tell
    tells told find found want wants need needs try trying use uses using called become becomes
    became keep keeps kept put let help helps show shows include includes including
    one two three four five six seven eight nine ten hundred thousand million billion
    first second third next last new good big great high low own same different actually
    """
)

# Words that open a main clause, more often than not a sentence.
_OPENERS = word_set(
    """
    so but now well okay ok yes no however therefore meanwhile instead finally similarly moreover
    furthermore additionally nevertheless fortunately unfortunately nonetheless
    i'm i've i'd i'll we're we've we'll it's that's there's here's what's let's they're they've
    you're you've he's she's today's
    """
)

# Words that open a clause, of which many are sentences.
_FREQUENT_OPENERS = word_set(
    """
    i we he she they it this these those you and there here what why how when if because although
    while since after before although today yet then also most many some several scientists
    researchers according please remember imagine look hi hello thank thanks first second third
    next another every all once though in as for
    """
)

# Words that carry on what stands before them.
CONTINUERS = word_set(
    """
    of than to that which who whom whose or nor is are was were be been being am has have had do
    does did can could will would should may might must until into onto upon from with by at on per
    ago too either not n't percent dollars years year months days hours times else me us him them
    himself herself itself themselves ourselves up out down off back away such
    """
)


@dataclass(frozen=True, slots=True)
class Gap:
    """What is known of the gap after a word.

    `line_end` is None if the captions' lines are unknown or were not broken by sense; `pause` is
    in seconds; `marker` tells of a sound or speaker marker in the gap.
    """

    line_end: bool | None = None
    pause: float = 0.0
    marker: bool = False


def cut_points(words: Sequence[str], gaps: Sequence[Gap]) -> list[int]:
    """Choose where sentences end in a run of words without punctuation.

    Args:
        words: The folded words of the run, in order.
        gaps: One per word but the last: what lies after it.

    Returns:
        The indices of words after which a sentence ends, the last word's not included, ascending.
        Sentences have SHORTEST to LONGEST words, unless the whole run is shorter. Time grows with
        len(words) * LONGEST.
    """
    count = len(words)
    if count < 2 * SHORTEST:
        return []
    scores = np.zeros(count + 1)
    scores[1:count] = [
        _evidence(words[position], words[position + 1], gaps[position])
        for position in range(count - 1)
    ]
    return _best_cuts(scores)


def _evidence(last: str, following: str, gap: Gap) -> float:
    """Weigh an end between two words; above 0 speaks for it."""
    score = _BASE + _PER_SECOND_OF_PAUSE * min(gap.pause, _LONGEST_PAUSE)
    if gap.line_end is not None:
        score += _LINE_END if gap.line_end else _INSIDE_LINE
    if gap.marker:
        score += _MARKER
    return score + _closing(last) + _opening(following)


def _closing(word: str) -> float:
    if word in OPEN_ENDED:
        return _CANNOT_CLOSE
    return _SELDOM_CLOSES if word in _MOSTLY_CONTINUED else 0.0


def _opening(word: str) -> float:
    if word in _OPENERS:
        return _OPENS
    if word in _FREQUENT_OPENERS:
        return _OFTEN_OPENS
    return _CANNOT_OPEN if word in CONTINUERS else 0.0


def _length_preference() -> npt.NDArray[np.float64]:
    """Weigh sentences by their number of words, 0 to LONGEST: log-normal, zero at its best."""
    lengths = np.arange(1, LONGEST + 1)
    distance = (np.log(lengths) - np.log(_USUAL_LENGTH)) / _LENGTH_SPREAD
    preference = np.concatenate([[-np.inf], -_LENGTH_WEIGHT * distance**2 / 2])
    preference[1:SHORTEST] = -np.inf
    return preference


_PREFERENCE = _length_preference()


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
        cuts.append(end - 1)
        end = int(origin[end])
    return cuts[::-1]
