"""Runs a newcomer's first command and compares README and docs with its output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.pictures import QUEUE, REPORT, VERDICTS, recorded, said
from benchmarks.readme import README, Fresh, untrue
from factible_assets.settings import Settings
from factible_assets.web.app import create_app
from resources.storage.answers import DiskCache
from tests.chromium import needs_browser
from tests.end_to_end.loopback import loopback_world
from tests.report.browser import chromium
from tests.shortcuts import share_vectors
from tests.web.doubles import Script, listening
from warehouse.store import Warehouse

DEMO = "everyday-beliefs-talk"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo") / "home"
    share_vectors(place)
    return place


@pytest.fixture(scope="module")
def fresh(home: Path) -> Fresh:
    """The demo on a machine with keys: it contacts no service, and prints the same as without."""
    keys = {"SERPER_API_KEY": "a", "OPENAI_API_KEY": "b", "GOOGLE_FACT_CHECK_API_KEY": "c"}
    with loopback_world(home.parent) as world:
        leads = {name: value for name, value in world.environment.items() if value is not None}
        found = Fresh(home, leads | keys)
        assert world.server.asked == []
    return found


def test_the_outputs_in_the_readme_are_what_a_fresh_install_prints(
    home: Path, fresh: Fresh
) -> None:
    document = README.read_text(encoding="utf-8")
    assert document.count("\nverdict ") == 3
    assert document.count("```\nfactible sql ") == 1
    assert "automatic leaning" in (home / "reports" / f"{DEMO}.html").read_text(encoding="utf-8")
    verdicts = Warehouse(home / "warehouse.duckdb").query("FROM current_verdicts")
    assert len(verdicts) >= 10
    assert set(verdicts["status"]) == {"complete"}
    assert set(verdicts["basis"]) == {"embedded"}
    kept = {each.kind for each in DiskCache(home / "cache").info() if each.entries}
    assert kept <= {"vectors"}, "the demo asks no service"
    assert untrue(document, fresh) == [], "write them anew: python -m benchmarks.readme --write"
    assert (
        untrue(document.replace("\nverdict 1/14: unclear", "\nverdict 1/14: refuted", 1), fresh)
        != []
    )


@needs_browser
def test_the_pictures_show_the_claims_and_verdicts_of_a_fresh_install(
    home: Path, fresh: Fresh
) -> None:
    app = create_app(Settings(home=home), launch=Script().launch)
    with listening(app) as client, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{home.as_uri()}/{REPORT.path}")
        shown = said(page, REPORT)
        assert shown == recorded(REPORT), "take them anew: make pictures"
        page.goto(f"{client.base_url}{QUEUE.path}")
        assert said(page, QUEUE) == recorded(QUEUE), "take them anew: make pictures"
    # The table in the Dagster UI has other words and unfolds the first twelve rows.
    unfolded = recorded(VERDICTS)
    assert len(unfolded) == min(12, len(shown))
    for line, of_table in zip(shown, unfolded, strict=False):
        claim, stance = re.split(r" [^\w\s](?:Automatic )?(?=leaning: |Unclear$)", line)
        told = stance.lower().replace(":", "")
        told = rf"\d+\. .*{told}(?: \(\w+\))?: .*{re.escape(claim)}"
        assert re.match(told, of_table)
