"""OpenAI's Batch API: requests that can wait, at half the price.

The digest of its content identifies a request. A file records the batch of each request before the
batch begins. A run that is killed while it waits therefore continues with the same batch, and pays
nothing twice. The file outlives the waiting time, so that the next run waits for the same batch.

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
from typing import Any, Final, Literal, TypeAlias

import openai
from openai.types import Batch

from resources.http import elapsed_since
from resources.llm.backend import BackendError, Batching, ErrorBody, Reply, malformed
from resources.llm.base import AnswerMode, ModelRequest
from resources.llm.openai import OpenAIBackend
from resources.llm.prompt import Message

PRICE = 0.5
"""Share of the usual price."""
_ENDPOINT: Final = "/v1/chat/completions"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_KEPT_SECONDS = 30 * 24 * 3_600  # How long the service keeps answers.
_LISTED = 100
_NO_ROOM = frozenset({"token_limit_exceeded", "batch_limit_exceeded"})

Lines: TypeAlias = dict[str, Mapping[str, Any]]
"""The result of each request of a batch, by the request's digest."""


@dataclass
class _Record:
    """The stored record of one batch; `batch` is None until the service has named it."""

    path: Path
    requests: list[str]
    file: str
    batch: str | None = None

    def write(self) -> None:
        content = {"requests": self.requests, "file": self.file, "batch": self.batch}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self.path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(self.path)

    def forget(self, request: str) -> None:
        """Drop a failed request, so that it goes into another batch."""
        if request in self.requests:
            self.requests.remove(request)
            self.write() if self.requests else self.path.unlink(missing_ok=True)


_Wait: TypeAlias = asyncio.Task[tuple[_Record, Lines]]


class OpenAIBatches(OpenAIBackend):
    """One model of OpenAI. Its requests go into batches."""

    _batching: Batching
    _gathering: _Wait | None

    def _prepare(self) -> None:
        super()._prepare()
        price = self.info.price and self.info.price.times(PRICE)
        self.info = replace(self.info, price=price, batched=True)
        # Each request waits for its whole batch.
        seconds = self._batching.wait_seconds
        patience = seconds + self.policy.answer_seconds
        self.policy = replace(self.policy, answer_seconds=patience, patience_seconds=seconds)
        self._bodies: dict[str, Mapping[str, Any]] = {}
        self._last, self._gathering = 0.0, None
        self._waits: dict[Path, _Wait] = {}

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        content = [self.base_url, self._body(messages, request, mode)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        name = self.request_id(messages, request, mode)
        body = self._body(messages, request, mode)
        try:
            async with asyncio.timeout(self._batching.wait_seconds):
                record, lines = await asyncio.shield(self._wait_for(name, body))
        except TimeoutError:
            hours = f"{self._batching.wait_seconds / 3_600:g} hours"
            reason = f"its batch was not done after {hours}; the next re-check goes on waiting"
            raise BackendError("passing", reason) from None
        line = lines.get(name) or {"error": {"message": "the batch ended without an answer"}}
        response = line.get("response") or {}
        status, content = response.get("status_code"), json.dumps(response.get("body")).encode()
        if isinstance(status, int) and status < 300:  # noqa: PLR2004 - HTTP's successes
            return self._reply(content, {}, request, mode)
        record.forget(name)
        if isinstance(status, int):
            raise self._rejected(ErrorBody(status, content), {}, request, mode)
        reason = self._clean(str((line.get("error") or {}).get("message", "")))
        raise BackendError("passing", f"it was not answered in its batch: {reason}".rstrip("."))

    def _wait_for(self, name: str, body: Mapping[str, Any]) -> _Wait:
        """Return the task that waits for the present or future batch of a request."""
        for record in self._records():
            if name in record.requests:
                return self._wait_for_batch(record)
        self._bodies[name], self._last = body, time.perf_counter()
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())
        return self._gathering

    def _wait_for_batch(self, record: _Record) -> _Wait:
        """Return the task that waits for a batch; after a failure it is a new one."""
        wait = self._waits.get(record.path)
        if wait is None or (wait.done() and (wait.cancelled() or wait.exception())):
            wait = self._waits[record.path] = asyncio.create_task(self._results(record))
        return wait

    def _records(self) -> list[_Record]:
        records = []
        for path in sorted(self._batching.folder.glob("*.json")):
            with suppress(FileNotFoundError, ValueError, TypeError):  # another run may delete it
                if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    path.unlink(missing_ok=True)
                else:
                    records.append(_Record(path, **json.loads(path.read_text(encoding="utf-8"))))
        return records

    async def _gather(self) -> tuple[_Record, Lines]:
        """Collect requests until none has come for a while, and return the results of all."""
        try:
            quiet = self._batching.gather_seconds
            while elapsed_since(self._last) < quiet:  # noqa: ASYNC110 - each request prolongs it
                await asyncio.sleep(quiet - elapsed_since(self._last))
        finally:
            # Later requests go into another batch.
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
        record = _Record(self._batching.folder / f"{file.id}.json", sorted(bodies), file.id)
        await asyncio.to_thread(record.write)
        return await asyncio.shield(self._wait_for_batch(record))

    async def _results(self, record: _Record) -> tuple[_Record, Lines]:
        """Start a batch unless it has started, and return the results of its requests."""
        client = self._client
        try:
            if record.batch is None:
                # A run may have started it and been killed before it recorded that.
                listed = (await client.batches.list(limit=_LISTED)).data
                started = [batch for batch in listed if batch.input_file_id == record.file]
                batches = started or [
                    await client.batches.create(
                        input_file_id=record.file, endpoint=_ENDPOINT, completion_window="24h"
                    )
                ]
                record.batch = batches[0].id
                await asyncio.to_thread(record.write)
            batch = await self._ended_batch(record.batch)
            if batch.status == "failed":
                record.path.unlink(missing_ok=True)
                problem = next(iter((batch.errors and batch.errors.data) or ()), None)
                reason = self._clean((problem and problem.message) or "no reason was given")
                is_full = problem is not None and problem.code in _NO_ROOM
                kind: Literal["passing", "lasting"] = "passing" if is_full else "lasting"
                raise BackendError(kind, f"it rejected the batch: {reason.rstrip('.')}")
            files = (batch.output_file_id, batch.error_file_id)
            texts = [(await client.files.content(file)).text for file in files if file]
            lines = [json.loads(line) for text in texts for line in text.splitlines() if line]
            return record, {line["custom_id"]: line for line in lines}
        except openai.NotFoundError as error:
            record.path.unlink(missing_ok=True)
            raise self._failure(error) from None
        except openai.OpenAIError as error:
            raise self._failure(error) from None
        except (ValueError, KeyError, TypeError):
            raise malformed("list of answers") from None

    async def aclose(self) -> None:
        for task in (self._gathering, *self._waits.values()):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, BackendError):
                    await task
        await super().aclose()

    async def _ended_batch(self, name: str) -> Batch:
        """Poll a batch until it has ended, in spite of passing failures."""
        while True:
            try:
                batch = await self._client.batches.retrieve(name)
            except openai.OpenAIError as error:
                if self._failure(error).kind != "passing":
                    raise
            else:
                if batch.status in _ENDED:
                    return batch
            await asyncio.sleep(self._batching.poll_seconds)
