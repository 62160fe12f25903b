"""Inference models: their scores for a claim and its denial become a stance.

What belongs here: the protocol of a natural-language-inference cross-encoder, how its scores are
read, and the ONNX cross-encoder of a folder. What does not: fetching a model (resources/models);
nothing is ever downloaded here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import open_session
from factible_assets.reasoners.readers.passages import Selection
from factible_assets.reasoners.readers.base import Reading, uncapitalised
from factible_assets.records import Stance

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Inference:
    """A cross-encoder's probabilities for one premise and one hypothesis; they sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


class InferenceModel(Protocol):
    """A natural-language-inference cross-encoder; its name is for metadata."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def infer(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """Return the probabilities for each pair of premise and hypothesis."""
        ...


_LEANING = 0.3
"""Difference between claim and denial below which an inference model's passage is unclear."""
_HIGHEST = 0.95
"""Confidence that is never exceeded: wording is no proof."""
_BALANCED, _AGAINST = 0.9, 0.4
"""Share of the stronger side from which a page is mixed, and what the weaker one takes off it."""


def denial_of(claim: str) -> str:
    """Word the denial of a claim as a hypothesis."""
    return f"There is no evidence that {uncapitalised(claim.rstrip('.!? '))}."


def leaning_of(claim: Inference, denial: Inference) -> float:
    """Turn the scores of a claim and of its denial into a leaning in [-1, 1].

    A passage must choose between the two, so that a model's bias towards one answer cancels. With a
    DeBERTa-class model this reached an AUC of .84 to .87.
    """
    for_claim = claim.entailment - claim.contradiction
    return (for_claim - (denial.entailment - denial.contradiction)) / 2


