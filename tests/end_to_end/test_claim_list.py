"""A list of claims: real runs in parallel, and the table of their results."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run
from tests.cli.conftest import factible as factible  # noqa: PLC0414 - a fixture
from tests.cli.conftest import home as home  # noqa: PLC0414 - a fixture

LIST = """\
claim,label
Goldfish have a memory of three seconds.,False
Bananas are slightly radioactive.,True
"""


def test_a_list_is_checked_in_parallel_and_stored(factible: Run, tmp_path: Path) -> None:
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


def test_a_claim_with_other_words_or_options_is_checked_again(
    factible: Run, tmp_path: Path
) -> None:
    few = ("--max-queries", "1", "--max-results", "3", "--reasoner", "embedded", "--json")

    def check(claim: str, *options: str) -> dict[str, Any]:
        (tmp_path / "one.csv").write_text(f"id,claim\n1,{claim}\n", "utf-8")
        result = factible("claims", "check", tmp_path / "one.csv", *few, *options)
        assert result.exit_code == 0, result.stderr
        (row,) = json.loads(result.stdout)["claims"]
        assert row["claim"] == claim
        return dict(row)

    goldfish = "Goldfish have a memory of three seconds."
    nowhere, here = ("--web", "archive"), ("--web", "miniature")
    unread = check(goldfish, *nowhere)
    read = check(goldfish, *here)
    other = check("Bananas are slightly radioactive.", *nowhere)
    assert (unread["stance"], read["stance"], other["stance"]) == ("unclear", "refutes", "unclear")
    assert len({each["video_id"] for each in (unread, read, other)}) == 1
