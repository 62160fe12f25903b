"""The schedule `videos_due` retries missing transcripts a limited number of times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from factible_assets.definitions import build_defs
from factible_assets.pipeline import due_videos
from factible_assets.pipeline.assets.transcripts import DUE_TAG
from factible_assets.pipeline.due_videos import DUE_SCHEDULE, due_requests
from factible_assets.settings import Settings
from tests.warehouse.samples import fact_check, stamp
from warehouse.store import Warehouse

TICK = datetime(2026, 1, 2, 3, 20, tzinfo=UTC)
FAILED = dg.DagsterRunStatus.FAILURE


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
def ran(instance: dg.DagsterInstance, settings: Settings) -> Callable[..., None]:
    job = build_defs(settings).resolve_job_def("fact_check")
    instance.add_dynamic_partitions("videos", ["a", "b", "c", "d"])

    def run(video_id: str, status: dg.DagsterRunStatus = FAILED, due: bool = True) -> None:
        tags = {"dagster/partition": video_id, **({DUE_TAG: "transcript"} if due else {})}
        instance.create_run_for_job(job, status=status, tags=tags)

    return run


def test_a_video_whose_source_failed_is_checked_again_with_its_own_tags(
    instance: dg.DagsterInstance, settings: Settings, ran: Callable[..., None]
) -> None:
    ran("a")
    ran("a")
    ran("b", due=False)
    (request,) = due_requests(instance, settings, TICK)
    assert (request.partition_key, request.run_key) == ("a", "2026-01-02T03:20Z a")
    assert request.tags["launched_by"] == DUE_SCHEDULE


def test_checked_running_and_deleted_videos_are_not_due(
    instance: dg.DagsterInstance, settings: Settings, ran: Callable[..., None]
) -> None:
    for video_id in ("a", "b", "c", "gone"):
        ran(video_id)
    ran("b", dg.DagsterRunStatus.STARTED, due=False)
    Warehouse(settings.warehouse).write_assets("c", fact_check("c"), stamp=stamp(1))
    assert [each.partition_key for each in due_requests(instance, settings, TICK)] == ["a"]


def test_the_tries_of_a_video_and_the_videos_of_an_hour_are_limited(
    instance: dg.DagsterInstance,
    settings: Settings,
    ran: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(due_videos, "_MOST_TRIES", 3)
    monkeypatch.setattr(due_videos, "_DUE_PER_TICK", 2)
    for video_id in "aaabcd":
        ran(video_id)
    assert [each.partition_key for each in due_requests(instance, settings, TICK)] == ["d", "c"]
