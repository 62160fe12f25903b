"""Which models there are: who serves them, how much they read, how they think, what they cost.

What belongs here: reading the registry's YAML files, looking a model up, and pricing a call; and
what services cost that are no models. What does not: keys (they are handed to clients.py), ceilings
(budget.py), the figures themselves (models.yaml beside this, which says how to extend it).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resources.lines import PlacedError, read_document
from resources.llm.base import EFFORTS, Effort
from resources.llm.limits import RateLimits

PROJECT_MODELS = Path(__file__).with_name("models.yaml")
"""The registry that comes with the project."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MILLION = 1_000_000
_FORMS = frozenset({"literal['free']", "_PriceEntry", "_ServiceEntry"})
"""What validation calls the forms of a price; no part of the file."""


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

    def times(self, factor: float) -> Price:
        """Return a share of the price."""
        cached = None if self.cached_input is None else self.cached_input * factor
        return Price(self.input * factor, self.output * factor, cached)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model. `context_window` in tokens, prompt and answer together; None where unknown.

    `efforts` are how hard it can be made to think, from least to most: empty if it does not, None
    where unknown. `refuses` are parameters that it rejects. `price_as_of` is the price's day.
    `batched`: it is asked in batches, and its price is that of batches.
    """

    name: str
    provider: str
    context_window: int | None = None
    price: Price | None = None
    efforts: tuple[Effort, ...] | None = None
    refuses: frozenset[str] = frozenset()
    price_as_of: date | None = None
    batched: bool = False

    @property
    def price_known(self) -> bool:
        """Whether calls can be priced. A free model has a known price: nothing."""
        return self.price is not None

    def effort(self, wish: Effort | None) -> Effort | None:
        """Return the effort that comes nearest to a wish; None if none should be sent.

        Without a wish: low, or of a model that cannot choose it the least. A model that nobody
        listed is sent the wish as it is.
        """
        if not self.efforts:
            return wish if self.efforts is None else None
        if wish is None:
            return "low" if "low" in self.efforts else self.efforts[0]
        # Kept from least to most, so that of two that are as near the lesser one is taken.
        return min(self.efforts, key=lambda each: abs(EFFORTS.index(each) - EFFORTS.index(wish)))


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
    efforts: tuple[Effort, ...] = ()
    refuses: frozenset[str] = frozenset()
    as_of: date | None = None


class _ServiceEntry(_Entry):
    per_1000: float = Field(ge=0, allow_inf_nan=False)


class _ProviderEntry(_Entry):
    protocol: Literal["openai", "ollama"]
    base_url: str = Field(pattern=r"^https?://[^\s/]+")
    api_version: str | None = None
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_concurrent: int = Field(default=16, ge=1, le=1_024)


class _File(_Entry):
    as_of: date | None = None
    providers: dict[str, _ProviderEntry] = {}
    models: dict[str, _ModelEntry] = {}
    services: dict[str, Literal["free"] | _ServiceEntry] = {}


class ModelRegistry:
    """The models and providers of one or more registry files, and the prices of services."""

    def __init__(
        self,
        models: Iterable[ModelInfo],
        providers: Iterable[ProviderInfo],
        services: Mapping[str, float] | None = None,
    ) -> None:
        self._models = {model.name: model for model in models}
        self._providers = {provider.name: provider for provider in providers}
        self.services = dict(services or {})
        """US dollars per request, by the service's name; one that is not listed is not known."""

    @classmethod
    def load(cls, *paths: Path) -> ModelRegistry:
        """Read registry files. An entry replaces the entry of the same name in earlier files.

        Raises:
            RegistryError: A file cannot be read, or says something that has no meaning here.
        """
        models: dict[str, ModelInfo] = {}
        providers: dict[str, ProviderInfo] = {}
        services: dict[str, float] = {}
        for path in paths:
            content = _read(path)
            providers |= {name: _provider(name, e) for name, e in content.providers.items()}
            models |= {name: _model(name, e, content.as_of) for name, e in content.models.items()}
            services |= {
                name: 0.0 if entry == "free" else entry.per_1000 / 1_000
                for name, entry in content.services.items()
            }
            for model in content.models:
                _known("provider", models[model].provider, providers, f" for the model {model!r}")
        return cls(models.values(), providers.values(), services)

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
        """Look a model up, by its name or that of its snapshot (gpt-5-mini-2025-08-07).

        With a provider named, any model will do: one that is not listed has no known price and
        no known context window. A listed model at another provider keeps its window and loses its
        price. Gateways call models VENDOR/NAME and pass the vendor's price on: openai/gpt-4o at
        the provider openai is gpt-4o.

        Raises:
            RegistryError: The provider is unknown, or the model is and no provider is named.
        """
        listed = self._listed(name)
        if provider is None:
            if listed is None:
                raise RegistryError(
                    f"The model {name!r} is not in the registry{_nearest(name, self._models)}. "
                    "List it in models.yaml, or name its provider too: "
                    f"{', '.join(sorted(self._providers))}."
                )
            return replace(listed, name=name)
        self.provider(provider)
        vendor, _, rest = name.rpartition("/")
        listed = listed or self._listed(rest)
        if listed is None:
            return ModelInfo(name, provider)
        if listed.provider == provider and vendor in {"", provider}:
            return replace(listed, name=name)
        return replace(listed, name=name, provider=provider, price=None, price_as_of=None)

    def nearest(self, name: str) -> str:
        """Return a question whether a similar name was meant; nothing if the name is listed."""
        return "" if self._listed(name) else _nearest(name, self._models)

    def _listed(self, name: str) -> ModelInfo | None:
        return self._models.get(name) or self._models.get(_DATED.sub("", name))


def _read(path: Path) -> _File:
    try:
        document = read_document(path)
        repeated = document.repeated_keys(path)
    except PlacedError as error:
        raise RegistryError(f"The model registry cannot be read. {error.at(path)}") from error
    if repeated:
        raise RegistryError(str(repeated[0]))
    try:
        return _File.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        # Of a choice between forms, the problem that lies deepest is the one that was meant.
        deepest = max(error.errors(include_url=False), key=lambda problem: len(problem["loc"]))
        place = tuple(step for step in deepest["loc"] if step not in _FORMS)
        raise RegistryError(
            f"{path}:{document.line(place)}: The model registry is wrong at "
            f"{'.'.join(map(str, place)) or 'the top'}: {deepest['msg']}. "
            "The registry that comes with the project shows every field."
        ) from error


def _provider(name: str, entry: _ProviderEntry) -> ProviderInfo:
    limits = RateLimits(entry.requests_per_minute, entry.tokens_per_minute, entry.max_concurrent)
    return ProviderInfo(name, entry.protocol, entry.base_url, limits, entry.api_version)


def _model(name: str, entry: _ModelEntry, as_of: date | None) -> ModelInfo:
    price = entry.price
    if isinstance(price, _PriceEntry):
        known: Price | None = Price(price.input, price.output, price.cached_input)
    else:
        known = Price(0.0, 0.0) if price == "free" else None
    return ModelInfo(
        name,
        entry.provider,
        entry.context_window,
        known,
        tuple(sorted(entry.efforts, key=EFFORTS.index)),
        entry.refuses,
        entry.as_of or as_of,
    )


def _known(kind: str, name: str, names: Mapping[str, object], where: str = "") -> None:
    if name not in names:
        raise RegistryError(
            f"There is no {kind} {name!r}{_nearest(name, names)}{where}. "
            f"Known are {', '.join(sorted(names)) or 'none'}; more can be listed in models.yaml."
        )


def _nearest(name: str, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
