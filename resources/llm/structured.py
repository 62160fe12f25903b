"""How a valid answer is got from a server that may fail: fit, wait, ask, check, correct, settle.

What belongs here: everything that is the same for all providers. Retries after failures and after
invalid answers, trimming to the context window, limits, budgets, and the record of each call.
What does not: any wire format. A `Backend` (openai.py, ollama.py) sends one request and says what
came back, as a `Reply` or as a `BackendError`.

There is one way to try again: the libraries' own retries are switched off.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, Self

from resources.http import RetryPolicy, elapsed_since
from resources.llm.answers import UnreadableAnswerError, correction, read_answer, shape_instruction
from resources.llm.base import (
    Answer,
    AnswerMode,
    CallOutcome,
    ContextTooLongError,
    InvalidAnswerError,
    ModelAnswer,
    ModelCall,
    ModelError,
    ModelOutageError,
    ModelRequest,
    Part,
    Probe,
    RefusedError,
    TruncatedError,
)
from resources.llm.budget import Amount, Budget, Ceiling, Reservation
from resources.llm.limits import RateLimiter
from resources.llm.prompt import FittedText, Message, TokenScale, fit, sendable, size_of
from resources.llm.registry import ModelInfo

_SHOWN_ANSWER = 4_000
"""Characters of a wrong answer that are shown to the model again."""
_HARDER = 0.5
"""What is left of the room after a server found a prompt too long without saying by how much."""
_SAFETY = 0.9
_MOST_ADAPTATIONS = 6
_SHOWN_REASON = 200
_MOST_BYTES_PER_TOKEN = 5.0
"""What prose reaches in any script with current vocabularies."""
_SUSPICIOUS = 1.6
_SILENT_CUT_BYTES = 4_000


_RETRY = RetryPolicy(
    attempts=5, first_delay_seconds=1.0, max_delay_seconds=20.0, max_retry_after_seconds=60.0
)


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How patient a model's client is. Times in seconds."""

    retry: RetryPolicy = _RETRY
    patience_seconds: float = 180.0
    """No attempt begins later than this after the first one failed."""
    connect_seconds: float = 10.0
    write_seconds: float = 30.0
    answer_seconds: float = 180.0
    """From sending to the last byte; models answer all at once, so silence is no sign."""
    validation_retries: int = 3


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as a backend sends it."""

    messages: tuple[Message, ...]
    output_type: type[Any]
    max_tokens: int
    temperature: float
    seed: int | None
    mode: AnswerMode


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a server reported them; None for what it left out."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered. `refusal` is its sentence, if it declined."""

    text: str | None
    finish: Literal["stop", "length", "refused"] = "stop"
    refusal: str | None = None
    usage: Usage = Usage()


