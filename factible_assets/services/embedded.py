"""The embedded engine with the best models that are on this machine.

What belongs here: which models it gets. What does not: the engine and its models
(reasoners/embedded), fetching models (resources/models).

One of each model serves all runs of a process: loading takes a second, and they are safe to share.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.settings import Settings
from factible_assets.stages.ports import Reasoner
from resources.cache import DiskCache
from resources.models.base import model_path

if TYPE_CHECKING:
    from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
    from factible_assets.reasoners.embedded.reading.inference import OnnxInference


def embedded_reasoner(settings: Settings, cache: DiskCache) -> Reasoner:
    """Return the embedded engine with the best models on this machine; nothing is downloaded.

    Of what was pulled, the best inference model reads pages; else statements and tone are told by
    embeddings. Vectors of texts are kept in the cache, which its owner closes.
    """
    from factible_assets.reasoners.embedded import engine
    from factible_assets.reasoners.embedded.reading import inference, stance

    name = stance_model_in_use(settings.home)
    pulled = None if name is None else model_path(settings.home, name)
    reads: stance.StanceModel
    if pulled is not None and name != "mpnet":
        reads = inference.InferenceStance(_loaded_inference(pulled))
    else:
        reads = stance.StatementsAndTone(_embedder(pulled, cache))
    return engine.EmbeddedReasoner(_embedder(None, cache), reads)


def stance_model_in_use(home: Path) -> str | None:
    """Return which pulled model reads what pages say of a claim, None if none was pulled."""
    names = ("nli-base", "nli", "mpnet")
    return next((name for name in names if model_path(home, name) is not None), None)


def _embedder(folder: Path | None, cache: DiskCache) -> Embedder:
    return _loaded_embedder(folder).keeping(cache)


@lru_cache(maxsize=2)
def _loaded_embedder(folder: Path | None) -> OnnxEmbedder:
    from factible_assets.reasoners.embedded import embedder

    if folder is None:
        return embedder.minilm()
    files = embedder.ModelFiles(folder / "model.onnx", folder / "tokenizer.json")
    return embedder.OnnxEmbedder(files)


@lru_cache(maxsize=2)
def _loaded_inference(folder: Path) -> OnnxInference:
    from factible_assets.reasoners.embedded.reading.inference import OnnxInference

    return OnnxInference(folder)
