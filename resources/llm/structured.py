"""How a valid answer is got from a server that may fail: fit, wait, ask, check, correct, settle.

What belongs here: everything that is the same for all providers. Retries after failures, after
answers that had no room and after invalid ones; trimming to the context window, limits, budgets,
and the record of each call; and all models by name, with their provider's limits. What does not:
any wire format (a `Backend` sends one request and says what came back), which model a stage uses
and where keys come from.

There is one way to try again: the libraries' own retries are switched off.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic
from urllib.parse import urlsplit

from pydantic import SecretStr

from resources.http import elapsed_since
from resources.llm import answers, backend, base
from resources.llm.limits import Budget, Ceiling, RateLimiter
from resources.llm.prompt import Message, PromptFolder, TokenScale, fit, sendable, size_of
from resources.llm.registry import ModelInfo, ModelRegistry
from resources.llm.slots import OWN_MACHINE, slots_of

THOUGHT_TOKENS: dict[base.Effort, int] = {
    "none": 0,
    "minimal": 2_000,
    "low": 4_000,
    "medium": 8_000,
    "high": 16_000,
    "xhigh": 32_000,
    "max": 64_000,
}
"""Room for thoughts beside the answer. What is not used is not paid."""

_WIDER = 4  # How much more room a cut-off answer gets, once.
_MOST_TOKENS = 120_000  # What current models write at most, nearly.
_CIRCLE, _ROUNDS, _COUNTED_ROUNDS = 200, 3, 8
"""Characters of an answer's end, and how often they stand in one that runs in circles: to the
letter, and but for numbers. A list of pages that all say nothing repeats its words, less often."""
_SHOWN_ANSWER = 4_000  # Characters of a wrong answer that are shown to the model again.
_HARDER = 0.5
"""What is left of the room after a server found a prompt too long without saying by how much."""
_SAFETY = 0.9
_MOST_ADAPTATIONS = 8
_OWN_MACHINE_CONCURRENT, _OWN_MACHINE_SECONDS = 8, 600.0
"""How many questions a server on this machine that nobody listed has at once, unless it names its
slots, and how long for an answer."""
_MOST_TOGETHER = 50_000  # Requests of one batch.
_LOST = {"outcome": "infra_error", "reason": "the run ended before the answer came"}
"""What a request came to if nobody says otherwise: the server may bill it all the same."""


class StructuredModel:
    """A `LanguageModel` on top of a backend, for one event loop; close it there.

    `identity` is what a cache must tell apart: provider, address and model, and no key.
    `context_window` in tokens, as listed or as the server has since said; None if unknown.
    `limiter` is shared by all models of the provider; prompts and answers are `kept` for audit.
    """

    def __init__(
        self,
        server: backend.Backend,
        *,
        limiter: RateLimiter | None = None,
        kept: PromptFolder | None = None,
    ) -> None:
        self.info = info = server.info
        self.provider, self.model = info.provider, info.name
        self.identity = f"{info.provider} {server.base_url} {info.name}"
        self.context_window = info.context_window
        self._backend, self._policy = server, server.policy
        self._limiter = limiter or RateLimiter()
        self._scale = TokenScale()
        self._kept = kept
        self._wider = 1

    async def complete(
        self,
        request: base.ModelRequest[base.Answer],
        *,
        budget: Budget | None = None,
        spent: base.Spent | None = None,
    ) -> base.ModelAnswer[base.Answer]:
        """Ask until the answer is valid, or until it is clear that there will be none.

        See `LanguageModel.complete` for the errors; each carries the calls so far. `spent` is told
        of each request before it is sent, and again once it led to no answer.
        """
        spending = budget or Budget("this request", Ceiling())
        conversation = _Conversation(self, request, spending, spent)
        try:
            return await conversation.run()
        except base.ModelError as error:
            error.calls = tuple(conversation.calls)
            raise

    async def probe(self) -> backend.Probe:
        """Find out at next to no cost whether the service answers and knows the model."""
        try:
            async with asyncio.timeout(self._policy.connect_seconds + self._policy.write_seconds):
                return await self._backend.probe()
        except TimeoutError:
            return backend.Probe(False, f"{self._backend.host} did not answer in time.")
        except backend.BackendError as error:
            return backend.Probe(False, f"{error.reason[:1].upper()}{error.reason[1:]}.")

    async def aclose(self) -> None:
        """Close what is open."""
        await self._backend.aclose()


class ModelClients(AbstractAsyncContextManager["ModelClients"]):
    """Makes each model once, and one rate limiter for each provider.

    `keys` and `base_urls`, in place of the registry's, are by the provider's name. With `batches`,
    OpenAI's models are asked in batches.
    """

    def __init__(
        self,
        registry: ModelRegistry,
        *,
        keys: Mapping[str, SecretStr] | None = None,
        base_urls: Mapping[str, str] | None = None,
        policy: backend.CallPolicy | None = None,
        kept: PromptFolder | None = None,
        batches: backend.Batching | None = None,
    ) -> None:
        self._registry, self._keys, self._base_urls = registry, keys or {}, base_urls or {}
        self._policy, self._kept, self._batches = policy or backend.CallPolicy(), kept, batches
        self._limiters: dict[str, RateLimiter] = {}
        self._models: dict[tuple[str, str], StructuredModel] = {}

    async def __aexit__(self, *_: object) -> None:
        """Close all models."""
        for model in self._models.values():
            await model.aclose()

    def model(self, name: str, *, provider: str | None = None) -> StructuredModel:
        """Return a model, the same one each time.

        Raises RegistryError if the model or the provider is not known (see `ModelRegistry.model`),
        SetupError if the provider's key cannot be sent in a header.
        """
        info = self._registry.model(name, provider=provider)
        key = (info.provider, info.name)
        if key not in self._models:
            self._models[key] = self._make(info)
        return self._models[key]

    def _make(self, info: ModelInfo) -> StructuredModel:
        # Imported late: the libraries take seconds to load, and one of them is enough.
        listed = self._registry.provider(info.provider)
        address = self._base_urls.get(listed.name, listed.base_url)
        provider = replace(listed, base_url=address)
        if address != listed.base_url and urlsplit(address).hostname in OWN_MACHINE:
            seconds = listed.answer_seconds
            if self._policy == backend.CallPolicy():
                seconds = seconds or _OWN_MACHINE_SECONDS
            most = min(listed.max_concurrent, _OWN_MACHINE_CONCURRENT)
            # A model with a price is a service's, behind a gateway.
            bounds = listed.bounds_lists or not info.price_known
            provider = replace(
                provider, max_concurrent=most, answer_seconds=seconds, bounds_lists=bounds
            )
        given = (info, provider, self._keys.get(listed.name), self._policy)
        limiter = self._limiters.setdefault(
            provider.name,
            RateLimiter(
                requests_per_minute=provider.requests_per_minute,
                tokens_per_minute=provider.tokens_per_minute,
                max_concurrent=provider.max_concurrent,
                slots=partial(slots_of, address)
                if provider.protocol == "openai" and not provider.api_version
                else None,
            ),
        )
        server: backend.Backend
        if provider.protocol == "ollama":
            from resources.llm.ollama import OllamaBackend  # noqa: PLC0415

            server = OllamaBackend(*given)
        elif self._batches and not provider.api_version:
            from resources.llm.openai_batch import OpenAIBatches  # noqa: PLC0415

            server = OpenAIBatches(*given, self._batches)
            limiter = RateLimiter(max_concurrent=_MOST_TOGETHER)
        else:
            from resources.llm.openai import OpenAIBackend  # noqa: PLC0415

            server = OpenAIBackend(*given)
        return StructuredModel(server, limiter=limiter, kept=self._kept)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One request as it is sent. `size`: bytes of the messages, and of a schema beside them."""

    messages: tuple[Message, ...]
    limit: int
    mode: base.AnswerMode
    trimmed_characters: int
    size: int


