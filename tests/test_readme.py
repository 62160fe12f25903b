"""A newcomer's first command with nothing faked: what the README says of the demo is so."""

from __future__ import annotations

from pathlib import Path

from benchmarks.readme import README, Fresh, untrue
from tests.shortcuts import share_vectors
from warehouse.store import Warehouse

DEMO = "everyday-beliefs-talk"


def test_the_outputs_in_the_readme_are_what_a_fresh_install_prints(tmp_path: Path) -> None:
    document = README.read_text(encoding="utf-8")
    assert document.count("\nverdict ") == 4
    assert document.count("```\nfactible sql ") == 1
    home = tmp_path / "home"
    share_vectors(home)
    fresh = Fresh(home)
    assert "automatic leaning" in (home / "reports" / f"{DEMO}.html").read_text(encoding="utf-8")
    verdicts = Warehouse(home / "warehouse.duckdb").query("FROM current_verdicts")
    assert len(verdicts) >= 10
    assert set(verdicts["status"]) == {"complete"}
    assert untrue(document, fresh) == [], "write them anew: python -m benchmarks.readme --write"
    assert untrue(document.replace("leaning supported", "leaning refuted", 1), fresh) != []
