"""The events that a worker writes about its run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.runs import review
from factible_assets.web import worker
from factible_assets.web.models import PROGRESS, CheckOrder, progress_update
from factible_assets.web.worker import EventWriter
from tests.cli.stored import VIDEO_ID, store_sample
from tests.report import samples


def told(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_the_transcript_event_comes_before_the_claims() -> None:
    stream = io.StringIO()
    writer = EventWriter(stream)
    writer.claims_found([samples.claim(0)])
    writer.transcript_stored(42)
    steps = [event["step"] for event in told(stream)]
    assert steps == ["transcript_complete", "claim_extraction", "claims_extracted"]
    assert told(stream)[0]["data"] == {"transcript_length": None}


def test_repeated_steps_give_one_event() -> None:
    stream = io.StringIO()
    writer = EventWriter(stream)
    claims = [samples.claim(number) for number in range(2)]
    for _ in range(2):
        writer.transcript_stored(42)
        writer.claims_found(claims)
        for number, claim in enumerate(claims):
            writer.verdict_reached(claim, samples.verdict(number, "supports"))
    steps = [event["step"] for event in told(stream)]
    assert steps.count("claims_extracted") == steps.count("transcript_complete") == 1
    assert steps.count("verdict_reached") == 2
    progress = [event["progress"] for event in told(stream)]
    assert progress == [15, 20, 35, 62, 89]


def test_the_run_of_one_claim_has_the_tags_of_its_order(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_sample(home)
    asked: dict[str, object] = {}
    monkeypatch.setattr(review, "check_again", lambda *_, **given: asked.update(given))
    order = CheckOrder(video_id=VIDEO_ID, claim_id="1", home=home, experiment_name="autumn")
    worker._check(order, EventWriter(io.StringIO()))
    assert asked["tags"] == {"launched_by": "factible serve", "experiment": "autumn"}


def test_a_closed_stream_does_not_disturb_the_run() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    EventWriter(Gone()).claims_found([samples.claim(0)])


@pytest.mark.parametrize("is_over", [True, False])
def test_closing_stdin_cancels_only_a_running_check(
    is_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    cancelled = contextlib.nullcontext() if is_over else pytest.raises(KeyboardInterrupt)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with cancelled, worker._interrupted_when_stdin_closes():
            if not is_over:
                os.close(writer)
                time.sleep(3_600)
        if is_over:
            os.close(writer)
            time.sleep(0.2)


@given(total=st.integers(0, 50), data=st.data())
def test_the_progress_of_verdicts_lies_between_claims_and_report(
    total: int, data: st.DataObject
) -> None:
    counts = sorted(data.draw(st.lists(st.integers(0, max(total, 1)), min_size=1)))
    told = [
        progress_update("verdict_reached", "", reached=each, total_claims=total) for each in counts
    ]
    progress = [event.progress for event in told]
    assert progress == sorted(progress)
    assert PROGRESS["claims_extracted"] <= progress[0]
    assert progress[-1] < PROGRESS["generating_report"]
