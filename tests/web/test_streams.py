"""Launching and following runs, with scripted workers."""

from __future__ import annotations

import asyncio
import html
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import httpx
import pytest

from factible_assets.settings import Settings
from factible_assets.web import runs
from factible_assets.web.auth import Client, Clients
from factible_assets.web.models import CheckOrder, RunInfo, progress_update
from tests.patience import eventually
from tests.web.conftest import BOTH, OTHER_TOKEN, TOKEN, Serve, bearer
from tests.web.doubles import Script, events_of

STREAM = "/api/v1/fact-check/stream"
VIDEO = "everyday-beliefs-talk"
OTHER_VIDEO = "dQw4w9WgXcQ"
READING = progress_update("transcript_extraction", "Reading.", run_id="1", video_id=VIDEO)


def test_a_stream_has_named_and_numbered_events(serve: Serve, script: Script) -> None:
    script.at_once = True
    with serve().stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        heard = list(events_of(response))
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["location"] == f"/api/v1/runs/{script.worker().order.run_id}"
    assert [event.name for event in heard] == [event.data["step"] for event in heard]
    assert [event.number for event in heard] == list(range(1, 7))
    assert heard[-1].name == "complete"
    assert heard[-1].payload == {"result": {"video_id": VIDEO}}


def test_a_request_sets_the_config_of_its_run(serve: Serve, script: Script) -> None:
    script.at_once = True
    body = {
        "video_url": f"https://www.youtube.com/watch?v={OTHER_VIDEO}&list=PL1",
        "experiment_name": "my experiment",
        "max_claims": 20,
        "max_queries_per_claim": 5,
        "max_results_per_query": 10,
    }
    client = serve()
    assert client.post(STREAM, json=body).status_code == 200
    order = script.worker().order
    assert order.video_id == OTHER_VIDEO
    assert order.config.claims.max_claims == 20
    assert order.config.queries.max_queries == 5
    assert order.config.search.max_results == 10
    assert order.tags["experiment"] == "my experiment"
    client.post(STREAM, json={"video_url": VIDEO, "max_claims": None})
    assert script.worker(1).order.config.claims.max_claims == 20


def test_events_come_during_the_run(serve: Serve, script: Script) -> None:
    with serve().stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        script.worker().say(READING)
        events = events_of(response)
        assert next(events).name == "transcript_extraction"
        script.worker().complete()
        assert [event.name for event in events][-1] == "complete"


