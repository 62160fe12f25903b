"""A judging from beginning to end, over a stored check and a real wire format."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from factible_assets.corpora.reading import CorporaReading
from factible_assets.errors import FactibleError
from factible_assets.evaluation.judging.judge import Rubric, rubrics
from factible_assets.evaluation.outcomes import UnknownCorpusError
from factible_assets.runs.judge import JudgingPlan, JudgingResult, plan_judging, run_judging
from factible_assets.services.models import names_models, plan_judge
from factible_assets.settings import Settings
from resources.errors import SetupError
from tests.cli.stored import VIDEO_ID, store_sample
from tests.evaluation.judging.scripted import answer, scoring
from tests.resources.llm.servers import CHAT, bodies, depending, fail, say
from tests.servers import MisbehavingServer
from warehouse.bookkeeping import read_judgements
from warehouse.store import Warehouse

LABELS = rubrics(["label_justification"])


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on(CHAT["openai"], scoring())
    return server


@pytest.fixture
def store(tmp_path: Path) -> Warehouse:
    return store_sample(tmp_path / "home")


def settings(
    store: Warehouse, server: MisbehavingServer | None = None, **values: object
) -> Settings:
    address = f"http://127.0.0.1:{server.port}/v1" if server else "http://127.0.0.1:9/v1"
    given = {
        "home": store.path.parent,
        "openai_base_url": address,
        "openai_api_key": SecretStr("sk-judge-canary"),
        "stage_models": {"judge": "gpt-4o-mini"},
        **values,
    }
    return Settings.model_validate(given)


def planned(store: Warehouse, given: Settings, asked: Sequence[Rubric], **of: Any) -> JudgingPlan:
    return plan_judging(store, CorporaReading(), plan_judge(given), asked, **of)


async def judged(
    store: Warehouse, given: Settings, asked: Sequence[Rubric], **of: Any
) -> JudgingResult:
    plan = await asyncio.to_thread(planned, store, given, asked, **of)
    return await run_judging(given, store, plan, plan_judge(given))


async def test_everything_is_judged_once_stored_with_its_calls_and_published(
    store: Warehouse, server: MisbehavingServer
) -> None:
    given = settings(store, server, caching=False)
    result = await judged(store, given, rubrics())
    assert set(result.outcomes) == {"ok"}
    assert result.asked == len(bodies(server)) > 10
    assert result.usd > 0
    kept = store.query("FROM judgements")
    assert kept.height == result.asked
    assert set(kept["prompt_version"].str.split("-").list.first()) == {
        each.name for each in rubrics()
    }
    assert set(kept["provider"]) == {"openai"}
    calls = store.query("SELECT judgement_id, input_tokens FROM judge_calls")
    assert set(calls["judgement_id"]) == set(kept["judgement_id"])
    assert Warehouse(given.published).query("FROM judgements").height == result.asked
    shown = store.query(
        "SELECT n, mean_score, mean_normalised, scored_1 FROM judge_scores "
        "WHERE video_id = ? AND criterion = 'label_justification'",
        [VIDEO_ID],
    )
    assert shown.rows() == [(4, 1.0, 0.5, 4)]
    assert (await judged(store, given, LABELS)).asked == 0
    other = settings(store, server, stage_models={"judge": "gpt-4o"}, caching=False)
    assert (await judged(store, other, LABELS)).asked == 4
    assert len(bodies(server)) == result.asked + 4


async def test_an_outage_is_a_row_without_a_score_and_replaces_none(
    store: Warehouse, server: MisbehavingServer
) -> None:
    given = settings(store, server)
    server.on(CHAT["openai"], fail(401))
    down = await judged(store, given, LABELS)
    assert down.outcomes == {"infra_error": 4}
    rows = store.query("SELECT score, normalised, quote, outcome, reason FROM current_judgements")
    assert set(rows["outcome"]) == {"infra_error"}
    assert rows["score"].null_count() == rows["normalised"].null_count() == 4
    assert all("refused the API key" in reason for reason in rows["reason"])
    assert not any("sk-judge-canary" in reason for reason in rows["reason"])
    (scores,) = store.query(
        "SELECT n, mean_normalised, without_score FROM judge_scores WHERE video_id IS NOT NULL"
    ).rows()
    assert scores == (0, None, 4)
    server.on(CHAT["openai"], scoring())
    plan = await asyncio.to_thread(planned, store, given, LABELS)
    assert (await run_judging(given, store, plan, plan_judge(given))).outcomes == {"ok": 4}
    assert store.query("SELECT count(score) FROM current_judgements").item() == 4
    assert store.query("FROM judgements").height == 8

    server.on(CHAT["openai"], fail(401))
    uncached = settings(store, server, caching=False)
    # The old plan has no answers, so this judging asks all questions.
    down = await run_judging(uncached, store, plan, plan_judge(uncached))
    assert down.outcomes == {"infra_error": 4}
    assert set(store.query("SELECT outcome FROM current_judgements")["outcome"]) == {"ok"}
    known = read_judgements(store, [task.judgement_id for task in plan.tasks])
    assert {row.outcome for row in known.values()} == {"ok"}


async def test_many_outages_in_a_row_stop_a_judging(
    store: Warehouse, server: MisbehavingServer
) -> None:
    server.on(CHAT["openai"], fail(401))
    result = await judged(store, settings(store, server), rubrics())
    assert result.stopped is not None
    assert "failed in a row" in result.stopped
    assert result.not_asked > 0
    assert set(result.outcomes) == {"infra_error"}


async def test_a_cost_limit_stops_a_judging_and_the_next_one_resumes_it(
    store: Warehouse, server: MisbehavingServer
) -> None:
    tight = settings(store, server, budget_usd={"run": 0.0008})
    result = await judged(store, tight, rubrics())
    assert 0 < result.asked == len(bodies(server))
    assert result.usd <= 0.0008
    assert result.not_asked > 0
    assert result.stopped is not None
    assert "FACTIBLE_BUDGET_USD" in result.stopped
    assert store.query("FROM judgements").height == result.asked


async def test_scores_before_an_interruption_are_stored(
    store: Warehouse, server: MisbehavingServer
) -> None:
    asked = asyncio.Event()
    seen = 0

    def choose(body: dict[str, object]):  # type: ignore[no-untyped-def]
        nonlocal seen
        seen += 1
        if seen > 3:
            asked.set()
            return say("openai", answer(body, 1), after=60.0)
        return say("openai", answer(body, 1))

    server.on(CHAT["openai"], depending(choose))
    given = settings(store, server)
    plan = await asyncio.to_thread(planned, store, given, rubrics())
    heard = asyncio.Event()

    def listen(_row: object, done: int, _of: int) -> None:
        if done == 3:
            heard.set()

    judging = asyncio.create_task(run_judging(given, store, plan, plan_judge(given), listen))
    await asked.wait()
    await heard.wait()
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    assert store.query("FROM judgements").height == 3
    later = await asyncio.to_thread(planned, store, given, rubrics())
    assert len(later.unscored) == len(plan.unscored) - 3


def test_a_sample_is_stable_and_part_of_a_larger_one(store: Warehouse) -> None:
    def drawn(size: int) -> set[str]:
        plan = planned(store, settings(store), rubrics(["claim_quality"]), sample=size)
        return {task.judgement_id for task in plan.tasks}

    two = drawn(2)
    assert len(two) == 2
    assert two == drawn(2) < drawn(4)
    assert len(drawn(100)) == 5


async def test_an_estimate_uses_the_tokens_of_recorded_judgements(
    store: Warehouse, server: MisbehavingServer
) -> None:
    given = settings(store, server)
    await judged(store, given, LABELS, sample=2)
    plan = await asyncio.to_thread(planned, store, given, rubrics())
    estimates = {each.criterion: each for each in await asyncio.to_thread(plan.estimate, store)}
    label, quality = estimates["label_justification"], estimates["claim_quality"]
    assert (label.subjects, label.judged, label.calls) == (4, 2, 2)
    assert (label.input_tokens, label.output_tokens, label.tokens_from) == (240, 60, "recorded")
    assert quality.tokens_from == "assumed"
    assert quality.input_tokens > 1_000
    assert quality.usd is not None


def test_a_missing_judge_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    bare: dict[str, object] = dict.fromkeys(("openai_api_key", "openai_base_url", "model"))
    with pytest.raises(SetupError, match="FACTIBLE_STAGE_MODELS=judge=ollama"):
        plan_judge(Settings.model_validate({"home": tmp_path, **bare}))
    named = Settings.model_validate({"home": tmp_path, **bare, "stage_models": {"judge": "gpt-4o"}})
    with pytest.raises(SetupError, match="needs OPENAI_API_KEY"):
        plan_judge(named)
    assert not names_models(named), "a judge is no reason to ask a model for verdicts"


def test_missing_videos_and_corpora_are_refused(tmp_path: Path, store: Warehouse) -> None:
    with pytest.raises(UnknownCorpusError, match="nowhere"):
        planned(store, settings(store), LABELS, corpora=["nowhere"])
    empty = Warehouse(tmp_path / "empty.duckdb")
    with pytest.raises(FactibleError, match="Check them first"):
        planned(empty, settings(empty), LABELS)
