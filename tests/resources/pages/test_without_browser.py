"""Pages that need a browser, on a machine without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.http import HttpClient
from resources.network_guard import NetworkGuard
from resources.pages.browser import find_browser
from resources.pages.scraper import PageFetcher
from tests.resources.pages.browsers import SITE, shell
from tests.servers import MisbehavingServer, respond


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/", respond(shell("1")))
    return server


async def test_a_switched_off_browser_is_reported_too(server: MisbehavingServer) -> None:
    async with HttpClient(guard=NetworkGuard(server.names)) as http:
        page = await PageFetcher(http).fetch(f"{SITE}/")
    assert page.reason == "needs a browser: the page has no text without its scripts"


def test_a_named_browser_goes_before_those_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "chromium"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FACTIBLE_BROWSER", str(tmp_path / "mine"))
    assert find_browser() == find_browser("mine") == str(tmp_path / "mine")
    assert find_browser("") == str(tmp_path / "chromium")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert find_browser("") is find_browser("mine") is None
