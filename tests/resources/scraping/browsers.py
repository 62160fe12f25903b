"""Pages that their scripts draw, and whether this machine has what drawing them takes."""

from __future__ import annotations

import importlib.util

import pytest

from resources.scraping.browser import find_browser

SITE = "http://site.example"
SENTENCE = "Water boils at a lower temperature on a mountain, because the air there presses less. "
SHELL = '<!doctype html><title>App</title><div id="root"></div>'


def shell(script: str) -> str:
    return f"{SHELL}<script>{script}</script>"


def writing(text: str) -> str:
    return f"document.getElementById('root').innerHTML = `<article><p>{text}</p></article>`;"


def missing_part() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (the extra [browser]), so no page is drawn."
    if find_browser() is None:
        return "No Chromium is on PATH or named by FACTIBLE_BROWSER, so no page is drawn."
    return None


needs_browser = pytest.mark.skipif(missing_part() is not None, reason=str(missing_part()))
needs_playwright = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None,
    reason="Playwright is not installed (the extra [browser]), so no browser is started.",
)
