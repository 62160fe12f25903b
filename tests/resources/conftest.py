"""A client that asks the server on loopback, to which all .example names lead."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NetworkGuard
from tests.patience import patience
from tests.servers import MisbehavingServer


@pytest.fixture
async def http(
    server: MisbehavingServer, request: pytest.FixtureRequest
) -> AsyncIterator[HttpClient]:
    """Asks twice; has little patience with what a test waits for in vain."""
    async with HttpClient(
        guard=NetworkGuard(server.names),
        limits=patience(
            request, HttpLimits(connect_seconds=0.5, read_seconds=0.25, attempt_seconds=1.0)
        ),
        retry=RetryPolicy(attempts=2, first_delay_seconds=0.01, max_delay_seconds=0.01),
    ) as client:
        yield client
