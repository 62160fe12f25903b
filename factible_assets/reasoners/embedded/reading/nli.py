"""A natural-language-inference cross-encoder in ONNX, by path.

What belongs here: loading one, and turning pairs of premise and hypothesis into probabilities.
What does not: which hypotheses are asked about a claim (inference.py), fetching a model
(resources/models). Nothing is ever downloaded here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.reading.inference import Inference

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_WEIGHTS, _TOKENIZER, _CONFIG = "model.onnx", "tokenizer.json", "config.json"
_MAX_TOKENS = 512
_BATCH = 8
_REMEDY = (
    "Fetch one with `factible models pull nli`, or name the folder of a cross-encoder that has "
    f"{_WEIGHTS}, {_TOKENIZER} and {_CONFIG}."
)


class InferenceUnavailableError(Exception):
    """The packages or files of an inference model are missing or unusable."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of a model's outputs means what; a model with two labels knows no contradiction."""

    entailment: int
    neutral: int | None
    contradiction: int | None
    count: int


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: InferenceSession
    tokenizer: Tokenizer
    labels: Labels
    inputs: frozenset[str]


class OnnxInference:
    """The `InferenceModel` of a folder with model.onnx, tokenizer.json and config.json.

    Meant for cross-encoders of the DeBERTa family that were trained on NLI; any sequence classifier
    for pairs works whose config.json names its labels. The order of the labels is read from there,
    since it differs from model to model. A model that tells only entailment from its absence gives
    the rest as neutral. The model is loaded on first use, once, and may be shared between threads.
    """

    def __init__(self, folder: Path, *, threads: int = 1, max_tokens: int = _MAX_TOKENS) -> None:
        """Remember where the model is.

        Args:
            folder: Has model.onnx, tokenizer.json and config.json.
            threads: For one inference.
            max_tokens: Of premise and hypothesis together; the premise is cut, never the
                hypothesis.
        """
        self._folder = folder
        self._threads = threads
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

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
        loaded = self._load()
        # Pairs of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(pairs)), key=lambda index: sum(map(len, pairs[index])))
        found: dict[int, Inference] = {}
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            scores = _run(loaded, [pairs[place] for place in places])
            found |= {
                place: _inference(row, loaded.labels)
                for place, row in zip(places, scores, strict=True)
            }
        return [found[place] for place in range(len(pairs))]

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._folder, self._threads, self._max_tokens)
            return self._loaded


def read_labels(config: object) -> Labels:
    """Read a config.json's `id2label`.

    Raises:
        ValueError: It does not name entailment, or not in a form that is known.
    """
    named = config.get("id2label") if isinstance(config, dict) else None
    if not isinstance(named, dict) or not named:
        raise ValueError(f"its {_CONFIG} names no labels (id2label)")
    places = {str(label).strip().lower(): int(place) for place, label in named.items()}
    if "entailment" not in places or sorted(places.values()) != list(range(len(places))):
        raise ValueError(f"its {_CONFIG} names the labels {sorted(places)}, not entailment")
    return Labels(
        entailment=places["entailment"],
        neutral=places.get("neutral"),
        contradiction=places.get("contradiction"),
        count=len(places),
    )


def _open(folder: Path, threads: int, max_tokens: int) -> _Loaded:
    """Load a model; the heavy packages are imported only here."""
    import onnxruntime  # noqa: PLC0415 - slow to import
    import tokenizers  # noqa: PLC0415 - as above

    for name in (_WEIGHTS, _TOKENIZER, _CONFIG):
        if not (folder / name).is_file():
            raise InferenceUnavailableError(
                f"The inference model's file {folder / name} does not exist. {_REMEDY}"
            )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        labels = read_labels(json.loads((folder / _CONFIG).read_bytes()))
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        session = onnxruntime.InferenceSession(
            str(folder / _WEIGHTS), sess_options=options, providers=["CPUExecutionProvider"]
        )
    # Both libraries raise bare Exception or private types for a file that is not a model.
    except Exception as error:
        raise InferenceUnavailableError(
            f"The inference model in {folder} cannot be used: {error}. {_REMEDY}"
        ) from error
    tokenizer.enable_truncation(max_length=max_tokens, strategy="only_first")
    tokenizer.enable_padding(**_padding(tokenizer))
    return _Loaded(
        session, tokenizer, labels, frozenset(each.name for each in session.get_inputs())
    )


def _padding(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the padding token under whichever name the model's tokenizer has it."""
    for token in ("[PAD]", "<pad>"):
        place = tokenizer.token_to_id(token)
        if place is not None:
            return {"pad_id": place, "pad_token": token}
    return {}


def _run(loaded: _Loaded, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
    """Return the probabilities of one batch, shape [len(pairs), labels]."""
    encodings = loaded.tokenizer.encode_batch(list(pairs))
    feeds = {
        "input_ids": np.array([each.ids for each in encodings], dtype=np.int64),
        "attention_mask": np.array([each.attention_mask for each in encodings], dtype=np.int64),
        "token_type_ids": np.array([each.type_ids for each in encodings], dtype=np.int64),
    }
    wanted = {name: value for name, value in feeds.items() if name in loaded.inputs}
    logits = np.asarray(loaded.session.run(None, wanted)[0], dtype=np.float64)
    if logits.shape != (len(pairs), loaded.labels.count):
        raise InferenceUnavailableError(
            f"The inference model gives {logits.shape[-1]} scores, and its {_CONFIG} names "
            f"{loaded.labels.count} labels. {_REMEDY}"
        )
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def _inference(row: npt.NDArray[np.float64], labels: Labels) -> Inference:
    entailment = float(row[labels.entailment])
    contradiction = float(row[labels.contradiction]) if labels.contradiction is not None else 0.0
    # Whatever the other labels are called, they are neither.
    return Inference(entailment, max(0.0, 1.0 - entailment - contradiction), contradiction)
