"""A cross-encoder in ONNX, made here: small enough to reckon by hand, real enough to be loaded.

Its weights are one row of three scores per token; a pair's logits are the sum over its tokens. The
file is written in ONNX's protobuf wire format (onnx.proto3) without the onnx package.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from factible_assets.reasoners.readers.entailment import (
    EntailmentReader,
    Inference,
    OnnxInference,
    read_labels,
)
from factible_assets.reasoners.readers.page_text import PageSentence
from factible_assets.reasoners.readers.passages import Passage, Selection
from resources.errors import SetupError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "no", "maybe", "there", "evidence"]
THREE = {"0": "contradiction", "1": "entailment", "2": "neutral"}
SCORES = {"yes": (0, 3, 0), "no": (3, 0, 0), "maybe": (0, 0, 3)}


# --- Writing a model ----------------------------------------------------------------------------


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def block(place: int, *parts: bytes | str) -> bytes:
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(place << 3 | 2) + varint(len(content)) + content


FLOAT, INT64 = 1, 7


def tensor(name: str, kind: int, shape: Sequence[int], raw: bytes) -> bytes:
    dims = b"".join(number(1, size) for size in shape)
    return dims + number(2, kind) + block(8, name) + block(9, raw)


def value_info(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dims = [block(1, block(2, d) if isinstance(d, str) else number(1, d)) for d in shape]
    return block(1, name) + block(2, block(1, number(1, kind), block(2, *dims)))


def node(op: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    named = [block(1, name) for name in inputs]
    return b"".join(
        [*named, block(2, output), block(4, op), *(block(5, each) for each in attributes)]
    )


def whole(name: str, value: int) -> bytes:
    return block(1, name) + number(3, value) + number(20, 2)


def classifier(labels: int, *, with_types: bool) -> bytes:
    """Return a model: logits = sum over unmasked tokens of table[token]."""
    table = np.zeros((len(WORDS), labels), dtype=np.float32)
    for word, scores in SCORES.items():
        table[WORDS.index(word)] = scores[:labels]
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if with_types else [])]
    nodes = [
        node("Gather", ["table", "input_ids"], "rows", whole("axis", 0)),
        node("Cast", ["attention_mask"], "mask", whole("to", FLOAT)),
        node("Unsqueeze", ["mask", "last"], "wide"),
        node("Mul", ["rows", "wide"], "kept"),
        node("ReduceSum", ["kept", "middle"], "logits", whole("keepdims", 0)),
    ]
    graph = b"".join(
        [
            *(block(1, each) for each in nodes),
            block(2, "tiny"),
            block(5, tensor("table", FLOAT, table.shape, table.tobytes())),
            block(5, tensor("last", INT64, [1], struct.pack("<q", 2))),
            block(5, tensor("middle", INT64, [1], struct.pack("<q", 1))),
            *(block(11, value_info(name, INT64, ["batch", "length"])) for name in inputs),
            block(12, value_info("logits", FLOAT, ["batch", labels])),
        ]
    )
    return number(1, 8) + block(7, graph) + block(8, number(2, 13))


def write_tokenizer(path: Path) -> None:
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(path))


def make(
    folder: Path, labels: dict[str, str] = THREE, *, outputs: int = 3, with_types: bool = False
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(classifier(outputs, with_types=with_types))
    write_tokenizer(folder / "tokenizer.json")
    config = {"id2label": labels}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "nli")


def softmax(*logits: float) -> list[float]:
    powers = np.exp(np.array(logits, dtype=np.float64))
    return [float(each) for each in powers / powers.sum()]


# --- Inferring ----------------------------------------------------------------------------------


def test_probabilities_are_those_of_the_model_under_the_names_of_its_labels(folder: Path) -> None:
    contradiction, entailment, neutral = softmax(3, 6, 0)
    (found,) = OnnxInference(folder).infer([("yes no", "yes")])
    assert found.entailment == pytest.approx(entailment, abs=1e-6)
    assert found.neutral == pytest.approx(neutral, abs=1e-6)
    assert found.contradiction == pytest.approx(contradiction, abs=1e-6)


def test_the_order_of_the_labels_is_read_from_the_configuration(tmp_path: Path) -> None:
    other = make(tmp_path / "o", {"0": "ENTAILMENT", "1": "Neutral", "2": "contradiction"})
    (found,) = OnnxInference(other).infer([("no", "there")])
    assert found.entailment == pytest.approx(softmax(3, 0, 0)[0], abs=1e-6)


def test_a_model_with_two_labels_knows_no_contradiction(tmp_path: Path) -> None:
    two = make(tmp_path / "two", {"0": "not_entailment", "1": "entailment"}, outputs=2)
    (found,) = OnnxInference(two).infer([("yes", "yes")])
    assert found.contradiction == 0.0
    assert found.entailment == pytest.approx(softmax(0, 6)[1], abs=1e-6)
    assert found.entailment + found.neutral == pytest.approx(1.0)


@pytest.mark.parametrize("with_types", [False, True])
def test_batches_and_their_padding_change_nothing(tmp_path: Path, with_types: bool) -> None:
    model = OnnxInference(make(tmp_path / "m", with_types=with_types))
    words = ["yes", "no", "maybe", "there evidence", "yes " * 30, "no " * 200]
    pairs = [(a, b) for a in words for b in words[:4]]
    together = model.infer(pairs)
    alone = [model.infer([pair])[0] for pair in pairs]
    assert len(together) == len(pairs)
    for one, other in zip(together, alone, strict=True):
        assert one.entailment == pytest.approx(other.entailment, abs=1e-6)
        assert one.contradiction == pytest.approx(other.contradiction, abs=1e-6)


def test_a_long_premise_is_cut_and_the_hypothesis_is_kept(folder: Path) -> None:
    (found,) = OnnxInference(folder).infer([("there " * 600 + "no", "yes")])
    assert found.entailment == pytest.approx(softmax(0, 3, 0)[1], abs=1e-6)


def test_nothing_asked_is_nothing_answered(folder: Path) -> None:
    assert list(OnnxInference(folder).infer([])) == []


@pytest.mark.parametrize(
    ("denial", "stance"), [((4, 0, 0), "supports"), ((0, 9, 0), "refutes"), ((0, 3, 3), "unclear")]
)
async def test_a_claim_and_its_denial_pull_a_passage_to_one_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, denial: tuple[int, int, int], stance: str
) -> None:
    # The wording of the denial adds "no", which contradicts, and "evidence".
    monkeypatch.setitem(SCORES, "evidence", denial)
    model = EntailmentReader(OnnxInference(make(tmp_path / "m")))
    selection = Selection((), (), (passage("there"),), shared=1.0, nearest=1.0)
    read = await model.read("there", selection, title="")
    assert read.stance == stance
    assert (read.confidence >= 0.3) == (stance != "unclear")


def passage(text: str) -> Passage:
    return Passage(sentences=(PageSentence(text, 0, len(text), 0),))


def test_threads_share_one_model(folder: Path) -> None:
    model = OnnxInference(folder)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: model.infer([("yes", "no")])[0], range(12)))
    assert set(found) == {found[0]}
    assert isinstance(found[0], Inference)


# --- Models that cannot be used -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named_with_the_remedy(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(SetupError, match=f"{name} does not exist.*models pull nli"):
        OnnxInference(folder).infer([("yes", "no")])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_wrong_file_is_refused_with_a_sentence(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"this is something else")
    with pytest.raises(SetupError, match="cannot be used"):
        OnnxInference(folder).infer([("yes", "no")])


def test_a_model_with_more_scores_than_labels_is_refused(tmp_path: Path) -> None:
    odd = make(tmp_path / "odd", {"0": "entailment", "1": "not_entailment"}, outputs=3)
    with pytest.raises(SetupError, match="3 scores"):
        OnnxInference(odd).infer([("yes", "no")])


@pytest.mark.parametrize(
    "config",
    [
        {},
        [],
        {"id2label": {}},
        {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}},
        {"id2label": {"0": "entailment", "2": "neutral"}},
        {"id2label": {"zero": "entailment"}},
    ],
)
def test_labels_without_names_are_refused(config: object) -> None:
    with pytest.raises(ValueError, match=r"label|zero"):
        read_labels(config)
