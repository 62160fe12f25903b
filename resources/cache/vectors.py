"""Vectors of texts that are computed once, for all runs and processes of a data folder.

What belongs here: how a vector is written down. What does not: computing it
(reasoners/embedded/embedder.py), where and how long it is kept (store.py).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from resources.cache.store import DiskCache
from resources.cache.values import cache_key

_VERSION = 1
"""Raise it whenever the same model would now give the same text another vector."""


class KeptVectors:
    """Vectors by text, as bytes; with MiniLM 768 each, 1 KiB in the file.

    For any thread. The owner of the cache closes it.
    """

    def __init__(self, cache: DiskCache) -> None:
        """Keep vectors in a cache."""
        self._cache = cache

    def find(self, model: str, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of those texts that have one. `model` is the hash of its files."""
        keys = {_key(model, text): text for text in texts}
        found = self._cache.get_vectors(keys)
        return {keys[key]: base64.b64decode(kept.value) for key, kept in found.items()}

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors of texts."""
        self._cache.put_vectors(
            {
                _key(model, text): base64.b64encode(vector).decode("ascii")
                for text, vector in vectors.items()
            }
        )


def _key(model: str, text: str) -> str:
    return cache_key("vectors", _VERSION, model, text)
