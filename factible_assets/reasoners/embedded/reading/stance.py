"""What a page says of a claim: by its statements, else by its tone.

What belongs here: the `StanceModel` protocol, how statements make a page's stance, and the leaning
by tone with its operating points. What does not: single statements (statements.py), choosing
passages (passages.py), inference models (inference.py), verdicts (stages.verdict).

Tone is polarity: how much nearer a page's passages are to the claim than to its denial, weighed by
the square of their similarity to the claim. It needs no shared words and no training, and hears
neither numbers nor denials, nor "all". So it supports only what denies nothing, where the page has
the claim's numbers, sweeps as far, sets nothing right and states nothing against it; and what it
would support far more, it refutes the denial of. With MiniLM nothing else is refuted: of the
recorded pages with the lowest polarity fewer than half do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from factible_assets.reasoners.embedded.embedder import Embedder
from factible_assets.reasoners.embedded.lexicon import load_lexicon
from factible_assets.reasoners.embedded.reading.denials import fold_evenly
from factible_assets.reasoners.embedded.reading.passages import Passage, Selection
from factible_assets.reasoners.embedded.reading.statements import (
    SUBJECT,
    SWEEPING,
    ClaimWords,
    Decision,
    Ground,
    Heard,
    content_words,
    is_same_name,
    names_in,
    numbers_stated,
    read_claim,
    read_statements,
)
from factible_assets.reasoners.embedded.text import is_stop_word, stem, tokenise
from factible_assets.records import Stance


@dataclass(frozen=True, slots=True)
class PageStance:
    """What a page says of a claim, and where.

    `confidence` is the probability that the stance is right, 0 exactly if it is unclear. `quotes`
    are the raw spans that say so, the best first, each with the index of its passage.
    """

    stance: Stance = "unclear"
    confidence: float = 0.0
    ground: Ground | None = None
    quotes: tuple[tuple[int, tuple[int, int]], ...] = ()


class StanceModel(Protocol):
    """Reads what a page's passages say of a claim; its name is for metadata."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def read(self, claim: str, selection: Selection, *, title: str) -> PageStance:
        """Return what a page says. `title` is the page's, as context for what it omits."""
        ...


_REASON = re.compile(r"\bbecause\s+(?!of\b)(.+)", re.IGNORECASE)
_SHARED_SHARE = 0.12
"""A page leans towards a claim by polarity and this share of the words that it shares with it."""
_DENIAL, LEAST_LEANING = "No, {} is a myth.", 0.065
"""What a claim is held against, and the leaning from which the tone of a page supports it. Of
twenty wordings this one tells what supports from what refutes best on recorded pages and
Climate-FEVER (AUC .70 and .70; "There is no evidence that {}." has .66 and .57). Of 170 annotated
claims with their recorded pages .06 to .065 decides .55 and is right on .85 to .86
(benchmarks/operating_point.py)."""
_AGAINST, LEAST_AGAINST = "There is no evidence that {}.", 0.25
"""The same of what a claim denies, from which on the claim is refuted. Of AVeriTeC, Climate-FEVER
and 3,000 pairs of VitaminC .25 to .26 decides 18 more, 15 of them rightly; with the other wording
as many are right and more wrong."""
_LEAST_NEAR = 0.5
"""Cosine of the nearest passage with the claim from which tone is heard."""

_FEW, _LIKE_ITS_END = 4, 0.55
"""Content words of a claim up to which its last one must be on a page, or be as like one of its
words: of 500 plain statements 283 right and 40 wrong, 287 and 57 without; of five words and more as
many right readings of recorded pages go as wrong ones."""

CONFIDENCE: dict[Ground, float] = {
    "assertion": 0.8,
    "denial": 0.8,
    "number": 0.75,
    "opposite": 0.75,
    "another": 0.75,
    "divided": 0.6,
    "tone": 0.52,
}
"""How often a page is read right, by what decided. Of 1,500 pairs of VitaminC (Schuster et al.,
2021; CC BY-SA 3.0), read in November 2026: assertion .80 of 311, denial 3 of 3 (and .82 of 45 on
AVeriTeC), and of 6,000 number .83 of 181. Tone is right on .60 of 738 there, on .40 of 89 lone
sentences of Climate-FEVER and .89 of 217 recorded pages: .52 calibrates verdicts best, lets a lone
page rated medium decide, and one that says the contrary plainly outweigh it. What hardly ever
decides (opposite, another, divided) is set by hand."""


