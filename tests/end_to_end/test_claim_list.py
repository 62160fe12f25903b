"""A list of claims is checked as real runs, several at once, and the table says what came of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.conftest import factible as factible  # noqa: PLC0414 - a fixture
from tests.cli.conftest import home as home  # noqa: PLC0414 - a fixture

LIST = """\
claim,label
Goldfish have a memory of three seconds.,False
Honey found in ancient tombs can still be eaten.,True
"""


def test_a_list_is_checked_at_once_and_kept(factible: Run, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(LIST, encoding="utf-8")
    few = ("--max-queries", "1", "--max-results", "3", "--web", "miniature")
    how = (*few, "--reasoner", "embedded", "-j", "2", "--json")
    command = ("claims", "check", tmp_path / "list.csv", *how)
    result = factible(*command, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.stderr
    found = {row["claim"]: row for row in json.loads(result.stdout)["claims"]}
    goldfish = found["Goldfish have a memory of three seconds."]
    assert (goldfish["status"], goldfish["stance"]) == ("complete", "refutes")
    assert goldfish["veracity"] in {"false", "barely-true"}
    assert Path(goldfish["report"]).is_file()
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["False", "True"]
    again = factible(*command)
    assert json.loads(again.stdout)["claims"] == list(found.values())
