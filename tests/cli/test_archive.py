from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from factible_assets.cli.archive import import_pages
from factible_assets.settings import Settings
from tests.cli.conftest import Run

PAGE = {"url": "https://www.nasa.gov/moon", "title": "Moon", "text": "The wall is not visible."}


def jsonl(path: Path, *lines: object) -> Path:
    """Write lines of JSON."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_pages_are_imported_and_counted(factible: Run, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "pages.jsonl", PAGE)
    first = factible("archive", "import", source, "--collection", "mine")
    assert first.exit_code == 0, first.stderr
    assert "1 page added" in first.stdout
    info = json.loads(factible("archive", "info", "--json").stdout)
    assert info["collections"] == {"mine": 1}
    assert "mine" in factible("archive", "info").stdout


def test_a_malformed_line_is_named_and_nothing_is_imported(factible: Run, tmp_path: Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(f"{json.dumps(PAGE)}\n{{broken\n", encoding="utf-8")
    result = factible("archive", "import", source)
    assert result.exit_code == 4
    assert f"{source}:2: " in result.stderr
    assert json.loads(factible("archive", "info", "--json").stdout)["collections"] == {}


def test_a_changed_folder_is_another_collection(tmp_path: Path) -> None:
    folder = tmp_path / "My Pages!"
    folder.mkdir()
    page = folder / "a.txt"
    page.write_text("one", encoding="utf-8")
    settings = Settings(home=tmp_path / "home")
    first = import_pages(folder, settings)
    assert import_pages(folder, settings) == first
    page.write_text("another", encoding="utf-8")
    assert import_pages(folder, settings) != first
    assert first.startswith("pages-my-pages-")


def test_import_reports_skipped_documents_and_follows_no_links_out_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("Nobody was to read this.", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "honey.txt").write_text("Honey keeps for years.", encoding="utf-8")
    (folder / "study.pdf").write_bytes(b"%PDF-1.4")
    with open(os.fsencode(folder) + b"/Mu\xf1oz.txt", "w") as file:  # noqa: PTH123
        file.write("Named by an old program.")
    import_pages(folder, Settings(home=tmp_path / "home"))
    said = capsys.readouterr().err
    assert "2 pages added" in said
    assert "study.pdf: documents of this kind are not read from a folder" in said
