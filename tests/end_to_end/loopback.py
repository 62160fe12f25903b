"""A whole outside world on loopback: YouTube, search, papers, pages, a registry and a model.

The server answers in the wire formats of the real services. It has a thread and an event loop of
its own, so that the command line can run in the test's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.reasoners.llm.answers import (
    ClaimsAnswer,
    QueriesAnswer,
    Reading,
    ReadingsAnswer,
    WordsAnswer,
)
from tests.reasoners.llm.scripted import GullibleModel
from tests.resources.llm.servers import openai_answer
from tests.resources.transcripts.fake_youtube import (
    CAPTIONS,
    PLAYER,
    VIDEO,
    WATCH,
    Track,
    player,
    timed_text,
    watch_page,
)
from tests.servers import Asked, Behaviour, Exchange, MisbehavingServer, respond, respond_json
from tests.stages.world import own_words

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
SEARCH = "/search"
PAPERS = "/graph/v1/paper/search"
EXPERT = "/chat/completions"
FACT_CHECKS = "/v1alpha1/claims:search"
BOOTSTRAP = "/rdap/dns.json"
DOMAIN = "/rdap/domain/"
JINA = "/jina"

CLAIMS = (
    "Sugar makes children hyperactive.",
    "A glass of milk before bed makes children sleep at once.",
)
_SENTENCES = {
    "Controlled trials found no evidence that sugar makes children hyperactive.": "refutes",
    "A trial of bedtime milk found that children did not fall asleep sooner.": "refutes",
}
# Nobody has registered these domains. The code looks up no name under .example.
HOSTS = ("www.sweet-findings-test.org", "www.bedtime-trials-test.org", "www.parents-paper-test.org")
PAGES = {
    f"http://{HOSTS[0]}/sugar": next(iter(_SENTENCES)),
    f"http://{HOSTS[0]}/both": " ".join(_SENTENCES),
    f"http://{HOSTS[1]}/milk": tuple(_SENTENCES)[1],
    f"http://{HOSTS[2]}/party": " Most parents would not believe it. ".join(_SENTENCES),
}


def page(words: str) -> str:
    # Each page has its own words, because pages with mostly equal words count as one source.
    filler = f"Parents were asked, and a doctor watched the children play. {own_words(words)} " * 3
    return (
        "<!doctype html><html><head><title>What was found</title></head><body><article><h1>What "
        f"was found</h1><p>{words}</p><p>{filler}</p></article></body></html>"
    )


def answer_like_a_model(body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer in the shape that a request names, from the words in its prompt."""
    shapes = {
        shape.__name__: shape
        for shape in (ClaimsAnswer, QueriesAnswer, Reading, ReadingsAnswer, WordsAnswer)
    }
    shape = shapes[body["response_format"]["json_schema"]["name"]]
    mind = GullibleModel(_SENTENCES, CLAIMS)  # type: ignore[arg-type] # its sides are stances
    value = mind._answer(shape, body["messages"][1]["content"], False)
    return openai_answer(shape.model_validate(value).model_dump_json())


