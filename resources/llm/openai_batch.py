"""Questions that can wait, asked of OpenAI together and at half the price (its Batch API).

What belongs here: gathering requests into a file, its upload, the wait, the way back to a batch
that an earlier process began, and what each line of the answers means. What does not: the wire
format of one request (openai.py), who can wait (services/reasoning.py).

A request is known by the digest of its content. Which batch it went into is written down before
the batch begins, so that whoever was killed while waiting waits on for the same batch, and pays
for nothing twice. What is not done within the time that is waited stays written down: the next one
who asks the same goes on waiting for it.

Source: https://developers.openai.com/api/docs/guides/batch
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import openai
from openai.types import Batch

from resources.http import elapsed_since
from resources.llm.backend import BackendError, Batching, ErrorBody, Reply, malformed
from resources.llm.base import AnswerMode, ModelRequest
from resources.llm.openai import OpenAIBackend
from resources.llm.prompt import Message

PRICE = 0.5
"""What a request costs, of its usual price."""

_ENDPOINT: Final = "/v1/chat/completions"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_KEPT_SECONDS = 30 * 24 * 3_600  # So long the service keeps answers.
_LISTED = 100
_NO_ROOM = frozenset({"token_limit_exceeded", "batch_limit_exceeded"})

Lines: TypeAlias = dict[str, Mapping[str, Any]]
"""What came of each request of a batch, by its digest."""


@dataclass
class _Sent:
    """What is written down of one batch; `batch` is None until the service has named it."""

    path: Path
    requests: list[str]
    file: str
    batch: str | None = None

    def write(self) -> None:
        content = {"requests": self.requests, "file": self.file, "batch": self.batch}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self.path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(content), encoding="utf-8")
        beside.replace(self.path)

    def forget(self, request: str) -> None:
        """Let a request that failed be sent anew."""
        if request in self.requests:
            self.requests.remove(request)
            self.write() if self.requests else self.path.unlink(missing_ok=True)


_Wait: TypeAlias = asyncio.Task[tuple[_Sent, Lines]]


class OpenAIBatches(OpenAIBackend):
    """One model of OpenAI whose requests go into batches."""

    _batching: Batching
    _gathering: _Wait | None

    def _begin(self) -> None:
        super()._begin()
        price = self.info.price and self.info.price.times(PRICE)
        self.info = replace(self.info, price=price, batched=True)
        # Each request waits for its whole batch, beside all others of it.
        seconds = self._batching.wait_seconds
        patience = seconds + self.policy.answer_seconds
        self.policy = replace(self.policy, answer_seconds=patience, patience_seconds=seconds)
        # Requests that wait for company, since when, and the batches that are waited for.
        self._bodies: dict[str, Mapping[str, Any]] = {}
        self._last, self._gathering = 0.0, None
        self._waits: dict[Path, _Wait] = {}

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        """Return the digest of a request: the same one is the same wherever it is asked."""
        content = [self.base_url, self._body(messages, request, mode)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        """Send one request with others, and wait for all of them; see Backend.ask."""
        name = self.request_id(messages, request, mode)
        body = self._body(messages, request, mode)
        try:
            async with asyncio.timeout(self._batching.wait_seconds):
                sent, lines = await asyncio.shield(self._wait_for(name, body))
        except TimeoutError:
            hours = f"{self._batching.wait_seconds / 3_600:g} hours"
            reason = f"its batch was not done after {hours}; the next re-check goes on waiting"
            raise BackendError("passing", reason) from None
        line = lines.get(name) or {"error": {"message": "the batch ended without an answer"}}
        response = line.get("response") or {}
        status, content = response.get("status_code"), json.dumps(response.get("body")).encode()
        if isinstance(status, int) and status < 300:  # noqa: PLR2004 - HTTP's successes
            return self._reply(content, {}, request, mode)
        sent.forget(name)
        if isinstance(status, int):
            raise self._rejected(ErrorBody(status, content), {}, request, mode)
        said = self._clean(str((line.get("error") or {}).get("message", "")))
        raise BackendError("passing", f"it was not answered in its batch: {said}".rstrip("."))

    def _wait_for(self, name: str, body: Mapping[str, Any]) -> _Wait:
        """Return the wait for the batch that a request is in, or that it will be in."""
        for sent in self._written():
            if name in sent.requests:
                wait = self._waits.get(sent.path)
                if wait is None or (wait.done() and (wait.cancelled() or wait.exception())):
                    wait = self._waits[sent.path] = asyncio.create_task(self._finish(sent))
                return wait
        self._bodies[name], self._last = body, time.perf_counter()
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())
        return self._gathering

    def _written(self) -> list[_Sent]:
        found = []
        for path in sorted(self._batching.folder.glob("*.json")):
            if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink(missing_ok=True)
                continue
            with suppress(ValueError, TypeError):
                found.append(_Sent(path, **json.loads(path.read_text(encoding="utf-8"))))
        return found

    async def _gather(self) -> tuple[_Sent, Lines]:
        try:
            alone = self._batching.company_seconds
            while elapsed_since(self._last) < alone:  # noqa: ASYNC110 - each one's own wait
                await asyncio.sleep(alone - elapsed_since(self._last))
        finally:
            # What is asked for from now on is another batch.
            bodies, self._bodies, self._gathering = self._bodies, {}, None
        lines = (
            {"custom_id": name, "method": "POST", "url": _ENDPOINT, "body": body}
            for name, body in sorted(bodies.items())
        )
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        try:
            file = await self._client.files.create(
                file=("requests.jsonl", content), purpose="batch"
            )
        except openai.OpenAIError as error:
            raise self._failure(error) from None
        sent = _Sent(self._batching.folder / f"{file.id}.json", sorted(bodies), file.id)
        await asyncio.to_thread(sent.write)
        wait = self._waits[sent.path] = asyncio.create_task(self._finish(sent))
        return await asyncio.shield(wait)

    async def _finish(self, sent: _Sent) -> tuple[_Sent, Lines]:
        """Begin a batch if that is still to be done, and return what came of its requests."""
        client = self._client
        try:
            if sent.batch is None:
                # Somebody may have begun it, and been killed before saying so.
                listed = (await client.batches.list(limit=_LISTED)).data
                begun = [batch for batch in listed if batch.input_file_id == sent.file]
                made = begun or [
                    await client.batches.create(
                        input_file_id=sent.file, endpoint=_ENDPOINT, completion_window="24h"
                    )
                ]
                sent.batch = made[0].id
                await asyncio.to_thread(sent.write)
            batch = await self._ended(sent.batch)
            if batch.status == "failed":
                sent.path.unlink(missing_ok=True)
                problem = next(iter((batch.errors and batch.errors.data) or ()), None)
                said = self._clean((problem and problem.message) or "no reason was given")
                full = problem is not None and problem.code in _NO_ROOM
                raise BackendError(
                    "passing" if full else "lasting", f"it rejected the batch: {said.rstrip('.')}"
                )
            files = (batch.output_file_id, batch.error_file_id)
            texts = [(await client.files.content(each)).text for each in files if each]
            lines = [json.loads(line) for text in texts for line in text.splitlines() if line]
            return sent, {line["custom_id"]: line for line in lines}
        except openai.NotFoundError as error:
            sent.path.unlink(missing_ok=True)
            raise self._failure(error) from None
        except openai.OpenAIError as error:
            raise self._failure(error) from None
        except (ValueError, KeyError, TypeError):
            raise malformed("list of answers") from None

    async def aclose(self) -> None:
        """Close what is open; the next one goes on waiting."""
        for task in (self._gathering, *self._waits.values()):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, BackendError):
                    await task
        await super().aclose()

    async def _ended(self, name: str) -> Batch:
        """Wait for a batch. A look at it that fails in passing is taken again."""
        while True:
            try:
                batch = await self._client.batches.retrieve(name)
            except openai.OpenAIError as error:
                if self._failure(error).kind != "passing":
                    raise
            else:
                if batch.status in _ENDED:
                    return batch
            await asyncio.sleep(self._batching.look_seconds)
