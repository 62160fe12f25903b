"""Measures the lag of the event loop while factible reads large pages.

Run: `python -m benchmarks.loop_lag`. A task wakes every five milliseconds and records its delay:
with nothing to do (the machine's own lag), during four pages of 5 MB of markup, and during a check
of a claim against nine pages of 30,000 words. The pages are random words.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable

import httpx

from benchmarks.shared import timed
from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.stages.flow import check_claims
from factible_assets.stages.ports import QueryDraft
from resources.http import Response
from resources.pages.reading import BodyReader
from resources.search.base import FoundHit
from tests.stages.world import VIDEO, World, make_claim, says

TICK_SECONDS = 0.005
WORDS, PAGES = 30_000, 9
MARKUP_BYTES, AT_ONCE = 5_000_000, 4


def words(seed: int, count: int) -> str:
    """Return words from a vocabulary of some thousands."""
    chance = random.Random(seed)  # noqa: S311
    return " ".join(f"word{chance.randrange(5_000)}" for _ in range(count))


async def lag_during(work: Callable[[], Awaitable[object]]) -> tuple[float, float, float]:
    """Return the longest lag and the seconds and CPU seconds of some work."""
    late = [0.0]

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - before - TICK_SECONDS)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    with timed() as spent:
        await work()
    await asyncio.sleep(TICK_SECONDS)
    ticking.cancel()
    return max(late), spent.wall, spent.cpu


def markup() -> Callable[[], Awaitable[object]]:
    """Return a coroutine that reads pages of mostly markup."""
    paragraphs = "".join(f"<p class='p'>{words(at, 60)}</p><div></div>" for at in range(800))
    filler = "<script>" + "var x = 1;" * ((MARKUP_BYTES - len(paragraphs)) // 10) + "</script>"
    body = (
        f"<html><head>{filler}</head><body><article>{paragraphs}</article></body></html>".encode()
    )
    headers = httpx.Headers({"content-type": "text/html; charset=utf-8"})
    reader = BodyReader()
    answers = [Response(f"https://{at}.example/", 200, headers, body) for at in range(AT_ONCE)]
    return lambda: asyncio.gather(*(reader.read(each) for each in answers))


def long_pages() -> Callable[[], Awaitable[object]]:
    """Return a coroutine that checks a claim against long pages."""
    world, claim = World(), make_claim("Sugar makes children wild")
    drafts = [QueryDraft(f"query {at}", "direct", 1) for at in range(3)]
    world.queries[claim.text] = drafts
    for at, draft in enumerate(drafts):
        urls = [f"https://site-{at}-{place}.example/" for place in range(PAGES // 3)]
        world.results[draft.text] = [[FoundHit(1, "A page", url, "It says.") for url in urls]]
        for place, url in enumerate(urls):
            text = words(10 * at + place, WORDS // 2)
            world.texts[url] = says(claim.text, "refutes", filler=text)
    config = FactCheckConfig(search=SearchConfig(max_results=PAGES // 3))
    return lambda: check_claims(VIDEO, [claim], world.services(), config)


async def main() -> int:
    works = {
        "nothing": lambda: asyncio.sleep(2),
        f"{AT_ONCE} pages of {MARKUP_BYTES / 1e6:g} MB of markup": markup(),
        f"a claim with {PAGES} pages of {WORDS:,} words": long_pages(),
    }
    print("| meanwhile | longest lag, ms | took, s | CPU, s |\n|---|---|---|---|")
    for name, work in works.items():
        lag, took, cpu = await lag_during(work)
        print(f"| {name} | {1000 * lag:.0f} | {took:.1f} | {cpu:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
