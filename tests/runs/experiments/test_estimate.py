"""Estimates of the work and the cost of an experiment."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from factible_assets.records.tables import LlmCall
from factible_assets.runs.experiments import runner, stage_keys
from factible_assets.runs.experiments.estimate import Estimate, estimate
from factible_assets.runs.experiments.runner import run_experiment
from factible_assets.settings import Settings
from factible_assets.stages.ports import Arrivals
from tests.reasoners.material import CLAIM, PAGE, QUERY, VIDEO, reasoner
from tests.runs.experiments.material import Machine, corpora_of, experiment_of, settings_in
from tests.warehouse.samples import write_asset
from warehouse.rows import Stamp
from warehouse.store import Warehouse

MODELS = """
experiment: e
videos: [talk-one]
settings: {max_claims: 2, max_queries: 3, max_results: 4, verdicts_by: llm}
variants:
  cheap: {model: gpt-4o-mini}
  mixed: {model: gpt-4o-mini, model_verdicts: gpt-4o}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(stage_keys, "code_version", lambda: "code")
    return settings_in(tmp_path)


def estimated(text: str, settings: Settings, *, fresh: bool = False) -> Estimate:
    return estimate(experiment_of(text, settings), corpora_of(settings), settings, fresh=fresh)


def calls(plan: Estimate) -> dict[tuple[str, str], int]:
    return {(each.stage, each.model): each.calls for each in plan.calls}


def test_searches_and_pages_follow_from_the_options(settings: Settings) -> None:
    plan = estimated("experiment: e\nstrategies: [minimal, deep, broad]\n", settings)
    # Per video: claims × queries, and claims × queries × results. There are two videos.
    assert {each.variant: (each.searches, each.pages) for each in plan.variants} == {
        "minimal": (2 * 1, 2 * 1),
        "deep": (2 * 3 * 4, 2 * 3 * 4 * 5),
        "broad": (2 * 10, 2 * 10 * 2),
    }
    assert (plan.model_calls, plan.usd) == (0, 0.0)


def test_shared_stages_are_counted_once(settings: Settings) -> None:
    plan = estimated(MODELS, settings)
    # The same model reads the evidence in both variants, so that only the verdicts differ.
    assert calls(plan) == {
        ("claims", "openai/gpt-4o-mini"): 1,
        ("evidence", "openai/gpt-4o-mini"): plan.pages,
        ("verdicts", "openai/gpt-4o-mini"): 1,
        ("verdicts", "openai/gpt-4o"): 1,
    }
    assert [(each.compute, each.shared) for each in plan.variants] == [(6, 0), (1, 5)]
    assert plan.searches == 6
    assert plan.pages == 24


WIDE = """
experiment: e
videos: [talk-one]
settings: {model: gpt-4o-mini, max_claims: 7, max_queries: 3, max_results: 3}
"""


@pytest.mark.parametrize("together", [False, True])
def test_pages_are_counted_as_the_reasoner_reads_them(settings: Settings, together: bool) -> None:
    def answer(prompt: str) -> dict[str, Any]:
        names = re.findall(r"The clinic of (\w+) found", prompt)
        readings = [
            {"source": n, "sentences": [], "summary": name, "stance": "silent"}
            | {"confidence": 0.5, "relevance": 0.1}
            for n, name in enumerate(names, start=1)
        ]
        return {"readings": readings} if len(names) > 1 else readings[0]

    async def questions(pages: int) -> int:
        mind, model = reasoner(answer)
        arrivals = Arrivals(0)
        found = [
            replace(
                PAGE,
                canonical_url=f"https://{n}.example/",
                text=f"{PAGE.text}\nThe clinic of n{n} found that sugar does nothing.",
                arrivals=arrivals,
                together=together,
            )
            for n in range(pages)
        ]
        await asyncio.gather(*(mind.read_evidence(VIDEO, CLAIM, QUERY, each) for each in found))
        return len(model.questions)

    wide = WIDE.replace("{model", f"{{together: {str(together).lower()}, model")
    assert calls(estimated(wide, settings)) == {
        ("claims", "openai/gpt-4o-mini"): 1,
        ("evidence", "openai/gpt-4o-mini"): 7 * asyncio.run(questions(3 * 3)),
    }


def test_searches_that_do_not_come_with_the_claims_take_calls_of_their_own(
    settings: Settings,
) -> None:
    more = WIDE.replace("max_queries: 3", "max_queries: 5")
    assert calls(estimated(more, settings))["queries", "openai/gpt-4o-mini"] == 7
    other = WIDE.replace("{model", "{model_queries: gpt-4o, model")
    assert calls(estimated(other, settings))["queries", "openai/gpt-4o"] == 7


def test_pages_count_one_by_one_if_a_claim_stops_at_enough_origins(settings: Settings) -> None:
    plan = estimated(WIDE.replace("{model", "{enough_origins: 2, model"), settings)
    assert calls(plan)["evidence", "openai/gpt-4o-mini"] == plan.pages == 7 * 9


