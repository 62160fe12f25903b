"""Gets a valid answer from a model: trims prompts, waits, retries, corrects, and counts the cost.

This is the same for all providers. It is the only place that retries; the libraries' own retries
are off.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field, replace
from typing import Generic

from resources.http import elapsed_since
from resources.llm import answers, backend, base
from resources.llm.limits import Budget, Ceiling, RateLimiter
from resources.llm.prompt import Message, PromptFolder, TokenScale, fit, sendable, size_of

THOUGHT_TOKENS: dict[base.Effort, int] = {
    "none": 0,
    "minimal": 2_000,
    "low": 4_000,
    "medium": 8_000,
    "high": 16_000,
    "xhigh": 32_000,
    "max": 64_000,
}
"""Tokens for thoughts in addition to the answer. Unused ones cost nothing."""
_LIMIT_GROWTH = 4  # Factor by which the limit of a cut-off answer grows, once.
_MAX_TOKENS = 120_000  # About the most that current models write.
_LOOP, _LOOP_ROUNDS, _LOOP_ROUNDS_BUT_NUMBERS = 200, 3, 8
"""An answer is in a loop if its last 200 characters occur this often in it, exactly or apart from
numbers. A list of pages that all say nothing also repeats its words, but less often."""
_SHOWN_ANSWER = 4_000  # Characters of a wrong answer in the correction.
_ROOM_FACTOR, _COUNTED_ROOM_FACTOR = 0.5, 0.9
"""The share of the room that the next prompt may use, without and with the server's own count."""
_MAX_ADAPTATIONS = 8
_TRIES = 2  # The first answer, and a corrected one.
_LOST = {"outcome": "infra_error", "reason": "the run ended before the answer came"}
"""The outcome of a request until there is another. The server may bill it all the same."""


