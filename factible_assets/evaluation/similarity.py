"""How alike two claims are said to be: three measures behind one protocol.

What belongs here: the measures, their names and thresholds. What does not: which claims are then
matched (matching.py), running embedding models (reasoners/embedded/embedder.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import (
    Embedder,
    EmbedderUnavailableError,
    ModelFiles,
    OnnxEmbedder,
    TfidfEmbedder,
    minilm,
)

SimilarityName = Literal["embeddings", "tf-idf", "token-set"]

_TOKENIZER: Final = "tokenizer.json"
_ONNX: Final = ("model.onnx", "onnx/model.onnx")
"""Where folders of models keep their full-precision ONNX export."""

Matrix = npt.NDArray[np.float64]
"""Similarities, shape [system claims, gold claims]; 1 is the same."""


class Similarity(Protocol):
    """Tells how alike the claims of two lists are."""

    @property
    def name(self) -> str:
        """The measure and its model, as results name it."""
        ...

    @property
    def threshold(self) -> float:
        """Above which two claims are held to say the same."""
        ...

    def matrix(self, system: Sequence[str], gold: Sequence[str]) -> Matrix:
        """Return the similarity of each pair, shape [len(system), len(gold)]."""
        ...


class EmbeddingSimilarity:
    """Cosine of sentence embeddings; the published matcher's measure with all-MiniLM-L6-v2.

    Threshold 0.70 (Factible, section 2.1.3). Each text is embedded once in the life of an instance.
    """

    threshold = 0.70

    def __init__(self, embedder: Embedder) -> None:
        """Take an embedder whose vectors are comparable across calls."""
        self._embedder = embedder
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """Return the measure and the model's name."""
        return f"cosine of {self._embedder.name}"

    def matrix(self, system: Sequence[str], gold: Sequence[str]) -> Matrix:
        """Return cosines, in [-1, 1]."""
        if not system or not gold:
            return np.zeros((len(system), len(gold)))
        self.remember([*system, *gold])
        rows = np.stack([self._vectors[text] for text in system]).astype(np.float64)
        columns = np.stack([self._vectors[text] for text in gold]).astype(np.float64)
        return np.asarray(rows @ columns.T, dtype=np.float64)

    def remember(self, texts: Sequence[str]) -> None:
        """Embed texts ahead of time, in one go."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        if missing:
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))


class TfidfSimilarity:
    """Cosine of TF-IDF vectors over stems, with rarity counted among both lists' claims.

    At its threshold of 0.22 it matches, or leaves, the same system claims as the published matcher
    in 87 % of 597 cases of published runs (greedy; 90 % optimal); the rest are matches of its own,
    so that precision comes out at .867 where MiniLM says .733 (the engine's claims, 18 videos).
    """

    threshold = 0.22
    name = "cosine of tf-idf"

    def matrix(self, system: Sequence[str], gold: Sequence[str]) -> Matrix:
        """Return cosines, in [0, 1]."""
        vectors = TfidfEmbedder().embed([*system, *gold]).astype(np.float64)
        return np.asarray(vectors[: len(system)] @ vectors[len(system) :].T, dtype=np.float64)


class TokenSetSimilarity:
    """rapidfuzz's token-set ratio of the lower-cased words, as a fraction.

    At its threshold of 0.65 it matches, or leaves, the same system claims as the published matcher
    in 90 % of 597 cases of published runs (greedy; 89 % optimal); it too inflates precision: .856
    where MiniLM says .733.
    """

    threshold = 0.65
    name = "rapidfuzz token-set ratio"

    def matrix(self, system: Sequence[str], gold: Sequence[str]) -> Matrix:
        """Return ratios, in [0, 1]."""
        from rapidfuzz import fuzz, process, utils  # noqa: PLC0415 - only this measure needs it

        if not system or not gold:
            return np.zeros((len(system), len(gold)))
        scores = process.cdist(
            system, gold, scorer=fuzz.token_set_ratio, processor=utils.default_process
        )
        return np.asarray(scores, dtype=np.float64) / 100


def chosen_similarity(name: SimilarityName, model: Path | None = None) -> Similarity:
    """Return a measure by name; `model` is the path of other sentence embeddings than MiniLM.

    Raises:
        EmbedderUnavailableError: if there is no model at the path.
    """
    if name == "tf-idf":
        return TfidfSimilarity()
    if name == "token-set":
        return TokenSetSimilarity()
    return EmbeddingSimilarity(minilm() if model is None else sentence_model(model))


def sentence_model(path: Path) -> OnnxEmbedder:
    """Return the ONNX model at a path: a file, or a folder as model hubs lay it out.

    Nothing is loaded yet; a model whose files turn out unusable says so on first use.

    Raises:
        EmbedderUnavailableError: if there are no weights or no tokenizer.
    """
    files = [path] if path.is_file() else [path / name for name in _ONNX]
    weights = next((file for file in files if file.is_file()), None)
    if weights is None:
        raise EmbedderUnavailableError(
            f"There is no sentence-embedding model at {path}. Name an ONNX file, or a folder that "
            f"contains model.safetensors, {' or '.join(_ONNX)}."
        )
    for folder in (weights.parent, weights.parent.parent):
        if (folder / _TOKENIZER).is_file():
            return OnnxEmbedder(ModelFiles(weights, folder / _TOKENIZER))
    raise EmbedderUnavailableError(
        f"The model {weights} has no {_TOKENIZER} beside it. Put the model's tokenizer there."
    )
