"""OpenAI's Batch API on loopback, with its rules, and questions that wait for a batch."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from resources.llm.backend import Batching
from resources.llm.base import ModelAnswer
from resources.llm.clients import ModelClients
from resources.llm.registry import PROJECT_MODELS, ModelRegistry
from resources.storage.answers import DiskCache
from resources.storage.caching import CachingModel
from tests.patience import A_DAY
from tests.resources.llm import vendors
from tests.resources.llm.servers import CANARY, GOOD, PATIENT, Leaning, ask, fail, openai_answer
from tests.servers import Behaviour, Exchange, MisbehavingServer, respond, respond_json

MODEL = "gpt-4o-mini"
TOKENS = (1_000, 100)
ENDPOINT = "/v1/chat/completions"
Outcome = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


def good(_: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return 200, openai_answer(json.dumps(GOOD), usage=TOKENS)


class BatchServer:
    """Answers by `outcome` after `looks` polls of a batch; `billed` lists the answered requests."""

    def __init__(self, server: MisbehavingServer, *, looks: int = 2) -> None:
        self.looks, self.expires = looks, False
        self.outcome: Outcome = good
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.billed: list[str] = []
        self._server = server
        self._looked: dict[str, int] = {}
        server.on("/v1/files", self._dispatch(self._upload))
        server.on("/v1/batches", self._dispatch(self._batches))

    def _dispatch(self, choose: Callable[[Exchange], Behaviour]) -> Behaviour:
        async def behave(exchange: Exchange) -> None:
            allowed = exchange.asked.headers.get("authorization") == f"Bearer {CANARY}"
            await (choose(exchange) if allowed else fail(401, "Wrong key."))(exchange)

        return behave

    def _store(self, content: str) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        self._server.on(f"/v1/files/{name}/content", respond(content, content_type="text/plain"))
        return name

    def _upload(self, exchange: Exchange) -> Behaviour:
        body = exchange.asked.body.decode()
        if not re.search(r'name="purpose"\r\n\r\nbatch\r\n', body):
            return fail(400, "'purpose' is required.", param="purpose")
        found = re.search(
            r'name="file"; filename="[^"]+\.jsonl".*?\r\n\r\n(.*?)\r\n--', body, re.DOTALL
        )
        if not found:
            return fail(400, "Invalid file format for Batch API. Must be .jsonl")
        name = self._store(found[1])
        size = len(found[1])
        return respond_json({
            "id": name, "object": "file", "bytes": size, "created_at": 1, "filename": "r.jsonl",
            "purpose": "batch", "status": "processed",
        })  # fmt: skip

    def _batches(self, exchange: Exchange) -> Behaviour:
        if exchange.asked.method == "GET":
            listed = [*self.batches.values()][::-1]
            return respond_json({"object": "list", "data": listed, "has_more": False})
        asked = exchange.asked.json
        assert isinstance(asked, dict)
        if asked.get("completion_window") != "24h" or asked.get("endpoint") != ENDPOINT:
            return fail(400, "Invalid value.", param="completion_window")
        if asked["input_file_id"] not in self.files:
            return fail(400, "No such file.", param="input_file_id")
        name = f"batch_{len(self.batches) + 1}"
        self.batches[name] = {
            "id": name, "object": "batch", "endpoint": ENDPOINT, "completion_window": "24h",
            "created_at": 1, "status": "validating", "input_file_id": asked["input_file_id"],
        }  # fmt: skip
        self._server.on(f"/v1/batches/{name}", self._dispatch(lambda _: self._look(name)))
        return respond_json(self.batches[name])

    def _look(self, name: str) -> Behaviour:
        batch, looked = self.batches[name], self._looked.get(name, 0)
        self._looked[name] = looked + 1
        if batch["status"] == "validating":
            problem = self._problem(batch)
            errors = {"object": "list", "data": [{"code": "invalid", "message": problem}]}
            batch |= {"status": "failed", "errors": errors} if problem else {}
        if batch["status"] in {"validating", "in_progress"}:
            batch["status"] = "in_progress"
            if looked >= self.looks:
                self._run(batch)
        return respond_json(batch)

    def _lines(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def _problem(self, batch: dict[str, Any]) -> str | None:
        lines = self._lines(batch)
        if len({line["custom_id"] for line in lines}) < len(lines):
            return "The custom_id of a line is not unique."
        if any(line["method"] != "POST" or line["url"] != ENDPOINT for line in lines):
            return "The URL of a line is not that of the batch."
        return None if len({line["body"]["model"] for line in lines}) == 1 else "Several models."

    def _run(self, batch: dict[str, Any]) -> None:
        done: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        for at, line in enumerate(self._lines(batch)):
            name = line["custom_id"]
            response: dict[str, Any] | None = None
            error: dict[str, Any] | None = None
            if self.expires and at:
                words = "This request could not be executed before the completion window expired."
                error = {"code": "batch_expired", "message": words}
            elif vendors.against_openai(line["body"]):
                body = {"error": {"message": "Unsupported parameter.", "param": "seed"}}
                response = {"status_code": 400, "request_id": "r", "body": body}
            else:
                status, body = self.outcome(line["body"])
                response = {"status_code": status, "request_id": "r", "body": body}
                self.billed += [name] if status < 300 else []
            written = {"id": f"r-{at}", "custom_id": name, "response": response, "error": error}
            (done if response and int(response["status_code"]) < 300 else failed).append(written)
        # In no order, as documented.
        for kind, lines in (("output_file_id", done[::-1]), ("error_file_id", failed)):
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            batch[kind] = self._store(text) if lines else None
        batch["status"] = "expired" if self.expires else "completed"

    @property
    def usd(self) -> float:
        """The total bill: half of the listed price."""
        price = ModelRegistry.load(PROJECT_MODELS).model(MODEL).price
        assert price is not None
        return len(self.billed) * price.cost(*TOKENS) / 2


async def asked_together(
    port: int, folder: Path, *questions: str, seconds: float = A_DAY
) -> list[ModelAnswer[Leaning] | BaseException]:
    """Ask questions through the cache and in batches."""
    batching = Batching(folder / "batches", seconds, gather_seconds=0.3, poll_seconds=0.03)
    async with AsyncExitStack() as stack:
        clients = await stack.enter_async_context(
            ModelClients(
                ModelRegistry.load(PROJECT_MODELS),
                keys={"openai": SecretStr(CANARY)},
                base_urls={"openai": f"http://127.0.0.1:{port}/v1"},
                policy=PATIENT,
                batches=batching,
            )
        )
        cache = DiskCache(folder / "cache")
        model = CachingModel(clients.model(MODEL), cache)
        tasks = (model.complete(ask(question)) for question in questions)
        return await asyncio.gather(*tasks, return_exceptions=True)


def ask_three(port: int, folder: Path) -> None:
    """Ask three questions, as the whole work of a process."""
    asyncio.run(asked_together(port, folder, "one?", "two?", "three?"))
