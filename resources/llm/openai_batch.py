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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeAlias

from resources.http import elapsed_since
from resources.llm.backend import BackendError, HttpAnswer, Question, Reply, malformed
from resources.llm.openai import OpenAIBackend

PRICE = 0.5
"""Share of the usual price."""
_ENDPOINT: Final = f"/v1{OpenAIBackend.chat}"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_KEPT_SECONDS = 30 * 24 * 3_600  # How long the service keeps answers.
_LISTED = 100
_NO_ROOM = frozenset({"token_limit_exceeded", "batch_limit_exceeded"})


@dataclass(frozen=True, slots=True)
class Batching:
    """How batches of requests work. Times in seconds.

    `folder` records which batch each request is in. A batch starts `gather_seconds` after its last
    request. A run polls it every `poll_seconds` and gives up after `wait_seconds`.
    """

    folder: Path
    wait_seconds: float
    gather_seconds: float = 15.0
    poll_seconds: float = 30.0


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

    _gathering: _Wait | None

    def __init__(self, batching: Batching, *given: Any) -> None:
        self._batching = batching
        super().__init__(*given)

    def prepare(self) -> None:
        super().prepare()
        price = self.info.price and self.info.price.times(PRICE)
        self.info = replace(self.info, price=price, batched=True)
        # Each request waits for its whole batch.
        seconds = self._batching.wait_seconds
        patience = seconds + self.policy.answer_seconds
        self.policy = replace(self.policy, answer_seconds=patience, patience_seconds=seconds)
        self._bodies: dict[str, Mapping[str, Any]] = {}
        self._last, self._gathering = 0.0, None
        self._waits: dict[Path, _Wait] = {}

    def identify(self, body: Mapping[str, Any]) -> str:
        content = json.dumps([self.base_url, body], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    async def ask(self, question: Question) -> Reply:
        try:
            async with asyncio.timeout(self._batching.wait_seconds):
                record, lines = await asyncio.shield(self._wait_for(question.id, question.body))
        except TimeoutError:
            hours = f"{self._batching.wait_seconds / 3_600:g} hours"
            reason = f"its batch was not done after {hours}; the next re-check goes on waiting"
            raise BackendError("passing", reason) from None
        line = lines.get(question.id) or {"error": {"message": "the batch ended without an answer"}}
        response = line.get("response") or {}
        status = response.get("status_code")
        if status != HTTPStatus.OK:
            record.forget(question.id)
        if isinstance(status, int):
            return self.reply(HttpAnswer(status, {}, response.get("body")), question)
        reason = self._clean(str((line.get("error") or {}).get("message", "")))
        raise BackendError("passing", f"it was not answered in its batch: {reason}".rstrip("."))

    def _wait_for(self, name: str, body: Mapping[str, Any]) -> _Wait:
        """Return the task that waits for the present or future batch of a request."""
        for record in self._records():
            if name in record.requests:
                wait = self._waits.get(record.path)
                if wait is None or (wait.done() and (wait.cancelled() or wait.exception())):
                    wait = self._waits[record.path] = asyncio.create_task(self._finish(record))
                return wait
        self._bodies[name], self._last = body, time.perf_counter()
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())
        return self._gathering

    def _records(self) -> list[_Record]:
        found = []
        for path in sorted(self._batching.folder.glob("*.json")):
            if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink(missing_ok=True)
                continue
            with suppress(ValueError, TypeError):
                found.append(_Record(path, **json.loads(path.read_text(encoding="utf-8"))))
        return found

    async def _gather(self) -> tuple[_Record, Lines]:
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
        upload: dict[str, Any] = {"files": {"file": ("requests.jsonl", content)}}
        try:
            answer = await self._call("POST", "/files", data={"purpose": "batch"}, **upload)
            file: str = answer.value["id"]
        except (KeyError, TypeError):
            raise malformed("file") from None
        record = _Record(self._batching.folder / f"{file}.json", sorted(bodies), file)
        await asyncio.to_thread(record.write)
        wait = self._waits[record.path] = asyncio.create_task(self._finish(record))
        return await asyncio.shield(wait)

    async def _finish(self, record: _Record) -> tuple[_Record, Lines]:
        """Start a batch unless it has started, and return the results of its requests."""
        call = partial(self._call, record=record)
        try:
            if record.batch is None:
                # A run may have started it and been killed before it recorded that.
                listed = (await call("GET", f"/batches?limit={_LISTED}")).value["data"]
                started = [batch["id"] for batch in listed if batch["input_file_id"] == record.file]
                if not started:
                    wanted = {"endpoint": _ENDPOINT, "completion_window": "24h"}
                    wanted["input_file_id"] = record.file
                    started = [(await call("POST", "/batches", json=wanted)).value["id"]]
                record.batch = started[0]
                await asyncio.to_thread(record.write)
            batch = await self._ended(record)
            if batch["status"] == "failed":
                record.path.unlink(missing_ok=True)
                problem = ((batch.get("errors") or {}).get("data") or [{}])[0]
                reason = self._clean(problem.get("message") or "no reason was given")
                raise BackendError(
                    "passing" if problem.get("code") in _NO_ROOM else "lasting",
                    f"it rejected the batch: {reason.rstrip('.')}",
                )
            files = (batch.get("output_file_id"), batch.get("error_file_id"))
            texts = [await call("GET", f"/files/{each}/content") for each in files if each]
            lines = [
                json.loads(line) for each in texts for line in each.content.split(b"\n") if line
            ]
            return record, {line["custom_id"]: line for line in lines}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise malformed("list of answers") from None

    async def _ended(self, record: _Record) -> Mapping[str, Any]:
        """Poll a batch until it has ended, in spite of passing failures."""
        while True:
            try:
                answer = await self._call("GET", f"/batches/{record.batch}", record)
            except BackendError as error:
                if error.kind != "passing":
                    raise
            else:
                batch: Mapping[str, Any] = answer.value
                if batch["status"] in _ENDED:
                    return batch
            await asyncio.sleep(self._batching.poll_seconds)

    async def _call(
        self, method: str, path: str, record: _Record | None = None, **sent: Any
    ) -> HttpAnswer:
        """Call the service; forget the record of a batch that it does not know."""
        answer = await self.exchange(method, path, **sent)
        if record is not None and answer.status == HTTPStatus.NOT_FOUND:
            record.path.unlink(missing_ok=True)
        self.check(answer)
        return answer

    async def aclose(self) -> None:
        for task in (self._gathering, *self._waits.values()):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, BackendError):
                    await task
        await super().aclose()
