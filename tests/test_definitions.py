"""The definitions that Dagster loads, and the launchpad."""

from pathlib import Path
from typing import Any, Literal

import dagster as dg
import pytest
from dagster._config import process_config
from dagster._core.test_utils import environ

from factible_assets import config
from factible_assets.definitions import build_defs
from factible_assets.errors import FactibleError
from factible_assets.pipeline.assets.external import external_assets
from factible_assets.pipeline.launchpad import CLAIM_CHECKS_SCHEMA
from factible_assets.pipeline.resources import CorporaResource
from factible_assets.pipeline.sensors import corpus_sensor
from factible_assets.records.tables import ASSET_RECORDS, METHOD
from factible_assets.settings import Settings

SOURCES = {each.key.to_user_string() for each in external_assets}


@pytest.fixture
def defs(tmp_path: Path) -> dg.Definitions:
    return build_defs(Settings(home=tmp_path))


def test_the_public_names(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    assert {
        key.to_user_string(): graph.get(key).group_name for key in graph.get_all_asset_keys()
    } == dict.fromkeys([*ASSET_RECORDS, "evaluation", *SOURCES], "fact_check")
    assert sorted(job.name for job in defs.jobs or ()) == [
        "add_video",
        "evaluate",
        "fact_check",
        "import_corpus",
        "pictures",
        "recheck",
        "retention",
    ]
    assert sorted(schedule.name for schedule in defs.schedules or ()) == [
        "nightly_recheck",
        "videos_due",
        "weekly_retention",
    ]
    assert sorted(sensor.name for sensor in defs.sensors or ()) == [
        "added_videos_sensor",
        "corpus_sensor",
        "dead_runs_sensor",
        "evaluation_sensor",
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


def test_a_fact_check_is_the_seven_assets_of_a_video_with_their_checks(
    defs: dg.Definitions,
) -> None:
    layer = defs.resolve_job_def("fact_check").asset_layer
    assert {key.to_user_string() for key in layer.executable_asset_keys} == set(METHOD)
    checks = {
        (key.asset_key.to_user_string(), key.name) for key in layer.asset_graph.asset_check_keys
    }
    assert checks == {(asset, "integrity") for asset in METHOD} | {
        ("evidence", "readings_rest_on_quotes"),
        ("verdicts", "verdict_flips"),
    }


def test_the_evaluation_belongs_to_no_video_and_has_a_check_per_target(
    defs: dg.Definitions,
) -> None:
    node = defs.resolve_asset_graph().get(dg.AssetKey("evaluation"))
    assert node.partitions_def is None
    assert node.owners
    assert {parent.to_user_string() for parent in node.parent_keys} == {"verdicts", "corpus_files"}
    names = {key.name for key in node.check_keys}
    assert names >= {"targets_are_readable", "precision", "stance_accuracy", "recall_important"}


def test_new_verdicts_request_one_evaluation(defs: dg.Definitions) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("videos", ["a", "b"])
        cursor, requested = None, []
        for partition in (None, "a", None, "b"):
            if partition:
                event = dg.AssetMaterialization("verdicts", partition=partition)
                instance.report_runless_asset_event(event)
            result = dg.evaluate_automation_conditions(
                defs, instance, dg.AssetSelection.assets("evaluation"), cursor=cursor
            )
            cursor = result.cursor
            requested.append(result.total_requested)
    assert requested == [0, 1, 0, 1]


@pytest.mark.parametrize(("schedule", "is_expected"), [("on", True), ("off", False)])
def test_nightly_rechecks_give_verdicts_a_freshness_policy(
    tmp_path: Path, schedule: Literal["on", "off"], is_expected: bool
) -> None:
    defs = build_defs(Settings(home=tmp_path, recheck_schedule=schedule))
    fresh = {
        spec.key.to_user_string()
        for spec in defs.resolve_all_asset_specs()
        if spec.freshness_policy is not None
    }
    assert fresh == ({"verdicts"} if is_expected else set())


def test_every_resource_says_what_it_is_in_one_line(defs: dg.Definitions) -> None:
    for name, resource in defs.get_repository_def().get_top_level_resources().items():
        described = resource.description or ""
        assert 20 < len(described) <= 100, name
        assert "\n" not in described.strip(), name


@pytest.mark.parametrize(
    ("given", "words"),
    [({}, 'Missing required config entry "video"'), ({"video": ""}, "video cannot be '': .* link")],
)
def test_a_video_to_add_must_be_named(
    defs: dg.Definitions, given: dict[str, str], words: str
) -> None:
    config = {"ops": {"list_video": {"config": given}}}
    with pytest.raises((dg.DagsterInvalidConfigError, FactibleError), match=words):
        defs.resolve_job_def("add_video").execute_in_process(run_config=config)


@pytest.mark.parametrize(
    ("job", "op"),
    [("fact_check", "transcripts"), ("pictures", "media"), ("retention", "remove_old_items")],
)
def test_an_unknown_option_is_refused(defs: dg.Definitions, job: str, op: str) -> None:
    given = {"ops": {op: {"config": {"days": 1}}}}
    with pytest.raises(dg.DagsterInvalidConfigError, match="days"):
        dg.validate_run_config(defs.resolve_job_def(job), given)


def test_the_launchpad_hides_resource_config(defs: dg.Definitions) -> None:
    shown: Any = defs.resolve_job_def("fact_check").run_config_schema.run_config_schema_type
    assert not any(shown.fields["resources"].default_value.values())


def test_an_unreadable_corpus_file_fails_a_check_once(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("videos: 3\n")
    corpora = CorporaResource(folders=[str(tmp_path)])
    outcomes = []
    with dg.DagsterInstance.ephemeral() as instance:
        cursor: str | None = None
        for tick in range(3):
            if tick == 2:
                (tmp_path / "wrong.yaml").unlink()
            context = dg.build_sensor_context(instance=instance, cursor=cursor)
            told = corpus_sensor(context, corpora=corpora)
            assert isinstance(told, dg.SensorResult)
            cursor, events = told.cursor, told.asset_events
            checked = [each for each in events if isinstance(each, dg.AssetCheckEvaluation)]
            outcomes.append([(each.check_name, each.passed) for each in checked])
            assert tick == 2 or "wrong.yaml" in str(told.skip_reason)
    name = "corpora_are_readable"
    assert outcomes == [[(name, False)], [], [(name, True)]]


def test_every_asset_is_partitioned_by_video_described_and_owned(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    for asset in ASSET_RECORDS:
        node = graph.get(dg.AssetKey(asset))
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
    assert names["claims"] == {"transcripts", "language_model", "corpus_files"}
    upstream = {"claims", "queries", "search_hits", "reliability_ratings"}
    assert names["evidence"] == upstream | {"web_pages", "language_model"}
    assert "evidence" in names["verdicts"]


def test_dagster_loads_the_definitions_the_way_workspace_yaml_says(tmp_path: Path) -> None:
    with environ({"FACTIBLE_HOME": str(tmp_path)}):
        dg.Definitions.validate_loadable(build_defs())


def test_the_launchpad_offers_every_option_with_its_range() -> None:
    claims: Any = CLAIM_CHECKS_SCHEMA["claims"].config_type
    assert "From 1 to 50." in claims.fields["max_claims"].description
    assert set(CLAIM_CHECKS_SCHEMA) == set(config.FactCheckConfig.model_fields)
    shown = process_config(dg.Shape(CLAIM_CHECKS_SCHEMA), {})  # type: ignore[no-untyped-call]
    assert shown.value is not None
    assert shown.value["search"]["max_results"] == 3
    assert config.FactCheckConfig.model_validate(shown.value) == config.FactCheckConfig()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"reasoner": "oracle"}, "not in enum type auto | embedded | llm got oracle"),
        ({"search": {"minimum_rating": "superb"}}, "not in enum type high | medium | low"),
        ({"search": {"max_results": "3"}}, "Invalid scalar"),
        ({"claims": {"most": 3}}, 'Received unexpected config entry "most"'),
    ],
)
def test_the_launchpad_refuses_a_wrong_type_or_choice(given: dict[str, Any], words: str) -> None:
    found = process_config(dg.Shape(CLAIM_CHECKS_SCHEMA), given)  # type: ignore[no-untyped-call]
    (error,) = found.errors or ()
    assert words in error.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"queries": {"max_queries": 11}}, "max_queries cannot be 11: it should be less than"),
        ({"search": {"web": "foo"}}, "web cannot be 'foo': web is one of auto, live"),
        ({"search": {"published_before": "someday"}}, "cannot be 'someday': write a day as"),
        ({"search": {"exclude_domains": ["x y"]}}, "exclude_domains cannot be 'x y': it is no"),
        (
            {"search": {"published_before": "2020-01-01", "published_after": "2021-01-01"}},
            "published_after cannot be '2021-01-01': it leaves no day before 2020-01-01",
        ),
    ],
)
def test_a_launch_refuses_a_value_that_an_option_does_not_allow(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(FactibleError, match=words):
        process_config(dg.Shape(CLAIM_CHECKS_SCHEMA), given)  # type: ignore[no-untyped-call]


def test_every_column_of_every_asset_is_described(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    for asset in ASSET_RECORDS:
        schema = graph.get(dg.AssetKey(asset)).metadata["dagster/column_schema"]
        assert all(len(column.description or "") > 5 for column in schema.columns), asset
