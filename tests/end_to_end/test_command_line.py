"""The command line, with the demo's miniature web and files in a temporary folder."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from tests.shortcuts import prepare
from warehouse.store import Warehouse


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    prepare(tmp_path / "home")
    return {**kept, "FACTIBLE_HOME": str(tmp_path / "home"), "COLUMNS": "160"}


def run(*arguments: str, env: dict[str, str]) -> dict[str, Any]:
    foreign = {name: None for name in os.environ if name.endswith("_API_KEY")}
    done = CliRunner().invoke(app, [*arguments, "--json"], env={**foreign, **env})
    assert done.exit_code == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def store_of(env: dict[str, str]) -> Warehouse:
    return Warehouse(Path(env["FACTIBLE_HOME"]) / "warehouse.duckdb")


def test_a_user_checks_a_transcript_against_a_folder_of_pages(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tower.html").write_text(
        "<html><head><title>The old lighthouse</title></head><body><article><p>The lighthouse of "
        "Port Example was built in 1871 and is 42 metres high. It was automated in 1986, when the "
        "last keeper left.</p></article></body></html>",
        encoding="latin-1",
    )
    talk = tmp_path / "talk.vtt"
    talk.write_text(
        "WEBVTT\n\n00:00:01.000 --> 00:00:06.000\nThe lighthouse of Port Example was built in "
        "1871 and is 42 metres high.\n",
        encoding="utf-8",
    )
    (claim,) = run("check", str(talk), "--pages", str(pages), env=environment)["claims"]
    assert claim["start_seconds"] == 1.0
    evidence = store_of(environment).query(
        "SELECT status, via, quote, rating FROM current_evidence WHERE status = 'ok'"
    )
    assert evidence["via"].to_list() == ["archive"]
    assert evidence["rating"].to_list() == ["medium"], "whoever hands a page over has chosen it"
    assert "1871" in evidence["quote"][0]
