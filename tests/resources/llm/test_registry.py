from __future__ import annotations

from pathlib import Path

import pytest

from resources.llm.limits import RateLimits
from resources.llm.registry import ModelRegistry, Price, RegistryError

PROJECT = Path(__file__).resolve().parents[3] / "corpora" / "models.yaml"


@pytest.fixture
def registry() -> ModelRegistry:
    return ModelRegistry.load(PROJECT)


@pytest.mark.parametrize(
    ("name", "provider", "window", "price"),
    [
        ("gpt-4o-mini", "openai", 128_000, Price(0.15, 0.60)),
        ("gpt-4o", "openai", 128_000, Price(5, 15)),
        ("gpt-4-turbo", "openai", 128_000, Price(10, 30)),
        ("qwen3:8b", "ollama", 40_960, Price(0, 0)),
        ("qwen3:4b", "ollama", 262_144, Price(0, 0)),
    ],
)
def test_the_projects_registry_holds_the_models_of_the_published_table(
    registry: ModelRegistry, name: str, provider: str, window: int, price: Price
) -> None:
    model = registry.model(name)
    assert (model.provider, model.context_window, model.price) == (provider, window, price)


def test_a_call_costs_what_its_tokens_cost(registry: ModelRegistry) -> None:
    price = registry.model("gpt-4o-mini").price
    assert price is not None
    assert price.cost(1_000_000, 1_000_000) == pytest.approx(0.75)
    assert price.cost(2_000, 500) == pytest.approx(0.0006)
    assert Price(10, 0, 1).cost(100, 0, cached_tokens=500) == pytest.approx(0.0001)


def test_a_users_file_adds_and_replaces(tmp_path: Path) -> None:
    own = tmp_path / "models.yaml"
    own.write_text(
        "providers:\n"
        "  lab: {protocol: openai, base_url: 'http://lab.example:8000/v1',"
        " requests_per_minute: 30, max_concurrent: 2}\n"
        "models:\n"
        "  gpt-4o: {provider: openai, price: {input: 2.5, output: 10, cached_input: 1.25}}\n"
        "  big-model: {provider: lab, context_window: 32768}\n"
    )
    registry = ModelRegistry.load(PROJECT, own)
    assert registry.model("gpt-4o").price == Price(2.5, 10, 1.25)
    assert registry.model("gpt-4o-mini").price == Price(0.15, 0.60)
    assert not registry.model("big-model").price_known
    assert registry.provider("lab").limits == RateLimits(30, None, 2)


def test_an_unknown_model_works_at_a_named_provider_with_an_unknown_price(
    registry: ModelRegistry,
) -> None:
    model = registry.model("llama-9", provider="ollama")
    assert (model.context_window, model.price, model.price_known) == (None, None, False)


def test_a_known_model_at_another_provider_keeps_its_window_and_loses_its_price(
    registry: ModelRegistry,
) -> None:
    model = registry.model("gpt-4o", provider="ollama")
    assert (model.context_window, model.price_known) == (128_000, False)


def test_an_unknown_model_or_provider_is_refused_with_the_nearest_name(
    registry: ModelRegistry,
) -> None:
    with pytest.raises(RegistryError, match=r"did you mean 'gpt-4o-mini'\?"):
        registry.model("gpt4o-mini")
    with pytest.raises(RegistryError, match=r"did you mean 'ollama'\?"):
        registry.model("x", provider="olama")
    with pytest.raises(RegistryError, match="Known are ollama, openai"):
        registry.provider("zzz")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: {x: {provider: openia}}", r"did you mean 'openai'\?\) for the model 'x'"),
        ("models: {x: {provider: openai, price: 3}}", r"models\.x\.price"),
        ("models: {x: {provider: openai, price: {input: -1, output: 0}}}", "greater than"),
        ("models: {x: {provider: openai, prize: free}}", r"models\.x\.prize"),
        ("providers: {x: {protocol: openai, base_url: 'file:///etc/passwd'}}", "base_url"),
        ("models: [", "not valid YAML"),
        ("!!python/object/apply:os.getcwd []", "not valid YAML"),
        ("- a list", "wrong at the top"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_place(
    tmp_path: Path, text: str, words: str
) -> None:
    own = tmp_path / "models.yaml"
    own.write_text(text)
    with pytest.raises(RegistryError, match=words):
        ModelRegistry.load(PROJECT, own)


def test_a_missing_file_is_refused_and_an_empty_one_adds_nothing(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="cannot be read"):
        ModelRegistry.load(tmp_path / "none.yaml")
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing yet\n")
    assert ModelRegistry.load(PROJECT, empty).models == ModelRegistry.load(PROJECT).models
