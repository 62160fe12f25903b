"""Both dialects, against real servers."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from resources.errors import SetupError
from resources.llm.base import (
    ContextTooLongError,
    LanguageModel,
    ModelError,
    ModelOutageError,
    ModelRequest,
    Part,
    RefusedError,
)
from resources.llm.limits import Budget, Ceiling, RateLimiter
from tests.resources.llm.servers import (
    CANARY,
    CHAT,
    GOOD,
    PATIENT,
    Dialect,
    Gate,
    Leaning,
    arrival,
    ask,
    bodies,
    bound,
    depending,
    fail,
    openai_answer,
    say,
    shapes_asked,
)
from tests.servers import (
    Behaviour,
    MisbehavingServer,
    answering_in_the_clear,
    drip,
    garbage,
    hang,
    redirect,
    reset,
    respond,
    respond_json,
    truncate,
)

both = pytest.mark.parametrize("dialect", ["openai", "ollama"])


@both
async def test_a_valid_answer_has_usage_cost_and_latency(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(CHAT[dialect], say(dialect, usage=(1_000, 50), after=0.02))
    async with bound(server, dialect) as model:
        door: LanguageModel = model
        answer = await door.complete(ask())
    assert answer.value == Leaning(stance="refutes", score=7)
    (call,) = answer.calls
    assert (call.provider, call.model) == (dialect, model.model)
    assert (call.input_tokens, call.output_tokens, call.usage_reported) == (1_000, 50, True)
    assert call.cost_usd == pytest.approx((1_000 * 1.0 + 50 * 2.0) / 1e6)
    assert call.latency_seconds >= 0.02
    assert (call.outcome, call.attempt, call.cache_hit, call.price_known) == ("ok", 1, False, True)


@both
async def test_the_request_has_temperature_seed_limit_and_schema(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(CHAT[dialect], say(dialect))
    async with bound(server, dialect) as model:
        await model.complete(ask(max_tokens=123))
    (sent,) = bodies(server, dialect)
    assert sent["messages"] == [
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": "What do you say?"},
    ]
    if dialect == "openai":
        shape = sent["response_format"]["json_schema"]
        assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.0, 11, 123)
        assert (sent["response_format"]["type"], shape["strict"]) == ("json_schema", True)
        assert set(shape["schema"]["required"]) == {"stance", "score", "note"}
        assert shape["schema"]["additionalProperties"] is False
    else:
        assert sent["options"] == {
            "temperature": 0.0,
            "seed": 11,
            "num_predict": 123,
            "num_ctx": 8_000,
        }
        assert set(sent["format"]["properties"]) == {"stance", "score", "note"}
        assert (sent["think"], sent["stream"]) == (False, False)


@both
@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ('{"stance": "perhaps", "score": 3}', "stance"),
        ('{"stance": "refutes", "score": 99}', "less than or equal to 10"),
        ('{"stance": "refutes", ', "no complete JSON object"),
        ("I think that it is refuted.", "no complete JSON object"),
        ("[1, 2]", "Input should be an object"),
        ("", "empty"),
    ],
)
async def test_an_invalid_answer_is_corrected_once_with_its_error(
    server: MisbehavingServer, dialect: Dialect, wrong: str, hint: str
) -> None:
    if dialect == "ollama" and wrong and not wrong.startswith("{"):
        pytest.skip("Ollama is asked otherwise, see below.")
    server.on(CHAT[dialect], say(dialect, wrong), say(dialect))
    async with bound(server, dialect) as model:
        answer = await model.complete(ask())
    assert [call.outcome for call in answer.calls] == ["invalid", "ok"]
    assert hint in (answer.calls[0].reason or "")
    second = bodies(server, dialect)[1]["messages"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == (wrong or "(empty)")
    assert hint in second[3]["content"]
    assert '"properties"' in second[3]["content"]


@both
async def test_an_answer_that_stays_invalid_fails_after_one_correction(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(CHAT[dialect], say(dialect, '{"stance": "perhaps", "score": 3}'))
    async with bound(server, dialect) as model:
        with pytest.raises(ModelError, match=r"in 2 tries.*stance") as caught:
            await model.complete(ask())
    assert server.count(CHAT[dialect]) == 2
    assert [call.outcome for call in caught.value.calls] == ["invalid"] * 2
    assert sum(call.input_tokens for call in caught.value.calls) == 240


@both
async def test_a_cut_off_answer_gets_a_higher_limit_once(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    cut = say(dialect, '{"stance": "ref', finish="length")
    server.on(CHAT[dialect], cut, say(dialect), say(dialect), cut)
    async with bound(server, dialect) as model:
        answer = await model.complete(ask())
        await model.complete(ask("And you?"))
        with pytest.raises(ModelError, match=r"limit of 800 tokens.*Raise the limit") as caught:
            await model.complete(ask("And they?"))
    assert [call.outcome for call in answer.calls] == ["truncated", "ok"]
    assert [call.outcome for call in caught.value.calls] == ["truncated"]
    assert all(call.cost_usd > 0 for call in (*answer.calls, *caught.value.calls))
    limits = [
        body["max_tokens"] if dialect == "openai" else body["options"]["num_predict"]
        for body in bodies(server, dialect)
    ]
    assert limits == [200, 800, 800, 800], "what helped once is not found out again"


@pytest.mark.parametrize(
    "behaviour",
    [
        say("openai", "", refusal="I cannot help with that."),
        say("openai", "", finish="content_filter"),
        fail(400, "The prompt triggered the content policy.", code="content_filter"),
    ],
    ids=["refusal", "filtered answer", "filtered prompt"],
)
async def test_a_refusal_is_a_separate_outcome_without_a_retry(
    server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.on(CHAT["openai"], behaviour)
    async with bound(server) as model:
        with pytest.raises(RefusedError, match="declined to answer") as caught:
            await model.complete(ask())
    assert [call.outcome for call in caught.value.calls] == ["refused"]
    assert server.count(CHAT["openai"]) == 1


PASSING: dict[str, Behaviour] = {
    "429": fail(429, "Slow down."),
    "500": fail(500),
    "502": respond("<html>Bad gateway</html>", status=502),
    "503": fail(503, "Loading model"),
    "reset": reset(),
    "hang": hang(),
    "slow drip": drip(),
    "truncated body": truncate(b'{"choices": ['),
    "no HTTP": garbage(),
    "wrong content type": respond("<html>Welcome to the wifi</html>", status=200),
    "malformed JSON": respond('{"choices": [', content_type="application/json"),
    "valid JSON, wrong shape": respond_json({"choices": "none", "message": 3}),
    "valid JSON, a list": respond_json([1, 2, 3]),
    "empty body": respond("", content_type="application/json"),
}

SILENT = {"hang", "slow drip"}


@both
@pytest.mark.parametrize(
    "answer",
    [
        '{"note": "' + "I was in the office of the first person I met. " * 50,
        '{"note": "' + "\n" * 600,
        '{"note": "'
        + ", ".join(f'{{"claim": {each}, "text": "a", "priority": {each}}}' for each in range(40)),
        "[" + "7, " * 600,
    ],
    ids=["words", "line breaks", "counting on", "no object"],
)
async def test_an_answer_in_a_loop_gets_no_higher_limit(
    server: MisbehavingServer, dialect: Dialect, answer: str
) -> None:
    server.on(CHAT[dialect], say(dialect, answer, finish="length"))
    async with bound(server, dialect) as model:
        with pytest.raises(ModelError, match="200 tokens, because it repeats itself") as caught:
            await model.complete(ask())
    assert [call.outcome for call in caught.value.calls] == ["truncated"]


class Searches(BaseModel):
    searches: list[Leaning]


@both
async def test_the_items_before_a_loop_are_kept(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    first = '{"stance": "refutes", "score": 7, "note": "a"}, '
    turning = first.replace('"a"', '"b"')
    begun = '{"searches": [' + first + turning * 30 + '{"stance": "refu'
    server.on(CHAT[dialect], say(dialect, begun, finish="length"))
    async with bound(server, dialect) as model:
        answer = await model.complete(
            ModelRequest("You search.", (Part("What for?"),), Searches, max_tokens=200)
        )
    assert [each.note for each in answer.value.searches] == ["a", *"b" * 30]
    assert [call.outcome for call in answer.calls] == ["truncated"]


@both
async def test_a_long_list_of_empty_pages_is_no_loop_and_gets_a_higher_limit(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    pages = "".join(f'{{"page": {each}, "stance": "unclear", "quote": ""}}, ' for each in range(20))
    server.on(CHAT[dialect], say(dialect, f"[{pages}", finish="length"), say(dialect))
    async with bound(server, dialect) as model:
        answer = await model.complete(ask())
    assert [call.outcome for call in answer.calls] == ["truncated", "ok"]


@both
@pytest.mark.parametrize("fault", PASSING)
async def test_a_passing_failure_is_retried_and_every_request_recorded(
    server: MisbehavingServer, dialect: Dialect, fault: str
) -> None:
    server.on(CHAT[dialect], PASSING[fault], say(dialect))
    policy = replace(PATIENT, answer_seconds=0.5) if fault in SILENT else PATIENT
    async with bound(server, dialect, policy=policy) as model:
        answer = await model.complete(ask())
    assert answer.value.score == 7
    *failed, good = answer.calls
    assert (good.outcome, {call.outcome for call in failed}) == ("ok", {"infra_error"})
    # A machine that stalls for half a second makes a good answer late, once more than the fault.
    assert len(failed) == 1 or fault in SILENT
    assert [call.attempt for call in answer.calls] == list(range(1, len(failed) + 2))
    assert answer.calls[0].reason
    # An aborted call may not have left this machine yet.
    least = 1 if fault in SILENT else len(answer.calls)
    assert least <= server.count(CHAT[dialect]) <= len(answer.calls)


@both
@pytest.mark.parametrize("fault", PASSING)
async def test_a_persistent_failure_is_an_outage_after_bounded_attempts(
    server: MisbehavingServer, dialect: Dialect, fault: str
) -> None:
    server.on(CHAT[dialect], PASSING[fault])
    policy = replace(PATIENT, answer_seconds=0.3) if fault in SILENT else PATIENT
    async with bound(server, dialect, policy=policy) as model:
        with pytest.raises(ModelOutageError, match=r"\(3 attempts\)") as caught:
            await model.complete(ask())
    assert (0 if fault in SILENT else 3) <= server.count(CHAT[dialect]) <= 3
    assert [call.outcome for call in caught.value.calls] == ["infra_error"] * 3
    assert not any(call.usage_reported for call in caught.value.calls)


LASTING: dict[str, tuple[Behaviour, str]] = {
    "wrong key": (fail(401, f"Incorrect API key provided: {CANARY}."), "check the key"),
    "forbidden": (fail(403), "may not use this model"),
    "no such model": (fail(404, "model not found"), "no such model or address"),
    "no credit": (fail(429, "You exceeded your quota.", code="insufficient_quota"), "no credit"),
    "payment": (fail(402), "no credit"),
    "bad request": (fail(400, f"Bad thing, {CANARY}."), "rejected the request"),
    "redirect": (redirect("http://127.0.0.1:9/elsewhere"), "redirects elsewhere"),
    "payment in a success": (
        respond_json({"error": {"message": "Insufficient credits", "code": 402}}),
        "no credit",
    ),
    "wrong key in a success": (
        respond_json({"error": {"message": "No auth", "type": "authentication_error"}}),
        "check the key",
    ),
    "payment in the choice": (
        respond_json({"choices": [{"error": {"message": "Pay.", "code": "402"}}]}),
        "no credit",
    ),
    "responses only": (
        fail(
            404,
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            param="model",
        ),
        "chat completions.* do not serve the model .*v1/responses.*choose another model",
    ),
    "no chat at Azure": (
        fail(400, "The requested operation is unsupported.", code="OperationNotSupported"),
        "chat completions.* do not serve the model",
    ),
}


@pytest.mark.parametrize("fault", LASTING)
async def test_a_lasting_failure_names_its_remedy_without_a_retry(
    server: MisbehavingServer, fault: str
) -> None:
    behaviour, words = LASTING[fault]
    server.on("*", behaviour)
    async with bound(server) as model:
        with pytest.raises(ModelOutageError, match=words) as caught:
            await model.complete(ask())
    assert len(server.asked) == 1
    assert [call.outcome for call in caught.value.calls] == ["infra_error"]
    assert CANARY not in str(caught.value)


@both
async def test_a_rate_limit_in_a_success_is_waited_for(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    limited = {"error": {"message": "Rate limited", "code": 429}}
    busy = respond(json.dumps(limited), headers={"Retry-After": "0.1"})
    server.on(CHAT[dialect], busy, say(dialect))
    async with bound(server, dialect) as model:
        answer = await model.complete(ask())
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert "too many requests (status 429)" in (answer.calls[0].reason or "")


async def test_content_in_parts_is_joined_without_thoughts(server: MisbehavingServer) -> None:
    whole = json.dumps(GOOD)
    body = openai_answer("")
    body["choices"][0]["message"]["content"] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": whole[:9]},
        {"type": "output_text", "text": whole[9:]},
    ]
    server.on(CHAT["openai"], respond_json(body))
    async with bound(server) as model:
        assert (await model.complete(ask())).value.score == 7


async def test_a_refusal_in_parts_is_a_refusal(server: MisbehavingServer) -> None:
    body = openai_answer("")
    body["choices"][0]["message"]["content"] = [{"type": "refusal", "refusal": "I cannot."}]
    server.on(CHAT["openai"], respond_json(body))
    async with bound(server) as model:
        with pytest.raises(RefusedError, match="I cannot"):
            await model.complete(ask())


async def test_a_missing_ollama_model_names_the_command_that_fetches_it(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["ollama"], fail(404, "model 'qwen-test' not found", dialect="ollama"))
    async with bound(server, "ollama") as model:
        with pytest.raises(ModelOutageError, match="ollama pull qwen-test"):
            await model.complete(ask())
    assert len(server.asked) == 1


@both
async def test_a_server_that_is_not_there_is_an_outage(dialect: Dialect) -> None:
    async with MisbehavingServer() as gone:
        pass
    async with bound(gone, dialect) as model:
        with pytest.raises(ModelOutageError, match="the server may not be running") as caught:
            await model.complete(ask())
    assert len(caught.value.calls) == 3


@both
async def test_a_failed_tls_handshake_is_said_at_once(dialect: Dialect) -> None:
    async with answering_in_the_clear() as names:
        plain = MisbehavingServer(port=(names.find("any.example", 443) or ("", 0))[1])
        async with bound(plain, dialect, scheme="https") as model:
            with pytest.raises(ModelOutageError, match="secure connection failed") as caught:
                await model.complete(ask())
    assert len(caught.value.calls) == 1


@both
@pytest.mark.parametrize(
    "headers",
    [{"Retry-After-Ms": "150", "Retry-After": "3600"}, {"Retry-After": "0.15"}],
    ids=["milliseconds", "seconds"],
)
async def test_every_request_respects_the_pause_the_server_asks_for(
    server: MisbehavingServer, dialect: Dialect, headers: dict[str, str]
) -> None:
    server.on(CHAT[dialect], fail(429, headers=headers, dialect=dialect), say(dialect))
    limiter = RateLimiter(max_concurrent=4)
    async with bound(server, dialect, limiter=limiter) as model:
        first = asyncio.create_task(model.complete(ask()))
        while not limiter._paused_until:  # noqa: ASYNC110 - until the pause is known
            await asyncio.sleep(0.001)
        await asyncio.gather(first, model.complete(ask("And you?")))
    began, *later = (asked.moment for asked in server.asked)
    assert len(later) == 2
    assert min(later) - began >= 0.15


async def test_too_long_a_pause_is_an_outage_without_a_retry(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], fail(429, headers={"Retry-After": "3600"}))
    async with bound(server) as model:
        with pytest.raises(ModelOutageError, match="pause of 3,600 seconds"):
            await model.complete(ask())
    assert len(server.asked) == 1


async def test_retries_end_after_a_total_time(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], fail(503, headers={"Retry-After": "0.2"}))
    async with bound(server, policy=replace(PATIENT, patience_seconds=0.1)) as model:
        with pytest.raises(ModelOutageError, match=r"\(1 attempt\)"):
            await model.complete(ask())
    assert len(server.asked) == 1


@both
async def test_missing_usage_is_estimated_and_marked(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(CHAT[dialect], say(dialect, usage=None))
    async with bound(server, dialect) as model:
        (call,) = (await model.complete(ask())).calls
    assert not call.usage_reported
    assert call.input_tokens > 0
    assert call.output_tokens > 0
    assert call.cost_usd > 0


async def test_invalid_usage_does_not_lose_the_answer(server: MisbehavingServer) -> None:
    body = openai_answer(json.dumps(GOOD)) | {"usage": {"prompt_tokens": "many"}}
    server.on(CHAT["openai"], respond_json(body))
    async with bound(server) as model:
        answer = await model.complete(ask())
    assert answer.value.score == 7
    assert not answer.calls[0].usage_reported


async def test_cached_tokens_cost_their_own_price(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], say("openai", usage=(1_000, 10), cached=800))
    async with bound(server) as model:
        (call,) = (await model.complete(ask())).calls
    assert call.cached_tokens == 800
    assert call.cost_usd == pytest.approx((200 * 1.0 + 800 * 0.5 + 10 * 2.0) / 1e6)


async def test_a_call_without_a_price_is_marked(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], say("openai"))
    async with bound(server, price=None) as model:
        (call,) = (await model.complete(ask())).calls
    assert (call.cost_usd, call.price_known) == (0.0, False)


# --- Unsupported parameters ----------------------------------------------------------------------


async def test_a_server_without_schemas_gets_json_mode_from_then_on(
    server: MisbehavingServer,
) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        if sent.get("response_format", {}).get("type") == "json_schema":
            return fail(400, "response_format type json_schema is not supported here")
        return say("openai", f"```json\n{json.dumps(GOOD)}\n```")

    server.on(CHAT["openai"], depending(choose))
    async with bound(server) as model:
        first = await model.complete(ask())
        second = await model.complete(ask("Again?"))
    assert (len(first.calls), len(second.calls)) == (2, 1)
    assert shapes_asked(server) == ["json_schema", "json_object", "json_object"]
    assert '"stance"' in bodies(server)[1]["messages"][0]["content"]


async def test_a_server_without_response_formats_gets_the_schema_in_the_prompt(
    server: MisbehavingServer,
) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        if "response_format" in sent:
            return fail(422, "Extra inputs are not permitted", param="response_format")
        return say("openai", f"<think>Hm. {{}}</think>Here it is:\n{json.dumps(GOOD)} Bye.")

    server.on(CHAT["openai"], depending(choose))
    async with bound(server) as model:
        answer = await model.complete(ask())
    assert shapes_asked(server) == ["json_schema", "json_object", None]
    assert answer.value.score == 7


PROSE = "I think that it is refuted."


@pytest.mark.parametrize(
    ("ignores", "asked"),
    [
        (
            lambda sent: sent.get("think") is False and "format" in sent,
            [(False, True), (None, True)],
        ),
        (lambda sent: "format" in sent, [(False, True), (None, True), (False, False)]),
    ],
)
async def test_an_ollama_model_that_ignores_the_format_gets_other_requests_from_then_on(
    server: MisbehavingServer,
    ignores: Callable[[dict[str, Any]], bool],
    asked: list[tuple[bool | None, bool]],
) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        return say("ollama", PROSE if ignores(sent) else None)

    server.on(CHAT["ollama"], depending(choose))
    async with bound(server, "ollama") as model:
        first, second = await model.complete(ask()), await model.complete(ask())
    assert (first.value.score, second.value.score) == (7, 7)
    assert [call.outcome for call in second.calls] == ["ok"]
    sent = [(body.get("think"), "format" in body) for body in bodies(server, "ollama")]
    assert sent == [*asked, asked[-1]]
    says_schema = '"properties"' in bodies(server, "ollama")[-1]["messages"][0]["content"]
    assert says_schema != asked[-1][1], "the schema is in the prompt where no format is sent"


async def test_an_ollama_model_that_rejects_think_gets_requests_without_it(
    server: MisbehavingServer,
) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        words = "think value is not supported for this model"
        return fail(400, words, dialect="ollama") if "think" in sent else say("ollama")

    server.on(CHAT["ollama"], depending(choose))
    async with bound(server, "ollama") as model:
        await model.complete(ask())
        await model.complete(ask())
    assert ["think" in body for body in bodies(server, "ollama")] == [True, False, False]


async def test_parameters_that_a_model_rejects_are_left_out(server: MisbehavingServer) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        if "max_tokens" in sent:
            return fail(
                400,
                "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                code="unsupported_parameter",
                param="max_tokens",
            )
        for name in ("temperature", "seed"):
            if name in sent:
                return fail(400, f"Unsupported value: '{name}'", param=name)
        return say("openai")

    server.on(CHAT["openai"], depending(choose))
    async with bound(server) as model:
        first = await model.complete(ask())
        second = await model.complete(ask())
    assert len(first.calls) == 3, "a seed fixes nothing where the temperature is not ours"
    assert len(second.calls) == 1
    assert bodies(server)[-1]["max_completion_tokens"] == 200


# --- The context window --------------------------------------------------------------------------

PAGE = "The goldfish remembers for months. " * 2_000


def page_request(**details: int) -> Any:
    return ask((Part("Read:\n"), Part(PAGE, trimmable=True), Part("\nEnd. Answer.")), **details)


@both
async def test_a_long_page_is_trimmed_at_its_end_to_fit_the_window(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    server.on(CHAT[dialect], say(dialect, usage=(3_000, 20)))
    async with bound(server, dialect, window=4_000) as model:
        answer = await model.complete(page_request())
    text = bodies(server, dialect)[0]["messages"][1]["content"]
    assert text.startswith("Read:\nThe goldfish")
    assert text.endswith(" […]\nEnd. Answer.")
    kept = len(text) - len("Read:\n \u005b…]\nEnd. Answer.")
    assert answer.calls[0].trimmed_characters == len(PAGE) - kept
    assert 3_000 < len(text.encode()) < (4_000 - 200) * 3


async def test_the_estimate_is_learnt_from_reported_usage(server: MisbehavingServer) -> None:
    server.on(
        CHAT["openai"],
        depending(
            lambda sent: say(
                "openai", usage=(sum(len(m["content"]) for m in sent["messages"]) // 4, 20)
            )
        ),
    )
    async with bound(server, window=4_000) as model:
        await model.complete(page_request())
        await model.complete(page_request())
    first, second = (len(sent["messages"][1]["content"]) for sent in bodies(server))
    assert second > first * 1.15
    assert second / 4 + 200 < 4_000


async def test_a_part_that_may_not_be_trimmed_never_is(server: MisbehavingServer) -> None:
    async with bound(server, window=4_000) as model:
        with pytest.raises(ContextTooLongError, match="reads 4,000 tokens") as caught:
            await model.complete(ask(PAGE))
    assert server.asked == []
    assert caught.value.calls == ()


TOO_LONG = {
    "OpenAI": fail(
        400,
        "This model's maximum context length is 2000 tokens. However, your messages resulted in "
        "20000 tokens. Please reduce the length of the messages.",
        code="context_length_exceeded",
    ),
    "vLLM": fail(
        400,
        "You passed 20000 input tokens and requested 200 output tokens. However, the model's "
        "context length is only 2000 tokens, resulting in a maximum input length of 1800 tokens.",
        param="input_tokens",
        code=400,
    ),
    "llama.cpp": fail(
        400,
        "the request exceeds the available context size (2000 tokens), try increasing it",
        type="exceed_context_size_error",
        n_prompt_tokens=20_000,
        n_ctx=2_000,
    ),
}


@pytest.mark.parametrize("words", TOO_LONG)
async def test_a_context_error_reveals_the_window_and_the_prompt_is_trimmed_once(
    server: MisbehavingServer, words: str
) -> None:
    server.on(CHAT["openai"], TOO_LONG[words], say("openai", usage=(1_500, 20)))
    async with bound(server, window=None) as model:
        answer = await model.complete(page_request())
        assert model.context_window == 2_000
    first, second = (len(sent["messages"][1]["content"]) for sent in bodies(server))
    assert first > len(PAGE)
    assert second < 1_800 * len(PAGE) / 20_000
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]


async def test_a_context_error_after_trimming_fails(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], fail(400, "prompt too long; exceeded max context length by 4 tokens"))
    async with bound(server, window=None) as model:
        with pytest.raises(ContextTooLongError, match="larger context window") as caught:
            await model.complete(page_request())
    assert len(caught.value.calls) == len(server.asked) == 2


async def test_a_prompt_silently_cut_by_ollama_is_detected_and_trimmed(
    server: MisbehavingServer,
) -> None:
    def choose(sent: dict[str, Any]) -> Behaviour:
        tokens = sum(len(m["content"]) for m in sent["messages"]) // 4
        return say("ollama", usage=(tokens if tokens <= 4_096 else 2_050, 20))

    server.on(CHAT["ollama"], depending(choose))
    async with bound(server, "ollama", window=8_000) as model:
        answer = await model.complete(page_request())
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert "cut the prompt to 2,050 tokens of its 4,096" in (answer.calls[0].reason or "")
    assert answer.calls[1].input_tokens > 2_050


async def test_the_token_count_reveals_a_prompt_cut_to_half_of_the_window(
    server: MisbehavingServer,
) -> None:
    """A token stands for as many bytes as the estimate says, so that only the count shows it."""

    def choose(sent: dict[str, Any]) -> Behaviour:
        tokens = sum(len(m["content"]) for m in sent["messages"]) // 2
        return say("ollama", usage=(tokens if tokens <= 4_000 else 2_002, 20))

    server.on(CHAT["ollama"], depending(choose))
    async with bound(server, "ollama", window=4_000) as model:
        answer = await model.complete(page_request())
    assert [call.outcome for call in answer.calls] == ["infra_error", "ok"]
    assert "cut the prompt to 2,002 tokens of its 4,000" in (answer.calls[0].reason or "")


async def test_a_low_count_of_a_cached_prompt_is_no_cut(server: MisbehavingServer) -> None:
    server.on(CHAT["ollama"], say("ollama", usage=(311, 20)))
    async with bound(server, "ollama", window=8_000) as model:
        answer = await model.complete(page_request())
    assert [call.outcome for call in answer.calls] == ["ok"]


async def test_lone_surrogates_are_replaced_before_sending(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], say("openai"))
    async with bound(server) as model:
        await model.complete(ask("half a pair \ud83d here"))
    assert bodies(server)[0]["messages"][1]["content"] == "half a pair \ufffd here"


# --- Limits, budgets -----------------------------------------------------------------------------


@both
async def test_no_more_requests_are_in_flight_than_the_provider_allows(
    server: MisbehavingServer, dialect: Dialect
) -> None:
    gate = Gate(say(dialect), least=3)
    server.on(CHAT[dialect], gate)
    async with bound(server, dialect, limiter=RateLimiter(max_concurrent=3)) as model:
        await asyncio.gather(*(model.complete(ask()) for _ in range(12)))
    assert gate.most == 3
    assert server.count(CHAT[dialect]) == 12


async def test_a_budget_stops_a_run_cleanly_and_is_never_passed(server: MisbehavingServer) -> None:
    # Each call really costs (120 * 1 + 30 * 2) / 1e6 = $0.00018.
    server.on(CHAT["openai"], Gate(say("openai")))
    budget = Budget("this run", Ceiling(usd=0.002, setting="FACTIBLE_BUDGET_USD"))
    async with bound(server) as model:
        results = await asyncio.gather(
            *(model.complete(ask(), budget=budget) for _ in range(20)), return_exceptions=True
        )
    failed = [r for r in results if isinstance(r, ModelError)]
    assert failed
    assert all("FACTIBLE_BUDGET_USD" in str(error) for error in failed)
    assert len(failed) + len(server.asked) == 20
    assert budget.spent == pytest.approx(0.00018 * len(server.asked))
    assert budget.spent <= 0.002
    assert len(server.asked) >= 8, "reservations are returned when a call costs less"


async def test_an_answer_without_a_choice_costs_the_reported_usage(
    server: MisbehavingServer,
) -> None:
    empty = openai_answer("") | {"choices": []}
    server.on(CHAT["openai"], respond_json(empty), say("openai"))
    budget = Budget("this run", Ceiling(0.01))
    async with bound(server) as model:
        answer = await model.complete(ask(), budget=budget)
    assert [(call.outcome, call.input_tokens) for call in answer.calls] == [
        ("infra_error", 120),
        ("ok", 120),
    ]
    assert budget.spent == pytest.approx(sum(call.cost_usd for call in answer.calls))


async def test_a_lost_answer_costs_its_reservation_but_a_rejection_nothing(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["openai"], fail(503), hang(), say("openai"))
    budget = Budget("this run", Ceiling(0.01))
    async with bound(server, policy=replace(PATIENT, answer_seconds=2.0)) as model:
        answer = await model.complete(ask(), budget=budget)
    rejected, unheard, _ = answer.calls
    assert (rejected.input_tokens, rejected.cost_usd) == (0, 0)
    assert (unheard.input_tokens > 0, unheard.cost_usd > 0) == (True, True), "the prompt, at least"
    assert not unheard.usage_reported
    lost = budget.spent - 0.00018
    assert 200 * 2 < lost * 1e6 < 600 * 2, "the prompt's estimate and the whole limit of the answer"


async def test_a_cancelled_call_leaves_no_reservation_and_no_slot_behind(
    server: MisbehavingServer,
) -> None:
    server.on(CHAT["openai"], hang(), say("openai"))
    budget = Budget("this run", Ceiling(0.0012))
    limiter = RateLimiter(max_concurrent=1)
    async with bound(server, limiter=limiter) as model:
        task = asyncio.create_task(model.complete(ask(), budget=budget))
        await arrival(server)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        await model.complete(ask(), budget=budget)


# --- Keys ----------------------------------------------------------------------------------------

ECHO = f"Incorrect API key provided: {CANARY}"
LEAKS: dict[str, Behaviour] = {
    "401": fail(401, ECHO),
    "400": fail(400, ECHO),
    "500": fail(500, ECHO),
    "text": respond(f"<p>{ECHO}", status=502),
    "in an answer of status 200": respond_json({"error": {"message": ECHO, "code": "x"}}),
    "reset": reset(),
    "hang": hang(),
    "refusal": fail(400, ECHO, code="content_filter"),
    "context": fail(400, f"prompt too long {ECHO}"),
}


@both
@pytest.mark.parametrize("fault", LEAKS)
async def test_the_key_is_sent_and_appears_nowhere_else(
    server: MisbehavingServer, dialect: Dialect, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.on(CHAT[dialect], LEAKS[fault])
    async with bound(server, dialect, policy=replace(PATIENT, answer_seconds=0.15)) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(ask())
        backend = model._backend
        traces = "".join(traceback.format_exception(caught.value))
        seen = [repr(model), repr(backend), repr(vars(backend)), model.identity, traces]
    seen += [repr(caught.value), repr(caught.value.calls), caplog.text]
    assert server.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert not any(CANARY in text for text in seen)


async def test_a_key_unfit_for_a_header_is_refused_without_showing_it(
    server: MisbehavingServer,
) -> None:
    with pytest.raises(SetupError, match="Copy it again") as caught:
        async with bound(server, key=f"{CANARY}é"):
            pass
    assert CANARY not in str(caught.value)


async def test_white_space_around_a_key_is_not_part_of_it(server: MisbehavingServer) -> None:
    server.on(CHAT["openai"], say("openai"))
    async with bound(server, key=f" {CANARY}\n") as model:
        await model.complete(ask())
    assert server.asked[0].headers["authorization"] == f"Bearer {CANARY}"


# --- Probing -------------------------------------------------------------------------------------


async def test_a_probe_checks_the_service_and_the_model(server: MisbehavingServer) -> None:
    listed = {"object": "list", "data": [{"id": "gpt-test", "object": "model"}]}
    server.on("/v1/models", respond_json(listed), fail(401, ECHO))
    server.on(
        "/api/tags",
        respond_json({"models": [{"model": "qwen-test"}]}),
        respond_json({"models": []}),
    )
    async with bound(server) as openai, bound(server, "ollama") as ollama:
        good, refused = await openai.probe(), await openai.probe()
        pulled, missing = await ollama.probe(), await ollama.probe()
    assert good.ok
    assert "lists gpt-test" in good.sentence
    assert not refused.ok
    assert "check the key" in refused.sentence
    assert CANARY not in refused.sentence
    assert pulled.ok
    assert not missing.ok
    assert "ollama pull qwen-test" in missing.sentence


@both
@pytest.mark.parametrize("fault", PASSING)
async def test_a_probe_of_a_failing_service_never_raises(
    server: MisbehavingServer, dialect: Dialect, fault: str
) -> None:
    server.on("*", PASSING[fault])
    policy = replace(PATIENT, connect_seconds=0.05, write_seconds=0.05)
    async with bound(server, dialect, policy=policy) as model:
        probe = await model.probe()
    assert not probe.ok
    assert probe.sentence