class InferenceStance:
    """A stance model made of an inference model: each passage against the claim and its denial."""

    def __init__(self, model: InferenceModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Return the inference model's name."""
        return self._model.name

    def read(self, claim: str, selection: Selection, *, title: str) -> PageStance:
        """Return what a page says. A premise stands for itself, without its title.

        The strongest passage of each side counts; sides about equally strong make a page mixed.
        """
        passages = selection.passages
        hypotheses = (claim, denial_of(claim))
        pairs = [(each.text, hypothesis) for each in passages for hypothesis in hypotheses]
        scores = iter(self._model.infer(pairs) if pairs else ())
        leanings = [leaning_of(next(scores), next(scores)) for _ in passages]
        told = sorted(
            (number for number, leaning in enumerate(leanings) if abs(leaning) >= _LEANING),
            key=lambda number: -abs(leanings[number]),
        )
        if not told:
            return PageStance()
        first = leanings[told[0]]
        against = max((abs(leanings[n]) for n in told if leanings[n] * first < 0), default=0.0)
        side: Stance = "supports" if first > 0 else "refutes"
        strength = abs(first) - _AGAINST * against
        if against >= _BALANCED * abs(first):
            side, strength = "mixed", _AGAINST * (abs(first) + against)
        else:
            told = [number for number in told if leanings[number] * first > 0]
        quotes = tuple((place, (passages[place].start, passages[place].end)) for place in told)
        return PageStance(side, round(min(_HIGHEST, strength), 4), "inference", quotes)


# --- A cross-encoder in ONNX --------------------------------------------------------------------

_WEIGHTS, _TOKENIZER, _CONFIG = "model.onnx", "tokenizer.json", "config.json"
_MAX_TOKENS = 512
_BATCH = 8
_REMEDY = (
    "Fetch one with `factible models pull nli`, or name the folder of a cross-encoder that has "
    f"{_WEIGHTS}, {_TOKENIZER} and {_CONFIG}."
)


class InferenceUnavailableError(Exception):
    """The packages or files of an inference model are missing or unusable."""


class OnnxInference:
    """The `InferenceModel` of a folder with model.onnx, tokenizer.json and config.json.

    Any sequence classifier for pairs works whose config.json names its labels, which also gives
    their order. A model that tells only entailment from its absence gives the rest as neutral.
    Premise and hypothesis together are at most 512 tokens: the premise is cut, never the
    hypothesis. The model is loaded on first use, once, and may be shared between threads.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._open = lru_cache(maxsize=1)(partial(_open, folder))

    @property
    def name(self) -> str:
        """Return the name of the model that config.json says, else that of the folder."""
        try:
            said = json.loads((self._folder / _CONFIG).read_bytes()).get("_name_or_path")
        except (OSError, ValueError, AttributeError):
            said = None
        return said if isinstance(said, str) and said else self._folder.name

    def infer(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """Return the probabilities for each pair of premise and hypothesis.

        Raises:
            InferenceUnavailableError: The model cannot be loaded.
        """
        with self._lock:
            session, tokenizer, labels = self._open()
        # Pairs of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(pairs)), key=lambda index: sum(map(len, pairs[index])))
        found: dict[int, Inference] = {}
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            scores = _run(session, tokenizer, [pairs[place] for place in places])
            if scores.shape[-1] != len(labels):
                raise InferenceUnavailableError(
                    f"The inference model gives {scores.shape[-1]} scores, and its {_CONFIG} names "
                    f"{len(labels)} labels. {_REMEDY}"
                )
            for place, row in zip(places, scores.tolist(), strict=True):
                told = dict(zip(labels, row, strict=True))
                entails, contradicts = told["entailment"], told.get("contradiction", 0.0)
                # Whatever the other labels are called, they are neither.
                neither = max(0.0, 1.0 - entails - contradicts)
                found[place] = Inference(entails, neither, contradicts)
        return [found[place] for place in range(len(pairs))]


def read_labels(config: object) -> tuple[str, ...]:
    """List what a model's outputs mean, in their order, from a config.json's `id2label`.

    Raises:
        ValueError: It does not name entailment, or not in a form that is known.
    """
    named = config.get("id2label") if isinstance(config, dict) else None
    if not isinstance(named, dict) or not named:
        raise ValueError(f"its {_CONFIG} names no labels (id2label)")
    places = {int(place): str(label).strip().lower() for place, label in named.items()}
    if "entailment" not in places.values() or sorted(places) != list(range(len(places))):
        raise ValueError(
            f"its {_CONFIG} names the labels {sorted(places.values())}, not entailment"
        )
    return tuple(places[place] for place in sorted(places))


def _open(folder: Path) -> tuple[InferenceSession, Tokenizer, tuple[str, ...]]:
    """Load a model; the heavy packages are imported only here."""
    import tokenizers  # noqa: PLC0415 - slow to import

    for name in (_WEIGHTS, _TOKENIZER, _CONFIG):
        if not (folder / name).is_file():
            raise InferenceUnavailableError(
                f"The inference model's file {folder / name} does not exist. {_REMEDY}"
            )
    try:
        labels = read_labels(json.loads((folder / _CONFIG).read_bytes()))
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        session = open_session(str(folder / _WEIGHTS))
    # Both libraries raise bare Exception or private types for a file that is not a model.
    except Exception as error:
        raise InferenceUnavailableError(
            f"The inference model in {folder} cannot be used: {error}. {_REMEDY}"
        ) from error
    tokenizer.enable_truncation(max_length=_MAX_TOKENS, strategy="only_first")
    # The name of the padding token differs by the family of the model.
    names = [each for each in ("[PAD]", "<pad>") if tokenizer.token_to_id(each) is not None]
    padding: dict[str, Any] = (
        {"pad_token": names[0], "pad_id": tokenizer.token_to_id(names[0])} if names else {}
    )
    tokenizer.enable_padding(**padding)
    return session, tokenizer, labels


_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def _run(
    session: InferenceSession, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]
) -> npt.NDArray[np.float64]:
    """Return the probabilities of one batch, shape [len(pairs), labels]."""
    encodings = tokenizer.encode_batch(list(pairs))
    feeds = {
        each.name: np.array([getattr(one, _INPUTS[each.name]) for one in encodings], dtype=np.int64)
        for each in session.get_inputs()
        if each.name in _INPUTS
    }
    logits = np.asarray(session.run(None, feeds)[0], dtype=np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
