"""Assembles assets, resources, jobs, schedules and sensors into Dagster's definitions."""

import warnings
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from factible_assets.pipeline import add_video, due_videos, import_corpus, sensors
from factible_assets.pipeline.assets.claim_checks import claim_checks
from factible_assets.pipeline.assets.evaluation import EVALUATION_JOB, evaluation_asset
from factible_assets.pipeline.assets.evaluation import NAME as EVALUATION
from factible_assets.pipeline.assets.external import external_assets
from factible_assets.pipeline.assets.media import media
from factible_assets.pipeline.assets.transcripts import transcripts
from factible_assets.pipeline.executor import locking_executor
from factible_assets.pipeline.launchpad import console
from factible_assets.pipeline.notifications import notifications
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, ReportsResource
from factible_assets.pipeline.retention import retention, weekly_retention
from factible_assets.pipeline.schedules import nightly
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.tables import METHOD
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.ports import Observer

# Data versions are a beta in Dagster 1.13, which warns at every materialization.
warnings.filterwarnings("ignore", category=dg.BetaWarning, module=r"factible_assets\.")

FACT_CHECK_JOB = "fact_check"


def build_defs(
    settings: Settings | None = None, *, resource_overrides: Mapping[str, Any] | None = None
) -> dg.Definitions:
    """Return the definitions for one data folder.

    Args:
        settings: The data folder and the services; from the environment by default.
        resource_overrides: Resources that replace the standard ones, by key: warehouse, services,
            corpora, reports, observer.
    """
    settings = settings or load_settings()
    recheck, nightly_recheck = nightly(settings)
    resources: dict[str, Any] = {
        "warehouse": WarehouseResource(database=str(settings.warehouse)),
        # No asset returns values. Dagster's default would show its folder in the launchpad.
        "io_manager": dg.mem_io_manager,
        "services": FactCheckServices(home=str(settings.home)),
        "corpora": CorporaResource(folders=[*map(str, settings.corpus_folders)]),
        "reports": ReportsResource.of(settings),
        "observer": dg.ResourceDefinition.hardcoded_resource(
            Observer(), description="Receives claims and verdicts during a run."
        ),
        **(resource_overrides or {}),
    }
    for key, resource in resources.items():
        # Hide the fields of resources, such as paths, from the launchpad.
        if isinstance(resource, dg.ConfigurableResource):
            resources[key] = dg.ResourceDefinition.hardcoded_resource(resource, resource.__doc__)
    checks = claim_checks
    if settings.recheck_schedule != "off":
        # The nightly schedule checks videos again once they have this age.
        window = timedelta(days=settings.recheck_limits.min_age_days + 2)
        policy = dg.FreshnessPolicy.time_window(fail_window=window)
        checks = claim_checks.map_asset_specs(
            lambda spec: (
                spec.replace_attributes(freshness_policy=policy)
                if spec.key == dg.AssetKey("verdicts")
                else spec
            )
        )
    assets = [transcripts, checks, media, evaluation_asset(settings.corpus_folders)]
    with warnings.catch_warnings():  # links to the source are a beta too
        warnings.simplefilter("ignore", dg.BetaWarning)
        linked = dg.with_source_code_references(assets)
    fact_check = dg.define_asset_job(
        FACT_CHECK_JOB,
        selection=dg.AssetSelection.assets(*METHOD)
        - dg.AssetSelection.checks(sensors.corpora_are_readable),
        description=(
            "Fact-check a video: all seven assets, from transcript to verdicts. Materialize all, "
            "and choose the video's partition."
        ),
    )
    return dg.Definitions(
        assets=[*external_assets, *linked],
        asset_checks=[sensors.corpora_are_readable],
        jobs=[
            add_video.add_video,
            import_corpus.import_corpus,
            recheck,
            retention,
            fact_check,
            dg.define_asset_job(
                "pictures",
                selection=dg.AssetSelection.assets("media"),
                description="Examine the pictures of a checked video.",
            ),
            dg.define_asset_job(
                EVALUATION_JOB,
                selection=dg.AssetSelection.assets(EVALUATION),
                description="Measure the quality of the newest answers of every corpus.",
            ),
        ],
        schedules=[
            nightly_recheck,
            weekly_retention(settings),
            due_videos.due_schedule(fact_check, settings),
        ],
        sensors=[
            sensors.corpus_sensor,
            sensors.dead_runs_sensor,
            sensors.publish_sensor,
            add_video.added_videos_sensor(fact_check),
            dg.AutomationConditionSensorDefinition(
                "evaluation_sensor",
                target=dg.AssetSelection.assets(EVALUATION),
                default_status=dg.DefaultSensorStatus.RUNNING,
                description="Materializes `evaluation` after checks of videos.",
            ),
            *notifications(settings),
        ],
        resources=resources,
        loggers={"console": console},
        # Assets are concurrent inside; a process per step would cost seconds each.
        executor=locking_executor,
    )


defs = build_defs()
