"""Reads a page with a cross-encoder, which scores each passage against the claim and its denial.

`resources/models` downloads the models.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import open_onnx, run_onnx
from factible_assets.reasoners.readers.base import PageReading
from factible_assets.reasoners.readers.passages import Selection
from factible_assets.records.tables import Stance
from resources.errors import SetupError

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
    """A cross-encoder for natural-language inference."""

    def infer(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """Return the probabilities for each pair of premise and hypothesis."""
        ...


_LEANING = 0.3
"""Difference between claim and denial below which a passage takes no side."""
_HIGHEST = 0.95
"""Highest confidence: the score of a model is no proof."""
_BALANCED, _AGAINST = 0.9, 0.4
"""Share of the stronger side from which a page is mixed, and part of the weaker side that reduces
the confidence."""


def denial_of(claim: str) -> str:
    """Word the denial of a claim as a hypothesis."""
    first, _, rest = claim.rstrip(".!? ").partition(" ")
    keeps_capital = first == "I" or first[1:] != first[1:].lower()
    start = first if keeps_capital else first[:1].lower() + first[1:]
    return f"There is no evidence that {f'{start} {rest}'.strip()}."


def leaning_of(claim: Inference, denial: Inference) -> float:
    """Turn the scores of a claim and of its denial into a leaning in [-1, 1].

    A bias of the model towards one answer cancels out. A DeBERTa-class model reached an AUC of .84
    to .87.
    """
    for_claim = claim.entailment - claim.contradiction
    return (for_claim - (denial.entailment - denial.contradiction)) / 2


class EntailmentReader:
    """The `StanceReader` that scores each passage against the claim and against its denial."""

    def __init__(self, model: InferenceModel) -> None:
        self._model = model

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        """Return the side of the strongest passage; sides of about equal strength are "mixed".

        The model sees each passage without the title. Raises SetupError if the model
        cannot be loaded.
        """
        return await asyncio.to_thread(self._read, claim, selection)

    def _read(self, claim: str, selection: Selection) -> PageReading:
        in_page = bool(selection.passages)
        passages = selection.passages or selection.snippet
        hypotheses = (claim, denial_of(claim))
        pairs = [(passage.text, hypothesis) for passage in passages for hypothesis in hypotheses]
        scores = iter(self._model.infer(pairs) if pairs else ())
        leanings = [(leaning_of(next(scores), next(scores)), passage) for passage in passages]
        strong = [(leaning, passage) for leaning, passage in leanings if abs(leaning) >= _LEANING]
        if not strong:
            return PageReading()
        strong.sort(key=lambda pair: -abs(pair[0]))
        strongest = strong[0][0]
        against = max(
            (abs(leaning) for leaning, _ in strong if leaning * strongest < 0), default=0.0
        )
        side: Stance = "supports" if strongest > 0 else "refutes"
        strength = abs(strongest) - _AGAINST * against
        if against >= _BALANCED * abs(strongest):
            side, strength = "mixed", _AGAINST * (abs(strongest) + against)
        else:
            strong = [pair for pair in strong if pair[0] * strongest > 0]
        quotes = tuple((passage.start, passage.end) for _, passage in strong) if in_page else ()
        confidence = round(min(_HIGHEST, strength), 4)
        return PageReading(side, confidence, "inference", quotes, in_page=in_page)


# --- A cross-encoder in ONNX --------------------------------------------------------------------

_WEIGHTS, _TOKENIZER, _CONFIG = "model.onnx", "tokenizer.json", "config.json"
_MAX_TOKENS = 512
_BATCH = 8
_REMEDY = (
    "Fetch one with `factible models pull nli`, or name the folder of a cross-encoder that has "
    f"{_WEIGHTS}, {_TOKENIZER} and {_CONFIG}."
)


class OnnxInference:
    """The `InferenceModel` of a folder with model.onnx, tokenizer.json and config.json.

    Any sequence classifier for pairs works if its config.json names the labels in their order.
    Without a label for contradiction, everything but entailment is neutral. Premise and hypothesis
    together have at most 512 tokens; only the premise is cut. The model loads on first use, and
    threads may share it.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._open = lru_cache(maxsize=1)(partial(_open, folder))

    def infer(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """Return the probabilities for each pair of premise and hypothesis.

        Raises SetupError if the model cannot be loaded.
        """
        with self._lock:
            session, tokenizer, labels = self._open()
        # Pairs of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(pairs)), key=lambda index: sum(map(len, pairs[index])))
        inferences: dict[int, Inference] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            scores = _run(session, tokenizer, [pairs[index] for index in batch])
            if scores.shape[-1] != len(labels):
                raise SetupError(
                    f"The inference model gives {scores.shape[-1]} scores, and its {_CONFIG} names "
                    f"{len(labels)} labels. {_REMEDY}"
                )
            for index, row in zip(batch, scores.tolist(), strict=True):
                chances = dict(zip(labels, row, strict=True))
                entails, contradicts = chances["entailment"], chances.get("contradiction", 0.0)
                neutral = max(0.0, 1.0 - entails - contradicts)
                inferences[index] = Inference(entails, neutral, contradicts)
        return [inferences[index] for index in range(len(pairs))]


def read_labels(config: object) -> tuple[str, ...]:
    """List the labels of a model's outputs, in order, from `id2label` of its config.json.

    Raises ValueError if the form is unknown or no label is entailment.
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
    for name in (_WEIGHTS, _TOKENIZER, _CONFIG):
        if not (folder / name).is_file():
            raise SetupError(
                f"The inference model's file {folder / name} does not exist. {_REMEDY}"
            )
    try:
        labels = read_labels(json.loads((folder / _CONFIG).read_bytes()))
        session, tokenizer = open_onnx(folder / _WEIGHTS, folder / _TOKENIZER)
    # Both libraries raise bare Exception or private types for a file that is not a model.
    except Exception as error:
        raise SetupError(
            f"The inference model in {folder} cannot be used: {error}. {_REMEDY}"
        ) from error
    tokenizer.enable_truncation(max_length=_MAX_TOKENS, strategy="only_first")
    # The name of the padding token differs by the family of the model.
    padding = "<pad>" if tokenizer.token_to_id("[PAD]") is None else "[PAD]"
    tokenizer.enable_padding(pad_token=padding, pad_id=tokenizer.token_to_id(padding) or 0)
    return session, tokenizer, labels


def _run(
    session: InferenceSession, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]
) -> npt.NDArray[np.float64]:
    """Return the probabilities of one batch, shape [len(pairs), labels]."""
    logits = run_onnx(session, tokenizer.encode_batch(list(pairs))).astype(np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
