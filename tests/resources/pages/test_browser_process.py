"""The browser's process: started once, shared, ended, replaced when it dies, and given no keys."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from resources.http import HttpClient, OutageError, Response
from resources.network_guard import NetworkGuard
from resources.pages.browser import Browser, find_browser
from resources.pages.scraper import PageFetcher
from tests.chromium import needs_browser, needs_playwright
from tests.patience import A_DAY, eventually
from tests.resources.pages.browsers import CHROMIUM, SENTENCE, SHELL, SITE, shell, writing
from tests.servers import MisbehavingServer, respond


def chromium_processes() -> set[int]:
    """Return the ids of the running browsers that this process started, by its descendants."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = entry.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        names[int(entry.parent.name)] = name
        if rest.split()[0] != "Z":
            children.setdefault(int(rest.split()[1]), []).append(int(entry.parent.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child)
            if names[child].startswith("chrom"):
                found.add(child)
    return found


def main_processes() -> set[int]:
    """Return the ids of the browsers without their children, and without a script around them."""
    return {
        pid
        for pid in chromium_processes()
        if "--remote-debugging" in command(pid)
        and "--type=" not in command(pid)
        and "/sh" not in command(pid).split()[0]
    }


def environment(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@needs_browser
async def test_one_process_without_keys_draws_all_pages_is_replaced_if_killed_and_ends(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-of-a-key")
    server.on("/slow", respond(shell("fetch('/drawing')")))
    server.on("/", respond(shell(writing(SENTENCE * 3))))
    guard = NetworkGuard(server.names)
    browser = Browser(guard, CHROMIUM, wait_seconds=A_DAY)
    async with HttpClient(guard=guard) as http, browser:
        fetcher = PageFetcher(http, browser=browser)
        assert chromium_processes() == set()
        assert (await fetcher.fetch(f"{SITE}/")).outcome == "ok"
        (process,) = main_processes()
        assert "canary-of-a-key" not in environment(process)
        drawing = asyncio.create_task(fetcher.fetch(f"{SITE}/slow"))
        await asyncio.to_thread(eventually, lambda: server.count("/drawing"))
        assert main_processes() == {process}
        for pid in chromium_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        page = await drawing
        assert page.outcome == "outage"
        assert "browser" in (page.reason or "")
        assert (await fetcher.fetch(f"{SITE}/")).outcome == "ok"
    assert chromium_processes() == set()


def test_a_named_browser_goes_before_a_headless_shell_on_the_path_and_this_before_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "chromium", "chromium-headless-shell"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FACTIBLE_BROWSER", str(tmp_path / "mine"))
    assert find_browser() == find_browser("mine") == str(tmp_path / "mine")
    assert find_browser("") == str(tmp_path / "chromium-headless-shell")
    (tmp_path / "chromium-headless-shell").unlink()
    assert find_browser("") == str(tmp_path / "chromium")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert find_browser("") is find_browser("mine") is None


@needs_playwright
async def test_a_browser_that_does_not_start_is_an_outage(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    response = Response(f"{SITE}/", 200, httpx.Headers(), SHELL.encode())
    async with Browser(NetworkGuard(), executable=str(broken)) as browser:
        with pytest.raises(OutageError, match="did not start"):
            await browser.draw(response)
