from __future__ import annotations

import json
from pathlib import Path

from factible_assets.report.data import read_report_data
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_failed_recheck, store_sample
from tests.report import samples


def test_a_report_is_written_and_its_path_is_printed(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("report", VIDEO_ID)
    assert result.exit_code == 0
    path = Path(result.stdout.strip())
    assert path == home / "reports" / f"{VIDEO_ID}.html"
    page = path.read_text(encoding="utf-8")
    assert samples.SENTENCES[0] in page
    assert f"<mark>{samples.QUOTE}</mark>" in page


def test_a_link_names_the_same_report_as_the_id(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("report", f"https://youtu.be/{VIDEO_ID}?t=4", "--json")
    assert json.loads(result.stdout) == {
        "video_id": VIDEO_ID,
        "report": str(home / "reports" / f"{VIDEO_ID}.html"),
    }


def test_a_report_can_be_written_elsewhere(factible: Run, home: Path, tmp_path: Path) -> None:
    store_sample(home)
    target = tmp_path / "deep" / "mine.html"
    assert factible("report", VIDEO_ID, "-o", target).exit_code == 0
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_an_unwritable_folder_of_reports_gets_a_sentence(factible: Run, home: Path) -> None:
    store_sample(home)
    (home / "reports").write_text("a file where a folder should be", encoding="utf-8")
    result = factible("report", VIDEO_ID)
    assert (result.exit_code, str(home / "reports") in result.stderr) == (5, True)
    assert "Check the path and its permissions" in result.stderr


def test_all_reports_are_written_with_their_index(factible: Run, home: Path) -> None:
    store_sample(home)
    result = factible("report", "--all", "--json")
    index = home / "reports" / "index.html"
    report = home / "reports" / f"{VIDEO_ID}.html"
    assert json.loads(result.stdout) == {"index": str(index), "reports": {VIDEO_ID: str(report)}}
    assert f'href="{VIDEO_ID}.html"' in index.read_text("utf-8")
    assert samples.SENTENCES[0] in report.read_text("utf-8")


def test_reports_without_a_warehouse_get_a_sentence(factible: Run) -> None:
    result = factible("report", "--all")
    assert result.exit_code == 4
    assert "there is no warehouse" in result.stderr
    assert "factible check" in result.stderr


def test_report_needs_either_a_video_or_all(factible: Run, home: Path) -> None:
    store_sample(home)
    for arguments in ((), (VIDEO_ID, "--all"), ("--all", "-o", "x.html")):
        result = factible("report", *arguments)
        assert result.exit_code == 2
        assert result.stdout == ""


def test_the_report_of_an_unchecked_video_names_the_remedy(factible: Run) -> None:
    result = factible("report", "--", "-LDjqcvSbP4")
    assert result.exit_code == 4
    assert "Nothing is stored about the video -LDjqcvSbP4" in result.stderr
    assert "factible check -- -LDjqcvSbP4" in result.stderr


def test_the_reader_gives_back_the_rows_that_were_written(home: Path) -> None:
    data = read_report_data(store_sample(home), VIDEO_ID)
    wanted = samples.report_data()
    assert data is not None
    assert data.video == wanted.video
    assert data.transcript == wanted.transcript
    assert data.segments == wanted.segments
    assert {claim.claim_id for claim in data.claims} == {
        samples.claim(number).claim_id for number in range(5)
    }
    assert len(data.verdicts) == 5
    assert {row.evidence_id for row in data.evidence} == {
        row.evidence_id for row in wanted.evidence
    }
    assert data.texts == wanted.texts
    assert data.run_id == "run-1"
    assert data.checked_at == wanted.checked_at


def test_a_failed_recheck_leaves_the_last_good_verdict_and_says_so(
    factible: Run, home: Path
) -> None:
    store_failed_recheck(store_sample(home, ("supports", "refutes")))
    page = Path(factible("report", VIDEO_ID).stdout.strip()).read_text(encoding="utf-8")
    words = " ".join(page.split())
    assert "A re-check on 3 February 2026, 04:05 UTC failed" in words
    assert "The search service was down." in words
    assert "This is the last good verdict, of 2 January 2026, 03:04 UTC." in words
    assert words.count("A re-check on") == 1


def test_the_reader_knows_nothing_of_a_video_that_is_not_there(home: Path) -> None:
    assert read_report_data(store_sample(home), "another") is None
