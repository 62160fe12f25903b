from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from factible_assets.cli.main import app

Run = Callable[..., Result]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an empty data folder, no keys and an empty working directory."""
    for name in ("FACTIBLE_WEB", "FACTIBLE_DEBUG", "SERPER_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "home"
    monkeypatch.setenv("FACTIBLE_HOME", str(place))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return place


@pytest.fixture
def factible(home: Path) -> Run:
    """Runs the command line in this process."""

    def run(*arguments: str | Path, stdin: str | None = None) -> Result:
        return CliRunner().invoke(
            app, [str(a) for a in arguments], input=stdin, prog_name="factible"
        )

    return run
