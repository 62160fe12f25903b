"""The process that test_killed_runs.py kills: searches, fetches and model calls through the cache.

It works through the same list each time, a few at once and in random order, and writes a line for
each finished one.

Arguments: the server's port, the cache's folder, the file of notes, a seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from resources.http import HttpClient
from resources.llm.base import ModelRequest, Part
from resources.llm.ollama import OllamaBackend
from resources.llm.registry import ModelInfo, ProviderInfo
from resources.llm.structured import StructuredModel
from resources.network_guard import NameTable, NetworkGuard
from resources.pages.scraper import PageFetcher
from resources.search.base import SearchRequest
from resources.search.providers import SerperSearch
from resources.storage.answers import DiskCache
from resources.storage.archive import Archive
from resources.storage.caching import CachingFetcher, CachingModel, CachingSearch

EACH = 12
"""How many different searches, pages and model calls there are; each is wanted twice."""
AT_ONCE = 4


class Leaning(BaseModel):
    """The output type of the model requests."""

    stance: Literal["supports", "refutes"]


Job = tuple[str, Callable[[], Coroutine[Any, Any, object]]]


async def work(port: int, folder: Path, notes: Path, seed: int) -> None:
    names = NameTable({"*.example": ("127.0.0.1", port)})
    info = ModelInfo("tiny", "ollama", 4096)
    provider = ProviderInfo("ollama", "ollama", f"http://127.0.0.1:{port}")
    model = StructuredModel(OllamaBackend(info, provider))
    cache, archive = DiskCache(folder), Archive(folder / "archive.sqlite")
    async with HttpClient(guard=NetworkGuard(names=names)) as http:
        serper = SerperSearch(http, api_key="canary-key", base_url="http://search.example")
        search = CachingSearch(serper, cache, identity="serper http://search.example")
        fetcher = CachingFetcher(PageFetcher(http).fetch, cache, archive, identity="plain")
        asker = CachingModel(model, cache)
        jobs: list[Job] = []
        for number in range(EACH):
            jobs += 2 * [
                (
                    f"search {number}",
                    lambda n=number: search.search(SearchRequest(f"query {n}", 5)),
                ),
                (f"page {number}", lambda n=number: fetcher.fetch(f"http://web.example/{n}")),
                (f"model {number}", lambda n=number: asker.complete(question(n))),
            ]
        random.Random(seed).shuffle(jobs)
        await _work_through(jobs, notes)
    await model.aclose()


def question(number: int) -> ModelRequest[Leaning]:
    return ModelRequest("You judge.", (Part(f"Claim number {number}."),), Leaning, max_tokens=50)


async def _work_through(jobs: list[Job], notes: Path) -> None:
    slots = asyncio.Semaphore(AT_ONCE)
    log = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def one(name: str, job: Callable[[], Coroutine[Any, Any, object]]) -> None:
        async with slots:
            await job()
            os.write(log, f"{name}\n".encode())

    async with asyncio.TaskGroup() as group:
        for name, job in jobs:
            group.create_task(one(name, job))
    os.close(log)


if __name__ == "__main__":
    asyncio.run(work(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
