"""Which matcher is taken: by name, by a model's path, or the best that is installed.

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
from factible_assets.reasoners.embedded.embedder import (
    Embedder,
    OnnxEmbedder,
    minilm_is_available,
)

SimilarityName = Literal["auto", "embeddings", "tf-idf", "token-set"]


def default_matcher(embedder: Embedder | None = None) -> ClaimMatcher:
    """Return optimal matching by embeddings where there is a model, else by TF-IDF.

    `embedder` is this machine's own; without one, that of the extra `embeddings` is taken.
    """
    if embedder is not None:
        return ClaimMatcher(EmbeddingSimilarity(embedder))
    return ClaimMatcher(chosen_similarity("auto"))


def chosen_similarity(name: SimilarityName, model: Path | None = None) -> Similarity:
    """Return a measure by name, or by the path of a sentence-embedding model.

    Nothing is downloaded: `auto` takes embeddings only where their model is installed.

    Raises:
        EmbedderUnavailableError: if there is no model at the path.
    """
    if name == "tf-idf":
        return TfidfSimilarity()
    if name == "token-set":
        return TokenSetSimilarity()
    if model is not None:
        return EmbeddingSimilarity(sentence_model(model))
    if name == "embeddings" or minilm_is_available():
        return EmbeddingSimilarity(OnnxEmbedder())
    return TfidfSimilarity()
