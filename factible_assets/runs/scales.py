"""The scales on which reviewers sign rulings: our own, published ones, and those of corpora."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import FactibleError
from factible_assets.records.scales import AVERITEC, FEVER, VERACITY, stance_of
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Stance
from factible_assets.wording import plain

_SCALES: Final[Mapping[str, Mapping[str, Stance]]] = {
    "factible": {label.word.capitalize(): name for name, label in STANCES.items()},
    "averitec": AVERITEC,
    "fever": FEVER,
    "veracity": VERACITY,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels of rulings, in their order, with the stance of each."""

    name: str
    labels: Mapping[str, Stance]

    def label(self, given: str) -> tuple[str, Stance]:
        """Return the scale's spelling of a label, and its stance. Raises FactibleError."""
        for label, stance in self.labels.items():
            try:
                return label, stance_of(given, {label: stance})
            except ValueError:
                continue
        raise FactibleError(
            f"{plain(given, 80)!r} is no ruling on the scale {self.name}.",
            f"Its rulings: {', '.join(self.labels)}.",
        )


def scale_named(name: str, corpora: Iterable[Path] = ()) -> Scale:
    """Return the scale `factible`, `averitec`, `fever` or `veracity`, or the labels of a corpus.

    Raises FactibleError: There is no such scale in the folders `corpora` either.
    """
    if name in _SCALES:
        return Scale(name, _SCALES[name])
    corpus = load_corpora(corpora).corpus(name)
    claims = [claim for video in corpus.videos for claim in video.claims or ()] if corpus else []
    labels = {claim.label: claim.stance for claim in claims if claim.label and claim.stance}
    if not labels:
        raise FactibleError(
            f"There is no scale {plain(name, 80)!r} for rulings.",
            f"Set FACTIBLE_RULING_SCALE to {', '.join(_SCALES)}, or to a corpus whose claims are "
            "annotated with labels.",
        )
    return Scale(name, labels)
