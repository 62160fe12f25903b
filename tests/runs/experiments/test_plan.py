"""Variants of an experiment, and the keys of their stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.config import FactCheckConfig, OptionError
from factible_assets.records.rows import VideoRows
from factible_assets.runs.experiments.plan import (
    PRESETS,
    STAGES,
    Variant,
    checked_value,
    expand,
    options,
    settings_of,
)
from factible_assets.runs.experiments.stage_keys import StageKeys, stage_keys
from factible_assets.runs.experiments.variant_services import choose
from factible_assets.settings import Settings
from tests.reasoners.material import VIDEO, transcript

AROUND: dict[str, Any] = {"subject": "a video", "makers": {}, "code": "code"}


def names(**design: Any) -> list[str]:
    return [variant.name for variant in expand(**design)]


def test_without_lists_there_is_one_variant() -> None:
    (variant,) = expand(fixed={"max_claims": 4})
    assert variant.name == "base"
    assert variant.config.claims.max_claims == 4


def test_lists_make_every_combination() -> None:
    assert names(sweeps={"max_claims": (1, 3), "max_queries": (1, 2)}) == [
        "max_claims=1,max_queries=1",
        "max_claims=1,max_queries=2",
        "max_claims=3,max_queries=1",
        "max_claims=3,max_queries=2",
    ]


def test_one_factor_at_a_time_changes_one_option_of_the_base() -> None:
    factors = {"max_queries": (1, 3, 5), "min_margin": (0.2, 0.4)}
    variants = [*expand(fixed={"max_claims": 10}, factors=factors)]
    # 3 queries and a margin of 0.2 are the defaults, so they are the base itself.
    assert [each.name for each in variants] == [
        "base",
        "max_queries=1",
        "max_queries=5",
        "min_margin=0.4",
    ]
    base = variants[0].config
    for each in variants[1:]:
        changed = each.config.model_dump()
        differing = {key for key in changed if changed[key] != base.model_dump()[key]}
        assert len(differing) == 1
        assert each.config.claims.max_claims == 10


def test_the_named_strategies_are_the_published_ones() -> None:
    variants = expand(strategies=PRESETS)
    sizes = {
        each.name: (
            each.config.claims.max_claims,
            each.config.queries.max_queries,
            each.config.search.max_results,
        )
        for each in variants
    }
    assert sizes == {"minimal": (1, 1, 1), "deep": (3, 4, 5), "broad": (10, 1, 2)}


def test_a_strategy_overrides_fixed_settings() -> None:
    (variant,) = expand(fixed={"max_claims": 9}, strategies={"mine": {"max_claims": 2}})
    assert variant.config.claims.max_claims == 2


def test_factors_are_tried_around_every_strategy() -> None:
    two = {"a": {"max_claims": 1}, "b": {"max_claims": 2}}
    assert names(strategies=two, factors={"max_queries": (5,)}) == [
        "a",
        "a,max_queries=5",
        "b",
        "b,max_queries=5",
    ]


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 10), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 10), max_size=3, unique=True),
)
def test_variants_have_distinct_names_and_distinct_settings(
    claims: list[int], queries: list[int], results: list[int]
) -> None:
    sweeps = {"max_claims": claims, "max_queries": queries}
    variants = [*expand(sweeps=sweeps, factors={"max_results": results})]
    assert len({each.name for each in variants}) == len(variants)
    assert len({each.config.model_dump_json() for each in variants}) == len(variants)


# --- Options ------------------------------------------------------------------------------------


def test_an_experiment_can_set_every_option() -> None:
    for name, option in options().items():
        if option.place and option.default is not None:
            assert (
                Variant("v", {name: checked_value(name, option.default)}).config
                == FactCheckConfig()
            )


def test_text_is_converted_to_the_type_of_the_option() -> None:
    assert checked_value("max_claims", "7") == 7
    assert checked_value("min_margin", "0.5") == 0.5
    assert checked_value("enough_origins", None) is None
    assert checked_value("published_before", "2020-01-02") == "2020-01-02"
    assert checked_value("exclude_domains", "a.org, b.org") == "a.org, b.org"
    assert Variant("v", {"exclude_domains": "a.org, b.org"}).config.search.exclude_domains == (
        "a.org",
        "b.org",
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_claims", 0), ("max_claims", "many"), ("web", "moon"), ("model", ""), ("model", 3)],
)
def test_a_value_out_of_range_names_its_option(option: str, value: object) -> None:
    with pytest.raises(OptionError) as caught:
        checked_value(option, value)
    assert option in caught.value.sentence


def test_a_model_for_all_stages_replaces_those_of_the_machine() -> None:
    machine = Settings(model="gpt-4o", stage_models={"claims": "gpt-4-turbo"})
    one = settings_of({"model": "gpt-4o-mini"}, machine)
    assert (one.model, one.stage_models) == ("gpt-4o-mini", {})
    both = settings_of({"model": "gpt-4o-mini", "model_evidence": "qwen3:8b"}, machine)
    assert (both.model, both.stage_models) == ("gpt-4o-mini", {"evidence": "qwen3:8b"})
    stage = settings_of({"model_evidence": "qwen3:8b"}, machine)
    assert stage.model == "gpt-4o"
    assert stage.stage_models == {"claims": "gpt-4-turbo", "evidence": "qwen3:8b"}
    assert machine.stage_models == {"claims": "gpt-4-turbo"}


def test_a_variant_that_names_a_model_uses_it() -> None:
    assert Variant("v", {"model": "gpt-4o"}).reasoners.reasoner == "llm"
    assert Variant("v", {"max_claims": 1}).reasoners.reasoner == "auto"
    assert Variant("v", {"reasoner": "embedded"}).reasoners.reasoner == "embedded"


def test_a_variant_with_prompt_files_asks_a_model_and_reads_them_from_the_data_folder(
    tmp_path: Path,
) -> None:
    values = {"prompt_files": "prompts/short"}
    assert Variant("v", values).reasoners.reasoner == "llm"
    assert settings_of(values, Settings(home=tmp_path)).prompt_files == tmp_path / "prompts/short"


# --- Keys ---------------------------------------------------------------------------------------


def differing(first: dict[str, str], second: dict[str, str]) -> list[str]:
    return [stage for stage in STAGES if first[stage] != second[stage]]


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        ({"max_claims": 7}, "claims"),
        ({"max_queries": 7}, "queries"),
        ({"max_results": 7}, "search_hits"),
        ({"enough_origins": 2}, "evidence"),
        ({"min_margin": 0.5}, "verdicts"),
    ],
)
def test_an_option_changes_the_keys_of_its_stage_and_of_later_ones(
    change: dict[str, int], stage: str
) -> None:
    plain = stage_keys(FactCheckConfig(), **AROUND)
    turned = stage_keys(Variant("v", change).config, **AROUND)
    assert differing(plain, turned) == list(STAGES[STAGES.index(stage) :])


def test_the_key_names_the_chosen_reasoner_and_not_the_option() -> None:
    plain = stage_keys(FactCheckConfig(), **AROUND)
    assert stage_keys(Variant("v", {"reasoner": "embedded"}).config, **AROUND) == plain
    assert stage_keys(Variant("v", {"web": "miniature"}).config, **AROUND) == plain
    other = AROUND | {"makers": {"evidence": "another model"}}
    assert differing(plain, stage_keys(FactCheckConfig(), **other)) == ["evidence", "verdicts"]


@pytest.mark.parametrize("other", [{"subject": "another video"}, {"code": "newer code"}])
def test_the_transcript_and_the_code_change_all_keys(other: dict[str, str]) -> None:
    plain = stage_keys(FactCheckConfig(), **AROUND)
    assert differing(plain, stage_keys(FactCheckConfig(), **AROUND | other)) == list(STAGES)


def test_another_effort_makes_another_key(tmp_path: Path) -> None:
    variant = Variant("v", {"model": "gpt-5-mini", "web": "miniature"})
    said = VideoRows(videos=(VIDEO,), transcripts=(transcript("Honey keeps."),))

    def key(**given: Any) -> str:
        made = Settings(home=tmp_path, **given)
        return StageKeys(made).of(variant.config, said, choose(variant, made, None))["claims"]

    assert key(openai_api_key="k") != key(openai_api_key="k", reasoning_effort="high")
