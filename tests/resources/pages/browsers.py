"""Pages that their scripts draw."""

from __future__ import annotations

from resources.pages.browser import find_browser

CHROMIUM = find_browser() or ""
SITE = "http://site.example"
SENTENCE = "Water boils at a lower temperature on a mountain, because the air there presses less. "
SHELL = '<!doctype html><title>App</title><div id="root"></div>'


def shell(script: str) -> str:
    return f"{SHELL}<script>{script}</script>"


def writing(text: str) -> str:
    return f"document.getElementById('root').innerHTML = `<article><p>{text}</p></article>`;"
