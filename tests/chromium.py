"""Tells whether this machine can run browser tests, and how to make it so."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from resources.pages.browser import WHOLE_BROWSERS, find_browser

REMEDY = (
    "On Debian: apt-get install chromium chromium-headless-shell; elsewhere any Chromium on PATH, "
    "or named by FACTIBLE_BROWSER. Playwright comes with `make test`."
)


def missing_part() -> str | None:
    """Name the missing software; None if everything is there."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (the extra [browser])."
    if find_browser() is None:
        return "No Chromium is on PATH or named by FACTIBLE_BROWSER."
    return None


def whole_browser() -> str | None:
    """Return a browser that loads extensions, which a headless shell does not."""
    found = find_browser()
    if found is None or "headless-shell" not in found:
        return found
    return next(filter(None, map(shutil.which, WHOLE_BROWSERS)), None)


needs_browser = pytest.mark.skipif(missing_part() is not None, reason=str(missing_part()))
needs_whole_browser = pytest.mark.skipif(
    missing_part() is not None or whole_browser() is None,
    reason=missing_part() or "Only a headless shell is installed, which loads no extension.",
)
needs_playwright = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None, reason=str(missing_part())
)
