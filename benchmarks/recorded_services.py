"""Every service of a fact-check on loopback, with recorded response times.

A server answers as the search, sites, a domain registry and a model. A talk is the beginning of a
published transcript, and its claims are stretches of it. Its searches and their hits are recorded.
Each page affirms or denies its claims between sentences of recorded pages. The duration of an
operation is drawn by its name from the recorded durations of its kind, so it is equal in every run.
The model writes its claims evenly over the last part of the recorded time, at 100 tokens a second.
robots.txt and the registry's list of servers take no time, because they are part of a recorded
operation.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from benchmarks.shared import AnnotatedVideo, load_annotated_videos, require
from factible_assets.records.tables import Transcript
from factible_assets.settings import Settings, load_settings
from resources.llm import clients
from tests.reasoners.llm.scripted import sentence, take_apart
from tests.resources.llm.servers import openai_answer
from tests.servers import Exchange, MisbehavingServer, head, respond, respond_json

CLAIMS, QUERIES, PAGE_BYTES = 5, 3, 100_000
_CHAT, _DOMAIN, _BOOTSTRAP = "/v1/chat/completions", "/rdap/domain/", "/rdap/dns.json"
_TRANSCRIPT_CHARACTERS = 20_000
"""The output of the model call for the claims; the earlier system used one call a talk."""
_CLAIM_WORDS, _SENTENCES = 14, 40
_READING_TOKENS, _TOKENS_PER_SECOND = 90, 100
"""Output tokens of one reading, and a model's speed. Six pages are six readings in sequence."""
_TOKEN_CHARACTERS, _PIECE = 4, 24
clients._LOCAL_CONCURRENT = 16  # As for a server elsewhere.


