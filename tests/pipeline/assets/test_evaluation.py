"""The asset `evaluation` in real runs: figures with history, checks against targets, plots."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from factible_assets.definitions import build_defs
from factible_assets.evaluation.measures import CATALOGUE, HEADLINES
from factible_assets.evaluation.targets import FILE_NAME
from factible_assets.settings import Settings
from tests.cli.stored import VIDEO_ID, store_sample
from tests.evaluation.test_charts import INLINE_CHARACTERS
from tests.pipeline.assets.conftest import DEMO_VIDEO, Checked, Pipeline

CORPUS = "everyday-beliefs"


def evaluate(
    settings: Settings, instance: dg.DagsterInstance, **wishes: object
) -> dg.ExecuteInProcessResult:
    config = {"resamples": 100, **wishes}
    return (
        build_defs(settings)
        .resolve_job_def("evaluate")
        .execute_in_process(
            instance=instance,
            run_config={"ops": {"evaluation": {"config": config}}},
            raise_on_error=False,
        )
    )


def checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {each.check_name: each for each in result.get_asset_check_evaluations()}


def metadata_of(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    (event,) = result.get_asset_materialization_events()
    return {key: value.value for key, value in event.materialization.metadata.items()}


def test_the_demo_meets_its_targets_and_has_metrics_and_plots(checked: Checked) -> None:
    first = evaluate(checked.settings, checked.instance)
    assert first.success
    outcomes = checks(first)
    assert {name: each.description for name, each in outcomes.items() if not each.passed} == {}
    assert "reaches its target" in str(outcomes["complete_verdicts"].description)
    stored = checked.store.query(
        "SELECT metric, averaging, value, n, run_id FROM corpus_quality WHERE corpus = ?", [CORPUS]
    )
    assert set(stored["metric"]) == set(CATALOGUE)
    assert set(stored["run_id"]) == {first.run_id}
    videos = checked.store.query("SELECT DISTINCT video_id FROM video_quality")
    assert videos["video_id"].to_list() == [DEMO_VIDEO]
    timed = stored.filter(metric="seconds to first verdict", averaging="macro")["value"][0]
    assert timed > 0

    own = checked.settings.home / "corpora"
    own.mkdir(parents=True, exist_ok=True)
    (own / FILE_NAME).write_text(
        "targets:\n"
        "  precision: {target: 0.5, floor: 0.1}\n"
        "  recall: {target: 0.99, floor: 0.05}\n"
        "  complete verdicts: {target: 1.5, floor: 1.2}\n",
        encoding="utf-8",
    )
    second = evaluate(checked.settings, checked.instance)
    judged = checks(second)
    assert judged["precision"].passed
    assert not judged["recall"].passed
    assert judged["recall"].severity is dg.AssetCheckSeverity.WARN
    assert not judged["complete_verdicts"].passed
    assert judged["complete_verdicts"].severity is dg.AssetCheckSeverity.ERROR
    assert "misses even its floor 1.2" in str(judged["complete_verdicts"].description)

    (event,) = first.get_asset_materialization_events()
    shown = event.materialization.metadata
    assert "| precision | macro |" in str(shown["figures"].value)
    assert list(shown)[:3] == ["corpora", "main figures", "confusion of stances"]
    main = shown["main figures"]
    assert isinstance(main, dg.TableMetadataValue), "which the UI shows without a click"
    assert [record.data["metric"] for record in main.records] == list(HEADLINES)
    for title in ("precision and recall by max_claims", "seconds by stage"):
        assert str(shown[title].value).startswith(f"![{title}](data:image/svg+xml;base64,")
        assert len(str(shown[title].value)) < INLINE_CHARACTERS

    trend = checked.store.query(
        "SELECT run_id, value, change, direction, is_comparable FROM metric_trend "
        "WHERE metric = 'precision' AND averaging = 'macro' ORDER BY evaluated_at"
    )
    assert trend["run_id"].to_list() == [first.run_id, second.run_id]
    assert trend["change"].to_list() == [None, 0.0]
    assert trend["direction"].to_list() == [None, "same"]
    assert trend["is_comparable"].to_list() == [None, True]


@pytest.fixture
def sample(tmp_path: Path) -> Settings:
    """A data folder with one checked video that no corpus lists."""
    settings = Settings(home=tmp_path / "home")
    store_sample(settings.home)
    return settings


def test_a_corpus_without_annotations_gets_no_invented_zero(
    sample: Settings, tmp_path: Path
) -> None:
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        result = evaluate(sample, instance)
    assert result.success
    store = Pipeline(sample, instance).store
    unknown = store.query(
        "SELECT count(value) AS known, count(*) AS listed FROM corpus_quality "
        "WHERE family IN ('claims', 'stances')"
    )
    assert unknown["known"][0] == 0
    assert unknown["listed"][0] > 20
    assert "undefined" in str(metadata_of(result)["figures"])
    for name, check in checks(result).items():
        assert check.passed
        # What nobody annotated is measured, and not judged: its outages neither.
        assert name == "targets_are_readable" or "No corpus with a target" in str(check.description)
    figures = store.query("SELECT video_id FROM video_quality LIMIT 1")
    assert figures["video_id"][0] == VIDEO_ID


def test_a_mistake_in_the_targets_fails_their_check_and_names_the_line(
    sample: Settings, tmp_path: Path
) -> None:
    (sample.home / "corpora").mkdir()
    file = sample.home / "corpora" / FILE_NAME
    file.write_text("targets:\n  precison: {target: 0.5, floor: 0.1}\n", encoding="utf-8")
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        result = evaluate(sample, instance)
    assert result.success
    told = checks(result)["targets_are_readable"]
    assert not told.passed
    assert f"{file}:2: precison is 'precison': there is no such metric." in str(told.description)


def test_a_corpus_that_was_never_checked_is_named_with_those_that_were(
    sample: Settings, tmp_path: Path
) -> None:
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        result = evaluate(sample, instance, corpora=["nowhere"])
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    said = failure.step_failure_data.user_failure_data
    assert said is not None
    assert "No video of the corpus 'nowhere' has been checked" in str(said.description)


def test_an_empty_warehouse_has_an_empty_evaluation(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    settings.home.mkdir()
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        result = evaluate(settings, instance)
    assert result.success
    assert metadata_of(result)["corpora"] == "none: nothing was checked yet"
