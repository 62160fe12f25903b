"""The cache's file: between processes, full, damaged, and when it cannot be written."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from resources.storage import answers
from resources.storage.answers import CachePolicy, DiskCache, Kind, cache_key

ROOT = Path(__file__).resolve().parents[3]
DAY = timedelta(days=1)
KIB = 1024


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


async def values(cache: DiskCache, *keys: str) -> list[object]:
    found = [await cache.get(key) for key in keys]
    return [each.value for each in found if each]


def entries(cache: DiskCache) -> dict[str, int]:
    return {each.kind: each.entries for each in cache.info() if each.entries}


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


async def test_a_value_replaces_the_one_before_and_comes_back_whole(cache: DiskCache) -> None:
    text = "Честное слово. " * 100_000
    for value in ({"n": 1}, text):
        await cache.put("search", "k", value, keep=DAY)
    assert await values(cache, "k") == [text]
    assert entries(cache) == {"search": 1}


async def test_a_lone_surrogate_stays_as_it_is(cache: DiskCache) -> None:
    await cache.put("search", "k", "a \ud83d", keep=DAY)
    assert await values(cache, "k") == ["a \ud83d"]
    assert cache.forget_about({"a"}) is not None


async def test_the_file_is_in_wal_mode_and_its_folder_is_private(
    cache: DiskCache, tmp_path: Path
) -> None:
    await cache.put("search", "k", 1, keep=DAY)
    with closing(sqlite3.connect(tmp_path / "cache" / "answers.sqlite")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


async def test_a_full_kind_loses_its_least_recently_used_values_and_no_other_kind_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_TOUCH_SECONDS", 0)
    monkeypatch.setattr(answers, "_WRITES_PER_CLEANING", 1)
    cache = DiskCache(tmp_path, CachePolicy(max_bytes=1000 * KIB))
    await cache.put("models", "paid", 1, keep=DAY)
    for number in range(100):
        await cache.put("search", f"k{number}", "x" * 7 * KIB, keep=DAY)
        assert await values(cache, "k0"), "what is used again and again stays"
    room = next(each for each in cache.info() if each.kind == "search")
    assert 20 <= room.entries <= 30
    assert room.bytes <= room.max_bytes + 8 * KIB
    assert len(await values(cache, "k99", "paid")) == 2
    assert not await values(cache, "k1")
    assert (tmp_path / "answers.sqlite").stat().st_size < 800 * KIB


async def test_threads_of_several_caches_share_a_file(tmp_path: Path) -> None:
    caches = [DiskCache(tmp_path) for _ in range(4)]
    puts = (caches[n % 4].put("search", f"k{n}", n, keep=DAY) for n in range(80))
    await asyncio.gather(*puts)
    assert await values(caches[0], *(f"k{n}" for n in range(80))) == list(range(80))


@pytest.mark.parametrize("damage", ["garbage", "emptied header", "torn middle"])
async def test_a_new_file_replaces_a_damaged_one(
    cache: DiskCache, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    keys = [f"k{number}" for number in range(200)]
    for key in keys:
        await cache.put("search", key, "x" * 500, keep=DAY)
    break_file(tmp_path / "cache" / "answers.sqlite", damage)
    cache = DiskCache(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        await values(cache, *keys)
        await cache.put("search", "new", 1, keep=DAY)
    assert await values(cache, "new") == [1]
    assert caplog.text.count("is damaged, so a new one begins") == 1
    assert "Traceback" not in caplog.text


async def test_a_caller_that_saw_the_damage_late_keeps_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answers.sqlite"
    late, first = DiskCache(tmp_path), DiskCache(tmp_path)
    await late.put("search", "k", 1, keep=DAY)
    break_file(path, "garbage")
    delete = late._file.delete

    def delete_late() -> None:
        first._store("models", {"paid": 1}, DAY)
        delete()

    monkeypatch.setattr(late._file, "delete", delete_late)
    await late.put("search", "k", 2, keep=DAY)
    assert await values(late, "paid", "k") == [1, 2]


async def test_a_dry_run_does_not_wait_for_a_writer(cache: DiskCache, tmp_path: Path) -> None:
    await cache.put("models", "k", "a claim", keep=DAY)
    with closing(sqlite3.connect(tmp_path / "cache" / "answers.sqlite")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        found = cache.forget_about({"a claim"}, dry_run=True)
    assert found is not None
    assert found["models"] == 1


def break_file(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "garbage":
            file.write(b"this is no database " * 500)
        elif damage == "emptied header":
            file.write(bytes(200))
        else:
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))


async def test_a_file_of_another_program_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE answers (name TEXT)")
    before = path.read_bytes()
    cache = DiskCache(tmp_path)
    await cache.put("search", "k", 1, keep=DAY)
    assert await values(cache, "k") == []
    assert path.read_bytes() == before
    assert "another version or program made it" in caplog.text


async def test_without_a_folder_nothing_is_cached(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file stands here")
    cache = DiskCache(tmp_path / "cache")
    for _ in range(3):
        await cache.put("search", "k", 1, keep=DAY)
        assert await values(cache, "k") == []
    assert entries(cache) == {}
    assert caplog.text.count("Answers are not stored") == 1


FULL = """
import asyncio, json, resource, sys
from datetime import timedelta
from pathlib import Path
from resources.storage.answers import DiskCache
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

