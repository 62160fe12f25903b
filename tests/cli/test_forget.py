"""`factible forget` leaves nothing of a video in the data folder, and everything of others."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.corpora.reading import load_corpora
from factible_assets.records.tables import Verdict
from factible_assets.runs.instance import open_instance
from factible_assets.settings import load_settings
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample
from warehouse.store import Warehouse

FEW = ("--web", "miniature", "--max-queries", "1", "--max-results", "3")
HONEY = "Sealed honey can keep for years without spoiling."
LIGHTNING = "Lightning can strike the same place many times."
EVEREST = "Mount Everest is 8,849 metres high, measured from sea level."


def talk(folder: Path, name: str, *sentences: str) -> Path:
    path = folder / f"{name}.vtt"
    cues = (
        f"00:{5 * n:02}.000 --> 00:{5 * n + 4:02}.000\n{each}\n" for n, each in enumerate(sentences)
    )
    path.write_text("WEBVTT\n\n" + "\n".join(cues), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, str]]:
    """A data folder with two checked videos that rest on some of the same pages, exported."""
    folder, found = tmp_path_factory.mktemp("checked"), []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FACTIBLE_WEB", "SERPER_API_KEY", "OPENAI_API_KEY"):
            patch.delenv(name, raising=False)
        patch.setenv("FACTIBLE_HOME", str(folder / "home"))
        for name, said in (("beekeeper", (HONEY, LIGHTNING)), ("climber", (HONEY,))):
            file = talk(folder, name, *said)
            done = CliRunner().invoke(
                app, ["check", str(file), *FEW, "--json"], prog_name="factible"
            )
            assert done.exit_code == 0, done.stderr
            found.append(str(json.loads(done.stdout)["video_id"]))
        assert CliRunner().invoke(app, ["export"], prog_name="factible").exit_code == 0
    return folder / "home", (found[0], found[1])


@pytest.fixture
def videos(home: Path, checked: tuple[Path, tuple[str, str]]) -> tuple[str, str]:
    """Two checked videos in the data folder of the test."""
    shutil.copytree(checked[0], home)
    return checked[1]


def holding(home: Path, words: str) -> list[str]:
    found = []
    for each in home.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # the log of a database that closes
            if words in each.name or words.encode() in each.read_bytes():
                found.append(each.name)
    return found


def partitions() -> list[str]:
    with open_instance(load_settings()) as instance:
        return list(instance.get_dynamic_partitions("videos"))


def newest_run() -> str:
    with open_instance(load_settings()) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("verdicts"))
    assert event is not None
    return str(event.asset_materialization and event.asset_materialization.partition)


def test_a_dry_run_counts_and_removes_nothing(
    factible: Run, home: Path, videos: tuple[str, str]
) -> None:
    before = holding(home, videos[0])
    told = factible("forget", videos[0])
    assert told.exit_code == 0, told.stderr
    assert "rows of verdict_history" in told.stdout
    assert "Nothing was removed" in told.stderr
    assert len(Warehouse(home / "warehouse.duckdb").read_current(Verdict, videos[0])) == 2
    assert holding(home, videos[0]) == before
    assert set(partitions()) == set(videos)


def test_forget_leaves_no_trace_and_keeps_other_videos(
    factible: Run, home: Path, videos: tuple[str, str]
) -> None:
    gone, kept = videos
    said = LIGHTNING
    assert holding(home, gone)
    assert holding(home, said)
    with open_instance(load_settings()) as instance:
        (run,) = instance.get_runs(dg.RunsFilter(tags={"video": kept}))
        instance.report_engine_event(f"Before it came {gone}.", run)
        figures: dg.MaterializeResult[None] = dg.MaterializeResult(
            metadata={"figures": f"| {gone} | 1.000 |"}
        )
        evaluation = dg.asset(name="evaluation")(lambda: figures)
        assert dg.materialize([evaluation], instance=instance).success
        reported = dg.AssetMaterialization("verdicts", partition=gone)  # by a button of the UI
        instance.report_runless_asset_event(reported)
    (home / ".sql_history").write_text(f"SELECT 1\nFROM claims WHERE video_id = '{gone}'\n")
    (home / "cache").mkdir(exist_ok=True)
    (home / "cache" / "models.sqlite").write_text(f"An earlier version kept it: {said}")
    warehouse = Warehouse(home / "warehouse.duckdb")
    before = warehouse.read_video(kept)
    done = factible("forget", gone, "--yes", "--json")
    assert done.exit_code == 0, done.stderr
    (told,) = json.loads(done.stdout)
    assert told["counts"]["runs at Dagster"] == 1
    assert told["counts"]["entries of corpora"] == 1
    assert holding(home, gone) == []
    assert holding(home, said) == []
    assert warehouse.read_video(kept) == before
    assert before.texts, "the pages that both rest on are still there"
    assert Warehouse(home / "published.duckdb").read_video(kept) == before
    assert (home / ".sql_history").read_text() == "SELECT 1\n"
    assert partitions() == [kept]
    assert newest_run() == kept
    listed = load_corpora([home / "corpora"])
    assert [each.video.video_id for each in listed.videos()] == [kept]
    assert not listed.problems
    assert (home / "reports" / f"{kept}.html").exists()
    assert factible("forget", gone).exit_code == 4, "nothing is known of it any more"


def test_a_corpus_is_forgotten_with_its_file(factible: Run, home: Path, tmp_path: Path) -> None:
    for name, said in (("beekeeper", HONEY), ("climber", EVEREST)):
        assert factible("corpus", "add", talk(tmp_path, name, said)).exit_code == 0
    listed = [each.video.video_id for each in load_corpora([home / "corpora"]).videos()]
    assert len(listed) == 2
    assert factible("forget", "--corpus", "local", "--yes").exit_code == 0
    for video_id in listed:
        assert holding(home, video_id) == []
    assert not (home / "corpora" / "local.yaml").exists()


def test_forget_refuses_unknown_videos_and_empty_commands(factible: Run, home: Path) -> None:
    assert factible("forget").exit_code == 2
    unknown = factible("forget", "nobody-knows-it", "--yes")
    assert unknown.exit_code == 4
    assert "The data folder has nothing about" in unknown.stderr
    (home / "notes.txt").write_text("x1 marks the spot")
    short = factible("forget", "x1")
    assert (short.exit_code, short.stdout) == (4, "")
    assert "nothing about a video x1. These letters stand in" in short.stderr


def test_files_of_a_video_with_a_longer_name_stay(factible: Run, home: Path) -> None:
    gone = ("exports/markdown/talk.md", "exports/markdown/talk-c0123456789abcdef.md")
    left, kept = "corpora/recordings/talk.mp3", "exports/markdown/evening-talk.md"
    for name in (*gone, left, kept):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("Claims.")
    assert factible("forget", "talk", "--yes").exit_code == 0
    assert [(home / name).exists() for name in (*gone, left, kept)] == [False, False, False, True]


def test_a_video_is_taken_from_the_list_alone(
    factible: Run, home: Path, videos: tuple[str, str]
) -> None:
    done = factible("corpus", "remove", videos[0])
    assert done.exit_code == 0, done.stderr
    assert load_corpora([home / "corpora"]).find(videos[0]) is None
    assert len(Warehouse(home / "warehouse.duckdb").read_current(Verdict, videos[0])) == 2
    assert factible("corpus", "remove", videos[0]).exit_code == 4


def test_forget_erases_old_copies_and_names_what_it_cannot_remove(
    factible: Run, home: Path
) -> None:
    store_sample(home)
    copied = home / "warehouse.duckdb.replaced-20260102T000000Z"
    shutil.copyfile(home / "warehouse.duckdb", copied)
    assert VIDEO_ID in Warehouse(copied).video_ids()
    (home / "notes.txt").write_text(f"Ask about {VIDEO_ID}.")
    older = home / "warehouse.duckdb.replaced-20260101T000000Z"
    older.write_bytes(b"damaged")
    for answer in (factible("forget", VIDEO_ID), factible("forget", VIDEO_ID, "--yes")):
        told = " ".join(answer.stderr.split())
        why = "DuckDB does not recognise the file as its own"
        assert f"{older} is no warehouse, or no longer: {why}. Delete that file." in told
    assert answer.exit_code == 1
    assert "notes.txt" in told
    assert holding(home, VIDEO_ID) == ["notes.txt"]
    assert Warehouse(copied).video_ids() == []
