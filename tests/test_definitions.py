"""The public face of the pipeline: what Dagster loads, and what a launchpad offers."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import environ

from factible_assets import config
from factible_assets.definitions import build_defs
from factible_assets.run_config import ClaimChecksRunConfig, ClaimsRunConfig, settled
from factible_assets.settings import Settings


@pytest.fixture
def defs(tmp_path: Path) -> dg.Definitions:
    return build_defs(Settings(home=tmp_path))


def test_the_public_names_are_these_and_a_change_is_seen_in_review(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    assert {
        key.to_user_string(): graph.get(key).group_name for key in graph.get_all_asset_keys()
    } == {
        "transcripts": "video",
        "claims": "claims",
        "queries": "search",
        "search_hits": "search",
        "reliability_ratings": "evidence",
        "evidence": "evidence",
        "verdicts": "verdicts",
    }
    assert sorted(job.name for job in defs.jobs or ()) == [
        "fact_check",
        "import_corpus",
        "recheck",
        "retention",
    ]
    assert sorted(schedule.name for schedule in defs.schedules or ()) == [
        "nightly_recheck",
        "weekly_retention",
    ]
    assert sorted(sensor.name for sensor in defs.sensors or ()) == [
        "corpus_sensor",
        "notify_failures",
        "notify_flips",
        "publish_sensor",
    ]
    assert sorted(defs.resources or {}) == [
        "corpora",
        "io_manager",
        "observer",
        "reports",
        "services",
        "warehouse",
    ]


def test_every_asset_is_partitioned_by_video_described_and_owned(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.partitions_def is not None
        assert isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
        assert node.partitions_def.name == "videos"
        assert node.code_version
        assert node.owners
        assert node.description
        assert len(node.description) > 60
        columns = node.metadata["dagster/column_schema"].columns
        assert {column.name for column in columns} >= {"video_id"}


def test_the_upstream_of_verdicts_reaches_back_to_the_transcript(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    names = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert names["claims"] == {"transcripts"}
    assert names["evidence"] == {"claims", "queries", "search_hits", "reliability_ratings"}
    assert "evidence" in names["verdicts"]


def test_dagster_loads_the_definitions_the_way_workspace_yaml_says(tmp_path: Path) -> None:
    with environ({"FACTIBLE_HOME": str(tmp_path)}):
        dg.Definitions.validate_loadable(build_defs())


def test_the_launchpad_offers_every_knob_with_its_range() -> None:
    fields = ClaimsRunConfig.model_fields
    assert set(fields) == {*config.ClaimsConfig.model_fields, "reasoner"}
    assert "From 1 to 50." in str(fields["max_claims"].description)
    assert settled(config.FactCheckConfig, ClaimChecksRunConfig()) == config.FactCheckConfig()


def test_a_knob_out_of_range_is_a_final_failure_that_names_it() -> None:
    given = ClaimsRunConfig(max_claims=900)
    with pytest.raises(dg.Failure, match="max_claims") as failure:
        settled(config.ClaimsConfig, given)
    assert failure.value.allow_retries is False
