"""Damaged input gets a sentence with the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.shortcuts import prepare

DIGITS = "9" * 5_000
DEEP = "[" * 50_000
VIDEO = "videos:\n  - id: jNQXAC9IVRw\n"
HIT = '{"query": "q", "hits": [{"url": "http://a.example/", "rank": %s}]}'


@pytest.mark.parametrize(
    ("command", "name", "content", "words"),
    [
        ("archive import", "a.jsonl", f"\n{HIT % 10**30}\n", "a.jsonl:2: rank is 1000"),
        ("archive import", "a.jsonl", HIT % DIGITS, "a.jsonl:1: This is not JSON"),
        (
            "archive import",
            "a.jsonl",
            '{"url": "http://a.example/", "text": "t", "retrieved_at": "0001-01-01T00:00+14:00"}',
            "a.jsonl:1: retrieved_at is '0001-01-01T00:00+14:00': write a date",
        ),
        (
            "archive import",
            "a.jsonl",
            '{"url": "http://a.example/\\ud800", "text": "t"}',
            "a.jsonl:1: '' is no address",
        ),
        ("corpus validate", "c.yaml", f"{VIDEO}    title: {DEEP}\n", "c.yaml:3: "),
        ("corpus validate", "c.yaml", f"{VIDEO}    duration_seconds: {DIGITS}\n", "c.yaml:3: "),
        ("corpus validate", "c.yaml", f"{VIDEO}    duration_seconds: 1e999\n", "c.yaml:3: "),
        ("corpus validate", "c.yaml", f"{VIDEO}    claim_count: {2**70}\n", "c.yaml:3: "),
        ("corpus validate", "c.yaml", f"{VIDEO}    published_before: 0001-01-01\n", "c.yaml:3: "),
        ("corpus validate", "c.yaml", f'{VIDEO}    title: "\\ud800"\n', "c.yaml:3: "),
        (
            "check",
            "t.json",
            f'[\n{{"text": "Oneham was founded in 1820.", "start": {DIGITS}}}]',
            "t.json: This is not JSON: nested too deeply, or with a number of thousands",
        ),
        (
            "corpus import",
            "i.json",
            f'[{{"claim": "x", "label": {DIGITS}}}]',
            "i.json: This is not JSON",
        ),
    ],
)
def test_an_unreadable_file_is_named_with_its_line(
    factible: Run, tmp_path: Path, command: str, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = factible(*command.split(), tmp_path / name)
    assert words in result.output
    assert DIGITS not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    ("command", "file", "content", "words"),
    [
        ("doctor", "ratings/x.yaml", f"name: x\nratings: {DEEP}", "x.yaml:2"),
        ("status", "models.yaml", f"models:\n  x: {DEEP}", "models.yaml:2: "),
        ("status", "models.yaml", f"models: {{x: {DIGITS}}}", "models.yaml:1: "),
    ],
)
def test_an_unreadable_file_of_the_data_folder_is_named(
    factible: Run,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    file: str,
    content: str,
    words: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    (home / "ratings").mkdir(parents=True)
    (home / file).write_text(content, encoding="utf-8")
    result = factible(command, "--json")
    assert words in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_an_argument_with_half_a_surrogate_pair_is_refused(factible: Run, home: Path) -> None:
    prepare(home)
    result = factible("runs", "--video", "talk-\udc80")
    assert (result.exit_code, "is no text" in result.stderr) == (4, True)


@pytest.mark.parametrize(
    "words",
    ["{{{: [", "storage: {mysql: 3}", "run_storage: {module: no_such_package, class: RunStorage}"],
)
def test_wrong_settings_of_dagster_are_named_with_the_remedy(
    factible: Run, home: Path, words: str
) -> None:
    (prepare(home) / "dagster" / "dagster.yaml").write_text(words, encoding="utf-8")
    result = factible("runs")
    assert result.exit_code == 5
    assert "Dagster cannot start with" in result.stderr
    assert "move it away: the next start writes a new one" in result.stderr


def test_damaged_records_of_dagster_are_named_with_the_remedy(factible: Run, home: Path) -> None:
    (prepare(home) / "dagster" / "history" / "runs.db").write_bytes(b"no database" * 999)
    result = factible("runs")
    assert result.exit_code == 5
    assert "records in" in result.stderr
    assert "Move that folder away: Dagster starts a new record of runs" in result.stderr
    (home / "dagster").rename(home / "damaged")
    assert factible("runs").exit_code == 0


def test_a_day_before_the_year_1000_is_refused(factible: Run) -> None:
    result = factible("check", "everyday-beliefs-talk", "--published-before", "0001-01-01")
    assert result.exit_code == 2
    assert "1000-01-01" in result.stderr
