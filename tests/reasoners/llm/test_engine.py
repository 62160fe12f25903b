from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from factible_assets.reasoners.llm import engine
from factible_assets.reasoners.llm.answers import ClaimsAnswer
from factible_assets.reasoners.llm.claims import Listen, Window
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.prompts import load_prompt
from factible_assets.stages.ports import ReasonerOutageError, ReasonerRefusalError, WithCalls
from resources.llm.base import ModelCall, ModelOutageError, RefusedError
from tests.reasoners.llm.scripted import Script, ScriptedModel, report, staged
from tests.reasoners.material import CLAIM, DENIAL_AT, PAGE, QUERY, VERDICT, VIDEO, row, transcript

READING: dict[str, Any] = {
    "sentences": [DENIAL_AT],
    "summary": "S",
    "stance": "refutes",
    "confidence": 0.5,
    "relevance": 0.5,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "claims": {"thesis": "T", "thesis_is_about_expertise": False, "claims": []},
    "queries": {"searches": ["sugar", "sugar myth"]},
    "evidence": READING,
    "verdicts": {"verdicts": [{"claim": 1, "words": "They refute it.", "says": "refutes"}]},
}
JUDGEMENTS: dict[str, Callable[[LlmReasoner], Awaitable[WithCalls[Any]]]] = {
    "claims": lambda llm: llm.extract_claims(
        VIDEO, transcript("Some words were said."), (), max_claims=3
    ),
    "queries": lambda llm: llm.write_queries(VIDEO, CLAIM, max_queries=3),
    "evidence": lambda llm: llm.read_evidence(VIDEO, CLAIM, QUERY, PAGE),
    "verdicts": lambda llm: llm.word_verdicts(
        VIDEO, [(CLAIM, VERDICT, (row("first", "refutes"),))]
    ),
}
PROMPTS = {"claims": "claims", "queries": "queries", "evidence": "evidence", "verdicts": "verdict"}
LIMITS = {"claims": 1_200, "queries": 600, "evidence": 600, "verdicts": 900}

stages = pytest.mark.parametrize("stage", JUDGEMENTS)


def llm_with(
    *answers: Script, reports: tuple[ModelCall, ...] = (report(),)
) -> tuple[LlmReasoner, ScriptedModel]:
    model = ScriptedModel(list(answers), reports)
    return LlmReasoner(staged(model)), model


@stages
async def test_every_call_becomes_a_row_with_its_claim_query_and_page(stage: str) -> None:
    reports = (
        report(outcome="invalid", reason="No JSON."),
        report(attempt=2, input_tokens=7, cost_usd=0.25, cache_hit=True),
    )
    llm, _ = llm_with(ANSWERS[stage], reports=reports)
    calls = (await JUDGEMENTS[stage](llm)).calls
    assert [call.outcome for call in calls] == ["invalid", "ok"]
    assert [call.attempt for call in calls] == [1, 2]
    last = calls[1]
    assert (last.input_tokens, last.cost_usd, last.cache_hit) == (7, 0.25, True)
    assert (last.stage, last.video_id) == (stage, "v1")
    assert last.claim_id == ("c1" if stage in {"queries", "evidence"} else None)
    assert last.query_id == ("q1" if stage == "evidence" else None)
    assert last.canonical_url == (PAGE.canonical_url if stage == "evidence" else None)
    assert last.prompt_version == load_prompt(PROMPTS[stage]).version
    assert len({call.call_id for call in calls}) == 2


@stages
async def test_a_question_has_the_published_limit_and_no_temperature(stage: str) -> None:
    llm, model = llm_with(ANSWERS[stage])
    await JUDGEMENTS[stage](llm)
    question = model.questions[0]
    assert (question.max_tokens, question.temperature) == (LIMITS[stage], 0.0)
    assert question.system == load_prompt(PROMPTS[stage]).system


@stages
@pytest.mark.parametrize("lasting", [True, False])
async def test_a_failure_is_an_outage_with_a_sentence_and_the_calls_so_far(
    stage: str, lasting: bool
) -> None:
    silent = report(outcome="infra_error")
    failure = ModelOutageError("The model gave no answer.", [silent], lasting=lasting)
    llm, _ = llm_with(failure)
    with pytest.raises(ReasonerOutageError) as outage:
        await JUDGEMENTS[stage](llm)
    assert (outage.value.reason, outage.value.lasting) == ("The model gave no answer.", lasting)
    (call,) = outage.value.calls
    assert (call.stage, call.outcome, call.request_id) == (stage, "infra_error", silent.request_id)


async def test_a_failure_in_the_repair_keeps_the_first_call() -> None:
    made_up = READING | {"sentences": [99]}
    llm, _ = llm_with(made_up, ModelOutageError("Down.", [report(outcome="infra_error")]))
    with pytest.raises(ReasonerOutageError) as outage:
        await JUDGEMENTS["evidence"](llm)
    assert [call.outcome for call in outage.value.calls] == ["ok", "infra_error"]
    assert [call.attempt for call in outage.value.calls] == [1, 2]


@stages
async def test_a_refusal_is_no_outage_and_its_reason_is_plain_text(stage: str) -> None:
    sentence = "It declined: <img src=x> see [this](http://attacker.example/)."
    llm, _ = llm_with(RefusedError(sentence, [report(outcome="refused", reason=sentence)]))
    with pytest.raises(ReasonerRefusalError) as outage:
        await JUDGEMENTS[stage](llm)
    assert outage.value.reason == "It declined: see this."
    assert outage.value.calls[0].reason == "It declined: see this."


async def test_each_stage_asks_its_own_model() -> None:
    models = {stage: ScriptedModel([ANSWERS[stage]]) for stage in JUDGEMENTS}
    llm = LlmReasoner(staged(models["claims"], seed=7, **models))
    for stage, judge in JUDGEMENTS.items():
        await judge(llm)
        assert [question.seed for question in models[stage].questions] == [7]
    assert llm.basis == "llm"


async def test_a_failed_announcement_does_not_hide_the_failure_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise ValueError("announcement")

    async def fail_later(*_: object, listen: Listen, **__: object) -> None:
        answer = ClaimsAnswer.model_validate(ANSWERS["claims"])
        listen(Window("Some words.", 0, 1), answer)
        await asyncio.sleep(0.1)
        raise ReasonerOutageError("model")

    monkeypatch.setattr(engine, "find_claims", fail_later)
    llm, _ = llm_with(ANSWERS["claims"])
    with pytest.raises(ReasonerOutageError, match="model"):
        await llm.extract_claims(VIDEO, transcript("Some words."), (), max_claims=3, found=fail)
