"""Erasing a video takes its rows of every table, and the texts that no other video needs."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from factible_assets.records.tables import Claim, Evidence, Verdict
from tests.cli.stored import VIDEO_ID, store_sample
from tests.warehouse.samples import asset_rows, fact_check, page, page_text, stamp
from tests.warehouse.test_judgements import CALL, ROW, changed
from warehouse.erasure import erase_video
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_sample(tmp_path_factory.mktemp("sample")).path


@pytest.fixture
def warehouse(sample: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copyfile(sample, tmp_path / "warehouse.duckdb"))


def counts(warehouse: Warehouse) -> dict[str, int]:
    with warehouse.connection(read_only=True) as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
        return {table: len(connection.table(table).fetchall()) for (table,) in tables}


def copy_to(warehouse: Warehouse, video_id: str) -> None:
    """Let another video have the same rows of each table, and so the same pages and texts."""

    def copy(connection: duckdb.DuckDBPyConnection) -> None:
        tables = connection.execute(
            "SELECT DISTINCT table_name FROM duckdb_columns() "
            "JOIN duckdb_tables() USING (table_name) WHERE column_name = 'video_id'"
        ).fetchall()
        for (table,) in tables:
            rows = connection.table(table)
            rows.project(f"* REPLACE ('{video_id}' AS video_id)").insert_into(table)

    warehouse.write(copy)


def test_nothing_of_a_video_is_left_in_any_table(warehouse: Warehouse) -> None:
    before = counts(warehouse)
    planned = erase_video(warehouse, VIDEO_ID, dry_run=True)
    assert counts(warehouse) == before
    done = erase_video(warehouse, VIDEO_ID, dry_run=False)
    assert planned == done
    left = {table for table, rows in counts(warehouse).items() if rows}
    assert left == {"schema_version", "recheck_settings"}
    assert done.rows == {
        table: rows for table, rows in before.items() if rows and table not in left
    }
    assert done.addresses
    assert done.sentences


def test_another_video_keeps_its_rows_and_the_texts_of_both(warehouse: Warehouse) -> None:
    before = warehouse.read_video(VIDEO_ID)
    copy_to(warehouse, "other")
    done = erase_video(warehouse, "other", dry_run=False)
    assert warehouse.read_video(VIDEO_ID) == before
    assert "page_texts" not in done.rows
    assert not done.addresses, "the pages are found for the other video too"


def test_the_matches_of_other_videos_with_its_claims_go_too(warehouse: Warehouse) -> None:
    (claim_id, *_) = (each.claim_id for each in warehouse.read_current(Claim, VIDEO_ID))
    match = {
        "video_id": "other",
        "claim_id": "another",
        "other_claim_id": claim_id,
        "similarity": 0.9,
        "relation": "same",
        "matched_at": datetime.now(UTC),
    }
    warehouse.write_rows({"claim_matches": [match]})
    done = erase_video(warehouse, VIDEO_ID, dry_run=False)
    assert done.rows["claim_matches"] == 1
    assert counts(warehouse)["claim_matches"] == 0


def test_a_claim_that_took_over_its_sources_keeps_them_and_no_longer_names_it(
    in_memory: Warehouse,
) -> None:
    for name in ("v", "w"):
        in_memory.write_assets(name, fact_check(name, claims=1), stamp=stamp(1))
    (first,) = in_memory.read_current(Claim, "v")
    sentence = "Its sources are those of the video v."
    marked = "reused_claim_id = $id, reused_from = $sentence"
    values = {"id": first.claim_id, "sentence": sentence}
    in_memory.write(
        lambda now: now.execute(f"UPDATE evidence SET {marked} WHERE video_id = 'w'", values)  # noqa: S608
    )
    reason = {"reason": f"{sentence} One source was silent."}
    in_memory.write(lambda now: now.execute("UPDATE verdict_history SET reason = $reason", reason))
    erase_video(in_memory, "v", dry_run=False)
    (row,) = in_memory.read_current(Evidence, "w")
    (verdict,) = in_memory.read_current(Verdict, "w")
    assert row.reused_claim_id == first.claim_id, "it is still no reading of this claim"
    assert "a video that has been removed" in str(row.reused_from)
    assert str(verdict.reason) == f"{row.reused_from} One source was silent."


def test_the_judge_calls_of_a_judging_of_several_videos_go_with_their_video(
    in_memory: Warehouse,
) -> None:
    for name in ("v", "w"):
        judgement = changed(ROW, video_id=name, judgement_id=f"of-{name}")
        call = CALL | {"judgement_id": f"of-{name}"}
        in_memory.write_rows({"judgements": [judgement], "judge_calls": [call]})
    erase_video(in_memory, "v", dry_run=False)
    assert in_memory.query("SELECT judgement_id FROM judge_calls").rows() == [("of-w",)]


def test_the_texts_that_a_repeated_step_has_replaced_go_too(in_memory: Warehouse) -> None:
    for name, text in (("v", "Old."), ("w", "Shared."), ("v", "Shared."), ("v", "New.")):
        read = asset_rows(page(name, text), page_text(text))
        in_memory.write_assets(name, {"evidence": read}, stamp=stamp(1))
    erase_video(in_memory, "v", dry_run=False)
    assert in_memory.query("SELECT text FROM page_texts").rows() == [("Shared.",)]
