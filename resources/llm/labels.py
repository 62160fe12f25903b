"""Probabilities of a few label words as a model's very next token.

The sum of the alternatives for one token over labels, and opening a model of a server that gives
them belong here. The requests do not (labels_openai.py, labels_ollama.py). Nor do retries, limits,
budgets and the record of calls: `StructuredModel` has them (structured.py). local.py runs a model
in a process of this machine.

No text is generated. A small model that words its answer badly still knows which word it would
begin with, and how sure it is. The server is asked for one token at temperature 1, so that it does
not matter whether it reports probabilities before or after it applies the temperature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr

from resources.llm import backend, base
from resources.llm.limits import RateLimiter
from resources.llm.registry import ModelInfo, ProviderInfo
from resources.llm.slots import OWN_MACHINE, slots_of
from resources.llm.structured import StructuredModel

ALTERNATIVES: Final = 20
"""Alternatives of a token that are asked for: OpenAI and vLLM give no more."""
_LEAST_MASS: Final = 0.2
"""Probability that all labels must have together. A model below it does not answer the question."""
SILENT: Final = (
    "it gives no probabilities of tokens (logprobs), so it cannot read by labels; llama.cpp, vLLM, "
    "Ollama from 0.12.11, and OpenAI's models that do not reason give them"
)


_MOST_HERE: Final = 8


class Token(BaseModel, frozen=True):
    """One alternative for the next token, and its probability in [0, 1]."""

    text: str
    probability: float = Field(ge=0, le=1)


class NextToken(BaseModel, frozen=True):
    """The likeliest alternatives for the next token."""

    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class LabelChances:
    """The probability of each label, which sum to 1, and the calls that it took.

    `mass` is the probability that the labels had together among all tokens.
    """

    chances: Mapping[str, float]
    mass: float
    calls: tuple[base.ModelCall, ...] = ()


class LabelModel:
    """Asks a language model for the probabilities of label words.

    `name` names the model in metadata, and in the calibration that was fitted for it.
    """

    def __init__(self, model: base.LanguageModel, name: str) -> None:
        self._model = model
        self.name = name

    async def ask(
        self,
        system: str,
        parts: tuple[base.Part, ...],
        labels: Sequence[str],
        *,
        examples: tuple[tuple[str, str], ...] = (),
    ) -> LabelChances:
        """Return how likely the model begins its answer with each of the labels.

        `examples` are questions with the labels that answer them, shown as turns before this one.
        The labels must differ in their first letters, because tokens may be beginnings of words.

        Raises:
            ModelError: The model does not answer, gives no probabilities, or would begin its answer
                with another word.
        """
        request = base.ModelRequest(
            system, parts, NextToken, max_tokens=1, temperature=1.0, examples=examples
        )
        answer = await self._model.complete(request)
        sums = dict.fromkeys(labels, 0.0)
        for token in answer.value.tokens:
            word = token.text.strip().lower()
            begun = [label for label in labels if word and label.startswith(word)]
            if len(begun) == 1:
                sums[begun[0]] += token.probability
        mass = sum(sums.values())
        if mass < _LEAST_MASS:
            named = ", ".join(labels)
            raise base.ModelError(
                f"The model {self.name} does not answer with one of the words {named}, so it "
                "cannot read by labels. Choose another model, or switch its thinking off.",
                answer.calls,
            )
        chances = {label: each / mass for label, each in sums.items()}
        return LabelChances(chances, min(1.0, mass), answer.calls)


def open_labels(
    info: ModelInfo,
    provider: ProviderInfo,
    key: SecretStr | None = None,
    policy: backend.CallPolicy | None = None,
) -> StructuredModel:
    """Return a model of a server that answers with the alternatives for its next token.

    A llama.cpp server on this machine is asked for as many answers at once as it has slots, another
    server there for at most eight, and a service for as many as its provider allows. Close the
    model after use.

    Raises:
        SetupError: The key cannot be sent in a header.
    """
    # Imported late, as in ModelClients: each library takes seconds to load.
    server: backend.Backend
    if provider.protocol == "ollama":
        from resources.llm.labels_ollama import OllamaLabels  # noqa: PLC0415

        server = OllamaLabels(info, provider, key, policy)
    else:
        from resources.llm.labels_openai import OpenAILabels  # noqa: PLC0415

        server = OpenAILabels(info, provider, key, policy)
    is_own = urlsplit(provider.base_url).hostname in OWN_MACHINE
    limiter = RateLimiter(
        requests_per_minute=provider.requests_per_minute,
        tokens_per_minute=provider.tokens_per_minute,
        max_concurrent=min(provider.max_concurrent, _MOST_HERE)
        if is_own
        else provider.max_concurrent,
        slots=partial(slots_of, provider.base_url) if provider.protocol == "openai" else None,
    )
    return StructuredModel(server, limiter=limiter)


def worded(said: Sequence[tuple[str, float]], usage: backend.Usage) -> backend.Reply:
    """Return tokens and their log-probabilities as the answer that `NextToken` reads.

    Raises:
        BackendError: There are none.
    """
    if not said:
        raise backend.BackendError("lasting", SILENT, usage=usage)
    tokens = [Token(text=text, probability=min(1.0, math.exp(each))) for text, each in said]
    return backend.Reply(NextToken(tokens=tokens).model_dump_json(), usage=usage)
