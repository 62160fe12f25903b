"""Which models there are: who serves them, how much they read, how they think, what they cost.

What belongs here: reading the registry's YAML files, looking a model up, and pricing a call; and
what services cost that are no models. What does not: keys (structured.py is handed
them), ceilings (limits.py), the figures (models.yaml beside this, which says how to extend it).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from resources.errors import SetupError
from resources.lines import naming, read_document
from resources.llm.base import EFFORTS, Effort

PROJECT_MODELS = Path(__file__).with_name("models.yaml")
"""The registry that comes with the project."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; for estimates where no call was recorded."""
_STRICT = ConfigDict(extra="forbid")

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _free(nothing: dict[str, float]) -> BeforeValidator:
    """Return what reads the word free as a price of nothing."""
    return BeforeValidator(lambda written: nothing if written == "free" else written)


class RegistryError(SetupError):
    """A model or provider that is not in the registry."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Price:
    """US dollars per million tokens. Cached input costs as much as other input if not given."""

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
        """Return a share of the price."""
        cached = None if self.cached_input is None else self.cached_input * factor
        return Price(self.input * factor, self.output * factor, cached)


@dataclass(frozen=True, slots=True, config=_STRICT)
class ModelInfo:
    """A model. `context_window` in tokens, prompt and answer together; None where unknown.

    `efforts` are how hard it can be made to think, from least to most: empty if it does not, None
    where unknown. `refuses` are parameters that it rejects. `as_of` is the price's day.
    `batched`: it is asked in batches, and its price is that of batches.
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


@dataclass(frozen=True, slots=True, config=_STRICT)
class ProviderInfo:
    """A provider: whose protocol it speaks, where, how fast it may be asked and takes to answer.

    `api_version` is set for Azure's older addresses; `base_url` is then the resource's.
    """

    name: str
    protocol: Literal["openai", "ollama"]
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
    api_version: str | None = None
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=1_024)] = 16
    answer_seconds: Annotated[float | None, Field(gt=0, le=86_400)] = None
    """How long an answer is waited for; None: as `CallPolicy` has it."""
    bounds_lists: bool = False
    """Whether the schema says how many items a list may have. Small models go on and on without it;
    Azure refuses such a schema, and OpenAI prepares each new one for seconds."""


class _Service(BaseModel):
    model_config = _STRICT
    per_1000: Dollars


class _File(BaseModel):
    model_config = _STRICT
    as_of: date | None = None
    providers: dict[str, ProviderInfo] = {}
    models: dict[str, ModelInfo] = {}
    services: dict[str, Annotated[_Service, _free({"per_1000": 0.0})]] = {}

    @model_validator(mode="before")
    @classmethod
    def _named(cls, written: Any) -> Any:
        """Give each entry its name; a model has the file's day, and does not think unless said."""
        if not isinstance(written, dict):
            return written
        of_models = {"efforts": (), "as_of": written.get("as_of")}
        for part, usual in (("providers", {}), ("models", of_models)):
            if isinstance(entries := written.get(part), dict):
                named = {
                    name: {**usual, **entry, "name": name} if isinstance(entry, dict) else entry
                    for name, entry in entries.items()
                }
                written = {**written, part: named}
        return written


class ModelRegistry:
    """The models and providers of registry files, by name, and what services cost.

    `services` are US dollars per request, by the service's name; what is not listed is not known.
    """

    def __init__(self) -> None:
        self.models: dict[str, ModelInfo] = {}
        self.providers: dict[str, ProviderInfo] = {}
        self.services: dict[str, float] = {}

    @classmethod
    def load(cls, *paths: Path) -> ModelRegistry:
        """Read registry files. An entry replaces the entry of the same name in earlier files.

        Raises SetupError for what cannot be read, or has no meaning here.
        """
        registry = cls()
        for path in paths:
            with naming(path):
                content = read_document(path).read_as(_File)
            registry.providers |= content.providers
            registry.models |= content.models
            for name, service in content.services.items():
                registry.services[name] = service.per_1000 / 1_000
            for name, model in content.models.items():
                registry.provider(model.provider, f" for the model {name!r}")
        return registry

    def provider(self, name: str, where: str = "") -> ProviderInfo:
        """Look a provider up; RegistryError, with the nearest name and `where`, if it is none."""
        if name not in self.providers:
            raise RegistryError(
                f"There is no provider {name!r}{_nearest(name, self.providers)}{where}. Known are "
                f"{', '.join(sorted(self.providers)) or 'none'}; more can be listed in models.yaml."
            )
        return self.providers[name]

    def model(self, name: str, *, provider: str | None = None) -> ModelInfo:
        """Look a model up, by its name or that of its snapshot (gpt-5-mini-2025-08-07).

        With a provider named, any model will do: one that is not listed has no known price and
        window, and a listed one at another provider loses its price. Gateways call models
        VENDOR/NAME and pass the vendor's price on: openai/gpt-4o at the provider openai is gpt-4o.
        Raises RegistryError if the provider is unknown, or the model is and no provider is named.
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
        """Return a question whether a similar name was meant; nothing if the name is listed."""
        return "" if self._listed(name) else _nearest(name, self.models)

    def _listed(self, name: str) -> ModelInfo | None:
        return self.models.get(name) or self.models.get(_DATED.sub("", name))


def _nearest(name: str, names: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
