from __future__ import annotations

from pathlib import Path

import pytest

from resources.errors import SetupError
from resources.llm.base import EFFORTS
from resources.llm.registry import PROJECT_MODELS, ModelRegistry, Price, RegistryError


@pytest.fixture
def registry() -> ModelRegistry:
    return ModelRegistry.load(PROJECT_MODELS)


@pytest.mark.parametrize(
    ("name", "provider", "window", "price"),
    [
        ("gpt-4o-mini", "openai", 128_000, Price(0.15, 0.60, 0.075)),
        ("gpt-5-mini", "openai", 400_000, Price(0.25, 2.00, 0.025)),
        ("gpt-5-mini-2025-08-07", "openai", 400_000, Price(0.25, 2.00, 0.025)),
        ("gpt-4-turbo", "openai", 128_000, Price(10, 30)),
        ("qwen3:8b", "ollama", 40_960, Price(0, 0)),
        ("qwen3:4b", "ollama", 262_144, Price(0, 0)),
    ],
)
def test_the_projects_registry_holds_models_of_today_and_of_the_published_table(
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
    registry = ModelRegistry.load(PROJECT_MODELS, own)
    assert registry.model("gpt-4o").price == Price(2.5, 10, 1.25)
    assert registry.model("gpt-4o-mini").price == Price(0.15, 0.60, 0.075)
    assert registry.model("big-model").price is None
    lab = registry.provider("lab")
    assert (lab.requests_per_minute, lab.tokens_per_minute, lab.max_concurrent) == (30, None, 2)


def test_an_unknown_model_works_at_a_named_provider_with_an_unknown_price(
    registry: ModelRegistry,
) -> None:
    model = registry.model("llama-9", provider="ollama")
    assert (model.context_window, model.price) == (None, None)


def test_a_known_model_at_another_provider_keeps_its_window_and_loses_its_price(
    registry: ModelRegistry,
) -> None:
    model = registry.model("gpt-4o", provider="ollama")
    assert (model.context_window, model.price) == (128_000, None)


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
        (
            "models:\n  x:\n    provider: openai\n    price: 3",
            r"models\.yaml:4: price is no mapping",
        ),
        ("models: {x: {provider: openai, price: {input: -1, output: 0}}}", "greater than"),
        (
            "models: {x: {provider: openai, prize: free}}",
            "'prize' is not a key here. Did you mean 'price'",
        ),
        ("providers: {x: {protocol: openai, base_url: 'file:///etc/passwd'}}", "base_url"),
        (
            "models:\n  x: {provider: openai}\n  x: {provider: ollama}",
            r"models\.yaml:3: The key 'x'",
        ),
        ("- a list", "This is no mapping of keys"),
    ],
)
def test_an_invalid_registry_file_is_refused_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    own = tmp_path / "models.yaml"
    own.write_text(text)
    with pytest.raises(SetupError, match=words):
        ModelRegistry.load(PROJECT_MODELS, own)


def test_a_missing_file_is_refused_and_an_empty_one_adds_nothing(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.yaml: There is no such file"):
        ModelRegistry.load(tmp_path / "none.yaml")
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing yet\n")
    assert (
        ModelRegistry.load(PROJECT_MODELS, empty).models
        == ModelRegistry.load(PROJECT_MODELS).models
    )


def test_every_price_has_a_day_and_efforts_are_sorted(registry: ModelRegistry) -> None:
    assert all(model.as_of for model in registry.models.values())
    for model in registry.models.values():
        efforts = [EFFORTS.index(each) for each in model.efforts or ()]
        assert efforts == sorted(efforts)
        assert (
            not model.efforts
            or "temperature" in model.refuses
            or "oss" in model.name
            or (model.provider == "ollama")
        )


def test_a_gateways_model_has_the_price_and_efforts_of_the_vendors_model(
    registry: ModelRegistry,
) -> None:
    model = registry.model("openai/gpt-5-mini", provider="openai")
    assert model.name == "openai/gpt-5-mini"
    assert (model.price, model.effort(None)) == (Price(0.25, 2.00, 0.025), "low")
    assert registry.model("azure/gpt-5-mini", provider="openai").price is None


def test_an_effort_is_the_nearest_that_the_model_takes(registry: ModelRegistry) -> None:
    luna, mini = registry.model("gpt-6-luna"), registry.model("gpt-5-mini")
    assert [luna.effort(each) for each in (None, "minimal", "max")] == ["low", "none", "max"]
    assert [mini.effort(each) for each in (None, "none", "max")] == ["low", "minimal", "high"]
    assert registry.model("qwen3:4b").effort(None) == "none"
    assert registry.model("gpt-4o").effort("high") is None
    assert registry.model("own", provider="ollama").effort("high") == "high"


def test_the_prices_of_services_are_data_that_a_users_file_replaces(tmp_path: Path) -> None:
    own = tmp_path / "models.yaml"
    own.write_text("services: {serper: {per_1000: 0.3}, mine: free}\n")
    services = ModelRegistry.load(PROJECT_MODELS, own).services
    assert (services["serper"], services["mine"], services["searxng"]) == (0.0003, 0.0, 0.0)
    assert "unheard-of" not in services
