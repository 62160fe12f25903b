"""Sentence-embedding models that a user names by path.

What belongs here: finding a model's files below a path. What does not: running it
(full_precision.py, reasoners/embedded/embedder.py), downloading it (never here).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from factible_assets.evaluation.full_precision import WEIGHTS, FullPrecisionEmbedder
from factible_assets.reasoners.embedded.embedder import (
    Embedder,
    EmbedderUnavailableError,
    ModelFiles,
    OnnxEmbedder,
)

_TOKENIZER: Final = "tokenizer.json"
_WEIGHTS: Final = ("model.onnx", "onnx/model.onnx")
"""Where folders of models keep their full-precision ONNX export."""


def sentence_model(path: Path) -> Embedder:
    """Return the model at a path: a file of weights, or a folder as model hubs lay it out.

    Of a folder that has both, the safetensors are taken: they are what the model was published as,
    while an ONNX export may be of any precision.

    Nothing is loaded yet; a model whose files turn out unusable says so on first use.

    Raises:
        EmbedderUnavailableError: if there are no weights or no tokenizer.
    """
    folder = path.parent if path.name == WEIGHTS else path
    if (folder / WEIGHTS).is_file():
        return FullPrecisionEmbedder(folder)
    weights = _weights(path)
    if weights is None:
        raise EmbedderUnavailableError(
            f"There is no sentence-embedding model at {path}. Name an ONNX file, or a folder that "
            f"contains {WEIGHTS}, {' or '.join(_WEIGHTS)}."
        )
    for folder in (weights.parent, weights.parent.parent):
        if (folder / _TOKENIZER).is_file():
            return OnnxEmbedder(ModelFiles(weights, folder / _TOKENIZER))
    raise EmbedderUnavailableError(
        f"The model {weights} has no {_TOKENIZER} beside it. Put the model's tokenizer there."
    )


def _weights(path: Path) -> Path | None:
    if path.is_file():
        return path
    return next((path / name for name in _WEIGHTS if (path / name).is_file()), None)
