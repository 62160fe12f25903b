"""Which matcher is taken: MiniLM cosine above .70, unless another is named.

What belongs here: the choice. What does not: matching (matching.py), measures (similarity.py),
what is told to whom about it (cli/).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from factible_assets.evaluation.matching import ClaimMatcher
from factible_assets.evaluation.models import sentence_model
from factible_assets.evaluation.similarity import (
    EmbeddingSimilarity,
    Similarity,
    TfidfSimilarity,
    TokenSetSimilarity,
)
from factible_assets.reasoners.embedded.embedder import OnnxEmbedder

SimilarityName = Literal["embeddings", "tf-idf", "token-set"]


def default_matcher() -> ClaimMatcher:
    """Return optimal matching by the installed MiniLM, the same on every machine."""
    return ClaimMatcher(chosen_similarity("embeddings"))


def chosen_similarity(name: SimilarityName, model: Path | None = None) -> Similarity:
    """Return a measure by name; `model` is the path of other sentence embeddings than MiniLM.

    Raises:
        EmbedderUnavailableError: if there is no model at the path.
    """
    if name == "tf-idf":
        return TfidfSimilarity()
    if name == "token-set":
        return TokenSetSimilarity()
    return EmbeddingSimilarity(OnnxEmbedder() if model is None else sentence_model(model))
