"""Connections open the file late, close it at once, and wait only for its lock."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import duckdb
import pytest

from factible_assets.records.tables import Claim
from tests.patience import A_DAY
from tests.warehouse.samples import claim, fact_check, stamp, write_asset
from tests.warehouse.workers import hold, write_in_step, write_without_end
from warehouse import connection
from warehouse.connection import FileConnector
from warehouse.errors import (
    NoRoomError,
    NotAWarehouseError,
    WarehouseBusyError,
    WarehouseIntegrityError,
    WarehouseNotWritableError,
)
from warehouse.store import Warehouse

OPEN = "import duckdb, sys; duckdb.connect(sys.argv[1]).close()"


@contextmanager
def running(
    context: ForkServerContext, work: Callable[..., None], *arguments: Any
) -> Iterator[multiprocessing.process.BaseProcess]:
    process = context.Process(target=work, args=arguments, daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
        process.close()


def another_process_can_open(path: Path) -> bool:
    return subprocess.run([sys.executable, "-c", OPEN, str(path)], check=False).returncode == 0


# --- Leaks --------------------------------------------------------------------------------------


def test_a_body_that_raises_leaves_the_file_free_while_the_exception_lives(
    warehouse: Warehouse,
) -> None:
    kept: list[BaseException] = []
    try:
        with warehouse.connection() as connection:
            relation = connection.sql("SELECT * FROM claims")
            connection.begin()
            raise RuntimeError(relation.columns[0])
    except RuntimeError as failure:
        kept.append(failure)
    assert another_process_can_open(warehouse.path)
    with pytest.raises(WarehouseIntegrityError) as refusal:
        write_asset(
            warehouse, "claims", "v", [claim("v"), claim("v")], stamp=stamp(1), code_version="1"
        )
    kept.append(refusal.value)
    with pytest.raises(duckdb.Error) as wrong:
        warehouse.query("SELECT nothing FROM nowhere")
    kept.append(wrong.value)
    assert another_process_can_open(warehouse.path)
    assert len(kept) == 3


def test_making_a_warehouse_touches_nothing(tmp_path: Path) -> None:
    Warehouse(tmp_path / "not" / "yet.duckdb")
    assert list(tmp_path.iterdir()) == []


# --- Waiting ------------------------------------------------------------------------------------


def test_a_locked_file_is_waited_for(warehouse: Warehouse, processes: ForkServerContext) -> None:
    started, may_end = processes.Event(), processes.Event()
    with (
        running(processes, hold, warehouse.path, started, may_end),
        ThreadPoolExecutor(1) as writer,
    ):
        assert started.wait()
        written = writer.submit(
            write_asset, warehouse, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1"
        )
        with pytest.raises(TimeoutError):
            written.result(0.2)
        may_end.set()
        written.result()
    assert warehouse.read_current(Claim, "v") == [claim("v")]


def test_waiting_ends_with_a_sentence_that_names_the_file_and_the_process(
    warehouse: Warehouse, processes: ForkServerContext
) -> None:
    started, may_end = processes.Event(), processes.Event()
    impatient = Warehouse(FileConnector(warehouse.path, lock_timeout_seconds=0.2))
    with running(processes, hold, warehouse.path, started, may_end) as holder:
        assert started.wait()
        with pytest.raises(WarehouseBusyError) as refusal:
            impatient.query("SELECT 1")
        assert str(warehouse.path) in str(refusal.value)
        assert f"PID {holder.pid}" in str(refusal.value)
    assert impatient.query("SELECT 1").height == 1


def test_threads_of_one_process_take_turns(warehouse: Warehouse) -> None:
    def write_and_read(number: int) -> int:
        video_id = f"v{number}"
        write_asset(
            warehouse, "claims", video_id, [claim(video_id)], stamp=stamp(1), code_version="1"
        )
        return len(warehouse.read_current(Claim, video_id))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write_and_read, range(6))) == [1] * 6


def test_a_connection_within_a_connection_is_refused_instead_of_waiting_for_itself(
    warehouse: Warehouse,
) -> None:
    endless = Warehouse(FileConnector(warehouse.path, lock_timeout_seconds=A_DAY))
    with endless.connection(), pytest.raises(WarehouseBusyError, match="this very thread"):
        endless.query("SELECT 1")


def test_another_thread_that_never_lets_go_is_named(warehouse: Warehouse) -> None:
    holding, enough = threading.Event(), threading.Event()

    def hold_it() -> None:
        with warehouse.connection():
            holding.set()
            enough.wait()

    holder = threading.Thread(target=hold_it)
    holder.start()
    try:
        assert holding.wait()
        impatient = Warehouse(FileConnector(warehouse.path, lock_timeout_seconds=0.1))
        with pytest.raises(WarehouseBusyError, match="another thread of this process"):
            impatient.query("SELECT 1")
    finally:
        enough.set()
        holder.join()


# --- Several processes --------------------------------------------------------------------------


def test_two_processes_that_write_at_once_lose_nothing(
    tmp_path: Path, processes: ForkServerContext
) -> None:
    path, rounds = tmp_path / "new" / "shared.duckdb", 2
    barrier = processes.Barrier(2)
    writers = [
        processes.Process(target=write_in_step, args=(path, video_id, rounds, barrier))
        for video_id in ("a", "b")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    complete = Warehouse(path).query(
        "SELECT m.video_id, asset, row_count, count(c.claim_id) AS claims FROM materializations m "
        "LEFT JOIN claims c ON c.video_id = m.video_id GROUP BY ALL"
    )
    assert complete.height == 2 * 2 * rounds
    assert set(complete["claims"]) == {1}
    assert Warehouse(path).query("SELECT count(*) FROM page_texts").item() == 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_writer_that_is_killed_leaves_nothing_half_written(
    warehouse: Warehouse, processes: ForkServerContext
) -> None:
    whole = "SELECT run_id, count(*) FROM materializations GROUP BY ALL HAVING count(*) <> 7"
    counted = """
        WITH expected AS (
            SELECT run_id, row_count FROM materializations WHERE asset = 'verdicts'
        )
        SELECT run_id FROM expected WHERE row_count <> 1
            + (SELECT count(*) FROM verdict_history WHERE verdict_history.run_id = expected.run_id)
            + (SELECT count(*) FROM steps WHERE steps.run_id = expected.run_id)
        UNION ALL SELECT run_id FROM claims ANTI JOIN expected USING (run_id)
        UNION ALL SELECT run_id FROM evidence ANTI JOIN expected USING (run_id)
    """
    dice = random.Random(7)
    for _ in range(3):
        begun = processes.Semaphore(0)
        with running(processes, write_without_end, warehouse.path, begun):
            begun.acquire()
            begun.acquire()
            time.sleep(dice.uniform(0, 0.3))  # somewhere in the sets after the first
        assert warehouse.query(whole).rows() == []
        assert warehouse.query(counted).rows() == []
    assert warehouse.query("SELECT count(*) FROM materializations").item() >= 7


def test_a_process_that_is_killed_while_it_creates_the_file_leaves_none_or_a_whole_one(
    tmp_path: Path, processes: ForkServerContext
) -> None:
    for number, pause in enumerate([0.0, 0.05, 0.3]):
        path, begun = tmp_path / f"new-{number}.duckdb", processes.Semaphore(0)
        with running(processes, write_without_end, path, begun):
            begun.acquire()
            time.sleep(pause)
        assert Warehouse(path).query("SELECT count(*) FROM claims").height == 1


# --- Paths --------------------------------------------------------------------------------------


def test_a_directory_is_no_warehouse(tmp_path: Path) -> None:
    with pytest.raises(NotAWarehouseError, match="it is a directory"):
        Warehouse(tmp_path).query("SELECT 1")


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letters.txt"
    path.write_text("Dear reader, " * 1000)
    patient = Warehouse(FileConnector(path, lock_timeout_seconds=A_DAY))
    with pytest.raises(NotAWarehouseError, match=r"letters\.txt is no warehouse") as refusal:
        patient.write_assets("v", fact_check("v"), stamp=stamp(1))
    assert "point to another path" in str(refusal.value)
    assert path.read_text().startswith("Dear reader")


def test_free_blocks_that_the_file_lacks_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT hash(range) FROM range(200_000)")
        connection.execute("CHECKPOINT")
        connection.execute("CREATE TABLE dropped AS SELECT hash(range) FROM range(200_000)")
        connection.execute("CHECKPOINT")
        connection.execute("DROP TABLE dropped")
        connection.execute("CHECKPOINT")
    FileConnector(path).refuse_damage()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 300_000)
    with pytest.raises(NotAWarehouseError, match="it is damaged"):
        FileConnector(path).refuse_damage()


def test_an_sqlite_file_is_no_warehouse(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    with pytest.raises(NotAWarehouseError, match="DuckDB does not recognise the file"):
        Warehouse(path).write_assets("v", fact_check("v"), stamp=stamp(1))


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    with pytest.raises(NotAWarehouseError, match="1 tables of another program"):
        Warehouse(path).query("SELECT 1")
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [
            ("orders",)
        ]


def test_a_directory_that_cannot_be_made_gets_a_sentence_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a directory should be")
    with pytest.raises(WarehouseNotWritableError) as refusal:
        Warehouse(tmp_path / "data" / "warehouse.duckdb").query("SELECT 1")
    assert str(tmp_path / "data") in str(refusal.value)
    assert "point to another path" in str(refusal.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_directory_that_may_not_be_written_gets_a_sentence_with_the_remedy(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(WarehouseNotWritableError, match="writable for this user"):
            Warehouse(tmp_path / "warehouse.duckdb").query("SELECT 1")
    finally:
        tmp_path.chmod(0o755)


def test_quotes_in_a_path_are_characters_like_others(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s "quoted"; -- %s' / 'a "b" c\'d.duckdb'
    odd = Warehouse(path)
    write_asset(odd, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    copy = odd.publish(tmp_path / 'pub\'lic "copy".duckdb')
    assert Warehouse(copy).read_current(Claim, "v") == [claim("v")]


def test_a_named_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "warehouse.duckdb"
    os.mkfifo(pipe)
    with pytest.raises(NotAWarehouseError, match="it is a named pipe"), Warehouse(pipe).snapshot():
        pass


# --- Settings of a write ------------------------------------------------------------------------


def test_rows_of_a_large_file_are_compressed_and_those_of_a_small_one_are_not(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forced() -> str:
        with warehouse.connection() as connection:
            ((found,),) = connection.execute(
                "SELECT lower(current_setting('force_compression'))"
            ).fetchall()
        return str(found)

    warehouse.ensure_exists()
    assert forced() == "uncompressed"
    monkeypatch.setattr(connection, "LARGE_FILE_BYTES", 0)
    assert forced() == "auto"


def test_a_full_disk_at_the_first_commit_is_reported(tmp_path: Path) -> None:
    def prepare(_: duckdb.DuckDBPyConnection) -> None:
        raise duckdb.TransactionException("Failed to commit: … No space left on device")

    with pytest.raises(NoRoomError):
        FileConnector(tmp_path / "warehouse.duckdb").ensure_exists(prepare)
    assert list(tmp_path.iterdir()) == []