class BackendError(Exception):
    """A request without a reply. `reason` is a sentence that ends without a full stop.

    kind: `passing` may succeed if repeated, `lasting` will not, `adapted` means that the backend
    has learnt something about the server and wants to ask otherwise, `context` that the prompt
    was too long, `refused` that the server's filter declined. `lost`: the server may have worked
    on it, and billed it, all the same.
    """

    def __init__(
        self,
        kind: Literal["passing", "lasting", "adapted", "context", "refused"],
        reason: str,
        *,
        pause: float | None = None,
        lost: bool = False,
        window: int | None = None,
        prompt_tokens: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.pause = pause
        self.lost = lost
        self.window = window
        self.prompt_tokens = prompt_tokens
        self.usage = usage


class Backend(Protocol):
    """One server and model, asked once at a time and without retries."""

    @property
    def host(self) -> str:
        """The server, for sentences."""
        ...

    @property
    def base_url(self) -> str:
        """The server's address without credentials."""
        ...

    @property
    def cuts_silently(self) -> bool:
        """Whether the server may drop part of a prompt that is too long without saying so."""
        ...

    def mode(self, output_type: type[Any]) -> AnswerMode:
        """Return the strictest mode that the server is not known to reject for this type."""
        ...

    def schema(self, output_type: type[Any]) -> Mapping[str, Any]:
        """Return the JSON Schema as it is sent for this type."""
        ...

    def open(self) -> None:
        """Make ready for the running event loop, so that the first answer's time is its own."""
        ...

    async def ask(self, prompt: Prompt) -> Reply:
        """Send one request.

        Raises:
            BackendError: There is no reply.
        """
        ...

    async def probe(self) -> Probe:
        """Say whether the server answers and knows the model."""
        ...

    async def aclose(self) -> None:
        """Close what the running event loop has opened."""
        ...


class StructuredModel:
    """A `LanguageModel` on top of a backend. Close it in every event loop that used it."""

    def __init__(
        self,
        backend: Backend,
        info: ModelInfo,
        *,
        limiter: RateLimiter | None = None,
        policy: CallPolicy | None = None,
    ) -> None:
        """Put a model together.

        Args:
            backend: Sends the requests.
            info: The model's window and price.
            limiter: Shared by all models of the provider; no limits but on concurrency if None.
            policy: How patient to be.
        """
        self._backend = backend
        self._info = info
        self._limiter = limiter or RateLimiter()
        self._policy = policy or CallPolicy()
        self._scale = TokenScale()
        self._window = info.context_window

    def __repr__(self) -> str:
        return f"StructuredModel({self.identity})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._info.provider

    @property
    def model(self) -> str:
        """The model's name."""
        return self._info.name

    @property
    def identity(self) -> str:
        """Provider, address and model in one line. Holds no key."""
        return f"{self.provider} {self._backend.base_url} {self.model}"

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        return self._info

    @property
    def context_window(self) -> int | None:
        """The window in tokens, as listed or as the server has since said; None if unknown."""
        return self._window

    async def complete(
        self, request: ModelRequest[Answer], *, budget: Budget | None = None
    ) -> ModelAnswer[Answer]:
        """Ask until the answer is valid, or until it is clear that there will be none.

        See `LanguageModel.complete` for the errors; each carries the calls so far.
        """
        spending = budget or Budget("this request", Ceiling())
        conversation = _Conversation(self, request, spending)
        try:
            return await conversation.run()
        except ModelError as error:
            error.calls = tuple(conversation.calls)
            raise

    async def probe(self) -> Probe:
        """Find out at next to no cost whether the service answers and knows the model."""
        try:
            async with asyncio.timeout(self._policy.connect_seconds + self._policy.write_seconds):
                return await self._backend.probe()
        except TimeoutError:
            return Probe(False, f"{self._backend.host} did not answer in time.")
        except BackendError as error:
            return Probe(False, f"{_capital(error.reason)}.")

    async def aclose(self) -> None:
        """Close what the running event loop has opened."""
        await self._backend.aclose()


@dataclass
class _Conversation(Generic[Answer]):
    """All that happens for one request."""

    owner: StructuredModel
    request: ModelRequest[Answer]
    budget: Budget
    calls: list[ModelCall] = field(default_factory=list)
    corrections: list[Message] = field(default_factory=list)
    squeeze: float = 1.0
    squeezed: bool = False

    def __post_init__(self) -> None:
        self.backend = self.owner._backend
        self.policy = self.owner._policy
        self.scale = self.owner._scale

    async def run(self) -> ModelAnswer[Answer]:
        problem = ""
        for _ in range(self.policy.validation_retries + 1):
            reply, record = await self._reply()
            self._reject_unfinished(reply, record)
            try:
                value = read_answer(reply.text, self.request.output_type)
            except UnreadableAnswerError as error:
                problem = str(error).rstrip(".")
                self._record(record, "invalid", problem)
                self._correct(reply.text or "", problem)
            else:
                self._record(record, "ok", None)
                return ModelAnswer(value, tuple(self.calls))
        raise InvalidAnswerError(
            f"{self._name} gave no valid answer in {self.policy.validation_retries + 1} tries; "
            f"what was wrong with the last: {problem}. A larger model, or a server that enforces "
            "structured outputs, helps."
        )

    @property
    def _name(self) -> str:
        return f"The model {self.owner.model} at {self.backend.host}"

    def _reject_unfinished(self, reply: Reply, record: _Draft) -> None:
        if reply.finish == "length":
            limit = self.request.max_tokens
            reason = f"the answer was cut off at its limit of {limit:,} tokens"
            self._record(record, "truncated", reason)
            raise TruncatedError(f"{self._name}: {reason}. Raise the limit or ask for less.")
        if reply.finish == "refused":
            reason = _short(reply.refusal or "no reason was given")
            self._record(record, "refused", reason)
            raise RefusedError(f"{self._name} declined to answer: {reason}")

    def _correct(self, answer: str, problem: str) -> None:
        """Show the model its last answer and what is wrong with it; older ones are forgotten."""
        schema = self.backend.schema(self.request.output_type)
        self.corrections = [
            Message("assistant", sendable(answer[:_SHOWN_ANSWER]) or "(empty)"),
            Message("user", correction(problem, schema)),
        ]

    async def _reply(self) -> tuple[Reply, _Draft]:
        """Get a reply, whatever it says: repeat, adapt and trim as far as that goes."""
        began, failures, adaptations = time.perf_counter(), 0, 0
        while True:
            prompt, fitted = self._prompt()
            try:
                return await self._once(prompt, fitted)
            except BackendError as error:
                if error.kind == "context":
                    self._squeeze(error, prompt)
                elif error.kind == "adapted" and adaptations < _MOST_ADAPTATIONS:
                    adaptations += 1
                else:
                    failures += 1
                    await self._wait_after(error, failures, began)

    async def _wait_after(self, error: BackendError, failures: int, began: float) -> None:
        """Wait before the next attempt.

        Raises:
            RefusedError: The server's filter declined.
            ModelOutageError: There is no sense, or no patience left, for another attempt.
        """
        if error.kind == "refused":
            raise RefusedError(f"{self._name} declined to answer: {error.reason}.") from None
        retry = self.policy.retry
        pause = retry.delay(failures) if error.pause is None else error.pause
        sentence = f"{self._name} gave no answer: {error.reason}"
        if error.kind != "passing":
            raise ModelOutageError(f"{sentence}.") from None
        if error.pause is not None and error.pause > retry.max_retry_after_seconds:
            raise ModelOutageError(
                f"{sentence}, and it wants to be left alone for {error.pause:,.0f} seconds, longer "
                f"than the {retry.max_retry_after_seconds:g} that are waited. Try again later."
            ) from None
        late = elapsed_since(began) + pause > self.policy.patience_seconds
        if failures >= retry.attempts or late:
            tries = "1 attempt" if failures == 1 else f"{failures} attempts"
            raise ModelOutageError(f"{sentence} ({tries}).") from None
        if error.pause is not None:
            self.owner._limiter.pause(error.pause)
        await asyncio.sleep(pause)

    def _squeeze(self, error: BackendError, prompt: Prompt) -> None:
        """Take less room after the server found the prompt too long; once per request.

        Raises:
            ContextTooLongError: It was trimmed harder before, or nothing may be trimmed.
        """
        if error.window is not None:
            self.owner._window = min(error.window, self.owner._window or error.window)
        if error.prompt_tokens is not None:
            self.scale.learn(self._size(prompt), error.prompt_tokens)
        trimmable = any(part.trimmable and part.text for part in self.request.parts)
        if self.squeezed or not trimmable:
            raise ContextTooLongError(
                f"{self._name} cannot take the prompt: {error.reason}. Shorten it, or use a model "
                "with a larger context window."
            ) from None
        self.squeezed = True
        told = error.window is not None and error.prompt_tokens is not None
        self.squeeze = _SAFETY if told else _HARDER

    def _prompt(self) -> tuple[Prompt, FittedText]:
        """Word the request so that it fits into the window by the present estimate.

        Raises:
            ContextTooLongError: It does not, however much is cut.
        """
        request = self.request
        mode = self.backend.mode(request.output_type)
        system = sendable(request.system)
        if mode != "json_schema":
            schema = self.backend.schema(request.output_type)
            system = f"{system}\n\n{shape_instruction(schema)}".strip()
        parts = [Part(sendable(part.text), part.trimmable) for part in request.parts]
        room = self._room(Message("system", system), mode, sum(len(p.text.encode()) for p in parts))
        fitted = fit(parts, room, self.scale)
        if fitted is None:
            raise ContextTooLongError(
                f"The prompt does not fit: {self._name} reads {self.owner.context_window or 0:,} "
                f"tokens, of which {request.max_tokens:,} are kept for the answer. Shorten the "
                "prompt, lower the limit on the answer, or use a model with a larger window."
            )
        messages = (Message("system", system), Message("user", fitted.text), *self.corrections)
        prompt = Prompt(
            messages=tuple(m for m in messages if m.content),
            output_type=request.output_type,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            mode=mode,
        )
        return prompt, fitted

    def _room(self, system: Message, mode: AnswerMode, size: int) -> int:
        """Return the tokens that the user's part may take."""
        fixed = [system, *self.corrections]
        taken = size_of(fixed) + self._schema_size(mode)
        window = self.owner.context_window
        if window is None:
            # Unknown: everything fits until the server says otherwise.
            room = self.scale.tokens(size) + 1
        else:
            room = window - self.request.max_tokens - self.scale.tokens(taken, len(fixed) + 1)
        return int(room * self.squeeze)

    def _schema_size(self, mode: AnswerMode) -> int:
        """Return the bytes of a schema that goes beside the messages: it is counted as prompt."""
        if mode != "json_schema":
            return 0
        return len(str(self.backend.schema(self.request.output_type)).encode())

    def _size(self, prompt: Prompt) -> int:
        return size_of(prompt.messages) + self._schema_size(prompt.mode)

    def _estimate(self, prompt: Prompt) -> int:
        return self.scale.tokens(self._size(prompt), len(prompt.messages))

    async def _once(self, prompt: Prompt, fitted: FittedText) -> tuple[Reply, _Draft]:
        """Send one request, within the limits and the budget.

        Raises:
            BackendError: There is no reply; the call is recorded.
        """
        self.backend.open()
        expected = self._estimate(prompt)
        highest = expected + prompt.max_tokens
        async with self.owner._limiter.turn(highest) as turn:
            amount = Amount(self._cost(expected, prompt.max_tokens), highest)
            with await self.budget.reserve(amount) as reservation:
                started = time.perf_counter()
                try:
                    reply = await self._ask(prompt)
                except BackendError as error:
                    self._note_failure(error, prompt, fitted, elapsed_since(started), reservation)
                    raise
                draft = self._draft(prompt, fitted, reply, elapsed_since(started))
                turn.used(draft.input_tokens + draft.output_tokens)
                reservation.settle(
                    Amount(draft.cost, draft.input_tokens + draft.output_tokens),
                )
                return reply, draft

    async def _ask(self, prompt: Prompt) -> Reply:
        seconds = self.policy.answer_seconds
        try:
            async with asyncio.timeout(seconds):
                reply = await self.backend.ask(prompt)
        except TimeoutError:
            reason = f"it was not done after {seconds:g} seconds"
            raise BackendError("passing", reason, lost=True) from None
        if reply.usage.input_tokens:
            self._check_whole(prompt, reply.usage.input_tokens, reply.usage)
        return reply

    def _check_whole(self, prompt: Prompt, counted: int, usage: Usage) -> None:
        """Learn from the usage, unless it shows that the server left part of the prompt unread.

        Ollama fills half of its window with the end of a prompt that is too long and says nothing:
        then a token seems to stand for at least twice the bytes.
        """
        size = self._size(prompt)
        usual = max(self.scale.most_bytes_per_token or 0.0, _MOST_BYTES_PER_TOKEN)
        suspicious = size > _SILENT_CUT_BYTES and size / counted > usual * _SUSPICIOUS
        if self.backend.cuts_silently and suspicious:
            reason = f"the server read only {counted:,} tokens of a prompt of {size:,} bytes"
            raise BackendError("context", reason, usage=usage)
        self.scale.learn(size, counted)

    def _draft(self, prompt: Prompt, fitted: FittedText, reply: Reply, seconds: float) -> _Draft:
        usage = reply.usage
        inputs, outputs = usage.input_tokens, usage.output_tokens
        reported = inputs is not None and outputs is not None
        inputs = self._estimate(prompt) if inputs is None else inputs
        outputs = (
            self.scale.tokens(len((reply.text or "").encode())) if outputs is None else outputs
        )
        cost = self._cost(inputs, outputs, usage.cached_tokens or 0)
        return _Draft(
            prompt.mode, fitted, inputs, outputs, usage.cached_tokens, reported, cost, seconds
        )

    def _cost(self, inputs: int, outputs: int, cached: int = 0) -> float | None:
        price = self.owner.info.price
        return None if price is None else price.cost(inputs, outputs, cached)

    def _note_failure(
        self,
        error: BackendError,
        prompt: Prompt,
        fitted: FittedText,
        seconds: float,
        reservation: Reservation,
    ) -> None:
        usage = error.usage or Usage()
        inputs, outputs = usage.input_tokens or 0, usage.output_tokens or 0
        cost = self._cost(inputs, outputs)
        if not error.lost:
            reservation.settle(Amount(cost, inputs + outputs))
        outcome: CallOutcome = "refused" if error.kind == "refused" else "infra_error"
        reported = error.usage is not None
        draft = _Draft(prompt.mode, fitted, inputs, outputs, None, reported, cost, seconds)
        self._record(draft, outcome, error.reason)

    def _record(self, draft: _Draft, outcome: CallOutcome, reason: str | None) -> None:
        self.calls.append(
            ModelCall(
                provider=self.owner.provider,
                model=self.owner.model,
                attempt=len(self.calls) + 1,
                input_tokens=draft.input_tokens,
                output_tokens=draft.output_tokens,
                cost_usd=draft.cost or 0.0,
                latency_seconds=draft.seconds,
                outcome=outcome,
                reason=reason,
                cached_tokens=draft.cached_tokens,
                usage_reported=draft.reported,
                price_known=draft.cost is not None,
                mode=draft.mode,
                trimmed_characters=draft.fitted.trimmed_characters,
            )
        )


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is known of a call before its answer is judged."""

    mode: AnswerMode
    fitted: FittedText
    input_tokens: int
    output_tokens: int
    cached_tokens: int | None
    reported: bool
    cost: float | None
    seconds: float


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN_REASON else f"{flat[: _SHOWN_REASON - 1]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
