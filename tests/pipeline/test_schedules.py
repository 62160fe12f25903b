"""Nightly launches, retention and webhook messages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.config import FactCheckConfig
from factible_assets.definitions import build_defs
from factible_assets.pipeline.checks.verdict_changes import FLIPS, check_flips, read_changes
from factible_assets.pipeline.notifications import failure_message, flips_message, send
from factible_assets.pipeline.retention import apply_retention
from factible_assets.pipeline.schedules import (
    OPTIONS_UNKNOWN,
    RECHECK_ASSETS,
    RENEWED,
    SCHEDULE,
    launches_for,
    nightly,
    recheck_config,
    run_requests,
)
from factible_assets.records.rows import VerdictChange
from factible_assets.runs.instance import open_instance
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.settings import Settings, SettingsError
from tests.pipeline.assets.conftest import DEMO_VIDEO
from tests.servers import MisbehavingServer, hang, respond
from tests.shortcuts import unused_instance
from tests.warehouse.samples import (
    FIRST_CHECK,
    fact_check,
    incomplete_verdict,
    stamp,
    verdict,
    write_asset,
)
from warehouse.rechecks import Launch
from warehouse.store import Warehouse

TICK = FIRST_CHECK + timedelta(days=40)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, recheck_limits={"cost_usd": None})


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Warehouse(tmp_path_factory.mktemp("checked") / "warehouse.duckdb")
    for number, video_id in enumerate("abc"):
        store.write_assets(video_id, fact_check(video_id), stamp=stamp(number))
    return store.path


@pytest.fixture
def store(settings: Settings, checked: Path) -> Warehouse:
    return Warehouse(shutil.copyfile(checked, str(settings.warehouse)))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    shutil.copytree(unused_instance(), tmp_path, dirs_exist_ok=True)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as opened:
        opened.add_dynamic_partitions("videos", ["a", "b", "c"])
        yield opened


def a_run(instance: dg.DagsterInstance, settings: Settings, **tags: str) -> None:
    job = build_defs(settings).resolve_job_def("fact_check")
    instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)


def test_nothing_is_launched_for_a_video_with_a_run_in_flight_or_without_a_partition(
    store: Warehouse, instance: dg.DagsterInstance, settings: Settings
) -> None:
    a_run(instance, settings, **{"dagster/partition": "a"})
    instance.delete_dynamic_partition("videos", "c")
    launches = launches_for(store, instance, settings, TICK)
    assert [launch.video_id for launch in launches] == ["b"]


def test_a_preview_of_a_night_records_no_launch(
    store: Warehouse, instance: dg.DagsterInstance, settings: Settings
) -> None:
    previewed = launches_for(store, instance, settings, TICK, preview=True)
    assert [launch.video_id for launch in previewed] == ["a", "b", "c"]
    assert store.query("FROM recheck_launches").is_empty()
    a_run(instance, settings, **{"dagster/partition": "a"})
    launches = launches_for(store, instance, settings, TICK)
    assert [launch.video_id for launch in launches] == ["b", "c"]


def test_the_schedule_asks_for_one_tagged_run_per_video(
    store: Warehouse, instance: dg.DagsterInstance, settings: Settings
) -> None:
    defs = build_defs(settings)
    schedule = defs.resolve_schedule_def(SCHEDULE)
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 2 * * *", "UTC")
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=TICK, repository_def=defs.get_repository_def()
    ) as context:
        requests = schedule.evaluate_tick(context).run_requests
    assert requests is not None
    assert [request.partition_key for request in requests] == ["a", "b", "c"]
    assert len({request.run_key for request in requests}) == 3
    for request in requests:
        assert request.tags["video"] == request.partition_key
        assert {key.to_user_string() for key in request.asset_selection or ()} == set(RENEWED)
        assert request.run_config["ops"]["claim_checks"]["config"]["renew"] is True


def test_queries_that_a_service_failed_to_write_are_in_the_run() -> None:
    launches = [Launch("v", TICK, "why", True, "talks")]
    (request,) = run_requests(launches, lambda _: {}, print)
    assert {key.to_user_string() for key in request.asset_selection or ()} == set(RECHECK_ASSETS)
    assert {*RECHECK_ASSETS} - {*RENEWED} == {"queries"}
    assert request.tags["corpus"] == "talks"


def test_a_recheck_uses_the_options_of_the_last_check() -> None:
    launches = [Launch(each, TICK, "why", False) for each in ("v", "w")]
    known: dict[str, dict[str, Any]] = {
        "v": {"strategy": "best", "search": {"web": "miniature"}},
        "w": {"no_such_option": 1},
    }
    said: list[str] = []
    configs = [
        request.run_config["ops"]["claim_checks"]["config"]
        for request in run_requests(launches, lambda video_id: known[video_id], said.append)
    ]
    assert [each["strategy"] for each in configs] == ["best", "standard"]
    assert [each["search"]["web"] for each in configs] == ["miniature", "auto"]
    assert all(each["renew"] for each in configs)
    assert [each.partition(":")[0] for each in said] == ["w"], "whose options are none of today's"


def test_unknown_options_cause_a_warning() -> None:
    said: list[str] = []
    assert recheck_config(None, say=said.append).renew
    assert recheck_config({}, say=said.append).renew
    assert said == [OPTIONS_UNKNOWN]


def test_given_options_replace_those_of_the_last_check() -> None:
    last = {"search": {"web": "miniature", "max_results": 4}}
    search = recheck_config(last, {"web": "archive"}, say=print).search
    assert (search.web, search.max_results) == ("archive", 4)


def test_a_folder_without_checks_is_skipped_with_a_sentence(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    defs = build_defs(Settings(home=tmp_path / "empty"))
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=TICK, repository_def=defs.get_repository_def()
    ) as context:
        result = defs.resolve_schedule_def(SCHEDULE).evaluate_tick(context)
    assert result.run_requests == []
    assert "No video was checked yet" in str(result.skip_message)


def test_a_cron_expression_of_five_wrong_fields_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="FACTIBLE_RECHECK_SCHEDULE is no cron"):
        nightly(Settings(home=tmp_path, recheck_schedule="99 99 * * *"))


# --- The check on flips -------------------------------------------------------------------------


def flip(store: Warehouse, *, incomplete_first: bool = False) -> None:
    """Store a run, run-9, that changes the verdict of one claim."""
    if incomplete_first:
        row = incomplete_verdict("a", 1)
        write_asset(store, "verdicts", "a", [row], stamp=stamp(8), code_version="1")
    rows = [verdict("a", 1).model_copy(update={"stance": "refutes"}), verdict("a", 2)]
    write_asset(store, "verdicts", "a", rows, stamp=stamp(9), code_version="1")


@pytest.mark.parametrize("incomplete_first", [False, True])
def test_a_flip_is_found_also_across_a_failed_recheck(
    store: Warehouse, incomplete_first: bool
) -> None:
    flip(store, incomplete_first=incomplete_first)
    changes = read_changes(store, "a", "run-9")
    assert [(each.previous_stance, each.stance) for each in changes.flips] == [
        ("supports", "refutes")
    ]
    assert read_changes(store, "a", "run-8").flips == ()


def test_the_check_warns_of_flips_and_never_blocks(store: Warehouse) -> None:
    assert not FLIPS.blocking
    flip(store)
    turned = check_flips(read_changes(store, "a", "run-9"), {})
    assert (turned.passed, turned.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "supports → refutes" in str(turned.metadata["changes"].value)
    calm = check_flips(read_changes(store, "a", "run-0"), {})
    assert calm.passed
    assert calm.metadata["flips"].value == 0


# --- Notifications ------------------------------------------------------------------------------

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FLIP = VerdictChange(
    *("c", "Sugar | [x](y)", "flip", "supports", "refutes", "low", "low", "llm", "llm"),
    *(NOW, NOW, "run-1", "run-2"),
)


async def test_a_webhook_on_a_private_network_gets_json(server: MisbehavingServer) -> None:
    server.on("/hook", respond("ok"))
    url = f"http://127.0.0.1:{server.port}/hook"
    assert await send(url, flips_message("v", "Talk", "run", [FLIP] * 12)) is None
    (asked,) = server.asked
    body = asked.json
    assert isinstance(body, dict)
    assert asked.headers["content-type"] == "application/json"
    assert (body["event"], len(body["flips"])) == ("verdict_flips", 12)
    assert body["text"].startswith("12 verdicts of Talk flipped.")
    assert "and 2 more" in body["text"]


def test_words_of_a_video_mention_nobody_in_a_chat() -> None:
    message = flips_message("v", "Talk <!channel> @here", "run", [FLIP])
    assert message["text"].startswith("1 verdict of Talk &lt;!channel&gt; @\u200bhere flipped.")
    assert message["title"] == "Talk <!channel> @here"


async def test_a_silent_webhook_gets_one_message(
    monkeypatch: pytest.MonkeyPatch, server: MisbehavingServer
) -> None:
    monkeypatch.setattr("factible_assets.pipeline.notifications._WEBHOOK_SECONDS", 0.5)
    server.on("/hook", hang())
    message = failure_message("v", "recheck", "0123456789", "search: no credits")
    said = await send(f"http://127.0.0.1:{server.port}/hook", message)
    assert said is not None
    assert "did not answer in 0.5 seconds" in said
    assert len(server.asked) == 1


async def test_a_failed_message_is_logged_without_the_secret_address() -> None:
    message = failure_message("v", "recheck", "0123456789", "search: no credits")
    assert "search: no credits" in message["text"]
    async with MisbehavingServer() as server:
        server.on("/secret-path", respond("no", status=403))
        refused = await send(f"http://127.0.0.1:{server.port}/secret-path", message)
    gone = await send(f"http://127.0.0.1:{server.port}/secret-path", message)
    assert refused is not None
    assert gone is not None
    assert "403" in refused
    assert "secret-path" not in refused + gone


def test_the_address_of_the_webhook_is_in_no_definition(tmp_path: Path) -> None:
    url = "https://hooks.example/secret-path"
    defs = build_defs(Settings(home=tmp_path, notify_url=url))
    assert "secret-path" not in repr(defs)
    status = {each.name: each.default_status for each in defs.sensors or ()}
    assert status["notify_flips"] is dg.DefaultSensorStatus.RUNNING
    off = build_defs(Settings(home=tmp_path))
    assert {each.default_status for each in off.sensors or () if "notify" in each.name} == {
        dg.DefaultSensorStatus.STOPPED
    }


# --- Retention ----------------------------------------------------------------------------------


def test_retention_of_an_empty_folder_does_nothing(settings: Settings) -> None:
    now = datetime.now(UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        removed = apply_retention(settings, instance, now=now)
    assert (removed.texts, removed.bytes_freed, removed.answers) == (0, 0, {})
    assert not settings.warehouse.exists()


def test_the_retention_job_runs_and_leaves_verdicts(store: Warehouse, settings: Settings) -> None:
    before = store.query("SELECT * FROM verdict_history ORDER BY ALL").rows()
    job = build_defs(settings).resolve_job_def("retention")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance).success
    assert store.query("SELECT * FROM verdict_history ORDER BY ALL").rows() == before


def test_retention_deletes_old_runs_except_those_of_current_sets(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    video = StoredVideo(DEMO_VIDEO, settings)
    outcomes = [
        run_video(video, config=FactCheckConfig(), assets=("transcripts",)) for _ in range(2)
    ]
    first, second = (outcome.run_id or "" for outcome in outcomes)
    later = datetime.now(UTC) + timedelta(days=91)
    with open_instance(settings) as instance:
        counted = apply_retention(settings, instance, now=later, dry_run=True)
        assert (counted.runs, instance.get_run_by_id(first) is None) == (1, False)
        assert apply_retention(settings, instance, now=datetime.now(UTC)).runs == 0
        assert apply_retention(settings, instance, now=later).runs == 1
        assert instance.get_run_by_id(first) is None
        assert instance.get_run_by_id(second) is not None
        known = instance.get_materialized_partitions(dg.AssetKey("transcripts"))
    assert known == {DEMO_VIDEO}
    assert not list((tmp_path / "dagster").rglob(f"{first}.db"))
