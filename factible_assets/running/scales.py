"""The scale on which a desk rules: its labels, and what each says of the claim.

What belongs here: choosing a scale by its name. What does not: what published scales mean
(methods/scales.py), signing (review.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import FactibleError
from factible_assets.methods.scales import AVERITEC, FEVER, VERACITY, stance_of
from factible_assets.records import Stance
from factible_assets.wording import STANCE_WORDS, plain


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels on which a desk rules, in their order, with the stance of each."""

    name: str
    labels: Mapping[str, Stance]

    def label(self, given: str) -> tuple[str, Stance]:
        """Return a label as the scale writes it, and its stance; its case is free.

        Raises:
            FactibleError: It is none of the scale's.
        """
        for label, stance in self.labels.items():
            try:
                return label, stance_of(given, {label: stance})
            except ValueError:
                continue
        raise FactibleError(
            f"{plain(given, 80)!r} is no ruling on the scale {self.name}.",
            f"Its rulings: {', '.join(self.labels)}.",
        )


_SCALES: Final[Mapping[str, Mapping[str, Stance]]] = {
    "factible": {STANCE_WORDS[each].capitalize(): each for each in get_args(Stance)},
    "averitec": AVERITEC,
    "fever": FEVER,
    "veracity": VERACITY,
}


def scale_named(name: str, corpora: Iterable[Path] = ()) -> Scale:
    """Return a scale: ours, a published one, or the labels that a corpus annotates its claims with.

    Args:
        name: `factible`, `averitec`, `fever`, `veracity`, or a corpus.
        corpora: The folders of the corpora.

    Raises:
        FactibleError: There is no such scale.
    """
    if name in _SCALES:
        return Scale(name, _SCALES[name])
    corpus = load_corpora(corpora).corpus(name)
    annotated = [claim for video in corpus.videos for claim in video.claims or ()] if corpus else []
    labels = {each.label: each.stance for each in annotated if each.label and each.stance}
    if not labels:
        raise FactibleError(
            f"There is no scale {plain(name, 80)!r} to rule on.",
            f"Set FACTIBLE_RULING_SCALE to {', '.join(_SCALES)}, or to a corpus whose claims are "
            "annotated with labels.",
        )
    return Scale(name, labels)
