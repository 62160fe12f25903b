"""The reasoner with a real model behind a real llama.cpp server: its prompts and shapes arrive.

So small a model answers nonsense, or rambles until it is cut off. What is held here is that the
server takes every prompt and every shape, that whatever comes back is a valid answer or a typed
outage, and that its calls are counted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from factible_assets.reasoners.llm.conversation import StageModel
from factible_assets.reasoners.llm.engine import ANSWER_TOKENS, LlmReasoner
from factible_assets.records.tables import LlmCall
from factible_assets.stages.ports import ReasonerOutageError, WithCalls
from tests.real_model import WHY_SKIPPED, client, served
from tests.reasoners.material import CLAIM, PAGE, QUERY, VERDICT, VIDEO, row, transcript

pytest.importorskip("xllamacpp", reason=WHY_SKIPPED)

_TOKENS = 64
"""Enough for the beginning of an answer; longer answers are cut off. Claims get more."""

_TALK = "Sugar makes children hyperactive. A glass of milk makes them sleep. Honey never spoils."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(4096) as address:
        yield address


@pytest.fixture
async def llm(address: str) -> AsyncIterator[LlmReasoner]:
    async with aclosing(client(address, 4096, answer_seconds=600)) as model:
        stage = StageModel(model, max_tokens=_TOKENS, seed=1)
        yield LlmReasoner(dict.fromkeys(ANSWER_TOKENS, stage))


async def calls_of(judgement: Awaitable[WithCalls[Any]]) -> Sequence[LlmCall]:
    try:
        return (await judgement).calls
    except ReasonerOutageError as outage:
        return outage.calls


Ask = Callable[[LlmReasoner], Awaitable[WithCalls[Any]]]

JUDGEMENTS: dict[str, Ask] = {
    "claims": lambda llm: llm.extract_claims(VIDEO, transcript(_TALK), [], max_claims=1),
    "queries": lambda llm: llm.write_queries(VIDEO, CLAIM, max_queries=2),
    "evidence": lambda llm: llm.read_evidence(VIDEO, CLAIM, QUERY, PAGE),
    "verdicts": lambda llm: llm.word_verdicts(VIDEO, [(CLAIM, VERDICT, [row("a", "refutes")])]),
}


@pytest.mark.parametrize("stage", JUDGEMENTS)
async def test_a_real_server_takes_the_prompt_and_the_shape_of_every_judgement(
    llm: LlmReasoner, stage: str
) -> None:
    calls = await calls_of(JUDGEMENTS[stage](llm))
    assert calls
    assert {call.stage for call in calls} == {stage}
    # The server generated text of the requested shape and refused nothing.
    assert {call.outcome for call in calls} <= {"ok", "truncated"}
    assert all(call.input_tokens > 100 and call.output_tokens > 0 for call in calls)
