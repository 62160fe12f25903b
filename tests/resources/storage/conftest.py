from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.stages.urls import canonical_url
from resources.storage.archive import Archive


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive.sqlite", canonicalise=canonical_url)
