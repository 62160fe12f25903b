"""The choice and the order of transcript sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from factible_assets.services import transcripts
from factible_assets.services.transcripts import WantedVideo, find_transcript
from factible_assets.settings import Settings
from resources.transcripts.base import Cue, Found, Missing, Outage, TimedText, TranscriptAnswer
from tests.resources.transcripts.fake_youtube import VIDEO

WORDS = Found(TimedText((Cue("Bats sleep.", 0.0, 1.0),)), "recording")


class Answering:
    def __init__(self, answer: TranscriptAnswer) -> None:
        self.answer = answer

    async def transcript(self, video_id: str) -> TranscriptAnswer:
        return self.answer


def no_settings() -> Settings:
    raise AssertionError("the settings were loaded for a file")


def suiting(
    answer: TranscriptAnswer,
) -> Callable[[WantedVideo, Callable[[], Settings]], Answering | None]:
    return lambda video, _: Answering(answer)


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def given(*answers: TranscriptAnswer) -> None:
        monkeypatch.setattr(transcripts, "SOURCES", tuple(map(suiting, answers)))

    return given


async def test_a_listed_file_is_read_without_asking_anybody_else(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text("Bats sleep by day.")
    video = WantedVideo(VIDEO, "en", tmp_path / "talk.txt")
    answer = await find_transcript(video, no_settings)
    assert isinstance(answer, Found)
    assert answer.transcript.plain_text == "Bats sleep by day."
    (tmp_path / "talk.txt").unlink()
    assert type(await find_transcript(video, no_settings)) is Missing


async def test_a_later_source_is_asked_where_an_earlier_one_has_nothing(
    sources: Callable[..., None],
) -> None:
    sources(Missing("Captions are off."), WORDS)
    assert await find_transcript(WantedVideo("v"), no_settings) is WORDS


async def test_an_outage_ends_the_search_because_the_source_may_answer_later(
    sources: Callable[..., None],
) -> None:
    outage = Outage("YouTube fell silent.")
    sources(outage, WORDS)
    assert await find_transcript(WantedVideo("v"), no_settings) is outage


async def test_without_a_transcript_the_answer_has_every_reason(
    sources: Callable[..., None],
) -> None:
    sources(Missing("Captions are off."), Missing("No recording."))
    assert await find_transcript(WantedVideo("v"), no_settings) == Missing(
        "Captions are off. No recording."
    )


async def test_a_video_without_a_source_gets_advice() -> None:
    answer = await find_transcript(WantedVideo("my-talk"), no_settings)
    assert isinstance(answer, Missing)
    assert "recording" in answer.reason


async def test_the_recording_of_a_youtube_video_is_heard_only_where_captions_are_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    off = Answering(Missing("Captions are off."))
    file, podcast, _, recording = transcripts.SOURCES
    table = (file, podcast, lambda *_: off, recording)
    monkeypatch.setattr(transcripts, "SOURCES", table)
    video = WantedVideo(VIDEO, media=tmp_path / "talk.mp4")
    answer = await find_transcript(video, lambda: Settings(home=tmp_path))
    assert isinstance(answer, Missing)
    assert answer.reason.startswith("Captions are off. Recordings need a")
    off.answer = WORDS
    assert await find_transcript(video, lambda: Settings(home=tmp_path)) is WORDS