@dataclass
class _Conversation(Generic[base.Answer]):
    owner: StructuredModel
    request: base.ModelRequest[base.Answer]
    budget: Budget
    spent: base.Spent | None
    calls: list[base.ModelCall] = field(default_factory=list)
    corrections: list[Message] = field(default_factory=list)
    squeeze: float = 1.0

    def __post_init__(self) -> None:
        self.backend = self.owner._backend
        self.policy = self.owner._policy
        self.scale = self.owner._scale
        self.wider = self.owner._wider
        self.schema = answers.strict_schema(self.request.output_type)
        effort = self.owner.info.effort(self.request.effort)
        self.thoughts = THOUGHT_TOKENS[effort or "none"]
        if self.thoughts and self.request.thought_tokens is not None:
            self.thoughts = self.request.thought_tokens
        self.request = replace(self.request, effort=effort)
        self.name = f"The model {self.owner.model} at {self.backend.host}"

    async def run(self) -> base.ModelAnswer[base.Answer]:
        problem, tries = "", self.policy.validation_retries + 1
        while tries:
            reply, call, limit = await self._reply()
            if reply.finish == "refused":
                reason = backend.one_line(reply.refusal or "no reason was given")
                await self._record(call, outcome="refused", reason=reason)
                raise base.RefusedError(f"{self.name} declined to answer: {reason}")
            if reply.finish == "length":
                begun = await self._widen(call, limit, reply.text or "")
                if begun is None:
                    continue
                return base.ModelAnswer(begun, tuple(self.calls))
            tries -= 1
            try:
                value = answers.read_answer(reply.text, self.request.output_type)
            except answers.UnreadableAnswerError as error:
                problem = str(error).rstrip(".")
                await self._record(call, outcome="invalid", reason=problem)
                shown = sendable((reply.text or "")[:_SHOWN_ANSWER])
                # Older corrections are forgotten.
                self.corrections = [
                    {"role": "assistant", "content": shown or "(empty)"},
                    {"role": "user", "content": answers.correction(problem, self.schema)},
                ]
            else:
                self.calls.append(call)
                self.owner._wider = self.wider
                return base.ModelAnswer(value, tuple(self.calls))
        raise base.ModelError(
            f"{self.name} gave no valid answer in {self.policy.validation_retries + 1} tries; "
            f"what was wrong with the last: {problem}. A larger model, or a server that enforces "
            "structured outputs, helps."
        )

    async def _widen(self, call: base.ModelCall, limit: int, text: str) -> base.Answer | None:
        """Give a cut-off answer more room, once; return the beginning of one that runs in circles.

        That would never end, and what small models list before they begin to turn is often good.
        """
        thoughts = f", {call.thought_tokens:,} of them thoughts" if call.thought_tokens else ""
        reason = f"the answer was cut off at its limit of {limit:,} tokens{thoughts}"
        circles = len(text) >= _CIRCLE and any(
            said.count(said[-_CIRCLE:]) >= rounds
            for said, rounds in ((text, _ROUNDS), (re.sub(r"\d+", "0", text), _COUNTED_ROUNDS))
        )
        if circles:
            reason += ", saying the same again and again"
        await self._record(call, outcome="truncated", reason=reason)
        if circles:
            begun = answers.read_beginning(text, self.request.output_type)
            if begun is None:
                raise base.ModelError(f"{self.name}: {reason}. A larger model helps.")
            return begun
        before, self.wider = self.wider, self.wider * _WIDER
        if before >= _WIDER or self._limit() <= limit:
            raise base.ModelError(f"{self.name}: {reason}. {self.request.remedy}, or ask for less.")
        return None

    def _limit(self) -> int:
        """Return the room for thoughts and answer: at most half of the window."""
        most = min(self.owner.context_window or _MOST_TOKENS * 2, _MOST_TOKENS * 2) // 2
        wanted = self.request.max_tokens + self.thoughts
        return max(self.request.max_tokens, min(wanted * self.wider, most))

    async def _reply(self) -> tuple[backend.Reply, base.ModelCall, int]:
        """Get a reply, whatever it says: repeat, adapt and trim as far as that goes."""
        began, failures, adaptations = time.perf_counter(), 0, 0
        while True:
            prompt = self._prompt()
            try:
                return *await self._once(prompt), prompt.limit
            except backend.BackendError as error:
                if error.kind == "context":
                    self._squeeze(error, prompt)
                elif error.kind == "adapted" and adaptations < _MOST_ADAPTATIONS:
                    adaptations += 1
                else:
                    failures += 1
                    await self._wait_after(error, failures, began)

    async def _wait_after(self, error: backend.BackendError, failures: int, began: float) -> None:
        if error.kind == "refused":
            raise base.RefusedError(f"{self.name} declined to answer: {error.reason}.") from None
        retry = self.policy.retry
        pause = retry.delay(failures) if error.pause is None else error.pause
        sentence = f"{self.name} gave no answer: {error.reason}"
        if error.kind != "passing":
            raise base.ModelOutageError(f"{sentence}.", lasting=True) from None
        if error.pause is not None and error.pause > retry.max_retry_after_seconds:
            raise base.ModelOutageError(
                f"{sentence}, and it wants to be left alone for {error.pause:,.0f} seconds, longer "
                f"than the {retry.max_retry_after_seconds:g} that are waited. Try again later."
            ) from None
        late = elapsed_since(began) + pause > self.policy.patience_seconds
        if failures >= retry.attempts or late:
            tries = "1 attempt" if failures == 1 else f"{failures} attempts"
            raise base.ModelOutageError(f"{sentence} ({tries}).") from None
        if error.pause is not None:
            self.owner._limiter.pause(error.pause)
        await asyncio.sleep(pause)

    def _squeeze(self, error: backend.BackendError, prompt: _Prompt) -> None:
        """Take less room after the server found the prompt too long; once per request."""
        if error.window is not None:
            known = self.owner.context_window
            self.owner.context_window = min(error.window, known or error.window)
            is_news = known is not None and error.window < known and error.prompt_tokens is None
            if self._limit() < prompt.limit or is_news:
                return  # the window that was known left too much room
        if error.prompt_tokens is not None:
            self.scale.learn(prompt.size, error.prompt_tokens)
        trimmable = any(part.trimmable and part.text for part in self.request.parts)
        if self.squeeze < 1 or not trimmable:
            raise base.ContextTooLongError(
                f"{self.name} cannot take the prompt: {error.reason}. Shorten it, or use a model "
                "with a larger context window."
            ) from None
        told = error.window is not None and error.prompt_tokens is not None
        self.squeeze = _SAFETY if told else _HARDER

    def _prompt(self) -> _Prompt:
        """Word the request so that it fits into the window by the present estimate."""
        mode, limit = self.backend.mode(self.request.output_type), self._limit()
        system = sendable(self.request.system)
        beside = len(str(self.schema).encode()) if mode == "json_schema" else 0
        if mode != "json_schema":
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
            # Unknown: everything fits until the server says otherwise.
            room = self.scale.tokens(sum(len(part.text.encode()) for part in parts)) + 1
        else:
            room = window - limit - self.scale.tokens(size_of(fixed) + beside, len(fixed) + 1)
        fitted = fit(parts, int(room * self.squeeze), self.scale)
        if fitted is None:
            raise base.ContextTooLongError(
                f"The prompt does not fit: {self.name} reads {window or 0:,} tokens, of which "
                f"{limit:,} are kept for the answer. Shorten the prompt, lower the limit on the "
                "answer, or use a model with a larger window."
            )
        text, trimmed = fitted
        worded = [*head, {"role": "user", "content": text}, *self.corrections]
        messages = tuple(message for message in worded if message["content"])
        return _Prompt(messages, limit, mode, trimmed, size_of(messages) + beside)

    async def _once(self, prompt: _Prompt) -> tuple[backend.Reply, base.ModelCall]:
        """Send one request, within the limits and the budget.

        It is told of before it is sent, as one whose answer was lost.
        """
        request = replace(self.request, max_tokens=prompt.limit)
        name = self.backend.request_id(prompt.messages, request, prompt.mode)
        expected = self.scale.tokens(prompt.size, len(prompt.messages))
        async with self.owner._limiter.turn(expected + prompt.limit) as turn:
            highest = self._call(prompt, name, backend.Usage(expected, prompt.limit))
            usd = highest.cost_usd if highest.price_known else None
            async with self.budget.reserve(usd) as reserved:
                if self.spent is not None:
                    lost = self._call(prompt, name, backend.Usage(expected, 0), reported=False)
                    await self.spent(lost.model_copy(update=_LOST))
                started = time.perf_counter()
                try:
                    reply = await self._ask(prompt, request)
                except backend.BackendError as error:
                    turn.refused = error.crowded
                    # It was read, at least, if the server worked on it.
                    read = backend.Usage(expected if error.lost else 0, 0)
                    usage, known = error.usage or read, error.usage is not None
                    call = self._call(prompt, name, usage, started, reported=known)
                    if known or not error.lost:
                        reserved.spent = call.cost_usd
                    outcome = "refused" if error.kind == "refused" else "infra_error"
                    await self._record(call, outcome=outcome, reason=error.reason)
                    raise
                usage = reply.usage
                known = None not in {usage.input_tokens, usage.output_tokens}
                if usage.input_tokens is None:
                    usage = replace(usage, input_tokens=expected)
                if usage.output_tokens is None:
                    written = self.scale.tokens(len((reply.text or "").encode()))
                    usage = replace(usage, output_tokens=written)
                call = self._call(prompt, name, usage, started, reported=known)
                turn.tokens = call.input_tokens + call.output_tokens
                reserved.spent = call.cost_usd
        if self.owner._kept is not None:
            await asyncio.to_thread(self.owner._kept.keep, call, prompt.messages, reply.text)
        return reply, call

    async def _ask(self, prompt: _Prompt, request: base.ModelRequest[base.Answer]) -> backend.Reply:
        """Get a reply in time, and learn from its usage how long tokens are."""
        seconds = self.policy.answer_seconds
        try:
            async with asyncio.timeout(seconds):
                reply = await self.backend.ask(prompt.messages, request, prompt.mode)
        except TimeoutError:
            reason = f"it was not done after {seconds:g} seconds"
            # A server that works at one answer after another keeps the last of many waiting.
            raise backend.BackendError("passing", reason, crowded=True, lost=True) from None
        if counted := reply.usage.input_tokens:
            expected = self.scale.tokens(prompt.size, len(prompt.messages))
            window = self.backend.cut_to(counted, expected)
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
        """Return the record of a request, as if all had gone well.

        It costs what the server's own bill says, where it gives one (OpenRouter does).
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

    async def _record(self, call: base.ModelCall, **came_to: str) -> None:
        """Keep the record of a request that led to no answer: its outcome, and the reason."""
        call = call.model_copy(update=came_to)
        self.calls.append(call)
        if self.spent is not None:
            await self.spent(call)
