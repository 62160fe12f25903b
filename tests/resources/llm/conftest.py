from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.servers import MisbehavingServer


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MisbehavingServer]:
    """A server on loopback, and an environment that leads nowhere else."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "OLLAMA_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    async with MisbehavingServer() as server:
        yield server
