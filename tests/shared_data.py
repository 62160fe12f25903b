"""Finds the real data for some tests, which is not part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def shared_data(*parts: str) -> Path:
    """Return a path in the data next to the project; skip the test if it is missing."""
    path = _SHARED.joinpath(*parts).resolve()
    if not path.exists():
        pytest.skip(f"The real data {'/'.join(parts)} does not lie beside the project.")
    return path
