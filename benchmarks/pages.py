"""Fetches 200 pages of mixed kinds from a local site, like a run.

Run: `python -m benchmarks.pages`. Another process serves the pages from ten hosts, each after 50
ms. It prints

- pages per second at the run's own concurrency;
- milliseconds of CPU per page, of this process and of its children (PDFs, the browser);
- the peak memory of this process, before and after;
- per kind the number of pages, their methods, and the median seconds;
- the number of texts with a wrong owner: every text names its URL, and must name no other.

It exits with 1 if a text has a wrong owner. Pages that need a browser are read only if there is
one.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from factible_assets.stages.evidence import PAGES_AT_ONCE
from resources.http import HttpClient
from resources.network_guard import NameTable, NetworkGuard
from resources.pages.base import FetchedPage
from resources.pages.browser import Browser, find_browser
from resources.pages.scraper import PageFetcher
from tests.resources.pages.pdfs import pdf
from tests.servers import Exchange, MisbehavingServer, redirect, respond

SEED = 7
DELAY = 0.05
HOSTS = 10
KINDS = {
    "short article": 60,
    "long article": 50,
    "portal": 20,
    "latin-1": 10,
    "plain text": 10,
    "pdf": 20,
    "redirect": 10,
    "scripted": 10,
    "gone": 10,
}
VOCABULARY = """
people energy water climate doctors sugar ocean market school history evidence research percent
temperature protein sunlight memory language engineers rivers storage medicine although increases
reduces causes prevents measured reported before after during between almost never always because
the of and to in that is was for with on as they this from by but when which
"""
OWNER = re.compile(r"belongs to (\S+) alone")


@dataclass(frozen=True)
class Usage:
    """CPU seconds so far, and the peak memory in megabytes."""

    own: float
    started: float
    peak: float


def urls() -> list[tuple[str, str]]:
    """Return kind and URL of each page, shuffled."""
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    random.Random(SEED).shuffle(kinds)  # noqa: S311 - an order for a measurement, not a secret
    return [
        (kind, f"http://site{n % HOSTS}.example/{kind.replace(' ', '-')}/{n}")
        for n, kind in enumerate(kinds)
    ]


def prose(randomness: random.Random, sentences: int) -> list[str]:
    """Return sentences of made-up words."""
    words = VOCABULARY.split()
    return [
        f"{' '.join(randomness.choices(words, k=randomness.randint(9, 22))).capitalize()}."
        for _ in range(sentences)
    ]


def page(owner: str, sentences: Sequence[str], furniture: int) -> str:
    menu = "".join(f'<li><a href="/menu/{n}">Menu entry {n}</a></li>' for n in range(furniture))
    body = "".join(f"<p>{' '.join(sentences[n : n + 5])}</p>" for n in range(0, len(sentences), 5))
    return (
        '<!doctype html><html><head><title>Page</title><meta charset="utf-8">'
        '<meta property="article:published_time" content="2021-03-05">'
        "<script>let unused = 1;</script></head>"
        f"<body><nav><ul>{menu}</ul></nav><article><h1>Page</h1><p>This text belongs to {owner} "
        f"alone.</p>{body}</article><footer><ul>{menu}</ul></footer></body></html>"
    )


def scripted(owner: str) -> str:
    data = f"/data/{owner}"
    return (
        '<!doctype html><title>App</title><div id="root"></div><script>'
        f"fetch('{data}').then(r => r.text()).then(t => {{"
        "document.getElementById('root').innerHTML = `<article><p>${t}</p></article>`})</script>"
    )


async def answer(exchange: Exchange) -> None:
    """Answer with the kind of page that the path names."""
    await asyncio.sleep(DELAY)
    owner = f"{exchange.asked.host}{exchange.asked.target}"
    _, kind, *rest = exchange.asked.path.split("/")
    randomness = random.Random(owner)  # noqa: S311 - see urls
    text = [f"This text belongs to {owner} alone.", *prose(randomness, 40)]
    if kind in {"short-article", "moved"}:
        behaviour = respond(page(owner, prose(randomness, 25), 20))
    elif kind in {"long-article", "portal"}:
        size = (150, 60) if kind == "long-article" else (120, 2_000)
        behaviour = respond(page(owner, prose(randomness, size[0]), size[1]))
    elif kind == "latin-1":
        html = page(owner, [*prose(randomness, 25), "Été à la forêt."], 20).replace("utf-8", kind)
        behaviour = respond(html.encode("latin-1"), content_type="text/html")
    elif kind == "plain-text":
        behaviour = respond("\n".join(text), content_type="text/plain")
    elif kind == "pdf":
        pages = [text[n : n + 14] for n in range(0, len(text), 14)]
        behaviour = respond(pdf(*pages), content_type="application/pdf")
    elif kind == "redirect":
        behaviour = redirect(f"/moved/{rest[0]}")
    elif kind == "scripted":
        behaviour = respond(scripted(owner))
    elif kind == "data":
        behaviour = respond(" ".join([f"This text belongs to {'/'.join(rest)} alone.", *text[1:]]))
    else:
        behaviour = respond("gone", status=404)
    await behaviour(exchange)


async def serve() -> None:
    """Serve until the process that reads the port number is gone."""
    async with MisbehavingServer() as server:
        server.on("*", answer)
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def usage() -> Usage:
    """Read this process's counters; children count after they end."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return Usage(
        own=own.ru_utime + own.ru_stime,
        started=children.ru_utime + children.ru_stime,
        peak=own.ru_maxrss / 1_024,
    )


