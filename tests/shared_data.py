"""Finds the real data that some tests measure on, which is no part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def shared_data(*parts: str) -> Path:
    """Return a path below the shared data beside the project; skip the test if it is absent."""
    path = _SHARED.joinpath(*parts).resolve()
    if not path.exists():
        pytest.skip(f"The real data {'/'.join(parts)} does not lie beside the project.")
    return path
