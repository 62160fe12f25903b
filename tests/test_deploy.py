"""The files in deploy/ are valid for the programs that read them."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import yaml
from dagster._core.instance.ref import InstanceRef

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


def test_dagster_takes_the_instance_and_hands_its_runs_to_celery(tmp_path: Path) -> None:
    shutil.copyfile(DEPLOY / "dagster.yaml", tmp_path / "dagster.yaml")
    reference = InstanceRef.from_dir(str(tmp_path))  # Refuses what its schema does not know.
    launcher = reference.run_launcher_data
    assert launcher is not None
    assert (launcher.module_name, launcher.class_name) == (
        "dagster_celery.launcher",
        "CeleryRunLauncher",
    )
    assert reference.run_storage_data is not None
    assert read("dagster.yaml")["run_retries"]["enabled"]


def test_as_many_runs_are_handed_out_as_there_are_workers() -> None:
    services, instance = read("compose.yaml")["services"], read("dagster.yaml")
    runs = instance["concurrency"]["runs"]["max_concurrent_runs"]
    assert services["worker"]["deploy"]["replicas"] == runs
    worker = read("celery.yaml")["execution"]["config"]["config_source"]
    assert (worker["worker_concurrency"], worker["worker_disable_prefetch"]) == (1, True)


def test_the_image_has_the_parts_of_dagster_that_fit_the_locked_one() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (fits,) = (
        each.split("==")[1]
        for each in document["project"]["dependencies"]
        if each.startswith("dagster-duckdb==")
    )
    parts = dict(re.findall(r"dagster-(\w+)==([\d.]+)", (DEPLOY / "Dockerfile").read_text("utf-8")))
    assert parts == {"postgres": fits, "celery": fits, "k8s": fits}
    guide = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    assert f"dagster-celery=={fits}" in guide


def test_no_file_holds_a_secret_and_nothing_listens_beyond_the_machine() -> None:
    compose = read("compose.yaml")
    ports = [each for service in compose["services"].values() for each in service.get("ports", ())]
    assert ports == ["127.0.0.1:3000:3000"]
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    assert {"${POSTGRES_PASSWORD:?}", "${FACTIBLE_SERVE_TOKEN:?}"} <= set(
        re.findall(r"\$\{.*?\}", text)
    )
    code = read("helm-values.yaml")["dagster-user-deployments"]["deployments"][0]
    assert code["dagsterApiGrpcArgs"] == ["-m", "factible_assets.definitions"]
