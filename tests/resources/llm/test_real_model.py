"""A real, tiny model behind a real llama.cpp server: it proves the plumbing, not the quality."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import Literal

import pytest
from pydantic import BaseModel

from resources.llm.base import ModelError, ModelRequest, Part
from tests.real_model import WHY_SKIPPED, client, served

pytest.importorskip("xllamacpp", reason=WHY_SKIPPED)


class Short(BaseModel):
    """Has no free text, in which so small a model would ramble up to any limit."""

    stance: Literal["supports", "refutes"]
    sure: bool


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(512) as address:
        yield address


async def test_a_real_model_answers_in_the_enforced_shape(address: str) -> None:
    async with aclosing(client(address, 512)) as model:
        answer = await model.complete(
            ModelRequest(
                "You judge claims.", (Part("The moon is a cheese."),), Short, max_tokens=120, seed=1
            )
        )
        probe = await model.probe()
    assert answer.value.stance in {"supports", "refutes"}
    (call,) = answer.calls
    assert call.outcome == "ok"
    assert call.usage_reported
    assert 10 < call.input_tokens < 200
    assert probe.ok


async def test_a_real_server_reports_its_window_and_the_page_is_trimmed(address: str) -> None:
    page = "The goldfish remembers its feeder for several months. " * 150
    async with aclosing(client(address, None)) as model:
        answer = await model.complete(
            ModelRequest(
                "You judge.",
                (Part("Read:\n"), Part(page, trimmable=True)),
                Short,
                max_tokens=120,
                seed=1,
            )
        )
        assert model.context_window == 512
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert answer.calls[1].trimmed_characters > 0
    assert answer.calls[1].input_tokens <= 512 - 120


async def test_a_real_answer_that_is_cut_off_is_truncated(address: str) -> None:
    async with aclosing(client(address, 512)) as model:
        with pytest.raises(ModelError, match="cut off"):
            await model.complete(
                ModelRequest("You judge.", (Part("Judge."),), Short, max_tokens=3, seed=1)
            )
