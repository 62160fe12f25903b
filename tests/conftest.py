"""Orders the test files, limits each test, reports missing browsers, and provides a server."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import shortcuts
from tests.chromium import REMEDY, missing_part
from tests.servers import MisbehavingServer
from tests.watchdog import FileByFile, Watchdog

# Imported and collected objects stay: repeated garbage collection would take a quarter of this
# process's time.
gc.disable()

# A script's background job ignores Ctrl-C, and so would processes that the tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest loads readline, which leaves the size of a terminal to the workers. Tables that no terminal
# shows would be cut to it.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

# The duration of an example depends on the machine. The quick profile draws the same examples each
# time, so nobody's first run meets a rare one; the long profile looks for new ones.
for name, examples in {"quick": 15, "long": 500}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=name == "quick",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


LONG = (
    "test_ui",
    "test_lake",
    "test_pages",
    "test_real_runs",
    "test_browser",
    "test_readme",
    "test_runner",
    "test_review",
    "test_sql_cookbook",
    "test_spare_copies",
    "test_forget",
    "test_attacks",
    "test_batches",
    "test_extension",
    "test_assistants",
    "test_models",
    "test_judge",
    "test_materialization",
    "test_sql",
    "test_local",
    "test_injections",
    "test_check",
    "test_launch",
    "test_connection",
    "test_publication",
    "test_access",
)
"""Files that take more than five seconds, besides the end-to-end walks; the longest comes first."""


@pytest.fixture(scope="session", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give all processes of a run one shared folder."""
    base = tmp_path_factory.getbasetemp()
    place = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    shortcuts.share(place / "shared")


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MisbehavingServer]:
    """A server on loopback, and an environment that leads nowhere else."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "OLLAMA_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    async with MisbehavingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _shortcuts(_shared: None) -> None:
    """Start new data folders as copies, in all modules imported so far."""
    shortcuts.apply()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest files, so that no worker has one left at the end."""

    def place(item: pytest.Item) -> int:
        if item.path.stem in LONG:
            return LONG.index(item.path.stem)
        return len(LONG) + ("end_to_end" not in item.path.parts)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but only new objects."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Announce that browser tests will be skipped, with the remedy."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    missing = missing_part()
    # Workers of xdist have no terminal, so this appears once.
    if missing is not None and isinstance(terminal, pytest.TerminalReporter):
        terminal.write_line(f"Browser tests will be skipped: {missing} {REMEDY}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the number of skipped browser tests, with the remedy."""
    missing = missing_part()
    count = sum(
        isinstance(report.longrepr, tuple) and report.longrepr[2] == f"Skipped: {missing}"
        for report in terminalreporter.getreports("skipped")
    )
    if count:
        terminalreporter.write_line(f"\n{count} browser tests were skipped: {missing} {REMEDY}")


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: Any, settings: Any) -> bool:
    """Limit a test in seconds of an idle machine instead of the clock's."""
    item.cancel_timeout = Watchdog(item, settings).cancel
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> FileByFile | None:
    """Continue after a test whose worker died, if workers take whole files."""
    return FileByFile(config, log) if config.getvalue("dist") == "loadfile" else None
