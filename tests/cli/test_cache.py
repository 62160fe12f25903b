from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

from resources.storage.answers import DiskCache
from tests.cli.conftest import Run

DAY = timedelta(days=1)


def fill(home: Path) -> None:
    """Keep two searches and a model call, as a run would."""

    async def put() -> None:
        cache = DiskCache(home / "cache")
        await cache.put("search", "a", {"text": "an answer"}, keep=DAY)
        await cache.put("search", "b", {"text": "another"}, keep=DAY)
        await cache.put("models", "c", {"text": "a third"}, keep=DAY)

    asyncio.run(put())


def kept(factible: Run) -> dict[str, int]:
    return {
        kind["kind"]: kind["entries"]
        for kind in json.loads(factible("cache", "info", "--json").stdout)
    }


def test_info_on_an_empty_cache_creates_nothing(factible: Run, home: Path) -> None:
    result = factible("cache", "info")
    assert result.exit_code == 0, result.stderr
    for words in ("search", "pages", "models", "ages", "vectors", "1 day ", "90 days", "180 days"):
        assert words in result.stdout
    assert not (home / "cache").exists()


def test_info_counts_answers_by_kind(factible: Run, home: Path) -> None:
    fill(home)
    assert kept(factible) == {"search": 2, "pages": 0, "models": 1, "ages": 0, "vectors": 0}
    told = json.loads(factible("cache", "info", "--json").stdout)[0]
    assert told["bytes"] > 30
    assert told["oldest_use"].startswith("20")


def test_clear_deletes_only_the_chosen_kind(factible: Run, home: Path) -> None:
    fill(home)
    result = factible("cache", "clear", "--kind", "search")
    assert result.stdout.strip() == "search: 2 answers deleted"
    assert kept(factible) == {"search": 0, "pages": 0, "models": 1, "ages": 0, "vectors": 0}


def test_clear_deletes_every_kind(factible: Run, home: Path) -> None:
    fill(home)
    result = json.loads(factible("cache", "clear", "--json").stdout)
    assert result == {"search": 2, "pages": 0, "models": 1, "ages": 0, "vectors": 0}
    assert sum(kept(factible).values()) == 0


def test_clear_fails_if_the_file_cannot_be_used(factible: Run, home: Path) -> None:
    (home / "cache" / "answers.sqlite").mkdir(parents=True)
    result = factible("cache", "clear")
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"{home / 'cache'} could not be cleared." in result.stderr