def test_an_event_without_a_number_breaks_a_silence(
    serve: Serve, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SILENCE_SECONDS", 0.05)
    with serve().stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        script.worker().say(READING)
        events = events_of(response, silences=True)
        silence = next(event for event in events if event.name == "still_running")
        later = next(event for event in events if event.data["progress"])
        script.worker().complete()
        numbers = [event.number for event in events if event.number]
    assert silence.number is None
    assert silence.data["message"] == "The run goes on."
    assert later.data["progress"] == 5
    assert numbers[-1] == 7


def test_a_fact_check_returns_the_address_of_its_run(
    serve: Serve, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(grace_seconds=0.0)
    answer = client.post("/api/v1/fact-check", json={"video_url": VIDEO})
    assert answer.status_code == 202
    run_id = script.worker().order.run_id
    assert answer.headers["location"] == f"/api/v1/runs/{run_id}"
    assert answer.json()["run_id"] == run_id
    assert answer.json()["video_id"] == VIDEO
    # Dagster records success before the result can be read.
    done = RunInfo.model_validate({**answer.json(), "status": "success"})
    monkeypatch.setattr(runs, "recorded_runs", lambda *_, **__: [done.model_copy()])
    place = answer.headers["location"]
    assert client.get(place).json()["status"] == "started"
    script.worker().complete()
    eventually(lambda: client.get(place).json()["status"] == "success")
    with client.stream("GET", answer.json()["events"]) as response:
        assert [event.name for event in events_of(response)][-1] == "complete"


def test_the_docs_show_every_address_and_a_working_client(
    serve: Serve, script: Script, tmp_path: Path
) -> None:
    client = serve()
    page = client.get("/docs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "style-src 'sha256-" in policy
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method in operations:
            assert f"<code>{method.upper()} {path}</code>" in page.text
    example = tmp_path / "client.py"
    shown = page.text.partition("<pre")[2].partition("<code>")[2].partition("</code>")[0]
    example.write_text(html.unescape(shown))
    address = client.address
    command = [sys.executable, str(example), address, VIDEO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        worker = script.worker()
        worker.say(
            progress_update(
                "complete", "Done.", result={"claims": [{"text": "It is.", "verdict": None}]}
            )
        )
        worker.vanish()
        out, _ = running.communicate()
    assert running.returncode == 0
    assert out.splitlines() == ["100 %  Done.", "None: It is."]


def test_the_same_request_joins_the_run_and_gets_all_events(serve: Serve, script: Script) -> None:
    client = serve(grace_seconds=0)
    link = {"video_url": f" {VIDEO} ", "experiment_name": "another name"}
    with client.stream("POST", STREAM, json={"video_url": VIDEO}) as first:
        script.worker().say(READING)
        one = events_of(first)
        heard = next(one)
        with client.stream("POST", STREAM, json=link) as second:
            events = events_of(second)
            assert next(events) == heard
            first.close()  # The run goes on, because somebody follows it.
            script.worker().complete()
            assert list(events)[-1].name == "complete"
    assert first.headers["location"] == second.headers["location"]
    assert [worker.cancelled for worker in script.workers] == [False]


async def test_a_worker_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "KILL_SECONDS", 0.1)
    program = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = await asyncio.create_subprocess_exec(*program, start_new_session=True)
    assert await runs.Worker(process).wait() == -signal.SIGKILL


async def test_a_joined_run_ends_if_its_video_cannot_be_listed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    clients = Clients.from_settings(settings, beyond_loopback=False)
    manager = runs.RunManager(settings, clients, Script().launch)
    begun, joined, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def fails() -> None:
        loop.call_soon_threadsafe(begun.set)
        joined.wait()
        raise OSError(28, "No space left on device")

    start = partial(manager.start, CheckOrder(video_id=VIDEO), Client("a"))
    first = asyncio.create_task(start(prepare=fails))
    await begun.wait()
    second = await start(prepare=fails)
    joined.set()
    with pytest.raises(OSError, match="No space left"):
        await first
    said = [event.message async for _, event in second.follow()]
    assert said == ["The check could not be prepared. Start it again."]
    assert second.info.status == "failure"


def test_other_settings_for_the_same_video_are_a_conflict(serve: Serve, script: Script) -> None:
    client = serve()
    with client.stream("POST", STREAM, json={"video_url": VIDEO}):
        run_id = script.worker().order.run_id
        refused = client.post(STREAM, json={"video_url": VIDEO, "max_claims": 9})
        assert refused.status_code == 409
        assert run_id in refused.json()["detail"]
        assert refused.headers["location"] == f"/api/v1/runs/{run_id}"
        script.worker().complete()


def test_too_many_runs_are_refused_with_a_time_to_retry(
    serve: Serve, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 1)
    client = serve()
    with client.stream("POST", STREAM, json={"video_url": VIDEO}):
        script.worker()
        refused = client.post(STREAM, json={"video_url": OTHER_VIDEO})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert "no more at once" in refused.json()["detail"]
        script.worker().complete()


def test_cancelling_ends_the_stream_with_an_error(serve: Serve, script: Script) -> None:
    client = serve()
    with client.stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        place = response.headers["location"]
        script.worker().say(READING)
        events = events_of(response)
        next(events)
        cancelled = client.delete(place)
        assert cancelled.status_code == 202
        (last,) = events
    assert script.worker().cancelled
    assert last.name == "error"
    assert last.data["progress"] == 100
    assert last.payload["cancelled"] is True
    again = client.delete(place)
    assert again.status_code == 409
    assert "canceled" in again.json()["detail"]


def test_a_client_that_hangs_up_cancels_its_run(serve: Serve, script: Script) -> None:
    with serve(grace_seconds=0).stream("POST", STREAM, json={"video_url": VIDEO}):
        script.worker()
    eventually(lambda: script.worker().cancelled)


def test_a_detached_run_goes_on_without_its_client_and_can_be_followed_again(
    serve: Serve, script: Script
) -> None:
    client = serve(grace_seconds=0)
    body = {"video_url": VIDEO, "detach": True}
    with client.stream("POST", STREAM, json=body) as response:
        place = response.headers["location"]
        script.worker().say(READING)
        next(events_of(response))
    script.worker().complete()
    with client.stream("GET", f"{place}/events") as response:
        names = [event.name for event in events_of(response)]
    assert names[0] == "transcript_extraction"
    assert names[-1] == "complete"
    assert not script.worker().cancelled


def test_a_client_that_reconnects_in_time_gets_the_rest(serve: Serve, script: Script) -> None:
    client = serve(grace_seconds=60)
    with client.stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        place = response.headers["location"]
        script.worker().say(READING)
        assert next(events_of(response)).number == 1
    headers = {"Last-Event-ID": "1"}
    with client.stream("GET", f"{place}/events", headers=headers) as response:
        script.worker().say(progress_update("claim_extraction", "Looking."))
        events = events_of(response)
        assert next(events).number == 2
        script.worker().complete()
        assert list(events)[-1].name == "complete"
    assert not script.worker().cancelled


def test_a_vanished_worker_is_an_error(serve: Serve, script: Script) -> None:
    with serve().stream("POST", STREAM, json={"video_url": VIDEO}) as response:
        script.worker().vanish()
        (last,) = events_of(response)
    assert last.name == "error"
    assert "ended unexpectedly" in last.data["message"]
    assert last.payload["cancelled"] is False


def test_a_video_can_be_checked_again_after_its_run(serve: Serve, script: Script) -> None:
    script.at_once = True
    client = serve()
    for _ in range(2):
        assert "event: complete" in client.post(STREAM, json={"video_url": VIDEO}).text
    assert len({worker.order.run_id for worker in script.workers}) == 2


def test_only_the_token_that_launched_a_run_cancels_it(serve: Serve, script: Script) -> None:
    client = serve(serve_token=BOTH)
    body = {"video_url": VIDEO}
    with client.stream("POST", STREAM, json=body, headers=bearer(TOKEN)) as response:
        place = response.headers["location"]
        script.worker()
        assert client.delete(place, headers=bearer(OTHER_TOKEN)).status_code == 403
        assert not script.worker().cancelled
        assert client.delete(place, headers=bearer(TOKEN)).status_code == 202


def test_videos_per_day_are_counted_for_each_token_and_outlive_a_restart(
    serve: Serve, script: Script
) -> None:
    script.at_once = True
    client = serve(serve_token=BOTH, serve_videos_per_day=1)

    def ask(client: httpx.Client, token: str) -> httpx.Response:
        return client.post(STREAM, json={"video_url": VIDEO}, headers=bearer(token))

    assert ask(client, TOKEN).status_code == 200
    refused = ask(client, TOKEN)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 3600
    assert "within 24 hours" in refused.json()["detail"]
    assert ask(client, OTHER_TOKEN).status_code == 200
    restarted = serve(serve_token=BOTH, serve_videos_per_day=1)
    assert ask(restarted, TOKEN).status_code == 429


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"video_url": "https://example.com/watch?v=dQw4w9WgXcQ"}, "not a YouTube link"),
        ({"video_url": "https://www.youtube.com/@somebody"}, "names a channel"),
        ({"video_url": "javascript://youtube.com/%0aalert(1)"}, "not a YouTube link"),
        ({"video_url": "file:///etc/hostname"}, "not a YouTube link"),
        ({"video_url": "/etc/hostname"}, "neither a YouTube link nor"),
        ({"video_url": "../talk.vtt"}, "neither a YouTube link nor"),
        ({"video_url": "everyday-belief-talk"}, "Did you mean 'everyday-beliefs-talk'?"),
        ({"video_url": "  "}, "neither a YouTube link nor"),
        ({"video_url": "\x00"}, "neither a YouTube link nor"),
    ],
)
def test_input_that_is_no_video_gets_a_sentence_and_launches_nothing(
    serve: Serve, script: Script, body: object, words: str
) -> None:
    refused = serve().post(STREAM, json=body)
    assert refused.status_code == 404
    assert refused.headers["content-type"] == "application/problem+json"
    assert words in refused.json()["detail"]
    assert script.workers == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"video_url": ""}, "video_url"),
        ({"video_url": "x" * 5000}, "video_url"),
        ({"video_url": 7}, "video_url"),
        ({}, "video_url is missing"),
        ([], "must be a JSON object"),
        ({"video_url": VIDEO, "max_claims": 0}, "max_claims is 0: it should be greater"),
        ({"video_url": VIDEO, "max_claims": 21}, "max_claims is 21"),
        (
            {"video_url": VIDEO, "max_claims": True},
            "max_claims is True: it should be a valid integer",
        ),
        ({"video_url": VIDEO, "max_queries_per_claim": 6}, "max_queries_per_claim is 6"),
        ({"video_url": VIDEO, "max_results_per_query": 11}, "max_results_per_query is 11"),
        ({"video_url": VIDEO, "experiment_name": "a\nb"}, "experiment_name"),
        ({"video_url": VIDEO, "max_claim": 3}, "Did you mean 'max_claims'?"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_launches_nothing(
    serve: Serve, script: Script, body: object, words: str
) -> None:
    refused = serve().post(STREAM, json=body)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert words in refused.json()["detail"]
    assert script.workers == []


def test_a_transcript_file_of_the_machine_cannot_be_named(
    serve: Serve, script: Script, home: object
) -> None:
    Path("dQw4w9WgXc").write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nSecret.\n", "utf-8")
    assert serve().post(STREAM, json={"video_url": "dQw4w9WgXc"}).status_code == 404
    assert script.workers == []
