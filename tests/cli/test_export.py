from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample


def test_everything_is_written_for_all_videos(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("export", "--json")
    assert result.exit_code == 0, result.stderr
    done = json.loads(result.stdout)
    assert done["folder"] == str(home / "exports")
    assert done["videos"] == [VIDEO_ID]
    rows = {Path(file["path"]).name: file["rows"] for file in done["files"]}
    assert rows["claimreview.jsonld"] == rows["averitec.json"] == 4
    assert rows["current_verdicts.parquet"] == 5
    assert rows["source_scoreboard.parquet"] > 0
    assert all(Path(file["path"]).is_file() for file in done["files"])
    assert any("1 claim with an incomplete verdict" in each for each in done["left_out"])


def test_one_video_one_format_and_one_folder_may_be_chosen(
    factible: Run, home: Path, tmp_path: Path
) -> None:
    store_sample(home)
    result = factible(
        "export",
        f"https://youtu.be/{VIDEO_ID}",
        "-f",
        "claimreview",
        "--to",
        tmp_path / "site",
        "--base-url",
        "https://site.example/checks",
        "--quiet",
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"claimreview.jsonld"}
    (file,) = (tmp_path / "site").iterdir()
    reviews = json.loads(file.read_text())["@graph"]
    assert reviews[0]["url"].startswith(f"https://site.example/checks/{VIDEO_ID}.html#claim-")
    assert str(file) in result.stdout


def test_export_of_some_videos_names_the_omitted_views(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("export", VIDEO_ID, "-f", "parquet")
    assert result.exit_code == 0
    assert "source_scoreboard" in result.stderr
    written = home / "exports" / "parquet"
    assert not (written / "source_scoreboard.parquet").exists()
    assert pl.read_parquet(written / "current_claims.parquet").height == 5


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nowhere-talk"], 4, "Nothing is stored about a video nowhere-talk"),
        (["--corpus", "nothing"], 4, "No video of the corpus 'nothing' has a check yet"),
        ([VIDEO_ID, "--corpus", "x"], 2, "Give one of them"),
        (["--base-url", "site"], 2, "Begin it with https://"),
    ],
)
def test_export_refuses_with_a_remedy(
    factible: Run, home: Path, arguments: list[str], code: int, sentence: str
) -> None:
    store_sample(home)
    result = factible("export", *arguments)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert result.stdout == ""
    assert not (home / "exports").exists()


def test_export_reports_an_unwritable_folder(factible: Run, home: Path, tmp_path: Path) -> None:
    store_sample(home)
    (tmp_path / "taken").write_text("a file")
    result = factible("export", "--to", tmp_path / "taken" / "here")
    assert result.exit_code == 5
    assert "taken" in result.stderr
