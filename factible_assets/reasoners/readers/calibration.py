"""How a model's label probabilities become probabilities that mean something.

The curve from label probabilities to a stance, its fit, its figures by cross-validation, and its
file belong here. Asking a model does not (labels.py), nor do the pairs (pairs/).

A small model ranks well and calibrates badly: its likeliest label is biased towards "true". Two
logistic curves correct that (Platt scaling; Platt, 1999). One tells from the mass on "true" and
"false" against "neither" whether the source bears on the claim at all, the other from "true"
against "false" on which side it stands if it does. Four parameters are few enough to fit on some
hundred pairs.
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

Label = Literal["true", "false", "neither"]
LABELS: tuple[Label, ...] = ("true", "false", "neither")
SHIPPED = Path(__file__).with_name("calibrations")
"""Calibrations that come with the project."""
PROMPTS = Path(__file__).with_name("prompts")
"""Prompts of readers."""

LEAST_PRECISION = 0.8
"""Share of the sides taken that is to be right: what a reader of verdicts can live with."""
_FLOOR = 1e-6
"""Probability that a label has at least: what is not among the alternatives is unlikely."""
_SHRINKAGE = 0.001
"""Penalty on squared slopes: enough that pairs which one line parts do not make it endless."""
_MOST = 0.97
"""Probability that is never exceeded: a few hundred pairs cannot show more."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a source says of a claim: the probabilities sum to 1.

    `bearing`, the probability that it settles the claim at all, is that of the first two together.
    """

    supports: float
    refutes: float

    @property
    def bearing(self) -> float:
        """Return the probability that the source settles the claim."""
        return self.supports + self.refutes


class Figures(BaseModel, frozen=True, extra="forbid"):
    """How good a reader is on labelled pairs that its calibration has not seen.

    `auc` is that of "true" against "false", `bearing_auc` that of pairs that settle their claim
    against pairs that do not. `decided` is the share of all pairs in which a side is taken,
    `precision` the share of these in which it is right. `ece` is the expected calibration error of
    the probability of the side taken, in ten bins of equal size.
    """

    pairs: int
    auc: float
    bearing_auc: float
    decided: float
    precision: float
    ece: float


class Calibration(BaseModel, frozen=True, extra="forbid"):
    """The curves of one model with one prompt, and what they were fitted on.

    A source takes a side if the side's probability is at least `threshold`. `side` and `bearing`
    are slope and intercept of the two curves. `figures` are from cross-validation: see `Figures`.
    """

    model: str
    identity: str
    prompt_version: str
    fitted_on: date
    data: str
    pairs: int
    side: tuple[float, float]
    bearing: tuple[float, float]
    threshold: float
    figures: Figures

    def judge(self, chances: Mapping[str, float]) -> Judgement:
        """Turn label probabilities into calibrated ones."""
        side, bearing = evidence_of(chances)
        bears = _MOST * _sigmoid(self.bearing[0] * bearing + self.bearing[1])
        supports = _sigmoid(self.side[0] * side + self.side[1])
        return Judgement(bears * supports, bears * (1 - supports))


@dataclass(frozen=True, slots=True)
class Answered:
    """A labelled pair and a model's label probabilities for it.

    Pairs of one `group` share a passage: they are fitted on together or left out together.
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
    side=(1.0, 0.0),
    bearing=(1.0, 0.0),
    threshold=0.6,
    figures=Figures(pairs=0, auc=0.5, bearing_auc=0.5, decided=0, precision=0, ece=1),
)
"""Takes a model at its word. What is read so is never more than "low"."""


def evidence_of(chances: Mapping[str, float]) -> tuple[float, float]:
    """Return log-odds of "true" against "false", and of both against "neither"."""
    true, false, neither = (max(_FLOOR, chances.get(label, 0.0)) for label in LABELS)
    return math.log(true / false), math.log((true + false) / neither)


