"""A clause with its denials taken out: what it speaks of, and whether it says so or denies it.

What belongs here: which words deny, and what is left without them. What does not: comparing what
is left with a claim (statements.py).

"It is not true that bats are blind", "bats are not blind" and "that bats are blind is a myth" all
speak of bats being blind and deny it. Sentence embeddings hardly notice a denial; with the denial
taken out they see that all three are about the same proposition, and the count of denials says on
which side each stands. The idea of triggers and pseudo-triggers is NegEx's (Chapman et al., 2001).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, takewhile

from factible_assets.reasoners.readers.lexicon import load_lexicon
from factible_assets.reasoners.embedded.text import is_stop_word, stem, tokenise


@dataclass(frozen=True, slots=True)
class Proposition:
    """What a clause speaks of, without its denials, and how many these were.

    `focus` are the stems that the last plain "not" or "no" stands before, up to a stop word.
    """

    text: str
    denials: int
    focus: frozenset[str] = frozenset()

    @property
    def is_denied(self) -> bool:
        """Tell whether the clause denies it: two denials cancel."""
        return self.denials % 2 == 1


_AUXILIARY = re.compile(
    r"(?:ca(?=n't)|can|could|wo(?=n't)|will|would|is|are|was|were|has|have|had|should|may|might"
    r"|must|do|does|did)"
)
_LESS, _LACKED = "less", {"flight": ("flight", "fly"), "tooth": ("tooth", "teeth")}
"""How "flightless" ends, and by which words what lacks it may be told."""
_STANDS_FOR = {"ca": "can", "wo": "will", "do": "", "does": "", "did": ""}


@lru_cache(maxsize=8192)
def without_denials(clause: str) -> Proposition:
    """Take the denials out of a clause.

    What opposes a belief to the statement ("contrary to popular belief, …") is taken out as well,
    and denies nothing. What is negated only of a part or of others ("people who do not smoke",
    "faster than those that have none") is taken out with its part, and not counted.
    """
    lexicon = load_lexicon()
    rest = fold_evenly(clause)
    cuts: list[tuple[int, int, str]] = []
    count, focus = 0, frozenset[str]()
    for pattern, is_denial in (
        (lexicon.set_aside, False),
        (lexicon.not_denials, None),
        (lexicon.denies_what_follows, True),
        (lexicon.denies_what_precedes, True),
        (lexicon.negations, True),
    ):
        for match in pattern.finditer(rest):
            rest = f"{rest[: match.start()]}{' ' * len(match.group())}{rest[match.end() :]}"
            if is_denial is not None:
                # Of "cannot", "isn't" and their like the verb stays when the "not" is taken away.
                verb = _AUXILIARY.match(match.group())
                stays = "" if verb is None else _STANDS_FOR.get(verb.group(), verb.group())
                cuts.append((*match.span(), stays))
                count += is_denial
                if is_denial and pattern is lexicon.negations:
                    # "Lions, but not tigers, live in groups": up to the comma.
                    near = re.split(r"[,;()]", clause[match.end() :], maxsplit=1)[0]
                    after = (word.norm for word in tokenise(near))
                    denied = [
                        *takewhile(
                            lambda word: not is_stop_word(word), dropwhile(is_stop_word, after)
                        )
                    ]
                    if match.group() == _LESS:
                        lacked = tokenise(clause[: match.start()])[-1].norm
                        denied = list(_LACKED.get(lacked, (lacked,)))
                    focus = frozenset(map(stem, denied))
    kept, place = [], 0
    for start, end, instead in sorted(cuts):
        if start >= place:
            kept += [clause[place:start], f" {instead} "]
            place = end
    left = re.sub(r"\s+", " ", "".join([*kept, clause[place:]])).strip(" .,;:!?\u2013\u2014-")
    return Proposition(left.removeprefix("that "), count, focus)


@lru_cache(maxsize=8192)
def fold_evenly(text: str) -> str:
    """Fold case, apostrophes and white space without moving an offset."""
    lowered = "".join(low if len(low := each.lower()) == 1 else each for each in text)
    return re.sub(r"\s", " ", lowered.replace("\u2019", "'").replace("\u2018", "'"))