async def fetch_all(port: int) -> tuple[list[FetchedPage], float]:
    """Fetch every page; return them in order with their seconds."""
    guard = NetworkGuard(NameTable({"*.example": ("127.0.0.1", port)}))
    slots = asyncio.Semaphore(PAGES_AT_ONCE)
    executable = find_browser()
    async with HttpClient(guard=guard) as http, Browser(guard, executable or "") as browser:
        fetcher = PageFetcher(http, browser=browser if executable else None)

        async def fetch(url: str) -> FetchedPage:
            async with slots:
                return await fetcher.fetch(url)

        started = time.perf_counter()
        pages = await asyncio.gather(*(fetch(url) for _, url in urls()))
        return pages, time.perf_counter() - started


def wrong_owners(pages: Sequence[FetchedPage]) -> list[str]:
    """Return the URLs whose text names another owner, several, or none."""
    wrong = []
    for fetched in pages:
        owner = (fetched.final_url or "").removeprefix("http://")
        if fetched.outcome == "ok" and set(OWNER.findall(fetched.text)) != {owner}:
            wrong.append(fetched.url)
    return wrong


def print_kinds(pages: Sequence[FetchedPage]) -> None:
    """Print the results of each kind."""
    print(f"{'kind':<15}{'pages':>6}{'read':>6}{'median s':>10}  ways")
    kinds = [kind for kind, _ in urls()]
    for kind in KINDS:
        own = [fetched for fetched, of in zip(pages, kinds, strict=True) if of == kind]
        read = [fetched for fetched in own if fetched.outcome == "ok"]
        seconds = statistics.median(fetched.latency_seconds for fetched in own)
        ways = Counter(fetched.via or fetched.outcome for fetched in own)
        told = ", ".join(f"{way} {count}" for way, count in ways.items())
        print(f"{kind:<15}{len(own):>6}{len(read):>6}{seconds:>10.2f}  {told}")


async def measure() -> int:
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    port = int(await server.stdout.readline())
    before = usage()
    pages, seconds = await fetch_all(port)
    after = usage()
    server.stdin.close()
    await server.wait()
    count, wrong = len(pages), wrong_owners(pages)
    print_kinds(pages)
    print(
        f"{count} pages in {seconds:.1f} s: {count / seconds:.1f} pages/s with "
        f"{PAGES_AT_ONCE} at once on {os.cpu_count()} cores\n"
        f"processor time per page: {1_000 * (after.own - before.own) / count:.0f} ms here, "
        f"{1_000 * (after.started - before.started) / count:.0f} ms in processes started\n"
        f"peak memory: {before.peak:.0f} MB before, {after.peak:.0f} MB after\n"
        f"texts with the wrong owner: {len(wrong)}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    if "--serve" in sys.argv:
        asyncio.run(serve())
    else:
        sys.exit(asyncio.run(measure()))