async def main():
    cache = DiskCache(Path(sys.argv[1]))
    for number in range(40):
        await cache.put("pages", f"k{number}", "x" * 40_000, keep=timedelta(days=1))
    kept = [await cache.get(f"k{number}") for number in range(40)]
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
    cache = DiskCache(tmp_path, CachePolicy(max_bytes=10**9))
    for number in range(5):
        await cache.put("pages", f"k{number}", "x" * 10_000, keep=DAY)
    await cache.put("models", "k", {"n": 1}, keep=DAY)
    assert entries(cache) == {"pages": 5, "models": 1}
    assert sum(info.max_bytes for info in cache.info()) == pytest.approx(10**9, abs=4)
    pages = next(info for info in cache.info() if info.kind == "pages")
    assert pages.bytes > 50_000
    assert pages.oldest_use is not None
    assert cache.clear("pages") == {"pages": 5}
    assert entries(cache) == {"models": 1}
    assert cache.clear() == {"search": 0, "pages": 0, "models": 1, "ages": 0, "vectors": 0}
    assert entries(cache) == {}


def test_only_an_answer_creates_a_file(cache: DiskCache, tmp_path: Path) -> None:
    cache.info()
    cache.clear()
    cache.trim(timedelta(0))
    for dry_run in (True, False):
        cache.forget_about({"x"}, dry_run=dry_run)
    assert not (tmp_path / "cache").exists()


async def test_a_cancelled_write_is_finished(cache: DiskCache) -> None:
    writes = [asyncio.create_task(cache.put("models", f"k{n}", n, keep=DAY)) for n in range(20)]
    await asyncio.sleep(0)
    for write in writes:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    assert await values(cache, *(f"k{n}" for n in range(20))) == list(range(20))


async def test_no_question_is_readable_in_the_files(cache: DiskCache, tmp_path: Path) -> None:
    canary = "canary-sk-4711"
    key = cache_key("search", 1, f"serper?key={canary}", canary)
    await cache.put("search", key, ["an answer"], keep=DAY)
    for file in (tmp_path / "cache").iterdir():
        assert canary.encode() not in file.read_bytes()


async def test_values_with_a_text_are_deleted_with_their_bytes(
    cache: DiskCache, tmp_path: Path
) -> None:
    stored: dict[Kind, object] = {
        "search": [{"hits": [{"url": "https://a.example/secret"}]}],
        "models": {"answer": {"claims": ["A secret claim."]}, "calls": [{"request_id": "r1"}]},
        "ages": {"text": "It quotes A secret claim. among others."},
        "pages": {"answer": "nothing", "calls": [{"request_id": "r2"}]},
    }
    for kind, value in stored.items():
        await cache.put(kind, f"{kind} key", value, keep=DAY)
    about = {"https://a.example/secret", "r1", "not there"}
    for dry_run in (True, False):
        found = cache.forget_about(about, dry_run=dry_run)
        assert found is not None
        assert {kind for kind, number in found.items() if number} == {"search", "models"}
        assert len(entries(cache)) == (4 if dry_run else 2)
    files = [each.read_bytes() for each in (tmp_path / "cache").iterdir()]
    assert not any(b"https://a.example/secret" in each for each in files)


@pytest.mark.parametrize(("unused_for", "left"), [(60, 1), (-60, 0)])
async def test_unused_answers_are_trimmed_and_the_file_shrinks(
    cache: DiskCache, tmp_path: Path, unused_for: float, left: int
) -> None:
    await cache.put("pages", "key", "x" * 500_000, keep=DAY)
    before = size_of(tmp_path / "cache")
    assert cache.trim(timedelta(seconds=unused_for))["pages"] == 1 - left
    assert len(entries(cache)) == left
    assert (size_of(tmp_path / "cache") < before / 2) == (left == 0)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.suffix != ".sqlite-shm")


async def test_expired_answers_are_trimmed_even_if_recently_used(cache: DiskCache) -> None:
    await cache.put("pages", "new", "x", keep=DAY)
    await cache.put("search", "old", "x", keep=timedelta(microseconds=1))
    assert cache.trim(DAY) == {"search": 1, "pages": 0, "models": 0, "ages": 0, "vectors": 0}
    assert entries(cache) == {"pages": 1}