class StructuredModel:
    """A `LanguageModel` on top of a backend, for one event loop; close it there.

    `identity` tells models apart in a cache: provider, address and model, without the key.
    `context_window` is in tokens, from the registry or the server; None if unknown. All models of
    a provider share one `limiter`. `prompt_folder` stores prompts and answers for audit.
    """

    def __init__(
        self,
        server: backend.Backend,
        *,
        limiter: RateLimiter | None = None,
        prompt_folder: PromptFolder | None = None,
    ) -> None:
        self.info = info = server.info
        self.provider, self.model = info.provider, info.name
        self.identity = f"{info.provider} {server.base_url} {info.name}"
        self.context_window = info.context_window
        self._backend, self._policy = server, server.policy
        self._limiter = limiter or RateLimiter()
        self._scale = TokenScale()
        self._prompt_folder = prompt_folder
        self._limit_factor = 1

    async def complete(
        self,
        request: base.ModelRequest[base.Answer],
        *,
        budget: Budget | None = None,
        on_call: base.OnCall | None = None,
    ) -> base.ModelAnswer[base.Answer]:
        """Ask until the answer is valid, or until further requests are pointless.

        See `LanguageModel.complete` for the errors; each carries the calls so far.
        """
        unlimited = Budget("this request", Ceiling())
        exchange = _Exchange(self, request, budget or unlimited, on_call)
        try:
            return await exchange.run()
        except base.ModelError as error:
            error.calls = tuple(exchange.calls)
            raise

    async def probe(self) -> backend.Probe:
        """Find out, without a question, whether the service answers and knows the model."""
        try:
            async with asyncio.timeout(self._policy.connect_seconds + self._policy.write_seconds):
                return await self._backend.probe()
        except TimeoutError:
            return backend.Probe(False, f"{self._backend.host} did not answer in time.")
        except backend.BackendError as error:
            return backend.Probe(False, f"{error.reason[:1].upper()}{error.reason[1:]}.")

    async def aclose(self) -> None:
        await self._backend.aclose()


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One request, ready to send. `size` is in bytes: the messages, and a schema sent with them."""

    messages: tuple[Message, ...]
    limit: int
    mode: base.AnswerMode
    trimmed_characters: int
    size: int


@dataclass
class _Exchange(Generic[base.Answer]):
    """The requests that lead to one answer."""

    owner: StructuredModel
    request: base.ModelRequest[base.Answer]
    budget: Budget
    on_call: base.OnCall | None
    calls: list[base.ModelCall] = field(default_factory=list)
    corrections: list[Message] = field(default_factory=list)
    room_factor: float = 1.0

    def __post_init__(self) -> None:
        self.backend = self.owner._backend
        self.policy = self.owner._policy
        self.scale = self.owner._scale
        self.limit_factor = self.owner._limit_factor
        self.schema = answers.strict_schema(self.request.output_type)
        effort = self.owner.info.effort(self.request.effort)
        self.thoughts = THOUGHT_TOKENS[effort or "none"]
        self.request = replace(self.request, effort=effort)
        self.name = f"The model {self.owner.model} at {self.backend.host}"

    async def run(self) -> base.ModelAnswer[base.Answer]:
        problem, tries = "", _TRIES
        while tries:
            reply, call, limit = await self._reply()
            if reply.finish == "refused":
                reason = backend.one_line(reply.refusal or "no reason was given")
                await self._record(call, outcome="refused", reason=reason)
                raise base.RefusedError(f"{self.name} declined to answer: {reason}")
            if reply.finish == "length":
                beginning = await self._raise_limit(call, limit, reply.text or "")
                if beginning is None:
                    continue
                return base.ModelAnswer(beginning, tuple(self.calls))
            tries -= 1
            try:
                value = answers.read_answer(reply.text, self.request.output_type)
            except answers.UnreadableAnswerError as error:
                problem = str(error).rstrip(".")
                await self._record(call, outcome="invalid", reason=problem)
                wrong = sendable((reply.text or "")[:_SHOWN_ANSWER])
                # This replaces older corrections.
                self.corrections = [
                    {"role": "assistant", "content": wrong or "(empty)"},
                    {"role": "user", "content": answers.correction(problem, self.schema)},
                ]
            else:
                self.calls.append(call)
                self.owner._limit_factor = self.limit_factor
                return base.ModelAnswer(value, tuple(self.calls))
        raise base.ModelError(
            f"{self.name} gave no valid answer in {_TRIES} tries; "
            f"the fault of the last: {problem}. A larger model, or a server that enforces "
            "structured outputs, helps."
        )

    async def _raise_limit(self, call: base.ModelCall, limit: int, text: str) -> base.Answer | None:
        """Raise the limit of a cut-off answer once; of a looping answer return the beginning.

        A loop would never end, and the items that a small model lists before it are often good.
        """
        thoughts = f", {call.thought_tokens:,} of them thoughts" if call.thought_tokens else ""
        reason = f"the answer was cut off at its limit of {limit:,} tokens{thoughts}"
        is_loop = _is_loop(text)
        if is_loop:
            reason += ", because it repeats itself endlessly"
        await self._record(call, outcome="truncated", reason=reason)
        if is_loop:
            beginning = answers.read_beginning(text, self.request.output_type)
            if beginning is None:
                raise base.ModelError(f"{self.name}: {reason}. A larger model helps.")
            return beginning
        before, self.limit_factor = self.limit_factor, self.limit_factor * _LIMIT_GROWTH
        if before >= _LIMIT_GROWTH or self._limit() <= limit:
            raise base.ModelError(f"{self.name}: {reason}. {self.request.remedy}, or ask for less.")
        return None

    def _limit(self) -> int:
        """Return the limit of thoughts and answer together: at most half of the window."""
        most = min(self.owner.context_window or _MAX_TOKENS * 2, _MAX_TOKENS * 2) // 2
        tokens = self.request.max_tokens + self.thoughts
        return max(self.request.max_tokens, min(tokens * self.limit_factor, most))

    async def _reply(self) -> tuple[backend.Reply, base.ModelCall, int]:
        """Get a reply, valid or not: retry, adapt and trim as often as allowed."""
        began, failures, adaptations = time.perf_counter(), 0, 0
        while True:
            prompt = self._prompt()
            try:
                return *await self._send(prompt), prompt.limit
            except backend.BackendError as error:
                if error.kind == "context":
                    self._shrink_prompt(error, prompt)
                elif error.kind == "adapted" and adaptations < _MAX_ADAPTATIONS:
                    adaptations += 1
                else:
                    failures += 1
                    await self._wait_or_fail(error, failures, began)

    async def _wait_or_fail(self, error: backend.BackendError, failures: int, began: float) -> None:
        if error.kind == "refused":
            raise base.RefusedError(f"{self.name} declined to answer: {error.reason}.") from None
        retry = self.policy.retry
        pause = retry.delay(failures) if error.pause is None else error.pause
        sentence = f"{self.name} gave no answer: {error.reason}"
        if error.kind != "passing":
            raise base.ModelOutageError(f"{sentence}.", lasting=True) from None
        if error.pause is not None and error.pause > retry.max_retry_after_seconds:
            raise base.ModelOutageError(
                f"{sentence}, and it asks for a pause of {error.pause:,.0f} seconds, longer than "
                f"the limit of {retry.max_retry_after_seconds:g}. Try again later."
            ) from None
        late = elapsed_since(began) + pause > self.policy.patience_seconds
        if failures >= retry.attempts or late:
            tries = "1 attempt" if failures == 1 else f"{failures} attempts"
            raise base.ModelOutageError(f"{sentence} ({tries}).") from None
        if error.pause is not None:
            self.owner._limiter.pause(error.pause)
        await asyncio.sleep(pause)

    def _shrink_prompt(self, error: backend.BackendError, prompt: _Prompt) -> None:
        """Plan a shorter prompt after the server found this one too long, once per request."""
        if error.window is not None:
            former = self.owner.context_window
            self.owner.context_window = min(error.window, former or error.window)
            is_news = former is not None and error.window < former and error.prompt_tokens is None
            if self._limit() < prompt.limit or is_news:
                return  # with the new window the prompt shrinks in any case
        if error.prompt_tokens is not None:
            self.scale.learn(prompt.size, error.prompt_tokens)
        trimmable = any(part.trimmable and part.text for part in self.request.parts)
        if self.room_factor < 1 or not trimmable:
            raise base.ContextTooLongError(
                f"{self.name} cannot take the prompt: {error.reason}. Shorten it, or use a model "
                "with a larger context window."
            ) from None
        is_counted = error.window is not None and error.prompt_tokens is not None
        self.room_factor = _COUNTED_ROOM_FACTOR if is_counted else _ROOM_FACTOR

    def _prompt(self) -> _Prompt:
        """Compose the request so that it fits into the window by the present estimate."""
        mode, limit = self.backend.mode(self.request.output_type), self._limit()
        system = sendable(self.request.system)
        schema_size = len(str(self.schema).encode()) if mode == "json_schema" else 0
        if mode in {"json_object", "text"}:
            system = f"{system}\n\n{answers.shape_instruction(self.schema)}".strip()
        parts = [base.Part(sendable(part.text), part.trimmable) for part in self.request.parts]
        head: list[Message] = [{"role": "system", "content": system}]
        for question, answer in self.request.examples:
            head += [
                {"role": "user", "content": question},
                {"role": "assistant", "content": answer},
            ]
        fixed = [*head, *self.corrections]
        window = self.owner.context_window
        if window is None:
            # Everything fits until the server says otherwise.
            room = self.scale.tokens(sum(len(part.text.encode()) for part in parts)) + 1
        else:
            room = window - limit - self.scale.tokens(size_of(fixed) + schema_size, len(fixed) + 1)
        fitted = fit(parts, int(room * self.room_factor), self.scale)
        if fitted is None:
            raise base.ContextTooLongError(
                f"The prompt does not fit: {self.name} reads {window or 0:,} tokens, of which "
                f"{limit:,} are for the answer. Shorten the prompt, lower the limit on the answer, "
                "or use a model with a larger window."
            )
        text, trimmed = fitted
        turns = [*head, {"role": "user", "content": text}, *self.corrections]
        messages = tuple(message for message in turns if message["content"])
        return _Prompt(messages, limit, mode, trimmed, size_of(messages) + schema_size)

    async def _send(self, prompt: _Prompt) -> tuple[backend.Reply, base.ModelCall]:
        """Send one request within the rate limits and the budget; report it as lost beforehand."""
        request = replace(self.request, max_tokens=prompt.limit)
        name = self.backend.request_id(prompt.messages, request, prompt.mode)
        expected = self.scale.tokens(prompt.size, len(prompt.messages))
        async with self.owner._limiter.permit(expected + prompt.limit) as permit:
            highest = self._call(prompt, name, backend.Usage(expected, prompt.limit))
            usd = highest.cost_usd if highest.price_known else None
            async with self.budget.reserve(usd) as reserved:
                if self.on_call is not None:
                    lost = self._call(prompt, name, backend.Usage(expected, 0), reported=False)
                    await self.on_call(lost.model_copy(update=_LOST))
                started = time.perf_counter()
                try:
                    reply = await self._ask(prompt, request)
                except backend.BackendError as error:
                    permit.refused = error.crowded
                    # If the server processed the request, it has at least read the prompt.
                    usage = error.usage or backend.Usage(expected if error.lost else 0, 0)
                    is_reported = error.usage is not None
                    call = self._call(prompt, name, usage, started, reported=is_reported)
                    if is_reported or not error.lost:
                        reserved.spent = call.cost_usd
                    outcome = "refused" if error.kind == "refused" else "infra_error"
                    await self._record(call, outcome=outcome, reason=error.reason)
                    raise
                usage = reply.usage
                is_reported = None not in {usage.input_tokens, usage.output_tokens}
                if usage.input_tokens is None:
                    usage = replace(usage, input_tokens=expected)
                if usage.output_tokens is None:
                    written = self.scale.tokens(len((reply.text or "").encode()))
                    usage = replace(usage, output_tokens=written)
                call = self._call(prompt, name, usage, started, reported=is_reported)
                permit.tokens = call.input_tokens + call.output_tokens
                reserved.spent = call.cost_usd
        if (folder := self.owner._prompt_folder) is not None:
            await asyncio.to_thread(folder.keep, call, prompt.messages, reply.text)
        return reply, call

    async def _ask(self, prompt: _Prompt, request: base.ModelRequest[base.Answer]) -> backend.Reply:
        """Get a reply within the time limit, and learn from its usage the length of tokens."""
        seconds = self.policy.answer_seconds
        try:
            async with asyncio.timeout(seconds):
                reply = await self.backend.ask(prompt.messages, request, prompt.mode)
        except TimeoutError:
            reason = f"it was not done after {seconds:g} seconds"
            # A server that answers one request at a time makes the last of many wait.
            raise backend.BackendError("passing", reason, crowded=True, lost=True) from None
        if counted := reply.usage.input_tokens:
            expected = self.scale.tokens(prompt.size, len(prompt.messages))
            window = self.backend.silent_cut(counted, expected)
            if window is not None:
                reason = f"the server cut the prompt to {counted:,} tokens of its {window:,}"
                raise backend.BackendError("context", reason, window=window, usage=reply.usage)
            self.scale.learn(prompt.size, counted)
        return reply

    def _call(
        self,
        prompt: _Prompt,
        name: str,
        usage: backend.Usage,
        started: float | None = None,
        *,
        reported: bool = True,
    ) -> base.ModelCall:
        """Return the record of a request with the outcome "ok".

        Its cost comes from the server's own bill if there is one (OpenRouter), else from the price.
        """
        read, written = usage.input_tokens or 0, usage.output_tokens or 0
        price, cost = self.owner.info.price, usage.cost_usd
        if cost is None and price is not None:
            cost = price.cost(read, written, usage.cached_tokens or 0)
        return base.ModelCall(
            provider=self.owner.provider,
            model=self.owner.model,
            attempt=len(self.calls) + 1,
            input_tokens=read,
            output_tokens=written,
            cost_usd=cost or 0.0,
            latency_seconds=0.0 if started is None else elapsed_since(started),
            outcome="ok",
            cached_tokens=usage.cached_tokens,
            usage_reported=reported,
            price_known=cost is not None,
            trimmed_characters=prompt.trimmed_characters,
            thought_tokens=usage.thought_tokens,
            request_id=name,
            batched=self.owner.info.batched,
        )

    async def _record(self, call: base.ModelCall, **outcome: str) -> None:
        """Record and report a request that led to no answer, with its outcome and reason."""
        call = call.model_copy(update=outcome)
        self.calls.append(call)
        if self.on_call is not None:
            await self.on_call(call)


def _is_loop(text: str) -> bool:
    if len(text) < _LOOP:
        return False
    but_numbers = re.sub(r"\d+", "0", text)
    return (
        text.count(text[-_LOOP:]) >= _LOOP_ROUNDS
        or but_numbers.count(but_numbers[-_LOOP:]) >= _LOOP_ROUNDS_BUT_NUMBERS
    )