class StatementsAndTone:
    """The default stance model: what a page states plainly, else how its passages lean.

    Args:
        embedder: One whose similarity is of meaning, such as MiniLM.
        least_leaning: Where its tone speaks.
    """

    def __init__(self, embedder: Embedder, least_leaning: float = LEAST_LEANING) -> None:
        self._embedder = embedder
        self.least_leaning = least_leaning

    @property
    def name(self) -> str:
        """Return "statements and tone by" the embedder."""
        return f"statements and tone by {self._embedder.name}"

    def read(self, claim: str, selection: Selection, *, title: str) -> PageStance:
        """Return what a page says.

        The nearest statement decides, of the excerpt only if none of the page does. Where none
        does, and none that is roughly about the claim is against it, the tone may.

        Raises:
            EmbedderUnavailableError: The embedder's model cannot be loaded.
        """
        wanted = read_claim(claim)
        heard = read_statements(wanted, selection.passages, title, self._embedder)
        if not heard.decisions and (reason := _REASON.search(claim)) is not None:
            # Who denies or limits the reason does so to the claim; who gives it leaves it open.
            given = read_claim(reason[1])
            said = read_statements(given, selection.passages, title, self._embedder).decisions
            doubts = tuple(each for each in said if each.side != "supports")
            heard = replace(heard, decisions=doubts)
        kept = tuple(each for each in heard.decisions if not _reasons_otherwise(claim, each))
        if kept != heard.decisions:
            heard = Heard(kept)  # its tone is that of the other reason
        # An excerpt is cut together from anywhere, and nothing of it can be quoted.
        own = [each for each in heard.decisions if selection.passages[each.passage].in_page]
        if decisions := own or heard.decisions:
            # Who else has what one alone can have leaves no room for what sounds alike.
            others = (each for each in decisions if each.ground == "another")
            first = next(others, decisions[0])
            quotes = dict.fromkeys(
                (each.passage, each.statement.span) for each in decisions if each.side == first.side
            )
            return PageStance(first.side, CONFIDENCE[first.ground], first.ground, tuple(quotes))
        stance: Stance = "supports"
        denial, least = _DENIAL, self.least_leaning
        if wanted.is_denied:
            # Who leans to what it denies is against it.
            stance, denial, least = "refutes", _AGAINST, max(least, LEAST_AGAINST)
            wanted = read_claim(wanted.about)
            heard = read_statements(wanted, selection.passages, title, self._embedder)
        if (
            heard.leaves_room
            and not wanted.is_denied
            and _is_named_at_once(wanted, selection.passages, title)
            and _has_its_figures(wanted, selection.passages)
            and not any(map(_sets_right, [title, *(each.text for each in selection.passages)]))
            and _is_as_sweeping(wanted.text, selection.passages)
            and self._leaning(wanted.text, denial, selection) >= least
            and self._has_its_end(wanted, selection.passages, title)
        ):
            return PageStance(stance, CONFIDENCE["tone"], "tone")
        return PageStance()

    def _has_its_end(self, claim: ClaimWords, passages: Sequence[Passage], title: str) -> bool:
        """Tell whether a page has a short claim's last word, or one much like it.

        What a claim ends with is what it says of its subject, and where the page has nothing like
        it, it says something else: spores, not seeds.
        """
        if len(claim.stems) > _FEW:
            return True
        told = {
            stem(word.norm): word.norm
            for text in (title, *(each.text for each in passages))
            for word in tokenise(text)
            if not is_stop_word(word.norm) and not word.norm[0].isdigit()
        }
        last = claim.stems[-1]
        if not told or any(is_same_name(last, each) for each in told):
            return True
        word = next(w.norm for w in reversed(tokenise(claim.about)) if stem(w.norm) == last)
        vectors = self._embedder.embed([word, *told.values()])
        return float((vectors[1:] @ vectors[0]).max()) >= _LIKE_ITS_END

    def _leaning(self, claim: str, denial: str, selection: Selection) -> float:
        """Return how far a page leans to a claim, in [-1, 1.12]; -1 if no passage is near it."""
        unknown = load_lexicon().unknown
        told = [
            " ".join(
                each.text
                for each in passage.sentences
                if not (each.text.endswith("?") or unknown.search(fold_evenly(each.text)))
            )
            for passage in selection.passages
        ]
        if not (told := [text for text in told if text.strip()]):
            return -1.0
        bare = claim.strip().rstrip(".!? ")
        vectors = self._embedder.embed([claim, denial.format(uncapitalised(bare)), *told])
        near, against = (vectors[2:] @ vectors[:2].T).T
        if near.max() < _LEAST_NEAR:
            return -1.0
        polarity = np.average(near - against, weights=np.maximum(near, 0.05) ** 2)
        return float(polarity) + _SHARED_SHARE * selection.shared


def _reasons_otherwise(claim: str, decision: Decision) -> bool:
    """Tell whether a statement says what a claim does, for another reason."""
    ours, theirs = (_REASON.search(each) for each in (claim, decision.statement.sentence))
    return (
        decision.side == "supports"
        and ours is not None
        and theirs is not None
        and content_words(ours[1]).isdisjoint(content_words(theirs[1]))
    )


def _is_as_sweeping(claim: str, passages: Sequence[Passage]) -> bool:
    """Tell whether a page says of all what a claim does: tone does not hear it."""
    return not SWEEPING.search(claim) or any(SWEEPING.search(each.text) for each in passages)


def _sets_right(text: str) -> bool:
    """Tell whether a text sets right what is believed: its tone is then that of the belief."""
    return load_lexicon().corrects.search(fold_evenly(text)) is not None


def uncapitalised(claim: str) -> str:
    """Return a claim as it stands inside a sentence; names and abbreviations keep their capital."""
    first = claim.split(" ", 1)[0]
    keeps = first == "I" or first[1:] != first[1:].lower()
    return claim if keeps else claim[:1].lower() + claim[1:]


def _has_its_figures(claim: ClaimWords, passages: Sequence[Passage]) -> bool:
    """Tell whether a page has half of a claim's figures; its years only if it has no others."""
    figures = tuple(each for each in claim.quantities if each.dimension != "year")
    wanted = replace(claim, quantities=figures or claim.quantities)
    return 2 * numbers_stated(wanted, passages) >= len(wanted.quantities)


def _is_named_at_once(claim: ClaimWords, passages: Sequence[Passage], title: str) -> bool:
    """Tell whether one sentence names all of a claim that holds of one alone: tone does not.

    A last name is enough, and a pronoun names what the title does.
    """
    wanted = [content_words(name.split()[-1]) for name in names_in(claim.about)]
    return not claim.is_of_one or any(
        all(any(is_same_name(one, each) for one in name for each in told) for name in wanted)
        for passage in passages
        for sentence in passage.sentences
        for told in [
            content_words(f"{sentence.text} {title if SUBJECT.search(sentence.text) else ''}")
        ]
    )
