"""What is said at the end of a run of the tests: which were skipped for want of a browser."""

from __future__ import annotations

import pytest

BROWSER_WORDS = "Chromium", "Playwright"
REMEDY = (
    "On Debian: apt-get install chromium; elsewhere any Chromium on PATH, or named by "
    "FACTIBLE_BROWSER. Playwright comes with `make test`."
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests want a browser that is not there, and how to get it."""
    skipped = [
        report.longrepr[2]
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    ]
    reasons = [words for words in skipped if any(word in words for word in BROWSER_WORDS)]
    if reasons:
        why = "; ".join(sorted({words.removeprefix("Skipped: ") for words in reasons}))
        terminalreporter.write_line("")
        terminalreporter.write_line(f"{len(reasons)} browser tests were skipped: {why}")
        terminalreporter.write_line(REMEDY)
