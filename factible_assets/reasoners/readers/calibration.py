"""Calibrates the label probabilities of a model, whose likeliest label is biased towards "true".

A multinomial logistic regression on the log-odds of the labels corrects that. It generalises
Platt's scaling (1999) to three labels and needs some hundred pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ValidationError

from factible_assets.records.stances import Stance

Label = Literal["true", "false", "neither"]
LABELS: tuple[Label, ...] = ("true", "false", "neither")
SHIPPED = Path(__file__).with_name("calibrations")
"""The calibrations of the project."""
PROMPTS = Path(__file__).with_name("prompts")

LEAST_PRECISION = 0.8
"""Share of right sides that a threshold must reach."""
_FLOOR = 1e-6
"""Lowest probability of a label, also of one that the server does not list."""
_SHRINKAGE = 0.001
"""Penalty on squared weights; keeps them finite if a line separates all pairs."""
_MOST = 0.97
"""Highest probability: a few hundred pairs cannot show more."""
_FOLDS = 5

Floats = npt.NDArray[np.float64]
Weights = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class SideChances:
    """The probabilities that a source supports and refutes a claim; the rest is neither."""

    supports: float
    refutes: float

    @property
    def bearing(self) -> float:
        """The probability that the source settles the claim."""
        return self.supports + self.refutes

    @property
    def side(self) -> tuple[Stance, float]:
        """The likelier side and its probability."""
        if self.supports >= self.refutes:
            return "supports", self.supports
        return "refutes", self.refutes


class Figures(BaseModel, frozen=True, extra="forbid"):
    """The quality of a reader on labelled pairs outside its calibration.

    `auc` compares "true" with "false", `bearing_auc` pairs that settle their claim with the others.
    `decided` is the share of pairs with a side, `precision` the share of right sides among them.
    `ece` is the expected calibration error of the side's probability, in ten bins of equal size.
    """

    pairs: int
    auc: float
    bearing_auc: float
    decided: float
    precision: float
    ece: float


class Curves(BaseModel, frozen=True, extra="forbid"):
    """From label probabilities to a stance.

    `supports` and `refutes` are the weights of `evidence_of` in the log-odds of that label against
    "neither". A source takes a side from the probability `threshold` on.
    """

    supports: Weights
    refutes: Weights
    threshold: float

    def judge(self, chances: Mapping[str, float]) -> SideChances:
        """Turn label probabilities into calibrated ones."""
        evidence = evidence_of(chances)
        logits = [
            sum(weight * value for weight, value in zip(weights, evidence, strict=True))
            for weights in (self.supports, self.refutes)
        ]
        highest = max(0.0, *logits)
        true, false, neither = (math.exp(logit - highest) for logit in (*logits, 0.0))
        share = _MOST / (true + false + neither)
        return SideChances(true * share, false * share)


class Calibration(Curves):
    """The calibration of one model with one prompt; `figures` are from cross-validation."""

    model: str
    identity: str
    prompt_version: str
    fitted_on: date
    data: str
    pairs: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class AnsweredPair:
    """A labelled pair and a model's label probabilities for it.

    Pairs of one `group` share a passage and stay in one fold.
    """

    label: Label
    group: str
    chances: Mapping[str, float]


UNCALIBRATED = Calibration(
    model="",
    identity="",
    prompt_version="",
    fitted_on=date.min,
    data="none",
    pairs=0,
    supports=(-0.7, 0.5, 1.0, 0.0),
    refutes=(-0.7, -0.5, 1.0, 0.0),
    threshold=0.6,
    figures=Figures(pairs=0, auc=0.5, bearing_auc=0.5, decided=0, precision=0, ece=1),
)
"""Leaves the ranking of a model as it is; readings with it never exceed "low"."""


def evidence_of(chances: Mapping[str, float]) -> Weights:
    """Return the features of the regression.

    They are 1, the log-odds of "true" against "false", those of both against "neither", and the
    size of the log-odds of "true" against "false".
    """
    true, false, neither = (max(_FLOOR, chances.get(label, 0.0)) for label in LABELS)
    side = math.log(true / false)
    return 1.0, side, math.log((true + false) / neither), abs(side)


def fit(answered: Sequence[AnsweredPair], *, least_precision: float = LEAST_PRECISION) -> Curves:
    """Fit the curves to labelled pairs.

    Assumes that labels are as frequent among pages as among the pairs. The threshold is the lowest
    with at least `least_precision` of right sides. Raises ValueError if a label is missing.
    """
    if {pair.label for pair in answered} != set(LABELS):
        raise ValueError("A calibration needs pairs of every label: true, false and neither.")
    supports, refutes = _weights(
        np.array([evidence_of(pair.chances) for pair in answered]),
        np.array([LABELS.index(pair.label) for pair in answered]),
    )
    curves = Curves(supports=supports, refutes=refutes, threshold=_MOST)
    graded = sorted(_graded(curves.judge(pair.chances), pair.label) for pair in answered)
    threshold, right = _MOST, 0
    for count, (chance, is_right) in enumerate(reversed(graded), start=1):
        right += is_right
        if right >= least_precision * count and chance > 1 / 2:
            threshold = chance
    return curves.model_copy(update={"threshold": math.floor(threshold * 1_000) / 1_000})


def _graded(judged: SideChances, label: Label) -> tuple[float, bool]:
    """Return the probability of the likelier side, and whether that side is right."""
    side, chance = judged.side
    return chance, label == ("true" if side == "supports" else "false")


def cross_validate(answered: Sequence[AnsweredPair]) -> Figures:
    """Return the figures on pairs outside the fit, in five folds of whole groups."""
    groups = sorted({pair.group for pair in answered})
    fold_of = {group: place % _FOLDS for place, group in enumerate(groups)}
    judged: list[tuple[AnsweredPair, SideChances, float]] = []
    for fold in range(_FOLDS):
        training = [pair for pair in answered if fold_of[pair.group] != fold]
        held_out = [pair for pair in answered if fold_of[pair.group] == fold]
        curves = fit(training)
        judged += [(pair, curves.judge(pair.chances), curves.threshold) for pair in held_out]
    return figures(judged)


def figures(judged: Sequence[tuple[AnsweredPair, SideChances, float]]) -> Figures:
    """Measure calibrated probabilities of answered pairs, each with the threshold of its fold."""
    sides = {
        label: [evidence_of(pair.chances)[1] for pair, _, _ in judged if pair.label == label]
        for label in LABELS
    }
    settled = [chances.bearing for pair, chances, _ in judged if pair.label != "neither"]
    silent = [chances.bearing for pair, chances, _ in judged if pair.label == "neither"]
    graded = [(*_graded(chances, pair.label), threshold) for pair, chances, threshold in judged]
    decided = [is_right for chance, is_right, threshold in graded if chance >= threshold]
    return Figures(
        pairs=len(judged),
        auc=auc(sides["true"], sides["false"]),
        bearing_auc=auc(settled, silent),
        decided=len(decided) / len(judged),
        precision=sum(decided) / max(1, len(decided)),
        ece=calibration_error([(chance, is_right) for chance, is_right, _ in graded]),
    )


def auc(higher: Iterable[float], lower: Iterable[float]) -> float:
    """Return how often a higher value exceeds a lower one; ties count half."""
    above, below = np.array([*higher]), np.array([*lower])
    if not above.size or not below.size:
        return 0.5
    differences = above[:, None] - below[None, :]
    return float(np.mean((differences > 0) + 0.5 * (differences == 0)))


def calibration_error(chances: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error of probabilities, in bins of equal size."""
    ordered = sorted(chances, key=lambda graded: graded[0])
    parts = np.array_split(np.array(ordered, dtype=float), min(bins, max(1, len(ordered))))
    return float(
        sum(abs(part[:, 0].mean() - part[:, 1].mean()) * len(part) for part in parts if len(part))
        / max(1, len(ordered))
    )