def fit(
    answered: Sequence[Answered], *, least_precision: float = LEAST_PRECISION
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Fit the two curves and the threshold; return side, bearing and threshold.

    Both sides weigh the same. Sources that settle their claim are taken to be as frequent among
    pages as they are among the pairs.

    The threshold is the lowest at which at least `least_precision` of what is decided is right.

    Raises:
        ValueError: A label is missing.
    """
    if {each.label for each in answered} != set(LABELS):
        raise ValueError("A calibration needs pairs of every label: true, false and neither.")
    points = np.array([evidence_of(each.chances) for each in answered])
    settles = np.array([each.label != "neither" for each in answered])
    is_true = np.array([each.label == "true" for each in answered])
    bearing = _logistic(points[:, 1], settles, balanced=False)
    side = _logistic(points[settles, 0], is_true[settles], balanced=True)
    curves = UNCALIBRATED.model_copy(update={"side": side, "bearing": bearing})
    judged = [curves.judge(each.chances) for each in answered]
    return side, bearing, _threshold(judged, [e.label for e in answered], least_precision)


def _threshold(judged: Sequence[Judgement], labels: Sequence[Label], least: float) -> float:
    tops = sorted(
        (
            (max(each.supports, each.refutes), _is_right(each, label))
            for each, label in zip(judged, labels, strict=True)
        ),
        reverse=True,
    )
    found, right = _MOST, 0
    for count, (top, is_right) in enumerate(tops, start=1):
        right += is_right
        if right >= least * count and top > 1 / 2:
            found = top
    return math.floor(found * 1_000) / 1_000


def _is_right(judged: Judgement, label: Label) -> bool:
    return label == ("true" if judged.supports >= judged.refutes else "false")


def cross_validate(
    answered: Sequence[Answered], *, least_precision: float = LEAST_PRECISION, folds: int = 5
) -> Figures:
    """Return the figures on pairs that were left out of the fit, whole groups at a time."""
    groups = sorted({each.group for each in answered})
    fold_of = {group: place % folds for place, group in enumerate(groups)}
    judged: list[tuple[Answered, Judgement, float]] = []
    for fold in range(folds):
        rest = [each for each in answered if fold_of[each.group] != fold]
        side, bearing, threshold = fit(rest, least_precision=least_precision)
        curves = UNCALIBRATED.model_copy(update={"side": side, "bearing": bearing})
        judged += [
            (each, curves.judge(each.chances), threshold)
            for each in answered
            if fold_of[each.group] == fold
        ]
    return figures(judged)


def figures(judged: Sequence[tuple[Answered, Judgement, float]]) -> Figures:
    """Measure judgements, each with the threshold that it was to pass."""
    sides = {
        label: [evidence_of(pair.chances)[0] for pair, _, _ in judged if pair.label == label]
        for label in LABELS
    }
    bears = [(each.bearing, pair.label != "neither") for pair, each, _ in judged]
    taken = [
        (max(each.supports, each.refutes), _is_right(each, pair.label))
        for pair, each, threshold in judged
        if max(each.supports, each.refutes) >= threshold
    ]
    tops = [
        (max(each.supports, each.refutes), _is_right(each, pair.label)) for pair, each, _ in judged
    ]
    return Figures(
        pairs=len(judged),
        auc=auc(sides["true"], sides["false"]),
        bearing_auc=auc([v for v, yes in bears if yes], [v for v, yes in bears if not yes]),
        decided=len(taken) / len(judged),
        precision=sum(right for _, right in taken) / max(1, len(taken)),
        ece=calibration_error(tops),
    )


def auc(higher: Iterable[float], lower: Iterable[float]) -> float:
    """Return how often a value of the first kind is above one of the second; ties count half."""
    above, below = np.array([*higher]), np.array([*lower])
    if not above.size or not below.size:
        return 0.5
    differences = above[:, None] - below[None, :]
    return float(np.mean((differences > 0) + 0.5 * (differences == 0)))


def calibration_error(told: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error of probabilities, in bins of equal size."""
    ordered = sorted(told, key=lambda each: each[0])
    cuts = np.array_split(np.array(ordered, dtype=float), min(bins, max(1, len(ordered))))
    return float(
        sum(abs(part[:, 0].mean() - part[:, 1].mean()) * len(part) for part in cuts if len(part))
        / max(1, len(ordered))
    )


def _logistic(
    values: Floats, is_one: npt.NDArray[np.bool_], *, balanced: bool
) -> tuple[float, float]:
    """Fit slope and intercept by penalised likelihood; `balanced`: both classes weigh the same."""
    from scipy.optimize import minimize  # noqa: PLC0415 - loads slowly, and only fits need it

    counts = np.where(is_one, is_one.sum(), (~is_one).sum()) * 2 if balanced else is_one.size
    signs = np.where(is_one, 1.0, -1.0)

    def loss(line: Floats) -> float:
        slope, intercept = line
        misses = np.logaddexp(0.0, -signs * (slope * values + intercept))
        return float(np.sum(misses / counts) + _SHRINKAGE * slope**2)

    found = minimize(loss, np.array([1.0, 0.0]), method="BFGS").x
    return float(round(found[0], 4)), float(round(found[1], 4))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(-500.0, min(500.0, value))))


# --- Files --------------------------------------------------------------------------------------


def find_calibration(
    identity: str, prompt_version: str, folders: Sequence[Path] = (SHIPPED,)
) -> Calibration | None:
    """Return the calibration of a model with this prompt; None if nobody fitted one.

    `identity` is the SHA-256 of a model file, or a server's model by its name. Folders are looked
    through in order. A file that cannot be read counts as absent: the model then is uncalibrated.
    """
    for path in (path for folder in folders for path in sorted(folder.glob("*.json"))):
        try:
            found = Calibration.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue
        if (found.identity, found.prompt_version) == (identity, prompt_version):
            return found
    return None