def test_an_investigation_by_a_model_counts_the_calls_of_its_budget(settings: Settings) -> None:
    plan = estimated(f"{WIDE[:-2]}, strategy: agentic, max_calls: 20}}", settings)
    assert calls(plan)["evidence", "openai/gpt-4o-mini"] == 7 * 20


def test_a_call_for_several_pages_takes_the_tokens_of_all(settings: Settings) -> None:
    joint = WIDE.replace("{model", "{together: true, model")
    wide = {each.stage: each for each in estimated(joint, settings).calls}["evidence"]
    alone = {each.stage: each for each in estimated(WIDE, settings).calls}["evidence"]
    assert (wide.calls, alone.calls) == (14, 63)
    assert wide.output_tokens == alone.output_tokens
    assert wide.input_tokens < 0.7 * alone.input_tokens


def test_calls_are_priced_by_the_registry(settings: Settings) -> None:
    plan = estimated(MODELS, settings)
    for each in plan.calls:
        read, written = (0.15, 0.60) if each.model.endswith("mini") else (2.50, 10)
        dollars = (each.input_tokens * read + each.output_tokens * written) / 1_000_000
        assert each.usd == pytest.approx(dollars)
        assert each.tokens_from == "assumed"
        assert each.input_tokens > 1_000 * each.calls
    assert plan.usd == pytest.approx(sum(each.usd or 0 for each in plan.calls)) != 0
    (missing,) = plan.missing
    assert "OPENAI_API_KEY is not set" in missing


def test_a_model_without_a_price_is_named_and_not_free(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    text = "experiment: e\nsettings: {max_claims: 1, model: openai/new-model}\n"
    plan = estimated(text, settings)
    assert plan.unpriced == ("openai/new-model",)
    assert {each.usd for each in plan.calls} == {None}


def test_tokens_are_the_average_of_recorded_calls(settings: Settings) -> None:
    def call(number: int, stage: str, model: str, tokens: int) -> LlmCall:
        return LlmCall.model_validate(
            {
                "call_id": str(number),
                "video_id": "old",
                "stage": stage,
                "provider": "openai",
                "model": model,
                "prompt_version": "1",
                "attempt": 1,
                "input_tokens": tokens,
                "output_tokens": 10,
                "cost_usd": 0.0,
                "latency_seconds": 0.1,
                "outcome": "ok",
            }
        )

    rows = [call(1, "claims", "gpt-4o-mini", 100), call(2, "claims", "gpt-4o-mini", 300)]
    store = Warehouse(settings.warehouse)
    stamp = Stamp("r", datetime(2026, 1, 2, tzinfo=UTC))
    write_asset(store, "claims", "old", rows, stamp=stamp, code_version="1")
    write_asset(
        store,
        "verdicts",
        "old",
        [call(3, "verdicts", "gpt-4-turbo", 7)],
        stamp=stamp,
        code_version="1",
    )
    by_call = {(each.stage, each.model): each for each in estimated(MODELS, settings).calls}
    claims = by_call["claims", "openai/gpt-4o-mini"]
    assert (claims.input_tokens, claims.tokens_from) == (200, "recorded")
    verdicts = by_call["verdicts", "openai/gpt-4o"]
    assert (verdicts.input_tokens, verdicts.tokens_from) == (7, "stage")
    assert by_call["evidence", "openai/gpt-4o-mini"].tokens_from == "assumed"


def test_stored_stages_are_not_counted_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "experiment: e\nvideos: [talk-one]\nsettings: {max_claims: 1}\n"
    monkeypatch.setattr(runner, "open_services", Machine().open)
    run_experiment(experiment_of(text, settings), corpora_of(settings), settings)
    done = estimated(text, settings).variants[0]
    assert (done.compute, done.done, done.searches) == (0, 6, 0)
    again = estimated(text, settings, fresh=True).variants[0]
    assert (again.compute, again.done) == (6, 0)
    wider = text.replace("max_claims: 1}", "max_claims: 1}\none_at_a_time: {min_margin: [0.5]}")
    plan = estimated(wider, settings)
    assert [(each.compute, each.shared, each.done) for each in plan.variants] == [
        (0, 0, 6),
        (1, 5, 0),
    ]


def test_a_dry_run_writes_nothing(settings: Settings) -> None:
    experiment = experiment_of("experiment: e\n", settings)
    before = sorted(settings.home.rglob("*"))
    plan = estimate(experiment, corpora_of(settings), settings)
    assert sorted(settings.home.rglob("*")) == before
    assert plan.transcripts_to_fetch == 0


def test_a_missing_transcript_is_counted_and_not_fetched(settings: Settings) -> None:
    (settings.home_corpora / "far.yaml").write_text("videos: [{id: dQw4w9WgXcQ, tags: [far]}]\n")
    plan = estimated("experiment: e\ntags: [far]\nsettings: {max_claims: 2}\n", settings)
    assert plan.transcripts_to_fetch == 1
    assert plan.searches == 2 * 3
