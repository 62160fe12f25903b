"""The job `import_corpus`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import FactibleError
from factible_assets.pipeline.import_corpus import IMPORT_JOB, import_corpus
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices

CLAIMS = "".join(
    json.dumps({"id": number, "claim": f"Claim {number}.", "label": label}) + "\n"
    for number, label in enumerate(["SUPPORTS", "REFUTES", "PERHAPS"])
)


@pytest.fixture
def job(tmp_path: Path) -> dg.JobDefinition:
    return dg.Definitions(
        jobs=[import_corpus],
        resources={
            "services": FactCheckServices(home=str(tmp_path / "home")),
            "corpora": CorporaResource(folders=[]),
        },
    ).resolve_job_def(IMPORT_JOB)


def run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, **config: Any
) -> dg.ExecuteInProcessResult:
    return job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"ops": {"import_into_corpora": {"config": config}}},
    )


def test_an_import_lists_the_claims_adds_their_partitions_and_tags_the_run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "claims.jsonl"
    file.parent.mkdir()
    file.write_text(CLAIMS)
    instance.add_dynamic_partitions("videos", ["tried.0", "other"])
    result = run(job, instance, path=str(file), name="tried", format="fever")
    assert result.success
    assert set(instance.get_dynamic_partitions("videos")) == {"other", "tried.0", "tried.1"}
    listed = load_corpora([tmp_path / "home" / "corpora"])
    assert [each.video.video_id for each in listed.videos()] == ["tried.0", "tried.1"]
    stored = instance.get_run_by_id(result.run_id)
    assert stored is not None
    assert stored.tags["corpus"] == "tried"
    (output,) = (
        event.step_output_data for event in result.all_events if event.is_successful_output
    )
    assert output.metadata["annotated claims"].value == 2
    assert "PERHAPS" in str(output.metadata["left out"].value)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"path": "home/claims.jsonl"}, "Check the path"),
        ({"path": "/etc/passwd"}, "is no absolute path in the data folder"),
    ],
)
def test_a_wrong_import_fails_with_a_sentence_and_is_not_retried(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    tmp_path: Path,
    config: dict[str, Any],
    sentence: str,
) -> None:
    if config["path"].startswith("home/"):
        config = {"path": str(tmp_path / config["path"])}
    result = run(job, instance, **config)
    assert not result.success
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    assert failure.step_failure_data.user_failure_data is not None
    assert sentence in (failure.step_failure_data.user_failure_data.description or "")
    assert instance.get_dynamic_partitions("videos") == []


@pytest.mark.parametrize("config", [{"name": "../x"}, {"limit": 0}, {"web": "moon"}, {"path": ""}])
def test_values_out_of_range_never_reach_the_import(
    job: dg.JobDefinition, instance: dg.DagsterInstance, tmp_path: Path, config: dict[str, Any]
) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(CLAIMS)
    with pytest.raises(FactibleError, match=f"{next(iter(config))} cannot be"):
        run(job, instance, **{"path": str(file), **config})
    assert not (tmp_path / "home" / "corpora").exists()
