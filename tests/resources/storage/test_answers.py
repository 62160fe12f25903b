"""The cache's files: between processes, full, damaged, and when they cannot be written."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from resources.storage import answers
from resources.storage.answers import AnswerTable, CachePolicy, DiskCache, cache_key

ROOT = Path(__file__).resolve().parents[3]
DAY = timedelta(days=1)
KIB = 1024


@pytest.fixture
def table(tmp_path: Path) -> Iterator[AnswerTable]:
    opened = AnswerTable(tmp_path / "pages.sqlite", max_bytes=64 * KIB * KIB)
    yield opened
    opened.close()


def test_a_key_is_a_hash_that_any_difference_changes() -> None:
    keys = {
        cache_key("search", 1, "a", {"q": "x", "n": 1}),
        cache_key("pages", 1, "a", {"q": "x", "n": 1}),
        cache_key("search", 2, "a", {"q": "x", "n": 1}),
        cache_key("search", 1, "b", {"q": "x", "n": 1}),
        cache_key("search", 1, "a", {"q": "x", "n": "1"}),
        cache_key("search", 1, "a\x1f", {"q": "x"}),
        cache_key("search", 1, "\ud800"),
    }
    assert len(keys) == 7
    assert all(len(key) == 64 and int(key, 16) >= 0 for key in keys)
    assert cache_key("a", 1, {"q": 1, "n": 2}) == cache_key("a", 1, {"n": 2, "q": 1})


def test_a_value_replaces_the_one_before(table: AnswerTable) -> None:
    for number in range(3):
        table.put({"k": {"n": number}}, stored_at=float(number), seconds=60)
    kept = table.get(["k"]).get("k")
    assert kept is not None
    assert (kept.value, kept.stored_at) == ({"n": 2}, 2.0)
    assert table.count()[0] == 1


def test_a_value_with_lone_surrogates_is_not_stored(table: AnswerTable) -> None:
    table.put({"k": "\ud83d\ude00"}, stored_at=0.0, seconds=60)
    assert "k" not in table.get(["k"])


def test_a_large_value_comes_back_whole(table: AnswerTable) -> None:
    text = "Честное слово. " * 100_000
    table.put({"k": text}, stored_at=0.0, seconds=60)
    kept = table.get(["k"]).get("k")
    assert kept is not None
    assert kept.value == text


def test_the_file_is_in_wal_mode_and_its_folder_is_private(
    table: AnswerTable, tmp_path: Path
) -> None:
    inner = AnswerTable(tmp_path / "deep" / "pages.sqlite", max_bytes=KIB * KIB)
    inner.put({"k": 1}, stored_at=0.0, seconds=60)
    inner.close()
    connection = sqlite3.connect(inner.path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert (tmp_path / "deep").stat().st_mode & 0o077 == 0


def test_a_full_file_evicts_the_least_recently_used_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_TOUCH_SECONDS", 0)
    table = AnswerTable(tmp_path / "pages.sqlite", max_bytes=400 * KIB)
    for number in range(200):
        table.put({f"k{number}": "x" * 7 * KIB}, stored_at=0.0, seconds=600)
        assert "k0" in table.get(["k0"]), "what is used again and again stays"
    assert 20 <= table.count()[0] <= 60
    assert "k199" in table.get(["k199"])
    assert "k1" not in table.get(["k1"])
    table.close()
    assert table.path.stat().st_size < 800 * KIB


def test_many_threads_and_connections_share_a_file(tmp_path: Path) -> None:
    tables = [AnswerTable(tmp_path / "s.sqlite", max_bytes=KIB * KIB) for _ in range(4)]

    def work(number: int) -> None:
        table = tables[number % 4]
        table.put({f"k{number}": number}, stored_at=0.0, seconds=60)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(80)))
    found = [tables[0].get([f"k{number}"]).get(f"k{number}") for number in range(80)]
    assert [kept.value for kept in found if kept] == list(range(80))
    for table in tables:
        table.close()


@pytest.mark.parametrize("damage", ["garbage", "emptied header", "torn middle"])
def test_a_new_file_replaces_a_damaged_one(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "search.sqlite"
    before = AnswerTable(path, max_bytes=KIB * KIB)
    for number in range(200):
        before.put({f"k{number}": "x" * 500}, stored_at=0.0, seconds=60)
    before.close()
    break_file(path, damage)
    table = AnswerTable(path, max_bytes=KIB * KIB)
    with caplog.at_level(logging.WARNING):
        for number in range(200):
            table.get([f"k{number}"])
        table.put({"new": 1}, stored_at=0.0, seconds=60)
    assert table.get(["new"])["new"].value == 1
    table.close()
    assert "is damaged, so a new one begins" in caplog.text
    assert "Traceback" not in caplog.text


def break_file(path: Path, damage: str) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "garbage":
            file.write(b"this is no database " * 500)
        elif damage == "emptied header":
            file.write(bytes(200))
        else:
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))


def test_a_file_of_another_program_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "search.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE answers (name TEXT)")
    before = path.read_bytes()
    table = AnswerTable(path, max_bytes=KIB * KIB)
    table.put({"k": 1}, stored_at=0.0, seconds=60)
    assert table.get(["k"]) == {}
    assert path.read_bytes() == before
    assert "another version or program made it" in caplog.text


def test_a_file_renamed_by_another_process_is_reopened(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    one, two = (AnswerTable(path, max_bytes=KIB * KIB) for _ in range(2))
    one.put({"k": 1}, stored_at=0.0, seconds=60)
    assert two.get(["k"]).get("k") is not None
    path.rename(tmp_path / "elsewhere")
    two.put({"k": 2}, stored_at=0.0, seconds=60)
    kept = one.get(["k"]).get("k")
    assert kept is not None
    assert kept.value == 2
    one.close()
    two.close()


async def test_without_a_folder_nothing_is_cached(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file stands here")
    async with DiskCache(tmp_path / "cache") as cache:
        for _ in range(3):
            await cache.put("search", "k", 1, keep=DAY)
            assert await cache.get("search", "k") is None
        assert sum(kind.entries for kind in cache.info()) == 0
    assert caplog.text.count("Answers are not stored") == 1


FULL = """
import asyncio, json, resource, sys
from datetime import timedelta
from pathlib import Path
from resources.storage.answers import DiskCache
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