@dataclass
class LoopbackWorld:
    """The server, and the settings that lead to it."""

    server: MisbehavingServer
    home: Path
    work: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def open_services(self) -> None:
        """Let every service answer as it should."""
        server = self.server
        cues = ((0.0, 4.0, f"Everybody knows it: {CLAIMS[0]}"), (4.0, 4.0, CLAIMS[1]))
        server.on(WATCH, respond(watch_page()))
        told = {"videoDetails": {"title": "On children", "author": "The Channel"}}
        server.on(PLAYER, respond_json({**player(Track("en")), **told}))
        server.on(CAPTIONS, respond(timed_text(*cues), content_type="text/xml; charset=utf-8"))
        server.on(SEARCH, _serper)
        server.on(PAPERS, respond_json({"total": 0, "offset": 0, "data": []}))
        server.on(EXPERT, respond_json(_expert()))
        server.on(FACT_CHECKS, respond_json(_reviews()))
        server.on(BOOTSTRAP, respond_json(self._bootstrap()))
        server.on(MODELS, respond_json({"object": "list", "data": [{"id": "gpt-6-luna"}]}))
        server.on(CHAT, answer_as_asked)
        server.on("/robots.txt", respond("User-agent: *\nAllow: /\n", content_type="text/plain"))
        server.on("*", _page_or_domain)

    def _bootstrap(self) -> dict[str, Any]:
        return {"version": "1.0", "services": [[["org"], [f"{self.address}/rdap/"]]]}

    @property
    def environment(self) -> dict[str, str | None]:
        """The environment of a machine whose outside world is this one; None unsets a variable."""
        foreign: dict[str, str | None] = {
            name: None
            for name in os.environ
            if name.startswith(("FACTIBLE_", "OPENAI_", "OLLAMA_"))
            or name.endswith(("_API_KEY", "_proxy", "_PROXY"))
        }
        services = ("serper", "semantic_scholar", "perplexity", "google_fact_check", "youtube")
        endpoints = [f"{name}={self.address}" for name in services]
        endpoints += [f"rdap={self.address}{BOOTSTRAP}", f"jina={self.address}{JINA}"]
        return {
            **foreign,
            "FACTIBLE_HOME": str(self.home),
            "FACTIBLE_WEB": "live",
            "FACTIBLE_ENDPOINTS": " ".join(endpoints),
            "FACTIBLE_HOSTS": " ".join(f"{host}=127.0.0.1:{self.server.port}" for host in HOSTS),
            "FACTIBLE_BROWSER": "off",
            "OPENAI_BASE_URL": f"{self.address}/v1",
            "COLUMNS": "160",
            **self.settings,
        }

    def factible(self, *arguments: str) -> tuple[int, str, str]:
        """Run the command line in this world; return its code, stdout and stderr.

        Stderr ends with the traceback of an error that the command line did not foresee.
        """
        with contextlib.chdir(self.work):
            result = CliRunner().invoke(app, arguments, env=self.environment)
        trace = "".join(traceback.format_exception(*result.exc_info)) if result.exc_info else ""
        return result.exit_code, result.stdout, result.stderr + trace

    def questions(self) -> Counter[str]:
        """The number of requests by method, host, address and body."""
        return Counter(question(asked) for asked in self.server.asked)


def question(asked: Asked) -> str:
    body = asked.body.decode("utf-8", "replace")
    return f"{asked.method} {asked.host} {asked.target} {body}"


@contextmanager
def loopback_world(folder: Path) -> Iterator[LoopbackWorld]:
    """Yield a world in which every service answers, and an empty data folder."""
    work = folder / "work"
    work.mkdir()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback-world")
    thread.start()
    server = MisbehavingServer()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        world = LoopbackWorld(server, folder / "home", work)
        world.open_services()
        yield world
    finally:
        closing = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(closing, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def answer_as_asked(exchange: Exchange) -> None:
    asked = exchange.asked.json
    assert isinstance(asked, dict)
    await respond_json(answer_like_a_model(asked))(exchange)


async def _serper(exchange: Exchange) -> None:
    asked = exchange.asked.json
    assert isinstance(asked, dict)
    found = [] if asked["page"] > 1 else list(PAGES)
    organic = [{"title": "What was found", "link": url, "snippet": "A trial."} for url in found]
    await respond_json({"organic": organic})(exchange)


async def _page_or_domain(exchange: Exchange) -> None:
    asked = exchange.asked
    behaviour: Behaviour = respond("no such page", status=404)
    if asked.path.startswith(DOMAIN):
        name = asked.path.removeprefix(DOMAIN)
        registered = {"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"}
        behaviour = respond_json({"ldhName": name, "events": [registered]})
    elif words := PAGES.get(f"http://{asked.host}{asked.path}"):
        behaviour = respond(page(words))
    await behaviour(exchange)


def _expert() -> dict[str, Any]:
    return {
        "id": "1",
        "model": "sonar",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Trials found nothing [1]."},
            }
        ],
        "search_results": [{"title": "What was found", "url": next(iter(PAGES)), "date": None}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }


def _reviews() -> dict[str, Any]:
    review = {
        "publisher": {"name": "The Checkers", "site": "checkers-test.org"},
        "url": "https://www.checkers-test.org/sugar",
        "title": "No, sugar does not make children hyperactive",
        "reviewDate": "2019-10-31T09:00:00Z",
        "textualRating": "True, every word of it",
        "languageCode": "en",
    }
    claim = {"text": "Sugar makes kids hyperactive", "claimant": "A post", "claimReview": [review]}
    return {"claims": [claim]}


VIDEO_URL = f"https://www.youtube.com/watch?v={VIDEO}"
