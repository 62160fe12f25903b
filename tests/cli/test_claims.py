"""`factible claims check` refuses what it cannot use before anything is checked."""

from __future__ import annotations

from pathlib import Path

from factible_assets.errors import ExitCode, gravest
from tests.cli.conftest import Run


def test_a_list_that_is_not_there_is_a_sentence(factible: Run, home: Path) -> None:
    result = factible("claims", "check", "missing.csv")
    assert result.exit_code == 4
    assert "There is no file missing.csv" in result.stderr
    assert not home.exists()


def test_a_list_without_claims_is_a_sentence_with_its_line(factible: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim\n\n \n", encoding="utf-8")
    result = factible("claims", "check", file)
    assert result.exit_code == 4
    assert "Nothing was imported" in result.stderr or "no claim" in result.stderr


def test_a_knob_out_of_its_range_is_refused(factible: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim\nHoney keeps.\n", encoding="utf-8")
    result = factible("claims", "check", file, "--max-results", "99")
    assert result.exit_code == 2


def test_a_claim_that_failed_counts_before_those_that_are_incomplete() -> None:
    assert gravest([ExitCode.INCOMPLETE, ExitCode.FAILED, ExitCode.DONE]) is ExitCode.FAILED
    assert gravest([ExitCode.DONE, ExitCode.INCOMPLETE]) is ExitCode.INCOMPLETE
    assert gravest([]) is ExitCode.DONE