async def main():
    async with DiskCache(Path(sys.argv[1])) as cache:
        for number in range(40):
            await cache.put("pages", f"k{number}", "x" * 40_000, keep=timedelta(days=1))
        kept = [await cache.get("pages", f"k{number}") for number in range(40)]
    print(json.dumps([len(each.value) for each in kept if each]))

asyncio.run(main())
"""


def test_a_full_disk_is_logged(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    kept = json.loads(done.stdout)
    assert 1 <= len(kept) < 40
    assert set(kept) == {40_000}
    assert "Answers are not stored" in done.stderr
    assert "Traceback" not in done.stderr


async def test_answers_are_counted_and_cleared_by_kind(tmp_path: Path) -> None:
    async with DiskCache(tmp_path, CachePolicy(max_bytes=10**9)) as cache:
        for number in range(5):
            await cache.put("pages", f"k{number}", "x" * 10_000, keep=DAY)
        await cache.put("models", "k", {"n": 1}, keep=DAY)
        counted = {info.kind: info.entries for info in cache.info()}
        assert counted == {"search": 0, "pages": 5, "models": 1, "ages": 0, "vectors": 0}
        assert sum(info.max_bytes for info in cache.info()) == pytest.approx(10**9, abs=4)
        pages = next(info for info in cache.info() if info.kind == "pages")
        assert pages.bytes_on_disk > 50_000
        assert pages.oldest_use is not None
        assert cache.clear("pages") == {"pages": 5}
        assert await cache.get("models", "k") is not None
        assert cache.clear() == {"search": 0, "pages": 0, "models": 1, "ages": 0, "vectors": 0}
        assert await cache.get("models", "k") is None
        assert not any(info.entries for info in cache.info())


async def test_only_an_answer_creates_a_file(tmp_path: Path) -> None:
    async with DiskCache(tmp_path / "cache") as cache:
        cache.info()
        cache.clear()
        cache.trim(timedelta(0))
        for dry_run in (True, False):
            cache.forget_about({"x"}, dry_run=dry_run)
    assert not (tmp_path / "cache").exists()


async def test_a_cancelled_write_is_finished(tmp_path: Path) -> None:
    async with DiskCache(tmp_path) as cache:
        writes = [asyncio.create_task(cache.put("models", f"k{n}", n, keep=DAY)) for n in range(20)]
        await asyncio.sleep(0)
        for write in writes:
            write.cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        kept = [await cache.get("models", f"k{n}") for n in range(20)]
    assert [each.value for each in kept if each] == list(range(20))


def test_no_question_is_readable_in_the_files(tmp_path: Path) -> None:
    canary = "canary-sk-4711"
    table = AnswerTable(tmp_path / "search.sqlite", max_bytes=KIB * KIB)
    key = cache_key("search", 1, f"serper?key={canary}", canary)
    table.put({key: ["an answer"]}, stored_at=0.0, seconds=60)
    table.close()
    for file in tmp_path.iterdir():
        assert canary.encode() not in file.read_bytes()


def test_values_with_a_text_are_deleted_with_their_bytes(table: AnswerTable) -> None:
    values = {
        "search": [{"hits": [{"url": "https://a.example/secret"}]}],
        "model": {"answer": {"claims": ["A secret claim."]}, "calls": [{"request_id": "r1"}]},
        "near": {"text": "It quotes A secret claim. among others."},
        "other": {"answer": "nothing", "calls": [{"request_id": "r2"}]},
    }
    table.put(values, stored_at=0.0, seconds=60)
    about = {"https://a.example/secret", "r1", "not there"}
    assert table.forget_about(about, dry_run=True) == 2
    assert table.count()[0] == 4
    assert table.forget_about(about, dry_run=False) == 2
    assert set(table.get(list(values))) == {"near", "other"}
    table.close()
    files = [each.read_bytes() for each in table.path.parent.iterdir()]
    assert not any(b"https://a.example/secret" in each for each in files)
