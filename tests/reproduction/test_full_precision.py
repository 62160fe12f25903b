from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from benchmarks.reproduction.full_precision import FullPrecisionEmbedder, read_safetensors
from resources.errors import SetupError

Tensors = dict[str, npt.NDArray[np.float32]]
WORDS = ["[UNK]", "the", "earth", "goes", "around", "sun", "bats", "are", "not", "blind"]
WIDTH, INNER, HEADS = 8, 12, 2


def write_safetensors(file: Path, tensors: Tensors) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor).tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + body)


def weights() -> Tensors:
    random = np.random.default_rng(7)

    def some(*shape: int) -> npt.NDArray[np.float32]:
        return random.normal(scale=0.5, size=shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": some(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": some(16, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
    }
    shapes = {
        "attention.self.query": (WIDTH, WIDTH),
        "attention.self.key": (WIDTH, WIDTH),
        "attention.self.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    for name, shape in shapes.items():
        tensors[f"encoder.layer.0.{name}.weight"] = some(*shape)
        tensors[f"encoder.layer.0.{name}.bias"] = some(shape[0])
    for name in ("embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"):
        tensors[f"{name}.LayerNorm.weight"] = some(WIDTH)
        tensors[f"{name}.LayerNorm.bias"] = some(WIDTH)
    return tensors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole model of one layer, small enough to be computed word by word."""
    tokenizers = pytest.importorskip("tokenizers")
    write_safetensors(tmp_path / "model.safetensors", weights())
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    model = tokenizers.models.WordLevel(
        {word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def by_hand(text: str) -> list[float]:
    """The encoder in plain loops over words and heads, straight from its definition."""
    tensors = {name: value.astype(np.float64) for name, value in weights().items()}
    ids = [WORDS.index(word) for word in text.split()]

    def dense(vector: Any, name: str) -> Any:
        at = f"encoder.layer.0.{name}"
        return tensors[f"{at}.weight"] @ vector + tensors[f"{at}.bias"]

    def norm(vector: Any, name: str) -> Any:
        scaled = (vector - vector.mean()) / math.sqrt(vector.var() + 1e-12)
        return scaled * tensors[f"{name}.LayerNorm.weight"] + tensors[f"{name}.LayerNorm.bias"]

    states = [
        norm(
            tensors["embeddings.word_embeddings.weight"][word]
            + tensors["embeddings.position_embeddings.weight"][place]
            + tensors["embeddings.token_type_embeddings.weight"][0],
            "embeddings",
        )
        for place, word in enumerate(ids)
    ]
    parts = {
        name: [dense(state, f"attention.self.{name}") for state in states]
        for name in ("query", "key", "value")
    }
    size = WIDTH // HEADS
    out = []
    for place, state in enumerate(states):
        attended = []
        for head in range(HEADS):
            cut = slice(head * size, (head + 1) * size)
            scores = [
                float(parts["query"][place][cut] @ key[cut]) / math.sqrt(size)
                for key in parts["key"]
            ]
            shares = [math.exp(score) for score in scores]
            total = sum(shares)
            mixed = sum(
                share / total * value[cut]
                for share, value in zip(shares, parts["value"], strict=True)
            )
            attended.extend(list(np.asarray(mixed)))
        mid = norm(
            dense(np.array(attended), "attention.output.dense") + state,
            "encoder.layer.0.attention.output",
        )
        inner = dense(mid, "intermediate.dense")
        active = np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in inner])
        out.append(norm(dense(active, "output.dense") + mid, "encoder.layer.0.output"))
    mean = np.mean(out, axis=0)
    return [float(x) for x in mean / np.linalg.norm(mean)]


def test_the_encoder_computes_what_its_definition_says(folder: Path) -> None:
    texts = ["the earth goes around the sun", "bats are not blind"]
    found = FullPrecisionEmbedder(folder).embed(texts)
    for text, vector in zip(texts, found, strict=True):
        assert vector.tolist() == pytest.approx(by_hand(text), abs=1e-5)


def test_a_text_has_the_same_vector_in_any_company(folder: Path) -> None:
    embedder = FullPrecisionEmbedder(folder)
    texts = ["bats are blind", "the sun goes around", "bats are not blind"]
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert embedder.embed([text])[0].tolist() == pytest.approx(vector.tolist(), abs=1e-6)
    assert embedder.embed([]).shape == (0, WIDTH)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b'{"model_type": "gpt2"}'),
        ("config.json", b"{"),
        ("tokenizer.json", b"\xff"),
        ("tokenizer.json", b"{}"),
        ("model.safetensors", b"\xff" * 40),
        ("model.safetensors", b"short"),
    ],
)
def test_files_of_another_kind_are_refused_with_a_sentence(
    folder: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(SetupError, match="Name a folder with model"):
        FullPrecisionEmbedder(folder).embed(["bats are blind"])


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
        arrays(
            np.float32, array_shapes(max_dims=3, max_side=4), elements=st.floats(-9, 9, width=32)
        ),
        max_size=4,
    )
)
def test_tensors_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, tensors: Tensors
) -> None:
    file = tmp_path_factory.mktemp("tensors") / "model.safetensors"
    write_safetensors(file, tensors)
    found = read_safetensors(file)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert np.array_equal(found[name], tensor)
