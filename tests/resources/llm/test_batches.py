"""Questions that can wait, against a server with the rules of OpenAI's batches."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resources.llm.base import ModelAnswer, ModelCall, ModelError, ModelOutageError
from tests.resources.llm.batches import TOKENS, BatchServer, ask_three, asked_together, good
from tests.resources.llm.servers import CHAT, Leaning, fail
from tests.servers import MisbehavingServer, respond_json

QUESTIONS = ("one?", "two?", "three?")
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.resources.llm.batches"])


@pytest.fixture
def batches(server: MisbehavingServer) -> BatchServer:
    return BatchServer(server)


def paid(results: list[ModelAnswer[Leaning] | BaseException]) -> float:
    calls: list[ModelCall] = [call for each in results for call in getattr(each, "calls", ())]
    return sum(call.cost_usd for call in calls)


async def test_simultaneous_requests_go_into_one_batch_at_half_the_price(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path
) -> None:
    results = await asked_together(server.port, tmp_path, *QUESTIONS)
    for each in results:
        assert isinstance(each, ModelAnswer)
        assert each.value.score == 7
        (call,) = each.calls
        assert (call.batched, call.usage_reported, call.price_known) == (True, True, True)
        assert (call.input_tokens, call.output_tokens) == TOKENS
    assert len(batches.batches) == 1
    assert paid(results) == pytest.approx(batches.usd)
    assert server.count(CHAT["openai"]) == 0
    again = await asked_together(server.port, tmp_path, *QUESTIONS)
    assert all(call.cache_hit for each in again for call in each.calls)  # type: ignore[union-attr]
    assert len(batches.batches) == 1


async def test_only_expired_and_failed_requests_are_repeated(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path
) -> None:
    batches.expires = True

    def recovers(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        batches.expires = False
        return good(body)

    batches.outcome = recovers
    results = await asked_together(server.port, tmp_path, *QUESTIONS)
    assert all(isinstance(each, ModelAnswer) for each in results)
    assert len(batches.billed) == len(set(batches.billed)) == 3
    assert paid(results) == pytest.approx(batches.usd)


@pytest.mark.parametrize("status", [500, 429])
async def test_a_line_that_fails_is_an_outage_of_its_own(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path, status: int
) -> None:
    def two_fails(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "two?" in str(body):
            return status, {"error": {"message": "The server is unwell."}}
        return good(body)

    batches.outcome = two_fails
    one, two, three = await asked_together(server.port, tmp_path, *QUESTIONS)
    assert isinstance(one, ModelAnswer)
    assert isinstance(three, ModelAnswer)
    assert isinstance(two, ModelOutageError)
    assert not two.lasting
    assert paid([one, two, three]) == pytest.approx(batches.usd)


async def test_a_batch_that_is_rejected_as_a_whole_says_why(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_problem", lambda _: "Your file is not liked.")
    results = await asked_together(server.port, tmp_path, *QUESTIONS)
    assert all(isinstance(each, ModelError) and each.lasting for each in results)
    assert "it rejected the batch: Your file is not liked" in str(results[0])
    assert not list((tmp_path / "batches").iterdir())


async def test_a_server_without_batches_is_named(server: MisbehavingServer, tmp_path: Path) -> None:
    (failure,) = await asked_together(server.port, tmp_path, "one?")
    assert isinstance(failure, ModelOutageError)
    assert failure.lasting
    assert "404" in failure.reason


async def test_a_look_that_fails_in_passing_ends_no_wait(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path
) -> None:
    task = asyncio.create_task(asked_together(server.port, tmp_path, "one?"))
    while not batches.batches:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    path = "/v1/batches/batch_1"
    server.on(path, fail(503), fail(429), *server._paths[path])
    assert isinstance((await task)[0], ModelAnswer)


async def test_the_next_run_waits_for_an_unfinished_batch(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    batches = BatchServer(server, looks=30)
    (late,) = await asked_together(server.port, tmp_path, "one?", seconds=0.4)
    assert isinstance(late, ModelOutageError)
    assert not late.lasting
    assert "the next re-check goes on waiting" in late.reason
    assert paid([late]) == 0
    (found,) = await asked_together(server.port, tmp_path, "one?")
    assert isinstance(found, ModelAnswer)
    assert len(batches.batches) == 1
    assert paid([found]) == pytest.approx(batches.usd)


@pytest.mark.parametrize("moment", ["uploaded", "begun", "waiting", "done"])
async def test_a_killed_run_continues_with_the_same_batch(
    server: MisbehavingServer, tmp_path: Path, moment: str
) -> None:
    batches = BatchServer(server, looks=10_000)
    killed = PROCESSES.Process(target=ask_three, args=(server.port, tmp_path))
    await asyncio.to_thread(killed.start)
    reached: dict[str, Callable[[], object]] = {
        "uploaded": lambda: batches.files,
        "begun": lambda: batches.batches,
        "waiting": lambda: batches._looked.get("batch_1", 0) > 2,
        "done": lambda: batches.billed,
    }
    if moment == "done":
        batches.looks = 3
    while not reached[moment]():  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.001)
    killed.kill()
    await asyncio.to_thread(killed.join)
    batches.looks = 0
    results = await asked_together(server.port, tmp_path, *QUESTIONS)
    # One batch, or two where a stalled machine parts the questions; none is ever in both.
    lines = [line for batch in batches.batches.values() for line in batches._lines(batch)]
    assert len({line["custom_id"] for line in lines}) == len(lines) == 3
    assert len(batches.billed) == 3
    assert paid(results) == pytest.approx(batches.usd)


async def test_an_invalid_list_of_batches_loses_nothing(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path
) -> None:
    server.on("/v1/batches", respond_json({"data": None}), *server._paths["/v1/batches"])
    (found,) = await asked_together(server.port, tmp_path, "one?")
    assert isinstance(found, (ModelAnswer, ModelError))
    (found,) = await asked_together(server.port, tmp_path, "one?")
    assert isinstance(found, ModelAnswer)
    assert len(batches.batches) == 1


async def test_a_record_that_another_run_deletes_meanwhile_is_none(
    server: MisbehavingServer, batches: BatchServer, tmp_path: Path
) -> None:
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "listed.json").symlink_to("deleted")
    (answer,) = await asked_together(server.port, tmp_path, "one?")
    assert isinstance(answer, ModelAnswer)
