"""The job `add_video`, and the check that follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import FactibleError
from factible_assets.pipeline.add_video import ADD_JOB, add_video, check_request
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices

ELSEWHERE = "is no absolute path in the data folder"
VTT = "WEBVTT\n\n00:00.000 --> 00:04.000\nHoney keeps for years in a closed jar.\n"


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    return tmp_path / "home" / "corpora"


@pytest.fixture
def job(tmp_path: Path, corpora: Path) -> dg.JobDefinition:
    return dg.Definitions(
        jobs=[add_video],
        resources={
            "services": FactCheckServices(home=str(tmp_path / "home")),
            "corpora": CorporaResource(folders=[str(corpora)]),
        },
    ).resolve_job_def(ADD_JOB)


@pytest.fixture
def talk(tmp_path: Path) -> str:
    path = tmp_path / "home" / "talk.vtt"
    path.parent.mkdir()
    path.write_text(VTT)
    return str(path)


def run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, **config: Any
) -> dg.ExecuteInProcessResult:
    return job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"ops": {"list_video": {"config": config}}},
    )


def sentence(result: dg.ExecuteInProcessResult) -> str:
    (failed,) = (event for event in result.all_events if event.is_step_failure)
    data = failed.step_failure_data.user_failure_data
    assert data is not None
    return str(data.description)


def test_a_youtube_link_becomes_a_listed_video_a_partition_and_the_tags_of_the_run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, corpora: Path
) -> None:
    link = "https://youtu.be/dQw4w9WgXcQ?t=3"
    result = run(job, instance, video=link, title="A song", corpus="songs")
    assert result.success
    assert instance.get_dynamic_partitions("videos") == ["dQw4w9WgXcQ"]
    listed = load_corpora([corpora]).find("dQw4w9WgXcQ")
    assert listed is not None
    assert (listed.video.title, listed.video.corpus) == ("A song", "songs")
    done = instance.get_run_by_id(result.run_id)
    assert done is not None
    assert done.tags["video"] == "dQw4w9WgXcQ"
    assert done.tags["corpus"] == "songs"


def test_the_check_of_an_added_video_is_launched_once_with_its_options(
    job: dg.JobDefinition, instance: dg.DagsterInstance, talk: str, corpora: Path
) -> None:
    result = run(job, instance, video="my-talk", transcript=talk, max_claims=2)
    assert (corpora / "transcripts" / "my-talk.vtt").read_text() == VTT
    added = instance.get_run_by_id(result.run_id)
    assert added is not None
    request = check_request(added)
    assert isinstance(request, dg.RunRequest)
    assert (request.partition_key, request.run_key) == ("my-talk", result.run_id)
    assert request.run_config["ops"]["claim_checks"]["config"]["claims"]["max_claims"] == 2
    assert request.tags == {"video": "my-talk", "corpus": "local", "launched_by": "add_video"}


def test_a_video_added_without_a_check_is_not_checked(
    job: dg.JobDefinition, instance: dg.DagsterInstance, talk: str
) -> None:
    result = run(job, instance, video="my-talk", transcript=talk, check=False)
    added = instance.get_run_by_id(result.run_id)
    assert added is not None
    assert isinstance(check_request(added), dg.SkipReason)


def test_adding_a_listed_video_again_checks_it_and_lists_it_no_second_time(
    job: dg.JobDefinition, instance: dg.DagsterInstance, talk: str, corpora: Path
) -> None:
    run(job, instance, video="my-talk", transcript=talk)
    before = (corpora / "local.yaml").read_text()
    again = run(job, instance, video="my-talk")
    assert again.success
    assert (corpora / "local.yaml").read_text() == before
    added = instance.get_run_by_id(again.run_id)
    assert added is not None
    request = check_request(added)
    assert isinstance(request, dg.RunRequest)
    assert request.partition_key == "my-talk"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"video": "my-talk"}, "is neither a video on YouTube nor a file"),
        ({"video": "my-talk", "transcript": "talk.vtt"}, ELSEWHERE),
        ({"video": "my-talk", "transcript": "/etc/passwd"}, ELSEWHERE),
        ({"video": "my-talk", "transcript": "~nobodyx/a.vtt"}, ELSEWHERE),
        ({"video": "my-talk", "transcript": "HOME/a\0.vtt"}, ELSEWHERE),
        ({"video": "my-talk", "transcript": "HOME/../../etc/passwd"}, ELSEWHERE),
        ({"video": "my-talk", "transcript": "HOME/talk.vtt"}, "talk.vtt"),
    ],
)
def test_a_wrong_video_fails_with_a_sentence_and_leaves_nothing_behind(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    corpora: Path,
    config: dict[str, str],
    words: str,
) -> None:
    given = {key: each.replace("HOME", str(corpora.parent)) for key, each in config.items()}
    result = run(job, instance, **given)
    assert not result.success
    assert words in sentence(result)
    assert instance.get_dynamic_partitions("videos") == []
    assert not (corpora / "local.yaml").exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"video": "https://www.youtube.com/@channel"}, "names a channel, not a video"),
        ({"video": "https://example.org/watch?v=dQw4w9WgXcQ"}, "is not a YouTube link"),
        ({"video": "dQw4w9WgXcQ", "max_claims": 0}, "max_claims cannot be 0: it should be"),
        ({"video": "dQw4w9WgXcQ", "published_on": "2020-13-01"}, "write a day as"),
        ({"video": "dQw4w9WgXcQ", "corpus": "../x"}, "corpus cannot be '../x'"),
    ],
)
def test_a_launch_refuses_wrong_values(
    job: dg.JobDefinition, instance: dg.DagsterInstance, config: dict[str, Any], words: str
) -> None:
    with pytest.raises(FactibleError, match=words):
        run(job, instance, **config)
