from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from factible_assets.runs.experiments.files import experiment_json_schema
from tests.cli.conftest import Run
from warehouse.store import Warehouse

TINY = """
experiment: tiny
videos: [everyday-beliefs-talk]
settings: {reasoner: embedded, max_claims: 1, max_queries: 1, max_results: 1}
one_at_a_time: {min_margin: [0.5]}
metrics: [stances as in the baseline, decided verdicts]
"""


@pytest.fixture
def tiny(home: Path) -> Path:
    file = home / "corpora" / "experiments" / "tiny.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(TINY)
    return file


def test_an_experiment_is_planned_run_shown_and_compared(
    factible: Run, home: Path, tiny: Path
) -> None:
    planned = factible("experiment", "run", "tiny", "--dry-run", "--json")
    plan = json.loads(planned.stdout)
    assert plan["searches_at_most"] == plan["pages_at_most"] == 1
    assert [(each["compute"], each["shared"]) for each in plan["variants"]] == [(6, 0), (1, 5)]
    assert not (home / "experiments").exists()

    ran = factible("experiment", "run", "tiny", "--json")
    assert ran.exit_code == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["run"] == {
        "computed": 7,
        "shared": 5,
        "kept": 0,
        "incomplete": 0,
        "failures": [],
    }
    assert "2/2 everyday-beliefs-talk min_margin=0.5: 1 computed, 5 shared" in ran.stderr

    again = factible("experiment", "run", "tiny", "--quiet")
    assert (
        "0 stages computed, 0 shared with another variant, 12 reused from earlier runs."
        in again.stdout
    )
    assert again.stderr == ""
    row = r"min_margin=0.5\W+1\.000"
    assert "stances as in the baseline" in again.stdout
    assert re.search(row, again.stdout)

    shown = factible("experiment", "show", "tiny")
    assert "min_margin=0.5" in shown.stdout
    assert "One video allows no interval and no test." in shown.stdout

    compared = factible("experiment", "compare", "tiny", "--baseline", "min_margin=0.5")
    assert compared.exit_code == 0, compared.stderr
    report = home / "reports" / "experiment-tiny.html"
    assert f"report: {report}" in compared.stdout.replace("\n", "")
    page = report.read_text()
    assert "compared with <bdi>min_margin=0.5</bdi>" in page
    assert "data:image/svg+xml;base64," in page

    unknown = factible("experiment", "compare", "tiny", "--metric", "beauty")
    assert unknown.exit_code == 2
    assert "There is no metric beauty. Known: precision" in unknown.stderr

    # Beside production, and where analysts look.
    store = Warehouse(home / "published.duckdb")
    assert store.query("SELECT count(*) FROM current_materializations").item() == 0
    rows = store.query(
        "SELECT DISTINCT variant FROM experiment_comparison WHERE experiment = 'tiny'"
    )
    assert set(rows["variant"]) == {"base", "min_margin=0.5"}


def test_the_projects_experiments_are_listed(factible: Run) -> None:
    listed = {each["experiment"]: each for each in json.loads(listed_json(factible))}
    assert listed.keys() >= {"strategies", "max-claims", "one-at-a-time"}
    assert listed["strategies"]["variants"] == 3
    assert listed["strategies"]["finished_at"] is None


def listed_json(factible: Run) -> str:
    result = factible("experiment", "list", "--json")
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_an_unusable_experiment_is_named_with_its_line(factible: Run, tiny: Path) -> None:
    tiny.write_text(TINY.replace("max_queries", "max_querys"))
    for command in (("run", "tiny"), ("run", tiny), ("show", "tiny"), ("list",)):
        result = factible("experiment", *command)
        assert result.exit_code == 4
        assert f"{tiny}:4: There is no option 'max_querys'. Did you mean" in result.stderr


def test_an_unknown_experiment_is_named_with_the_nearest_one(factible: Run) -> None:
    result = factible("experiment", "run", "strategy")
    assert result.exit_code == 4
    assert "There is no experiment strategy. Did you mean 'strategies'?" in result.stderr


def test_compare_without_a_run_names_the_command(factible: Run, tiny: Path) -> None:
    result = factible("experiment", "compare", "tiny")
    assert result.exit_code == 4
    assert "factible experiment run tiny" in result.stderr


def test_a_service_that_is_not_set_up_is_a_matter_of_the_machine(factible: Run, tiny: Path) -> None:
    tiny.write_text("experiment: tiny\ntags: [demo]\nsettings: {model: gpt-4o}\n")
    planned = factible("experiment", "run", "tiny", "--dry-run")
    assert planned.exit_code == 0
    assert (
        "Not set up: The run needs a language model, but OPENAI_API_KEY is not set"
        in planned.stderr
    )
    result = factible("experiment", "run", "tiny")
    assert result.exit_code == 5
    assert "OPENAI_API_KEY" in result.stderr


def test_the_schema_is_printed_for_editors(factible: Run) -> None:
    assert json.loads(factible("experiment", "schema").stdout) == experiment_json_schema()
