"""`factible claims check` refuses unusable input before the check."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from factible_assets.config import FactCheckConfig
from factible_assets.errors import ExitCode, FactibleError, gravest
from factible_assets.runs import claim_lists
from factible_assets.settings import Settings
from factible_assets.stages.ports import Observer
from tests.cli.conftest import Run


def unasked(video_ids: Sequence[str], **_: object) -> list[tuple[dict[str, Any], ExitCode]]:
    return [
        (claim_lists.result_row(each, None, "Nobody was asked."), ExitCode.DONE)
        for each in video_ids
    ]


def test_a_missing_list_gets_a_sentence(factible: Run, home: Path) -> None:
    result = factible("claims", "check", "missing.csv")
    assert result.exit_code == 4
    assert "There is no file missing.csv" in result.stderr
    assert not home.exists()


def test_a_list_without_claims_gets_a_sentence(factible: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim\n\n \n", encoding="utf-8")
    result = factible("claims", "check", file)
    assert result.exit_code == 4
    assert "Nothing was imported" in result.stderr or "no claim" in result.stderr


def test_an_option_out_of_its_range_is_refused(factible: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim\nHoney keeps.\n", encoding="utf-8")
    result = factible("claims", "check", file, "--max-results", "99")
    assert result.exit_code == 2


def test_lists_with_the_same_name_get_separate_corpora(
    factible: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_lists, "check_claim_list", unasked)
    for folder, claim in (("x", "Honey keeps."), ("y", "The seas rise.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "list.csv").write_text(f"claim\n{claim}\n", encoding="utf-8")
    assert factible("claims", "check", tmp_path / "x" / "list.csv").exit_code == 0
    assert factible("claims", "check", tmp_path / "y" / "list.csv").exit_code == 0
    both = tmp_path / "x" / "list.csv"
    both.write_text("claim\nHoney keeps.\nThe seas rise.\n", encoding="utf-8")
    assert factible("claims", "check", both).exit_code == 0
    assert len(list((home / "corpora").glob("claims-list-*.yaml"))) == 2
    for name in ("\u4e3b\u5f20.csv", "\u0423\u0442\u0432.csv"):
        (tmp_path / name).write_text("claim\nHoney keeps.\n", encoding="utf-8")
        factible("claims", "check", tmp_path / name)
    assert len(list((home / "corpora").glob("claims-*.yaml"))) == 4


def test_the_list_itself_and_a_folder_are_refused_as_output(
    factible: Run, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim,mine\nHoney keeps.,1\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(file)
    (tmp_path / "same.csv").hardlink_to(file)
    for output in (file, tmp_path / "link.csv", tmp_path / "same.csv", tmp_path):
        result = factible("claims", "check", file, "--output", output)
        assert result.exit_code == ExitCode.USAGE
        assert "--output" in result.stderr
    assert file.read_text("utf-8") == "claim,mine\nHoney keeps.,1\n"
    assert not home.exists()


def test_quiet_still_reports_skipped_rows(
    factible: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_lists, "check_claim_list", unasked)
    file = tmp_path / "list.csv"
    file.write_text("claim,date\nHoney keeps.,\nThe seas rise.,yesterday\n", encoding="utf-8")
    result = factible("claims", "check", file, "--json", "-q")
    assert "The date is 'yesterday'" in result.stderr
    assert "yesterday" in json.loads(result.stdout)["left_out"][0]


def test_a_list_that_cannot_be_checked_says_why(factible: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("claim\nHoney keeps.\nThe seas rise.\n", encoding="utf-8")
    result = factible("claims", "check", file, "--strategy", "agentic")
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert result.stderr.count("needs a language model") == 1


def test_a_run_that_starts_after_an_interruption_is_stopped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = iter([[], [SimpleNamespace(tags={"video": "v"})]])
    marked = threading.Event()
    instance = SimpleNamespace(
        get_runs=lambda filters: next(listed, []), report_run_canceling=lambda _: marked.set()
    )

    def run(*_: object, **__: object) -> NoReturn:
        marked.wait(30)
        raise FactibleError("Stopped." if marked.is_set() else "It went on.")

    def interrupt(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(claim_lists, "run_video", run)
    monkeypatch.setattr(claim_lists, "open_instance", lambda _: nullcontext(instance))
    monkeypatch.setattr(claim_lists, "as_completed", interrupt)
    monkeypatch.setattr(claim_lists, "_TICK_SECONDS", 0.01)
    settings, config = Settings(home=tmp_path), FactCheckConfig()
    with pytest.raises(FactibleError, match="complete are stored"):
        next(
            claim_lists.check_claim_list(
                ["v"],
                settings=settings,
                config=config,
                watch=lambda _: nullcontext(Observer()),
                jobs=1,
                fresh=True,
            )
        )
    assert marked.is_set()


def test_a_failed_claim_outweighs_incomplete_ones() -> None:
    assert gravest([ExitCode.INCOMPLETE, ExitCode.FAILED, ExitCode.DONE]) is ExitCode.FAILED
    assert gravest([ExitCode.DONE, ExitCode.INCOMPLETE]) is ExitCode.INCOMPLETE
    assert gravest([]) is ExitCode.DONE
