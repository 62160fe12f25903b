"""Sends requests to OpenAI in batches, which answer within a day at half the price.

It gathers requests, uploads them as a file, starts a batch of the file, and polls it until it ends.
A record on disk names the requests of each batch, by the digest of their content. So if a run is
killed or stops waiting, the next run waits for the same batch, and pays nothing twice.

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
_FULL = frozenset({"token_limit_exceeded", "batch_limit_exceeded"})
"""Codes of a rejected batch for which the account has room later."""
_MAX_AGE_SECONDS = 30 * 24 * 3_600  # The service keeps answers for so long.
_LISTED_BATCHES = 100

Results: TypeAlias = dict[str, Mapping[str, Any]]
"""The result of each request of a batch, by the request's digest."""


@dataclass
class _Record:
    """The stored record of one batch: its requests, and the service's ids of file and batch."""

    path: Path
    requests: list[str]
    """Digests of the requests."""
    file: str
    batch: str | None = None
    """None until the batch has started."""

    def write(self) -> None:
        content = {"requests": self.requests, "file": self.file, "batch": self.batch}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self.path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(self.path)

    def forget(self, digest: str) -> None:
        """Drop a failed request, so that it goes into another batch."""
        if digest in self.requests:
            self.requests.remove(digest)
            self.write() if self.requests else self.path.unlink(missing_ok=True)


_Wait: TypeAlias = asyncio.Task[tuple[_Record, Results]]


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
        self._gathered: dict[str, Mapping[str, Any]] = {}  # bodies, by digest
        self._gathered_at, self._gathering = 0.0, None
        self._waits: dict[Path, _Wait] = {}  # by the path of the record

    def request_id(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> str:
        content = [self.base_url, self._body(messages, request, mode)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    async def ask(
        self, messages: Sequence[Message], request: ModelRequest[Any], mode: AnswerMode
    ) -> Reply:
        digest = self.request_id(messages, request, mode)
        body = self._body(messages, request, mode)
        try:
            async with asyncio.timeout(self._batching.wait_seconds):
                record, results = await asyncio.shield(self._wait_for(digest, body))
        except TimeoutError:
            hours = f"{self._batching.wait_seconds / 3_600:g} hours"
            reason = f"its batch was not done after {hours}; the next re-check goes on waiting"
            raise BackendError("passing", reason) from None
        result = results.get(digest) or {"error": {"message": "the batch ended without an answer"}}
        response = result.get("response") or {}
        status, content = response.get("status_code"), json.dumps(response.get("body")).encode()
        if isinstance(status, int) and status < 300:  # noqa: PLR2004 - HTTP's successes
            return self._reply(content, {}, request, mode)
        record.forget(digest)
        if isinstance(status, int):
            raise self._rejected(ErrorBody(status, content), {}, request, mode)
        reason = self._clean(str((result.get("error") or {}).get("message", "")))
        raise BackendError("passing", f"it was not answered in its batch: {reason}".rstrip("."))

    def _wait_for(self, digest: str, body: Mapping[str, Any]) -> _Wait:
        """Return the task that waits for a request's batch; without one, add it to the next."""
        for record in self._records():
            if digest in record.requests:
                return self._wait_for_batch(record)
        self._gathered[digest], self._gathered_at = body, time.perf_counter()
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
                if time.time() - path.stat().st_mtime > _MAX_AGE_SECONDS:
                    path.unlink(missing_ok=True)
                else:
                    records.append(_Record(path, **json.loads(path.read_text(encoding="utf-8"))))
        return records

    async def _gather(self) -> tuple[_Record, Results]:
        """Gather requests until none has come for a while, and return the results of all."""
        try:
            pause = self._batching.gather_seconds
            while elapsed_since(self._gathered_at) < pause:  # noqa: ASYNC110 - requests prolong it
                await asyncio.sleep(pause - elapsed_since(self._gathered_at))
        finally:
            # Later requests go into another batch.
            bodies, self._gathered, self._gathering = self._gathered, {}, None
        lines = (
            {"custom_id": digest, "method": "POST", "url": _ENDPOINT, "body": body}
            for digest, body in sorted(bodies.items())
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

    async def _results(self, record: _Record) -> tuple[_Record, Results]:
        """Start a batch unless it has started, and return the results of its requests."""
        client = self._client
        try:
            if record.batch is None:
                # A run may have started it and been killed before it recorded that.
                listed = (await client.batches.list(limit=_LISTED_BATCHES)).data
                started = next((b for b in listed if b.input_file_id == record.file), None)
                started = started or await client.batches.create(
                    input_file_id=record.file, endpoint=_ENDPOINT, completion_window="24h"
                )
                record.batch = started.id
                await asyncio.to_thread(record.write)
            batch = await self._ended_batch(record.batch)
            if batch.status == "failed":
                record.path.unlink(missing_ok=True)
                problem = next(iter((batch.errors and batch.errors.data) or ()), None)
                reason = self._clean((problem and problem.message) or "no reason was given")
                is_full = problem is not None and problem.code in _FULL
                kind: Literal["passing", "lasting"] = "passing" if is_full else "lasting"
                raise BackendError(kind, f"it rejected the batch: {reason.rstrip('.')}")
            results = Results()
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                text = (await client.files.content(file)).text
                lines = [json.loads(line) for line in text.splitlines() if line]
                results |= {line["custom_id"]: line for line in lines}
            return record, results
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

    async def _ended_batch(self, batch_id: str) -> Batch:
        """Poll a batch until it has ended, in spite of passing failures."""
        while True:
            try:
                batch = await self._client.batches.retrieve(batch_id)
            except openai.OpenAIError as error:
                if self._failure(error).kind != "passing":
                    raise
            else:
                if batch.status in _ENDED:
                    return batch
            await asyncio.sleep(self._batching.poll_seconds)