@dataclass(frozen=True, slots=True)
class Found:
    """A page in a search result."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A video with its claims, their searches, and the hits of each search."""

    video: AnnotatedVideo
    claims: tuple[str, ...]
    queries: Mapping[str, tuple[str, ...]]
    hits: Mapping[str, tuple[Found, ...]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One request to a service, and its own duration in seconds."""

    kind: str
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """The recorded durations by kind of operation; `scale` shortens all."""

    seconds: Mapping[str, Sequence[float]]
    scale: float = 1.0

    def of(self, kind: str, name: str) -> float:
        recorded = self.seconds[kind]
        return self.scale * recorded[crc32(f"{kind} {name}".encode()) % len(recorded)]


def latencies(scale: float = 1.0) -> Latencies:
    recorded = json.loads(require("recorded_web", "latencies.json").read_text(encoding="utf-8"))
    return Latencies(recorded["operations"], scale)


def talks(number: int) -> list[Talk]:
    """Return the talks with the most recorded searches."""
    searches = defaultdict(list)
    for line in require("recorded_web", "hits.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if len(row["hits"]) >= QUERIES:
            searches[row["video_id"]].append(row)
    videos = {each.video.video_id: each for each in load_annotated_videos()}
    ordered = sorted(videos.keys() & searches.keys(), key=lambda each: -len(searches[each]))
    return [_talk(videos[each], searches[each]) for each in ordered[:number]]


def _talk(video: AnnotatedVideo, searches: Sequence[Mapping[str, Any]]) -> Talk:
    words = _said(video).split()
    step = (len(words) - _CLAIM_WORDS) // CLAIMS
    claims = [" ".join(words[at * step : at * step + _CLAIM_WORDS]) for at in range(CLAIMS)]
    queries, hits = {}, {}
    for at, claim in enumerate(claims):
        own = searches[at * QUERIES : (at + 1) * QUERIES]
        queries[claim] = tuple(row["query"] for row in own)
        for row in own:
            hits[row["query"]] = tuple(_found(each) for each in row["hits"])
    return Talk(video, tuple(claims), queries, hits)


def _found(hit: Mapping[str, str]) -> Found:
    parts = urlsplit(hit["url"])
    url = parts._replace(scheme="http", fragment="").geturl()
    return Found(url, f"{crc32(url.encode())} {hit['title']}", hit["snippet"])


def pages(given: Sequence[Talk]) -> dict[str, bytes]:
    """Write every page: about 40 sentences with the usual amount of markup."""
    recorded = require("recorded_web", "pages.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [
        each
        for line in recorded
        for each in re.split(r"(?<=[.!?])\s+", json.loads(line)["text"])
        if 40 < len(each) < 300
    ]
    # Several searches find the same page; it states all its claims.
    found_at: dict[str, Found] = {}
    said: dict[str, list[str]] = defaultdict(list)
    for talk in given:
        for claim, queries in talk.queries.items():
            for found in {hit.url: hit for query in queries for hit in talk.hits[query]}.values():
                found_at.setdefault(found.url, found)
                said[found.url].append(claim)
    return {url: _page(found_at[url], claims, sentences) for url, claims in said.items()}


_STANCES = (*["supports"] * 6, *["refutes"] * 2, *["unclear"] * 2)


def said_of(claim: str, title: str) -> str:
    """Return the sentence of a page that bears its stance, as a model that reads well quotes it."""
    stance = stance_of(claim, title)
    number = title.partition(" ")[0]
    if stance == "unclear":
        return f"Page {number} was asked whether {claim}, and does not know."
    is_so = "It is true" if stance == "supports" else "It is not true"
    return f"{is_so}, as page {number} found, that {claim}."


def stance_of(claim: str, title: str) -> str:
    return _STANCES[crc32(reading(claim, title).encode()) % len(_STANCES)]


def _page(found: Found, claims: Sequence[str], sentences: Sequence[str]) -> bytes:
    chosen = random.Random(found.url).sample(sentences, _SENTENCES)  # noqa: S311
    lines = [found.snippet, *(said_of(claim, found.title) for claim in claims), *chosen]
    article = "".join(f"<p>{line}</p>" for line in lines)
    item = "<li class='menu-item'><a href='/more/{0}' data-track='{0}'>More of {0}</a></li>"
    menu = "".join(map(item.format, range(200)))
    script = f"<script>{'var x = 1;' * ((PAGE_BYTES - len(article) - len(menu)) // 10)}</script>"
    return (
        f"<!doctype html><html><head><title>{found.title}</title>{script}</head>"
        f"<body><nav><ul>{menu}</ul></nav><article>{article}</article></body></html>"
    ).encode()


class Services:
    """Answers for all services, and records the requests."""

    def __init__(self, given: Sequence[Talk], clock: Latencies) -> None:
        self.asked: list[Operation] = []
        self._clock = clock
        self._talks = {talk.video.video.video_id: talk for talk in given}
        self._claims = [claim for talk in given for claim in talk.claims]
        self._queries = {c: queries for talk in given for c, queries in talk.queries.items()}
        self._hits = {query: found for talk in given for query, found in talk.hits.items()}
        self._pages = pages(given)

    async def takes(self, kind: str, *names: str) -> None:
        """Wait for the longest of some operations plus the output of the others."""
        longest = max(self._clock.of(kind, name) for name in names)
        self.asked += [Operation(kind, name, self._clock.of(kind, name)) for name in names]
        more = (len(names) - 1) * _READING_TOKENS / _TOKENS_PER_SECOND
        await asyncio.sleep(longest + more * self._clock.scale)

    def answer(self, server: MisbehavingServer) -> None:
        server.on("/search", self._search)
        server.on(_CHAT, self._chat)
        server.on("/robots.txt", respond("User-agent: *\nAllow: /\n", content_type="text/plain"))
        tlds = sorted({urlsplit(url).netloc.rsplit(".", 1)[-1] for url in self._pages})
        address = f"http://127.0.0.1:{server.port}/rdap/"
        server.on(_BOOTSTRAP, respond_json({"version": "1.0", "services": [[tlds, [address]]]}))
        server.on("*", self._page_or_domain)

    async def _search(self, exchange: Exchange) -> None:
        asked: Any = exchange.asked.json
        query = asked["q"]
        await self.takes("web_search", f"{query} {asked['page']}")
        found = self._hits.get(query, ()) if asked["page"] == 1 else ()
        organic = [{"title": f.title, "link": f.url, "snippet": f.snippet} for f in found]
        await respond_json({"organic": organic})(exchange)

    async def _page_or_domain(self, exchange: Exchange) -> None:
        asked = exchange.asked
        if asked.path.startswith(_DOMAIN):
            await self.takes("whois", asked.path.removeprefix(_DOMAIN))
            registered = {"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"}
            await respond_json({"ldhName": "x", "events": [registered]})(exchange)
            return
        url = f"http://{asked.host}{asked.target}"
        body = self._pages.get(url)
        if body is None:
            await respond("no such page", status=404)(exchange)
            return
        await self.takes("page_fetch", url)
        await respond(body)(exchange)

    async def _chat(self, exchange: Exchange) -> None:
        asked: Any = exchange.asked.json
        shape = asked["response_format"]["json_schema"]["name"]
        opened = take_apart(asked["messages"][1]["content"])
        shown = " ".join(" ".join(each.text for each in opened.inside).split())
        claims = [claim for claim in self._claims if claim in shown]
        value: dict[str, Any]
        if shape == "ClaimsAnswer":
            (talk,) = (each for each in self._talks.values() if each.claims[0] in claims)
            await self._write_claims(exchange, claims[0], json.dumps(stated_claims(talk)))
            return
        if shape == "QueriesAnswer":
            await self.takes("query_generation", *claims)
            value = {"searches": list(self._queries[claims[0]])}
        else:
            prompt = asked["messages"][1]["content"]
            numbers = re.findall(r"^Source (\d+)", opened.outside, re.MULTILINE)
            shown_first = [opened.data(f"source {each}").partition("\n")[0] for each in numbers]
            titles = [line.removeprefix("Title: ") for line in shown_first]
            claim = next(each for each in claims if each in " ".join(opened.data("claim").split()))
            await self.takes("evidence_extraction", *(reading(claim, t) for t in titles))
            readings = [_read(n, t, claim, prompt) for n, t in zip(numbers, titles, strict=True)]
            value = {"readings": readings} if shape == "ReadingsAnswer" else readings[0]
        await respond_json(openai_answer(json.dumps(value)))(exchange)

    async def _write_claims(self, exchange: Exchange, name: str, text: str) -> None:
        """Stream the claims if the request asks for that, else answer at the end."""
        asked: Any = exchange.asked.json
        kind = "claim_extraction"
        takes = self._clock.of(kind, name)
        if not asked.get("stream"):
            await self.takes(kind, name)
            await respond_json(openai_answer(text))(exchange)
            return
        self.asked.append(Operation(kind, name, takes))
        writing = written_in(text, takes)
        await asyncio.sleep(takes - writing)
        exchange.keep_alive = False
        headers = {"Content-Type": "text/event-stream", "Connection": "close"}
        await exchange.send(head(200, headers))
        for at in range(0, len(text), _PIECE):
            piece = text[at : at + _PIECE]
            await asyncio.sleep(writing * len(piece) / len(text))
            await exchange.send(_event({"content": piece}))
        await exchange.send(_event({}, "stop") + b"data: [DONE]\n\n")


def written_in(text: str, takes: float) -> float:
    """Return the seconds in which a model writes a text, of all that its call takes."""
    return min(takes, len(text) / _TOKEN_CHARACTERS / _TOKENS_PER_SECOND)


def _event(delta: Mapping[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def reading(claim: str, title: str) -> str:
    """Identify a page's reading by the number at the start of its title."""
    return f"{title.partition(' ')[0]} {claim}"


def stated_claims(talk: Talk) -> dict[str, Any]:
    """Return the model's answer about the claims of a talk."""
    claims = [_stated(each, talk.queries[each]) for each in talk.claims]
    return {"thesis": "So it is.", "thesis_is_about_expertise": False, "claims": claims}


def _stated(claim: str, searches: Sequence[str]) -> dict[str, Any]:
    return {
        "source": claim,
        "text": claim,
        "context": None,
        "category": "health",
        "kind": "fact",
        "bears_on_thesis": True,
        "tier": "pillar",
        "importance": 0.9,
        "confidence": 0.9,
        "searches": list(searches),
    }


def _read(number: str, title: str, claim: str, prompt: str) -> dict[str, Any]:
    return {
        "source": int(number),
        "sentences": [sentence(prompt, said_of(claim, title))],
        "summary": f"It says what came of it on page {title.partition(' ')[0]}.",
        "stance": stance_of(claim, title),
        "confidence": 0.8,
        "relevance": 0.9,
    }


def service_settings(home: Path, port: int, given: Sequence[Talk]) -> Settings:
    """Return settings that point to the services of some talks; sets the environment."""
    for name in list(os.environ):
        if name.startswith(("FACTIBLE_", "OPENAI_")) or name.lower().endswith("_proxy"):
            del os.environ[name]
    address = f"http://127.0.0.1:{port}"
    found = (each for talk in given for hits in talk.hits.values() for each in hits)
    hosts = {urlsplit(each.url).netloc for each in found}
    os.environ |= {
        "FACTIBLE_HOME": str(home),
        "FACTIBLE_WEB": "live",
        "FACTIBLE_BROWSER": "off",
        "FACTIBLE_ENDPOINTS": f"serper={address} rdap={address}{_BOOTSTRAP}",
        "FACTIBLE_HOSTS": " ".join(f"{host}=127.0.0.1:{port}" for host in sorted(hosts)),
        "SERPER_API_KEY": "a-key",
        "OPENAI_API_KEY": "another-key",
        "OPENAI_BASE_URL": f"{address}/v1",
    }
    return load_settings()


def spoken(talk: Talk) -> Transcript:
    """Return the beginning of a talk, in which its claims stand."""
    return talk.video.transcript.model_copy(update={"text": _said(talk.video)})


def _said(video: AnnotatedVideo) -> str:
    """Return the words without "[Music]", and without ends of sentences within claims."""
    text = re.sub(r"\[.*?\]|[.!?…“”\"]", "", video.transcript.text[:_TRANSCRIPT_CHARACTERS])
    return " ".join(text.split())
