"""A run that is killed again and again goes on where it was, and pays for nothing twice."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from resources.storage.answers import DiskCache, cache_key
from resources.storage.caching import _MODELS_VERSION
from tests.resources.llm.servers import ollama_answer
from tests.resources.storage.worker import AT_ONCE, EACH, question, work
from tests.servers import Asked, Exchange, MisbehavingServer, respond, respond_json

ROOT = Path(__file__).resolve().parents[3]
KILLS = 2


def name_of(asked: Asked) -> str:
    """Name a request like the worker's notes."""
    body = asked.json if asked.method == "POST" else None
    if asked.path == "/search":
        assert isinstance(body, dict)
        return f"search {body['q'].removeprefix('query ')}"
    if asked.path == "/api/chat":
        assert isinstance(body, dict)
        return f"model {body['messages'][-1]['content'].split()[-1].rstrip('.')}"
    return f"page {asked.path.removeprefix('/')}"


@dataclass
class Web:
    """Answers everything after a moment, and counts."""

    chance: random.Random
    asked: list[list[str]] = field(default_factory=list)
    kill_after: int | None = None
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def behave(self, exchange: Exchange) -> None:
        self.asked[-1].append(name_of(exchange.asked))
        if self.kill_after is not None and len(self.asked[-1]) >= self.kill_after:
            self.enough.set()
        await asyncio.sleep(self.chance.uniform(0.0, 0.04))
        path = exchange.asked.path
        if path == "/search":
            hits = [{"title": "A page", "link": "http://web.example/1", "position": 1}]
            await respond_json({"organic": hits})(exchange)
        elif path == "/api/chat":
            await respond_json(ollama_answer('{"stance": "refutes"}'))(exchange)
        else:
            await respond(f"<p>{'Honey keeps for many years. ' * 20}</p>")(exchange)


async def run(web: Web, port: int, folder: Path, seed: int) -> int:
    """Start the worker, kill it when the server has had enough, and return its exit code."""
    web.asked.append([])
    web.enough.clear()
    arguments = [str(port), str(folder / "cache"), str(folder / "notes"), str(seed)]
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.resources.storage.worker", *arguments, cwd=ROOT
    )
    ended = asyncio.create_task(worker.wait())
    enough = asyncio.create_task(web.enough.wait())
    await asyncio.wait([ended, enough], return_when=asyncio.FIRST_COMPLETED)
    enough.cancel()
    if not ended.done():
        await asyncio.sleep(web.chance.uniform(0.0, 0.04))
        worker.kill()
    return await ended


async def told_requests(folder: Path, port: int) -> int:
    """Return how many requests to models the kept answers tell of."""
    told: set[str] = set()
    cache = DiskCache(folder)
    for number in range(EACH):
        fingerprint = question(number).fingerprint
        identity = f"ollama http://127.0.0.1:{port} tiny"
        kept = await cache.get(cache_key("models", _MODELS_VERSION, identity, fingerprint))
        assert kept is not None
        told |= {call["request_id"] for call in kept.value["calls"]}
    return len(told)


async def test_repeatedly_killed_runs_ask_nothing_twice(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    web = Web(random.Random(seed))
    notes = tmp_path / "notes"
    async with MisbehavingServer() as server:
        server.on("*", web.behave)
        server.on("/robots.txt", respond(status=404))
        for attempt in range(KILLS + 1):
            done = set(notes.read_text().splitlines()) if notes.exists() else set()
            web.kill_after = web.chance.randint(3, EACH) if attempt < KILLS else None
            code = await run(web, server.port, tmp_path, seed + attempt)
            again = done & set(web.asked[-1])
            assert not again, f"asked again, though it was there (seed {seed}): {again}"
            assert max(Counter(web.asked[-1]).values(), default=1) == 1, f"seed {seed}"
        assert code == 0

        counts = Counter(name for asked in web.asked for name in asked)
        assert len(counts) == 3 * EACH
        assert counts.total() - len(counts) <= KILLS * AT_ONCE, f"seed {seed}: {counts}"
        assert len([asked for asked in web.asked if asked]) > 2, "it was killed while it worked"

        web.asked.append([])
        await work(server.port, tmp_path / "cache", notes, seed)
        assert web.asked[-1] == [], "all of it is kept"

        sent = sum(name.startswith("model ") for name in counts.elements())
        told = await told_requests(tmp_path / "cache", server.port)
        # A run may be killed between telling of a request and sending it.
        assert sent <= told <= sent + KILLS * AT_ONCE, "every request that was sent is told of"
    for file in (tmp_path / "cache").iterdir():
        assert b"canary-key" not in file.read_bytes()
