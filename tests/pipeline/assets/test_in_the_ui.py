"""Tags and failures of runs in the UI."""

from __future__ import annotations

import dagster as dg
import pytest

from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.pipeline.assets.common import launcher_of
from factible_assets.pipeline.assets.transcripts import DUE_TAG, listed_video, transcript_of
from factible_assets.services import transcripts
from factible_assets.settings import Settings
from resources.transcripts.base import Missing, Outage, TranscriptAnswer
from tests.pipeline.assets.conftest import Pipeline


@pytest.fixture
def reading() -> CorporaReading:
    return load_corpora(Settings().corpus_folders[:1])


class _Silent:
    def __init__(self, answer: TranscriptAnswer) -> None:
        self._answer = answer

    async def transcript(self, video_id: str) -> TranscriptAnswer:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "due"),
    [
        (Outage("YouTube streams it later."), "transcript"),
        (Missing("There are no captions."), None),
    ],
)
def test_an_outage_tags_the_run_as_due_and_missing_captions_do_not(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, answer: TranscriptAnswer, due: str | None
) -> None:
    monkeypatch.setattr(transcripts, "SOURCES", (lambda video, settings: _Silent(answer),))
    result = pipeline.materialize(assets=("transcripts",))
    assert not result.success
    run = pipeline.instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags.get(DUE_TAG) == due


@pytest.mark.parametrize(
    ("tags", "launcher"),
    [
        ({"dagster/from_ui": "true"}, "Dagster UI"),
        ({"dagster/from_ui": "true", "dagster/backfill": "abc"}, "backfill"),
        ({}, "dagster"),
    ],
)
def test_dagsters_tags_name_the_launcher_of_a_run(tags: dict[str, str], launcher: str) -> None:
    assert launcher_of(tags) == launcher


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ("everyday-belief-talk", "Did you mean 'everyday-beliefs-talk'?"),
        ("Everyday-Beliefs-Talk", "Did you mean 'everyday-beliefs-talk'?"),
        ("zzz", "List it with its transcript file, by the job add_video"),
    ],
)
def test_a_partition_without_a_video_fails_finally_with_the_remedy(
    reading: CorporaReading, partition: str, words: str
) -> None:
    with pytest.raises(dg.Failure) as failure:
        listed_video(reading, partition)
    assert words in str(failure.value.description)
    assert failure.value.allow_retries is False


def test_a_bare_youtube_id_needs_no_corpus(reading: CorporaReading) -> None:
    assert reading.find("-abcDEF_123") is None
    wanted = listed_video(reading, "-abcDEF_123")
    assert wanted.url == "https://www.youtube.com/watch?v=-abcDEF_123"


def test_an_outage_is_retried_except_the_last_time() -> None:
    for is_last in (False, True):
        with pytest.raises(dg.Failure, match="YouTube could not be reached") as failure:
            transcript_of(Outage("YouTube could not be reached."), is_last_try=is_last)
        assert failure.value.allow_retries is not is_last
