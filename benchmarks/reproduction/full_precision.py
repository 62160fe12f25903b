"""Runs a BERT sentence-embedding model in full precision from safetensors, with numpy.

The published similarities came from full precision, and 8-bit weights move pairs across a
threshold. ONNX exports in full precision are rare. For a thousand short texts numpy is fast enough.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.embedder import Vectors, unit_rows
from resources.errors import SetupError

WEIGHTS: Final = "model.safetensors"
_CONFIG: Final = "config.json"
_TOKENIZER: Final = "tokenizer.json"
_MAX_TOKENS: Final = 256
_BATCH: Final = 32
_HEADER_BYTES: Final = 8
_MAX_HEADER: Final = 1 << 24
_TYPES: Final = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I64": np.int64}

Array = npt.NDArray[np.float32]


class FullPrecisionEmbedder:
    """all-MiniLM-L6-v2, or any BERT encoder with mean pooling of the last layer.

    The encoder of Devlin et al. (2019) with the pooling of Reimers and Gurevych (2019, section 3).
    Texts are cut after 256 tokens. The model loads on first use.
    """

    def __init__(self, folder: Path) -> None:
        """Take a folder with model.safetensors, config.json and tokenizer.json."""
        self._folder = folder
        self._loaded: tuple[_Encoder, Any] | None = None

    @property
    def name(self) -> str:
        return f"{self._folder.resolve().name}, full precision"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape [len(texts), dimensions of the model].

        Raises:
            SetupError: The files are missing or of another kind of model.
        """
        if self._loaded is None:
            self._loaded = _load(self._folder)
        encoder, tokenizer = self._loaded
        ids = [tokenizer.encode(text).ids for text in texts]
        vectors = np.zeros((len(ids), encoder.width), dtype=np.float32)
        # A batch holds texts of one length, so that nothing needs padding.
        for length in sorted({len(each) for each in ids}):
            where = [index for index, each in enumerate(ids) if len(each) == length]
            for start in range(0, len(where), _BATCH):
                batch = where[start : start + _BATCH]
                vectors[batch] = encoder.embed([ids[index] for index in batch])
        return vectors


def _load(folder: Path) -> tuple[_Encoder, Any]:
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    try:
        config = json.loads((folder / _CONFIG).read_bytes())
        encoder = _Encoder(read_safetensors(folder / WEIGHTS), config)
        text = (folder / _TOKENIZER).read_text(encoding="utf-8")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(folder, error) from error
    try:
        tokenizer = Tokenizer.from_str(text)
    # The library raises bare Exception for a file that is no tokenizer.
    except Exception as error:
        raise _unusable(folder, error) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=_MAX_TOKENS)
    return encoder, tokenizer


def _unusable(folder: Path, error: Exception) -> SetupError:
    return SetupError(
        f"The model in {folder} cannot be used ({error}). Name a folder with {WEIGHTS}, {_CONFIG} "
        f"and {_TOKENIZER} of a BERT sentence-embedding model."
    )


def read_safetensors(file: Path) -> dict[str, Array]:
    """Read the tensors of a safetensors file as 32-bit floats.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has another format.
    """
    raw = file.read_bytes()
    size = int.from_bytes(raw[:_HEADER_BYTES], "little")
    if len(raw) < _HEADER_BYTES or size > min(len(raw) - _HEADER_BYTES, _MAX_HEADER):
        raise ValueError(f"{file.name} is not in the safetensors format")
    header = json.loads(raw[_HEADER_BYTES : _HEADER_BYTES + size])
    body = memoryview(raw)[_HEADER_BYTES + size :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _TYPES:
            raise ValueError(f"{file.name} holds numbers of the type {entry['dtype']}")
        start, end = entry["data_offsets"]
        flat = np.frombuffer(body[start:end], dtype=_TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).astype(np.float32)
    return tensors


class _Encoder:
    """The arithmetic of a BERT encoder over texts of one length, without padding."""

    def __init__(self, tensors: Mapping[str, Array], config: Mapping[str, Any]) -> None:
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ValueError(f"it is a model of the type {config.get('model_type')}, not BERT")
        self._weights = {name.removeprefix("bert."): value for name, value in tensors.items()}
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        needed = ["embeddings.word_embeddings", "embeddings.position_embeddings"]
        needed += [f"encoder.layer.{layer}.output.dense" for layer in range(self._layers)]
        for name in needed:
            _ = self._weights[f"{name}.weight"]

    @property
    def width(self) -> int:
        return int(self._weights["embeddings.word_embeddings.weight"].shape[1])

    def embed(self, ids: Sequence[Sequence[int]]) -> Array:
        """Return the mean of the last layer over all tokens, scaled to length 1, for each text."""
        weights = self._weights
        tokens = np.asarray(ids, dtype=np.int64)
        states = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normalised(states, "embeddings.LayerNorm")
        for layer in range(self._layers):
            states = self._layer(states, f"encoder.layer.{layer}.")
        return unit_rows(states.mean(axis=1))

    def _layer(self, states: Array, at: str) -> Array:
        from scipy.special import erf  # noqa: PLC0415 - slow to import

        attended = self._linear(self._attention(states, at), f"{at}attention.output.dense")
        states = self._normalised(attended + states, f"{at}attention.output.LayerNorm")
        inner = self._linear(states, f"{at}intermediate.dense")
        activated = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        out = self._linear(activated, f"{at}output.dense")
        return self._normalised(out + states, f"{at}output.LayerNorm")

    def _attention(self, states: Array, at: str) -> Array:
        texts, tokens, width = states.shape
        query, key, value = (
            self._linear(states, f"{at}attention.self.{part}")
            .reshape(texts, tokens, self._heads, -1)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // self._heads)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return np.asarray((shares @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, width))

    def _linear(self, states: Array, name: str) -> Array:
        return np.asarray(
            states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        )

    def _normalised(self, states: Array, name: str) -> Array:
        mean = states.mean(axis=-1, keepdims=True)
        scaled = (states - mean) / np.sqrt(states.var(axis=-1, keepdims=True) + self._epsilon)
        return np.asarray(scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])
