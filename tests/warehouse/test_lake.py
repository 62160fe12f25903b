"""A lake on a real PostgreSQL server has the same rows as a file, also with several writers."""

from __future__ import annotations

import gc
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import cast

import duckdb
import pytest

from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.tables import ReviewAction
from factible_assets.settings import Settings, SettingsError
from factible_assets.web.results import PublishedResults
from tests.warehouse.lakes import PASSWORD, Server, server
from tests.warehouse.objects import KEY_ID, SECRET, object_store
from tests.warehouse.older import SCHEMA_31, assert_is_upgraded
from tests.warehouse.samples import FIRST_CHECK, fact_check, stamp
from tests.warehouse.workers import write_each
from warehouse import sets
from warehouse import store as store_module
from warehouse.bookkeeping import read_actions
from warehouse.errors import (
    LakeBusyError,
    LakeError,
    WarehouseError,
    WarehouseIntegrityError,
    WarehouseTooOldError,
)
from warehouse.lake import Lake, _end, _opened, create_tables_of_lake
from warehouse.sets import KEYS, PreparedSet, insert_rows
from warehouse.store import Warehouse
from warehouse.upkeep import MovedTable, compact, move_into, upgrade
from warehouse.versions import packaged_schema

COLUMNS = """
    SELECT table_name, column_name, data_type FROM duckdb_columns()
    WHERE database_name = current_database() AND NOT internal ORDER BY ALL
"""

