"""A reviewer corrects one claim of the demo, and only that claim is checked again."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner

from factible_assets.cli.main import app
from factible_assets.pipeline.assets.claim_input import kept_claims
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.stages.reviews import claims_in_force
from warehouse.store import Warehouse

VIDEO = "everyday-beliefs-talk"
TABLES = ("queries", "search_hits", "searches", "evidence", "verdict_history")
CHECK = ("check", VIDEO, "--max-claims", "2", "--max-queries", "1", "--max-results", "3")


def factible(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"], prog_name="factible")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def factible_list(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, [*arguments, "--json"], prog_name="factible")
    listed: list[dict[str, Any]] = json.loads(result.stdout)
    return listed


def rows(store: Warehouse, run_id: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the rows of a run by claim and table."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    with store.snapshot() as still:
        for table in TABLES:
            query = f"SELECT * EXCLUDE (run_id, checked_at) FROM {table} "  # noqa: S608 - see TABLES
            for row in still.rows(f"{query} WHERE run_id = $run ORDER BY ALL", {"run": run_id}):
                row.pop("rank", None)  # The place among all verdicts of a set is the set's.
                found[row["claim_id"]][table].append(row)
    return found


def live_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "SERPER_API_KEY", "FACTIBLE_WEB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FACTIBLE_HOME", str(home))
    monkeypatch.setenv("FACTIBLE_REVIEWER", "health desk")


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A data folder with a checked video, and the result."""
    home = tmp_path_factory.mktemp("checked")
    with pytest.MonkeyPatch.context() as patch:
        live_in(home, patch)
        return home, factible(*CHECK)


