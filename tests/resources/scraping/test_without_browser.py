"""What a page that needs a browser is called on a machine that has none."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resources.http import HttpClient
from resources.network_guard import NetworkGuard
from resources.scraping.browser import Browser, find_browser
from resources.scraping.pages import PageFetcher
from tests.resources.scraping.browsers import SITE, shell
from tests.servers import MisbehavingServer, respond


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as running:
        running.on("/", respond(shell("1")))
        yield running


async def test_without_a_browser_the_reason_says_what_to_install(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FACTIBLE_BROWSER", raising=False)
    guard = NetworkGuard(server.names)
    async with HttpClient(guard=guard) as http, Browser(guard) as browser:
        page = await PageFetcher(http, browser=browser).fetch(f"{SITE}/")
    assert (page.outcome, page.http_status) == ("unavailable", 200)
    assert page.reason == (
        "needs a browser: the page has no text without its scripts; browser: no browser was found "
        "on this machine; install Chromium (on Debian: apt-get install chromium) or set "
        "FACTIBLE_BROWSER to its executable"
    )
    assert [way.partition(":")[0] for way in page.tried] == ["scraped", "browser"]


async def test_without_playwright_the_reason_says_what_to_install(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("playwright", "playwright.async_api"):
        monkeypatch.setitem(sys.modules, name, None)
    guard = NetworkGuard(server.names)
    browser = Browser(guard, executable=str(tmp_path / "chromium"))
    async with HttpClient(guard=guard) as http, browser:
        page = await PageFetcher(http, browser=browser).fetch(f"{SITE}/")
    assert page.outcome == "unavailable"
    assert "pip install 'factible-assets[browser]'" in (page.reason or "")


async def test_without_the_setting_the_page_still_says_what_it_needs(
    server: MisbehavingServer,
) -> None:
    async with HttpClient(guard=NetworkGuard(server.names)) as http:
        page = await PageFetcher(http).fetch(f"{SITE}/")
    assert page.reason == "needs a browser: the page has no text without its scripts"
    assert page.tried == (f"scraped: {page.reason}",)


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
