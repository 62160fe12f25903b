"""Tells whether this machine can run browser tests, and how to make it so."""

from __future__ import annotations

import importlib.util

import pytest

from resources.pages.browser import find_browser

REMEDY = (
    "On Debian: apt-get install chromium; elsewhere any Chromium on PATH, or named by "
    "FACTIBLE_BROWSER. Playwright comes with `make test`."
)


def missing_part() -> str | None:
    """Name the missing software; None if everything is there."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (the extra [browser])."
    if find_browser() is None:
        return "No Chromium is on PATH or named by FACTIBLE_BROWSER."
    return None


needs_browser = pytest.mark.skipif(missing_part() is not None, reason=str(missing_part()))
needs_playwright = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None, reason=str(missing_part())
)