SMALL = replace(
    packaged_schema(),
    views=(),
    tables="\n".join(
        Path("warehouse", "schema", f"{name}.sql").read_text("utf-8")
        for name in ("bookkeeping", "transcripts")
    ),
)
"""A part of the schema, which a lake takes sooner."""
A_VIDEO = """
    INSERT INTO videos (video_id, title, tags, run_id, checked_at)
    SELECT 'v', 'Bees', [], 'r', now()
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture(scope="module")
def lake(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return postgres.lake("shared", tmp_path_factory.mktemp("lake"))


def counts(store: Warehouse, table: str, key: str) -> tuple[int, int]:
    sql = f"SELECT count(*), count(DISTINCT ({key})) FROM {table}"  # noqa: S608
    (row,) = store.query(sql).rows()
    return row[0], row[1]


def act(number: int, video_id: str = "reviewed") -> ReviewAction:
    return ReviewAction(
        action_id=f"act-{number}",
        video_id=video_id,
        claim_id="c",
        reviewer="ada",
        acted_at=FIRST_CHECK,
        position=number,
        action="note",
        value="a note",
    )


def test_a_file_is_moved_into_an_empty_lake_which_is_then_the_same_in_tables_views_and_writes(
    lake: Lake, warehouse: Warehouse
) -> None:
    store, heard = Warehouse(lake), list[MovedTable]()
    warehouse.write_assets("moved", fact_check("moved"), stamp=stamp(0))
    warehouse.write_rows({"review_actions": [act(9, "moved")]})
    before = warehouse.path.read_bytes()
    moved = move_into(warehouse.path, lake, heard.append)
    assert moved == heard
    assert {each.table: each.rows for each in moved}["claims"] == 2
    with pytest.raises(WarehouseError, match="is not empty"):
        move_into(warehouse.path, lake, heard.append)
    assert store.query("SELECT count(*) FROM videos").item() == 1
    assert warehouse.path.read_bytes() == before

    assert store.query(COLUMNS).rows() == warehouse.query(COLUMNS).rows()
    for each in (store, warehouse):
        # The same run again takes the place of its first time.
        for claims in (4, 3):
            each.write_assets("v", fact_check("v", claims=claims), stamp=stamp(2))
    assert store.read_judged("v") == warehouse.read_judged("v")
    compact(store)
    # The columns above already bind every view; these have the most SQL.
    for view in ("evidence_chain", "recheck_plan", "runs", "source_changes", "text_states"):
        counted = f"SELECT count(*) FROM {view}"  # noqa: S608
        assert store.query(counted).item() == warehouse.query(counted).item(), view
    described = store.query(
        "SELECT comment FROM duckdb_tables() WHERE table_name = 'claims' AND comment IS NOT NULL"
    )
    assert described.height == 1


def test_two_writers_of_one_set_leave_one_and_equal_texts_are_stored_once(
    lake: Lake, processes: ForkServerContext
) -> None:
    store, own = Warehouse(lake), ("a", "b")
    barrier = processes.Barrier(len(own))
    writers = [
        processes.Process(target=write_each, args=(store, [each, "same"], barrier)) for each in own
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
        assert each.exitcode == 0
    for table, key in {
        "materializations": "asset, video_id, run_id",
        "evidence": "video_id, run_id, evidence_id",
        "page_texts": "content_hash",
    }.items():
        rows, different = counts(store, table, key)
        assert rows == different > 0, table
    assert {"a", "b", "same"} <= set(store.video_ids())


def test_the_keys_that_are_held_in_code_are_those_of_a_file(warehouse: Warehouse) -> None:
    found = warehouse.query(
        "SELECT table_name, constraint_column_names FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY'"
    )
    held = {table: tuple(columns) for table, columns in found.rows()}
    # Written by statements of their own, which leave no second row.
    del held["trimmed_texts"]
    assert held == KEYS


def test_a_row_that_is_there_is_refused_kept_or_replaced(lake: Lake, warehouse: Warehouse) -> None:
    use = {
        "video_id": "v",
        "run_id": "r",
        "checked_at": FIRST_CHECK,
        "stage": "evidence",
        "service": "s",
    }
    for store in (Warehouse(lake), warehouse):
        store.write_rows({"review_actions": [act(1)]})
        with pytest.raises(WarehouseIntegrityError, match="duplicate key"):
            store.write_rows({"review_actions": [act(2), act(1)]})
        with pytest.raises(WarehouseIntegrityError, match="duplicate key"):
            store.write_rows({"review_actions": [act(3), act(3)]})
        assert read_actions(store, "reviewed") == [act(1)]
        for requests, again in ((1, "keep"), (2, "keep"), (3, "replace")):
            rows = [use | {"requests": requests, "cost_usd": None}]
            store.write(lambda to, r=rows, a=again: insert_rows(to, "service_uses", r, again=a))  # type: ignore[misc]
            expected = 3 if again == "replace" else 1
            assert store.query("SELECT requests FROM service_uses").rows() == [(expected,)]


def test_a_reader_sees_one_moment_and_keeps_no_writer_waiting(lake: Lake) -> None:
    store = Warehouse(lake)
    with store.snapshot() as now:
        before = now.video_ids()
        store.write_assets("meanwhile", fact_check("meanwhile"), stamp=stamp(1))
        assert now.video_ids() == before
    assert "meanwhile" in store.video_ids()
    assert store.publish("nowhere.duckdb") == Path("nowhere.duckdb")
    assert not Path("nowhere.duckdb").exists()


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_lake_keeps_its_rows_in_an_object_store_and_its_keys_to_itself(
    scheme: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store() as objects:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_ENDPOINT_URL", objects.address)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", objects.connection_string)
        store = Warehouse(
            postgres.lake(f"objects_{scheme}", f"{scheme}://bucket/lake"), schema=SMALL
        )
        store.write(lambda to: to.execute(A_VIDEO))
        compact(store)
        assert any(name.startswith("bucket/lake/main/videos/") for name in objects.objects)
        assert store.query("SELECT title FROM videos").item() == "Bees"
        told = store.query("SELECT value FROM duckdb_settings()").rows()
        told += store.query("SELECT secret_string FROM duckdb_secrets()").rows()
        assert SECRET not in str(told)
        objects.is_shut = True
        away = f"files in {scheme}://bucket/lake cannot be reached"
        with pytest.raises(LakeError, match=away) as refused:
            store.write(lambda to: to.execute(f"{A_VIDEO} FROM range(200)"))
        assert SECRET not in str(refused.value)


def test_a_store_of_another_kind_is_refused() -> None:
    with pytest.raises(WarehouseError, match="is a folder, or begins with s3://, gs://, az://"):
        Lake.of("ducklake:postgres:dbname=lake", "ftp://example.org/lake")


def test_an_older_lake_is_upgraded_with_its_rows(postgres: Server, tmp_path: Path) -> None:
    lake = postgres.lake("older", tmp_path)
    with lake.connect() as connection:
        create_tables_of_lake(connection, SCHEMA_31)
        connection.commit()
    store = Warehouse(lake)
    with pytest.raises(WarehouseTooOldError):
        store.query("SELECT 1")
    assert upgrade(store, lambda _: None) is None
    assert_is_upgraded(store)


def test_a_write_survives_a_restart_of_the_server(postgres: Server, lake: Lake) -> None:
    store = Warehouse(lake)
    store.write_assets("before", fact_check("before"), stamp=stamp(1))
    times: list[int] = []

    def restart(_: duckdb.DuckDBPyConnection) -> None:
        times.append(1)
        if len(times) == 1:
            postgres.control("-m", "immediate", "restart")

    store.write_assets("after", fact_check("after"), stamp=stamp(1), also=restart)
    assert len(times) == 2
    assert counts(store, "materializations", "asset, video_id, run_id")[0] % 7 == 0
    assert {"before", "after"} <= set(store.video_ids())


def test_the_service_answers_from_the_lake_itself(
    postgres: Server, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Warehouse(lake).write_assets("served", fact_check("served"), stamp=stamp(1))
    monkeypatch.setenv("FACTIBLE_WAREHOUSE", postgres.location("shared"))
    monkeypatch.setenv("FACTIBLE_LAKE_DATA", lake.data)
    settings = Settings(home=tmp_path)
    assert settings.published == settings.warehouse == lake
    results = PublishedResults(settings)
    assert len(results.data("served").claims) == 2
    assert results.videos(limit=1, offset=0).total >= 1
    assert WarehouseResource(database=str(settings.warehouse)).store().connector == lake


def test_no_message_question_or_configuration_shows_the_password(
    lake: Lake, tmp_path: Path
) -> None:
    store = Warehouse(lake)
    shown = [str(lake), repr(lake), str(store.path)]
    for question in ("FROM duckdb_databases()", "FROM duckdb_secrets()"):
        shown += map(str, store.query(question).rows())
    wrong = Lake.of(
        str(lake).replace("user=postgres", "user=nobody password=hidden-word"), tmp_path
    )
    with pytest.raises(LakeError, match="authentication failed") as refused:
        Warehouse(wrong).query("SELECT 1")
    shown.append(str(refused.value))
    assert not any(word in each for each in shown for word in (PASSWORD, "hidden-word"))
    for reached in ("SELECT * FROM read_text('/etc/hostname')", "ATTACH '/tmp/other.duckdb'"):
        with pytest.raises(duckdb.Error):
            store.query(reached)


@pytest.mark.parametrize(
    ("location", "catalogue", "password"),
    [
        ("ducklake:postgres:dbname=l host=h", "dbname=l host=h", None),
        ("ducklake:postgres:password='a\\'b c' dbname=l", "dbname=l", "a'b c"),
        ("ducklake:postgres:postgresql://u:p%2F@h:1/l", "host=h port=1 user=u dbname=l", "p/"),
    ],
)
def test_a_lake_accepts_both_forms_of_libpq(
    location: str, catalogue: str, password: str | None
) -> None:
    found = Lake.of(location, "s3://bucket/folder")
    assert (found.catalogue, found.password, found.data) == (
        catalogue,
        password,
        "s3://bucket/folder",
    )


def test_an_invalid_location_is_refused_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (
        "sqlite:secret",
        "ducklake:postgres:secret",
        "ducklake:postgres:ftp://secret@h/x",
    ):
        monkeypatch.setenv("FACTIBLE_WAREHOUSE", place)
        with pytest.raises(SettingsError, match="FACTIBLE_WAREHOUSE") as refused:
            _ = Settings(home=tmp_path).warehouse
        assert "secret" not in str(refused.value)
    with suppress(KeyError):
        monkeypatch.delenv("FACTIBLE_WAREHOUSE")
    assert Settings(home=tmp_path).warehouse.path == tmp_path / "warehouse.duckdb"


class Invalid:
    """A connection of an invalid instance: closing it would end the process."""

    def rollback(self) -> None:
        raise duckdb.FatalException("database has been invalidated")

    def close(self) -> None:
        pytest.fail("It was closed.")

    def __del__(self) -> None:
        os._exit(70)


def test_an_invalid_instance_is_never_closed_collected_or_used(lake: Lake) -> None:
    store = Warehouse(lake)
    store.query("SELECT 1")
    _end(cast("duckdb.DuckDBPyConnection", Invalid()))
    assert not _opened
    gc.collect()
    assert store.query("SELECT 1 AS one").item() == 1


def test_a_missing_server_is_reported_and_a_restarting_one_awaited(
    postgres: Server, lake: Lake, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"ducklake:postgres:host=127.0.0.1 port={free.getsockname()[1]} dbname=none"
    with pytest.raises(LakeError, match="Connection refused") as refused:
        Warehouse(Lake.of(nobody, tmp_path)).query("SELECT 1")
    assert not isinstance(refused.value, LakeBusyError)

    store = Warehouse(lake)
    store.query("SELECT 1")
    postgres.control("-m", "immediate", "stop")
    back = threading.Timer(0.3, postgres.control, ["start"])
    back.start()
    try:
        assert store.query("SELECT 1 AS one").item() == 1
    finally:
        back.join()


def test_writers_of_a_shared_text_do_not_wait_for_each_others_rows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One writer stands still between its texts and its rows, and another one passes it."""
    store, standing, may_go_on = Warehouse(lake), threading.Event(), threading.Event()
    replace_sets = sets.replace_sets

    def slowly(connection: duckdb.DuckDBPyConnection, prepared: Sequence[PreparedSet]) -> None:
        if prepared[0].materialization.video_id == "slow":
            standing.set()
            may_go_on.wait()
        replace_sets(connection, prepared)

    monkeypatch.setattr(store_module, "replace_sets", slowly)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(store.write_assets, "slow", fact_check("slow"), stamp=stamp(1))
        standing.wait()
        try:
            store.write_assets("quick", fact_check("quick"), stamp=stamp(1))
        finally:
            may_go_on.set()
        slow.result()
    rows, different = counts(store, "page_texts", "content_hash")
    assert rows == different
    assert {"slow", "quick"} <= set(store.video_ids())
