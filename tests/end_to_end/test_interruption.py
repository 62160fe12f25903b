"""Ctrl-C in the middle of a check, and the same command again: a real signal, a real run."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig
from factible_assets.runs import launch
from factible_assets.runs.instance import open_instance
from factible_assets.runs.launch import run_video
from factible_assets.runs.result import StoredVideo
from factible_assets.runs.reusable import find_reusable, input_tags
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES
from tests.end_to_end.loopback import (
    CHAT,
    SEARCH,
    VIDEO_URL,
    LoopbackWorld,
    answer_like_a_model,
    loopback_world,
    question,
)
from tests.patience import A_DAY
from tests.resources.transcripts.fake_youtube import VIDEO, WATCH
from tests.servers import Behaviour, Exchange, hang, respond_json
from warehouse.store import Warehouse


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run close what it has open, however slow the machine."""
    monkeypatch.setattr(launch, "_CLOSING_SECONDS", A_DAY)


def statuses(home: Path) -> list[str]:
    """Return how the runs of a data folder ended, oldest first."""
    with open_instance(Settings(home=home)) as instance:
        records = instance.get_run_records(ascending=True)
        return [record.dagster_run.status.value for record in records]


def counted(world: LoopbackWorld, table: str) -> int:
    return int(Warehouse(world.home / "warehouse.duckdb").query(f"FROM {table}").height)


async def answer_chat(exchange: Exchange) -> None:
    body = exchange.asked.json
    assert isinstance(body, dict)
    await respond_json(answer_like_a_model(body))(exchange)


class StopAt:
    """Answers as before; at the first question that is about evidence, somebody presses Ctrl-C."""

    def __init__(self, answer: Behaviour) -> None:
        self._answer = answer
        self.stopped = threading.Event()
        self.answered: Counter[str] = Counter()

    async def __call__(self, exchange: Exchange) -> None:
        body = exchange.asked.json
        assert isinstance(body, dict)
        shape = body["response_format"]["json_schema"]["name"]
        if shape == "Reading":
            if not self.stopped.is_set():
                self.stopped.set()
                os.kill(os.getpid(), signal.SIGINT)
            await hang()(exchange)  # the answer is on its way when the run ends
            return
        await self._answer(exchange)
        self.answered[question(exchange.asked)] += 1


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals reach the main thread alone",
)
def test_an_interrupted_check_is_canceled_and_the_same_command_resumes_it(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
        stop = StopAt(answer_chat)
        world.server.on(CHAT, stop)
        code, out, err = world.factible("check", VIDEO_URL, "--json")
        assert stop.stopped.is_set(), err
        assert (code, json.loads(out)["exit_code"]) == (130, 130)
        assert "is canceled" in err
        assert statuses(world.home) == ["CANCELED"]
        # The warehouse has the complete sets and no others.
        assert counted(world, "current_claims") == 2
        for name in ("queries", "evidence", "verdict_history"):
            assert counted(world, name) == 0, name

        asked_before = len(world.server.asked)
        world.server.on(CHAT, answer_chat)
        code, _, err = world.factible("check", VIDEO_URL)
        assert code == 0, err
        assert "Going on with the transcript and the 2 claims" in err
        assert statuses(world.home) == ["CANCELED", "SUCCESS"]
        again = world.server.asked[asked_before:]

    # The second check repeats neither the video, nor the searches, nor the model's answers.
    assert {asked.path for asked in again}.isdisjoint({WATCH, SEARCH})
    assert stop.answered
    assert [asked for asked in map(question, again) if asked in stop.answered] == []
    assert counted(world, "current_verdicts") == 2


def test_a_run_terminated_by_another_process_is_canceled(tmp_path: Path) -> None:
    """The Dagster UI, and any other process, marks the run; the process that has it notices."""
    with loopback_world(tmp_path) as world:
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}

        async def terminate(exchange: Exchange) -> None:
            with open_instance(Settings(home=world.home)) as instance:
                (run,) = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
                instance.report_run_canceling(run)
            await hang()(exchange)

        world.server.on(CHAT, terminate)
        code, _, err = world.factible("check", VIDEO_URL)
        assert code == 130, err
        assert "is canceled" in err
        assert statuses(world.home) == ["CANCELED"]


def test_claims_are_reused_unless_their_inputs_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SERPER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    words = "Bananas contain potassium-40. Town Oneham was founded in 1820."
    Path("talk.txt").write_text(words, encoding="utf-8")
    Path("pages").mkdir()
    Path("pages/town.txt").write_text("Oneham was founded in 1820.", encoding="utf-8")

    result = CliRunner().invoke(app, ["check", "talk.txt", "--pages", "pages"])
    assert result.exit_code in {0, 3}, result.stderr
    assert "Going on" not in result.stderr
    settings = load_settings()
    store = Warehouse(settings.warehouse)
    (video_id,) = store.query("FROM current_videos")["video_id"]
    evidence = store.query("SELECT via, rating FROM current_evidence WHERE status = 'ok'")
    assert set(evidence.rows()) == {("archive", "medium")}, "the user chose these pages"

    def reused(**options: Any) -> tuple[bool, bool]:
        """Tell whether a run with these options would reuse the transcript, and the claims."""
        video = StoredVideo(video_id, settings)
        config = FactCheckConfig(**options)
        tags = input_tags(video, config)
        with open_instance(settings) as instance:
            assets, _ = find_reusable(video.data(), instance, tags, "claims", config)
        return assets is not None, assets == ALL_STAGES

    assert reused() == (True, True)
    assert reused(search=SearchConfig(max_results=2)) == (True, True)
    assert reused(claims=ClaimsConfig(max_claims=1)) == (True, False)
    (copy,) = (settings.home_corpora / "transcripts").iterdir()
    copy.write_text(f"{words} The mayor owns 300 sheep.", encoding="utf-8")
    assert reused() == (False, False)


def test_a_check_waits_for_another_one_of_its_video(tmp_path: Path) -> None:
    class Waiting(Observer):
        def waiting(self) -> None:
            waited.append(self)

    waited: list[Observer] = []
    with loopback_world(tmp_path) as world:
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
        given = {name: value for name, value in world.environment.items() if value is not None}
        with mock.patch.dict(os.environ, given), ThreadPoolExecutor() as pool:
            check = partial(
                run_video,
                config=FactCheckConfig(),
                watch=lambda _: nullcontext(Waiting()),
                reuse="verdicts",
            )
            videos = [StoredVideo(VIDEO, load_settings()) for _ in range(2)]
            ended = list(pool.map(check, videos))
        questions = [each for each in map(question, world.server.asked) if CHAT in each]
    assert sorted(each.is_new for each in ended) == [False, True]
    assert statuses(world.home) == ["SUCCESS"]
    assert len(questions) == len(set(questions)), "the model was asked twice"
    assert len(waited) == 1