@pytest.fixture
def settings(
    checked: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """A copy of that folder, of the test's own."""
    home = tmp_path / "home"
    shutil.copytree(checked[0], home)
    live_in(home, monkeypatch)
    return Settings(home=home)


@pytest.fixture
def first(checked: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return checked[1]


def test_one_claim_is_corrected_and_checked_alone(
    settings: Settings, first: dict[str, Any]
) -> None:
    store = Warehouse(settings.warehouse)
    shown = factible("review", VIDEO, "1")
    mine, other = (row["claim_id"] for row in sorted(first["claims"], key=lambda row: row["rank"]))
    assert shown["claim_id"] == mine
    stance = shown["verdict"]["stance"]
    deciding = {row["domain"] for row in shown["sources"] if row["stance"] == stance}
    assert stance == "supports"
    # The sources that take their place say the same.
    deciding |= {f"{each}.example" for each in ("harbour-times", "commons-encyclopedia")}
    deciding |= {"checkpoint-facts.example", "weather-office.example"}

    blocks = [part for domain in sorted(deciding) for part in ("--block", domain)]
    done = factible("review", VIDEO, "1", *blocks, "--reason", "on trial")
    assert done["verdict"]["stance"] == "unclear"
    skipped = [row["reason"] for row in done["sources"] if row["domain"] in deciding]
    assert skipped
    assert all(reason.startswith("Blocked by a reviewer: health desk") for reason in skipped)

    # The other claim is the same, row by row, and its verdict has not changed.
    before, after = rows(store, first["run_id"]), rows(store, done["run_id"])
    assert after[other] == before[other]
    assert before[other].keys() == {*TABLES}
    changes = store.query("SELECT claim_id, change, run_id FROM verdict_changes").rows()
    assert changes == [(mine, "flip", done["run_id"])]
    carried = store.query("SELECT run_id, claim_id, source_run_id FROM carried_claims").rows()
    assert carried == [(done["run_id"], other, first["run_id"])]

    # It was a run like any other, with the options of the last.
    with open_instance(settings) as instance:
        run = instance.get_run_by_id(done["run_id"])
    assert run is not None
    assert (run.tags["claim"], run.tags["reviewer"]) == (mine, "health desk")
    ops: Any = run.run_config["ops"]
    assert ops["claim_checks"]["config"]["only_claims"] == [mine]
    assert ops["claim_checks"]["config"]["queries"]["max_queries"] == 1

    history = CliRunner().invoke(app, ["review", VIDEO, "--history", "--json"])
    acts = json.loads(history.stdout)
    assert {(act["reviewer"], act["action"], act["run_id"]) for act in acts} == {
        ("health desk", "block_source", done["run_id"])
    }
    assert {(act["stance_before"], act["stance_after"]) for act in acts} == {
        ("supports", "unclear")
    }
    assert "health desk" in Path(done["report"]).read_text(encoding="utf-8")

    # A missing claim, or a missing earlier check, is an error.
    claims = store.read_current(Claim, VIDEO)
    with pytest.raises(dg.Failure, match=r"has no claim c00 \(only_claims\)"):
        kept_claims(store, VIDEO, claims, ALL_STAGES, ["c00"], claims_in_force([]))
    later = claims[0].model_copy(update={"claim_id": "c11", "rank": 3})
    with pytest.raises(dg.Failure, match="before the whole video: the claim c11 was never checked"):
        kept_claims(store, VIDEO, [*claims, later], ALL_STAGES, [mine], claims_in_force([]))
    # A run of the asset `claims` alone checks none.
    alone = kept_claims(store, VIDEO, claims, (), [mine], claims_in_force([]))
    assert alone == (VideoRows(), ())
    with pytest.raises(dg.Failure, match="it has no queries, search_hits"):
        kept_claims(store, "another", claims, ALL_STAGES, [mine], claims_in_force([]))


def test_a_reworded_claim_is_checked_alone_and_survives_a_new_extraction(
    settings: Settings, first: dict[str, Any]
) -> None:
    store = Warehouse(settings.warehouse)
    old, other = (row["claim_id"] for row in sorted(first["claims"], key=lambda row: row["rank"]))
    words = "Mount Everest is 8,849 metres high."
    done = factible("review", VIDEO, "1", "--reword", words, "--reason", "one claim, not two")
    mine = done["claim_id"]
    assert (done["claim"], mine != old) == (words, True)
    assert done["verdict"]["stance"] == "supports"
    after = rows(store, done["run_id"])
    assert after[other] == rows(store, first["run_id"])[other]
    assert after[mine].keys() == {*TABLES}
    assert old not in after
    history = store.query("SELECT action, run_id FROM review_history").rows()
    assert history == [("reword_claim", done["run_id"])]

    # It keeps its place in the transcript.
    told = {row.claim_id: row for row in store.read_current(Claim, VIDEO)}
    assert told.keys() == {mine, other}
    assert told[mine].basis == "reviewer"
    assert told[mine].start_seconds is not None

    # Its former id still names it.
    unused = next(row["domain"] for row in done["sources"] if row["stance"] != "supports")
    ruling = ("--sign", "mixed", "--ruling", "It boils at 71.", "--reviewer", "Ana")
    signed = factible("review", VIDEO, old[:8], *ruling, "--block", unused, "--no-rerun")
    assert signed["claim_id"] == mine
    assert (signed["ruling"]["value"], signed["run_id"]) == ("Mixed", None)
    added = "Honey never spoils."
    factible("review", VIDEO, "--add-claim", added, "--no-rerun")
    factible("review", VIDEO, other, "--drop", "--reason", "off the subject", "--no-rerun")

    # The next check extracts the claims again because of that, and applies all of it.
    factible(*CHECK)
    assert {row.text for row in store.read_current(Claim, VIDEO)} == {words, added}
    standing = factible_list("review", VIDEO)
    assert {row["claim"] for row in standing if row["verdict"]} >= {words, added}
    assert [row["gone"] for row in standing] == [None, None, "drop_claim"]
    shown = factible("review", VIDEO, mine)
    assert shown["ruling"]["reviewer"] == "Ana"
    assert shown["verdict"]["stance"] == "supports"
    reasons = [row["reason"] for row in shown["sources"] if row["domain"] == unused]
    assert reasons
    assert all(each.startswith("Blocked by a reviewer: Ana") for each in reasons)
