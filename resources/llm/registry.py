"""Which models there are: who serves them, how much they read, what they cost.

What belongs here: reading the registry's YAML files, looking a model up, and pricing a call. What
does not: keys (they are handed to clients.py), ceilings (budget.py), the figures themselves
(corpora/models.yaml, which says how to extend it).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from resources.llm.limits import RateLimits

_MILLION = 1_000_000
_FORMS = frozenset({"literal['free']", "_PriceEntry"})
"""What validation calls the two forms of a price; no part of the file."""


class RegistryError(Exception):
    """A registry file that cannot be read, or a model or provider that is not in it."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Cached input costs as much as other input if not given."""

    input: float
    output: float
    cached_input: float | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the dollars for a call; cached tokens are part of the input tokens."""
        cached_rate = self.input if self.cached_input is None else self.cached_input
        cached = min(cached_tokens, input_tokens)
        dollars = (input_tokens - cached) * self.input + cached * cached_rate
        return (dollars + output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model. `context_window` in tokens, prompt and answer together; None where unknown."""

    name: str
    provider: str
    context_window: int | None = None
    price: Price | None = None

    @property
    def price_known(self) -> bool:
        """Whether calls can be priced. A free model has a known price: nothing."""
        return self.price is not None


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider: whose protocol it speaks, where, and how fast it may be asked."""

    name: str
    protocol: Literal["openai", "ollama"]
    base_url: str
    limits: RateLimits = field(default_factory=RateLimits)
    api_version: str | None = None
    """Set for Azure's older addresses, which want one; `base_url` is then the resource's."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _PriceEntry(_Entry):
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _ModelEntry(_Entry):
    provider: str
    context_window: int | None = Field(default=None, ge=256)
    price: Literal["free"] | _PriceEntry | None = None


class _ProviderEntry(_Entry):
    protocol: Literal["openai", "ollama"]
    base_url: str = Field(pattern=r"^https?://[^\s/]+")
    # Azure names versions by their day, which YAML reads as a date.
    api_version: Annotated[str, BeforeValidator(str)] | None = None
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_concurrent: int = Field(default=16, ge=1, le=1_024)


class _File(_Entry):
    providers: dict[str, _ProviderEntry] = {}
    models: dict[str, _ModelEntry] = {}


class ModelRegistry:
    """The models and providers of one or more registry files."""

    def __init__(self, models: Iterable[ModelInfo], providers: Iterable[ProviderInfo]) -> None:
        self._models = {model.name: model for model in models}
        self._providers = {provider.name: provider for provider in providers}

    @classmethod
    def load(cls, *paths: Path) -> ModelRegistry:
        """Read registry files. An entry replaces the entry of the same name in earlier files.

        Raises:
            RegistryError: A file cannot be read, or says something that has no meaning here.
        """
        models: dict[str, ModelInfo] = {}
        providers: dict[str, ProviderInfo] = {}
        for path in paths:
            content = _read(path)
            providers |= {name: _provider(name, e) for name, e in content.providers.items()}
            models |= {name: _model(name, e) for name, e in content.models.items()}
            for model in content.models:
                _known("provider", models[model].provider, providers, f" for the model {model!r}")
        return cls(models.values(), providers.values())

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """All models, by name."""
        return tuple(self._models[name] for name in sorted(self._models))

    @property
    def providers(self) -> tuple[ProviderInfo, ...]:
        """All providers, by name."""
        return tuple(self._providers[name] for name in sorted(self._providers))

    def provider(self, name: str) -> ProviderInfo:
        """Look a provider up.

        Raises:
            RegistryError: There is none of this name; the sentence offers the nearest.
        """
        _known("provider", name, self._providers)
        return self._providers[name]

    def model(self, name: str, *, provider: str | None = None) -> ModelInfo:
        """Look a model up.

        With a provider named, any model will do: one that is not listed has no known price and
        no known context window. A listed model at another provider keeps its window and loses its
        price.

        Raises:
            RegistryError: The provider is unknown, or the model is and no provider is named.
        """
        listed = self._models.get(name)
        if provider is None:
            if listed is None:
                raise RegistryError(
                    f"The model {name!r} is not in the registry{_nearest(name, self._models)}. "
                    "List it in models.yaml, or name its provider too: "
                    f"{', '.join(sorted(self._providers))}."
                )
            return listed
        self.provider(provider)
        if listed is not None and listed.provider == provider:
            return listed
        return ModelInfo(name, provider, listed.context_window if listed else None)


def _read(path: Path) -> _File:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RegistryError(
            f"The model registry {path} cannot be read: {error.strerror}."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RegistryError(f"The model registry {path} is not valid YAML: {error}") from error
    try:
        return _File.model_validate(content if content is not None else {})
    except ValidationError as error:
        # Of a choice between forms, the problem that lies deepest is the one that was meant.
        deepest = max(error.errors(include_url=False), key=lambda problem: len(problem["loc"]))
        steps = [str(step) for step in deepest["loc"]]
        where = ".".join(step for step in steps if step not in _FORMS) or "the top"
        raise RegistryError(
            f"The model registry {path} is wrong at {where}: {deepest['msg']}. "
            "The registry that comes with the project shows every field."
        ) from error


def _provider(name: str, entry: _ProviderEntry) -> ProviderInfo:
    limits = RateLimits(entry.requests_per_minute, entry.tokens_per_minute, entry.max_concurrent)
    return ProviderInfo(name, entry.protocol, entry.base_url, limits, entry.api_version)


def _model(name: str, entry: _ModelEntry) -> ModelInfo:
    price = entry.price
    if isinstance(price, _PriceEntry):
        known: Price | None = Price(price.input, price.output, price.cached_input)
    else:
        known = Price(0.0, 0.0) if price == "free" else None
    return ModelInfo(name, entry.provider, entry.context_window, known)


def _known(kind: str, name: str, names: Mapping[str, object], where: str = "") -> None:
    if name not in names:
        raise RegistryError(
            f"There is no {kind} {name!r}{_nearest(name, names)}{where}. "
            f"Known are {', '.join(sorted(names)) or 'none'}; more can be listed in models.yaml."
        )


def _nearest(name: str, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
