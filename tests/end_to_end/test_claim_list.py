"""A list of claims: real runs in parallel, and the table of their results."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run
from tests.cli.conftest import factible as factible  # noqa: PLC0414 - a fixture
from tests.cli.conftest import home as home  # noqa: PLC0414 - a fixture

GOLDFISH, BANANAS = "Goldfish have a memory of three seconds.", "Bananas are slightly radioactive."


def test_a_list_is_checked_in_parallel_and_only_changes_are_checked_again(
    factible: Run, tmp_path: Path
) -> None:
    few = ("--max-queries", "1", "--max-results", "3", "--reasoner", "embedded", "-j", "2")

    def check(second: str, web: str) -> list[dict[str, Any]]:
        words = f"id,claim,label\n1,{GOLDFISH},False\n2,{second},True\n"
        (tmp_path / "list.csv").write_text(words, encoding="utf-8")
        command = ("claims", "check", tmp_path / "list.csv", *few, "--web", web, "--json")
        result = factible(*command, "-o", tmp_path / "out.csv")
        assert result.exit_code == 0, result.stderr
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
            assert [row["label"] for row in csv.DictReader(file)] == ["False", "True"]
        found: list[dict[str, Any]] = json.loads(result.stdout)["claims"]
        assert [each["claim"] for each in found] == [GOLDFISH, second]
        return found

    first = check(BANANAS, "miniature")
    assert (first[0]["status"], first[0]["stance"]) == ("complete", "refutes")
    assert first[0]["veracity"] in {"false", "barely-true"}
    assert Path(first[0]["report"]).is_file()
    assert check(BANANAS, "miniature") == first
    # Another option changes the first verdict, other words the second claim.
    later = check("Honey never spoils.", "archive")
    assert [each["stance"] for each in later] == ["unclear", "unclear"]
    assert [each["video_id"] for each in later] == [each["video_id"] for each in first]
