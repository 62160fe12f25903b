"""A pipeline over a fresh data folder, with the demo's video and web."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.config import ClaimsConfig, FactCheckConfig, QueriesConfig
from factible_assets.definitions import build_defs
from factible_assets.pipeline.launchpad import run_config_for
from factible_assets.records.tables import METHOD
from factible_assets.settings import Settings
from warehouse.store import Warehouse

DEMO_VIDEO = "everyday-beliefs-talk"
FEW_CLAIMS = FactCheckConfig(
    claims=ClaimsConfig(max_claims=2), queries=QueriesConfig(max_queries=1), reasoner="embedded"
)


@dataclass
class Pipeline:
    """One data folder with its own Dagster instance."""

    settings: Settings
    instance: dg.DagsterInstance

    @property
    def store(self) -> Warehouse:
        return Warehouse(self.settings.warehouse)

    @cached_property
    def job(self) -> dg.JobDefinition:
        return self.job_with(None)

    def job_with(self, overrides: dict[str, Any] | None) -> dg.JobDefinition:
        defs = build_defs(self.settings, resource_overrides=overrides)
        return defs.resolve_job_def("fact_check")

    def materialize(
        self,
        video_id: str = DEMO_VIDEO,
        assets: Sequence[str] = METHOD,
        options: FactCheckConfig = FEW_CLAIMS,
        overrides: dict[str, Any] | None = None,
    ) -> dg.ExecuteInProcessResult:
        self.instance.add_dynamic_partitions("videos", [video_id])
        job = self.job_with(overrides) if overrides else self.job
        return job.execute_in_process(
            partition_key=video_id,
            instance=self.instance,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config=run_config_for(options, assets),
            raise_on_error=False,
        )


@dataclass
class Checked(Pipeline):
    """A data folder after a check of the demo's video, with the result and tags of that check."""

    first: dg.ExecuteInProcessResult
    tags: Mapping[str, str]


@pytest.fixture(scope="session")
def checked_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dg.ExecuteInProcessResult, Mapping[str, str]]:
    """Check the demo's video once for all tests."""
    folder = tmp_path_factory.mktemp("checked")
    with dg.DagsterInstance.ephemeral(tempdir=str(folder)) as instance:
        result = Pipeline(Settings(home=folder / "home"), instance).materialize()
        run = instance.get_run_by_id(result.run_id)
    assert result.success
    assert run is not None
    return folder / "home", result, run.tags


@pytest.fixture
def checked(
    checked_once: tuple[Path, dg.ExecuteInProcessResult, Mapping[str, str]], tmp_path: Path
) -> Iterator[Checked]:
    home, first, tags = checked_once
    shutil.copytree(home, tmp_path / "home")
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        instance.add_dynamic_partitions("videos", [DEMO_VIDEO])
        yield Checked(Settings(home=tmp_path / "home"), instance, first, tags)


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:
        yield Pipeline(Settings(home=tmp_path / "home"), instance)
