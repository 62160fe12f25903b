"""The registry of models and providers: addresses, context windows, efforts and prices.

It reads models.yaml beside this file, which explains how to extend it, and files of the same form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from resources.errors import SetupError
from resources.llm.base import EFFORTS, Effort
from resources.text_files import did_you_mean, errors_naming, read_document

PROJECT_MODELS = Path(__file__).with_name("models.yaml")
"""The project's own registry."""
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; for estimates without recorded calls."""
_STRICT = ConfigDict(extra="forbid")

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _free(nothing: dict[str, float]) -> BeforeValidator:
    return BeforeValidator(lambda written: nothing if written == "free" else written)


class RegistryError(SetupError):
    """The registry does not list a model or provider."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Price:
    """US dollars per million tokens. By default cached input costs as much as other input."""

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the dollars for a call; cached tokens are part of the input tokens."""
        cached_rate = self.input if self.cached_input is None else self.cached_input
        cached = min(cached_tokens, input_tokens)
        dollars = (input_tokens - cached) * self.input + cached * cached_rate
        return (dollars + output_tokens * self.output) / _MILLION

    def times(self, factor: float) -> Price:
        cached = None if self.cached_input is None else self.cached_input * factor
        return Price(self.input * factor, self.output * factor, cached)


@dataclass(frozen=True, slots=True, config=_STRICT)
class ModelInfo:
    """A model. `context_window` is in tokens, prompt and answer together; None if unknown.

    `efforts` are the supported efforts of thinking, from least to most: empty if it does not think,
    None if unknown. `refuses` are parameters that it rejects. `as_of` is the price's day. A free
    model has the price 0. `batched`: its requests go into batches, at the price of batches.
    """

    name: str
    provider: str
    context_window: Annotated[int, Field(ge=256)] | None = None
    price: Annotated[Price | None, _free({"input": 0.0, "output": 0.0})] = None
    efforts: Annotated[
        tuple[Effort, ...] | None,
        AfterValidator(lambda efforts: efforts and tuple(sorted(efforts, key=EFFORTS.index))),
    ] = None
    refuses: frozenset[str] = frozenset()
    as_of: date | None = None
    batched: bool = False

    def effort(self, wanted: Effort | None) -> Effort | None:
        """Return the supported effort nearest to `wanted`; None to send no effort.

        By default it is low, or the model's least. If the efforts are unknown, it is `wanted`.
        """
        if not self.efforts:
            return wanted if self.efforts is None else None
        if wanted is None:
            return "low" if "low" in self.efforts else self.efforts[0]
        # The order from least to most makes the lesser of two equally near efforts win.
        target = EFFORTS.index(wanted)
        return min(self.efforts, key=lambda effort: abs(EFFORTS.index(effort) - target))


@dataclass(frozen=True, slots=True, config=_STRICT)
class ProviderInfo:
    """A provider: its protocol, address, rate limits and time limit."""

    name: str
    protocol: Literal["openai", "ollama"]
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=1_024)] = 16
    answer_seconds: Annotated[float | None, Field(gt=0, le=86_400)] = None
    """The time limit of an answer; None: that of `CallPolicy`."""
    bounds_lists: bool = False
    """Whether the schema limits the length of lists. Small models may never end a list without it.
    Azure rejects such a schema, and OpenAI takes seconds to prepare each new one."""


class _Service(BaseModel):
    model_config = _STRICT
    per_1000: Dollars


class _RegistryFile(BaseModel):
    model_config = _STRICT
    as_of: date | None = None
    providers: dict[str, ProviderInfo] = {}
    models: dict[str, ModelInfo] = {}
    services: dict[str, Annotated[_Service, _free({"per_1000": 0.0})]] = {}

    @model_validator(mode="before")
    @classmethod
    def _named(cls, written: Any) -> Any:
        """Add each entry's name, and a model's defaults: the file's day, and no thinking."""
        if not isinstance(written, dict):
            return written
        model_defaults = {"efforts": (), "as_of": written.get("as_of")}
        for part, defaults in (("providers", {}), ("models", model_defaults)):
            if isinstance(entries := written.get(part), dict):
                named = {
                    name: {**defaults, **entry, "name": name} if isinstance(entry, dict) else entry
                    for name, entry in entries.items()
                }
                written = {**written, part: named}
        return written


class ModelRegistry:
    """The models, providers and services of registry files, by name.

    `services` has the US dollars per request of search services and readers, if known.
    """

    def __init__(self) -> None:
        self.models: dict[str, ModelInfo] = {}
        self.providers: dict[str, ProviderInfo] = {}
        self.services: dict[str, float] = {}

    @classmethod
    def load(cls, *paths: Path) -> ModelRegistry:
        """Read registry files. An entry replaces the entry of the same name in earlier files.

        Raises SetupError for an unreadable or invalid file.
        """
        registry = cls()
        for path in paths:
            with errors_naming(path):
                content = read_document(path).read_as(_RegistryFile)
            registry.providers |= content.providers
            registry.models |= content.models
            for name, service in content.services.items():
                registry.services[name] = service.per_1000 / 1_000
            for name, model in content.models.items():
                registry.provider(model.provider, f" for the model {name!r}")
        return registry

    def provider(self, name: str, where: str = "") -> ProviderInfo:
        """Look up a provider. RegistryError, with the nearest name and `where`, if unknown."""
        if name not in self.providers:
            raise RegistryError(
                f"There is no provider {name!r}{_nearest(name, self.providers)}{where}. Known are "
                f"{', '.join(sorted(self.providers)) or 'none'}; more can be listed in models.yaml."
            )
        return self.providers[name]

    def model(self, name: str, *, provider: str | None = None) -> ModelInfo:
        """Look up a model by its name or that of its snapshot (gpt-5-mini-2025-08-07).

        With a `provider` the model may be unlisted; its price and window are then unknown. A model
        that the registry lists for another provider loses its price. Gateways call models
        VENDOR/NAME and pass on the vendor's price: openai/gpt-4o at the provider openai is gpt-4o.
        Raises RegistryError for an unknown provider, or an unknown model without a provider.
        """
        listed = self._listed(name)
        if provider is None:
            if listed is None:
                raise RegistryError(
                    f"The model {name!r} is not in the registry{_nearest(name, self.models)}. "
                    "List it in models.yaml, or name its provider too: "
                    f"{', '.join(sorted(self.providers))}."
                )
            return replace(listed, name=name)
        self.provider(provider)
        vendor, _, rest = name.rpartition("/")
        listed = listed or self._listed(rest)
        if listed is None:
            return ModelInfo(name, provider)
        if listed.provider == provider and vendor in {"", provider}:
            return replace(listed, name=name)
        return replace(listed, name=name, provider=provider, price=None, as_of=None)

    def nearest(self, name: str) -> str:
        """Return "did you mean …?" for an unlisted name with a similar one, else nothing."""
        return "" if self._listed(name) else _nearest(name, self.models)

    def _listed(self, name: str) -> ModelInfo | None:
        return self.models.get(name) or self.models.get(_DATED.sub("", name))


def _nearest(name: str, names: Mapping[str, object]) -> str:
    hint = did_you_mean(name, names)
    return f" ({hint[:1].lower()}{hint[1:]})" if hint else ""