def _weights(evidence: Floats, labels: npt.NDArray[np.int_]) -> tuple[Weights, Weights]:
    """Fit a multinomial logistic regression by penalised likelihood."""
    from scipy.optimize import minimize  # noqa: PLC0415 - loads slowly, and only fits need it

    rows, width = np.arange(len(labels)), evidence.shape[1]

    def loss(flat: Floats) -> float:
        logits = np.column_stack([evidence @ flat.reshape(2, width).T, np.zeros(len(labels))])
        logits -= logits.max(axis=1, keepdims=True)
        chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return float(
            -chances[rows, labels].mean() + _SHRINKAGE * np.sum(flat.reshape(2, width)[:, 1:] ** 2)
        )

    fitted = minimize(loss, np.zeros(2 * width), method="BFGS").x.reshape(2, width)
    supports, refutes = (tuple(round(float(weight), 4) for weight in row) for row in fitted)
    return supports, refutes  # type: ignore[return-value]  # of the evidence's width


# --- Files --------------------------------------------------------------------------------------


def find_calibration(
    identity: str, prompt_version: str, folders: Sequence[Path] = (SHIPPED,)
) -> Calibration | None:
    """Return the calibration of a model with this prompt; None if there is none.

    `identity` is the SHA-256 of a model file, or the name of a model on a server. Earlier folders
    take precedence. An unreadable file counts as absent.
    """
    for path in (path for folder in folders for path in sorted(folder.glob("*.json"))):
        try:
            calibration = Calibration.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue
        if (calibration.identity, calibration.prompt_version) == (identity, prompt_version):
            return calibration
    return None
