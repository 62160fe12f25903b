"""Reads the fitted weights in this folder; the model cards beside them describe their data."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=2)
def load_weights(name: str) -> dict[str, npt.NDArray[np.float32]]:
    """Return the arrays of `name`.npz by name."""
    source = files("factible_assets.reasoners.embedded.claims").joinpath(f"{name}.npz")
    with as_file(source) as path, np.load(path) as stored:
        return {each: stored[each].astype(np.float32) for each in stored.files}
