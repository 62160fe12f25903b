"""A spare copy with all changes applied is the same as a whole new copy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.samples import fact_check, llm_call, stamp
from tests.warehouse.workers import publish_until
from warehouse import publication
from warehouse.bookkeeping import record_calls
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse


@pytest.fixture(autouse=True)
def _spares_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "LARGE_FILE_BYTES", 0)


@pytest.fixture
def whole_copies(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The copies that were made as a whole."""
    made: list[Path] = []
    copy = publication.copy_database

    def copied(connection: duckdb.DuckDBPyConnection, destination: Path) -> None:
        made.append(destination)
        copy(connection, destination)

    monkeypatch.setattr(publication, "copy_database", copied)
    return made


def check(warehouse: Warehouse, run: int, video_id: str = "v") -> None:
    warehouse.write_assets(video_id, fact_check(video_id, claims=1 + run % 3), stamp=stamp(run))


def claim_anew(warehouse: Warehouse, run: int) -> None:
    warehouse.write_assets("v", {"claims": fact_check("v")["claims"]}, stamp=stamp(run))


def differences(warehouse: Warehouse, copy: Path) -> list[str]:
    """The tables whose rows, in any order, are not the same in both."""
    with warehouse.connection() as connection:
        connection.execute(f"ATTACH '{copy}' AS copy (READ_ONLY)")
        tables = connection.execute(
            "SELECT DISTINCT table_name FROM duckdb_tables() WHERE estimated_size > 0"
        ).fetchall()
        digest = "(SELECT (count(*), sum(hash(rows_of)::HUGEINT)) FROM {} AS rows_of)"
        pairs = (
            f"SELECT '{table}', {digest.format(table)} = {digest.format(f'copy.{table}')}"
            for (table,) in tables
        )
        same = connection.execute(" UNION ALL ".join(pairs)).fetchall()
    assert len(same) > 15
    return [table for table, is_same in same if is_same is False]


@pytest.fixture(scope="module")
def published_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a warehouse of three runs, a copy of two, and one of the first as a spare."""
    folder = tmp_path_factory.mktemp("published")
    warehouse = Warehouse(folder / "warehouse.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "LARGE_FILE_BYTES", 0)
        check(warehouse, 1)
        warehouse.publish(folder / "copy.duckdb")
        claim_anew(warehouse, 2)
        warehouse.publish(folder / "copy.duckdb")
        check(warehouse, 3)
    return folder


@pytest.fixture
def warehouse(published_twice: Path, tmp_path: Path) -> Warehouse:
    shutil.copytree(published_twice, tmp_path, dirs_exist_ok=True)
    return Warehouse(tmp_path / "warehouse.duckdb")


def test_only_changes_are_written_to_a_spare(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path]
) -> None:
    copy = tmp_path / "copy.duckdb"
    warehouse.publish(copy)
    check(warehouse, 3)  # the same run once more, whose sets are replaced
    check(warehouse, 4, "w")
    record_calls(warehouse, [llm_call("w", "verdicts")], stamp(5))
    warehouse.write_rows({"recheck_launches": [_launch()]})
    with warehouse.connection() as connection:
        connection.execute("UPDATE recheck_settings SET videos_per_night = 3")
    warehouse.publish(copy)
    assert whole_copies == []
    assert differences(warehouse, copy) == []
    assert copy.stat().st_mode & 0o777 == 0o444


def test_trimmed_texts_give_their_room_back_in_copies_too(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path]
) -> None:
    copy = tmp_path / "copy.duckdb"
    with warehouse.connection() as connection:
        connection.execute("DELETE FROM page_texts")
    for made in (1, 2, 2):
        warehouse.publish(copy)
        assert len(whole_copies) == made
        assert differences(warehouse, copy) == []


def _launch() -> dict[str, object]:
    return {
        "video_id": "v",
        "planned_at": stamp(1).checked_at,
        "position": 1,
        "reason": "old",
        "with_queries": False,
        "estimated_cost_usd": 0.0,
    }


READS_ON = """
import sys, duckdb
reader = duckdb.connect(sys.argv[1], read_only=True)
for _ in sys.stdin:
    print(reader.execute(sys.argv[2]).fetchall()[0][0], flush=True)
"""
RUNS = "SELECT count(DISTINCT run_id) FROM claims"


@contextmanager
def reading_here(copy: Path) -> Iterator[Callable[[], int]]:
    with duckdb.connect(str(copy), read_only=True) as reader:
        yield lambda: int(reader.execute(RUNS).fetchall()[0][0])


@contextmanager
def reading_elsewhere(copy: Path) -> Iterator[Callable[[], int]]:
    command = [sys.executable, "-c", READS_ON, str(copy), RUNS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        questions, answers = process.stdin, process.stdout

        def ask() -> int:
            print(file=questions, flush=True)
            return int(answers.readline())

        yield ask
        questions.close()


READERS = {"this process": reading_here, "another process": reading_elsewhere}


@pytest.mark.parametrize("reader", ["this process", "another process"])
def test_a_spare_in_use_is_not_changed(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path], reader: str
) -> None:
    copy = tmp_path / "copy.duckdb"
    with READERS[reader](copy) as ask:
        assert ask() == 2
        for run in (4, 5, 6):
            claim_anew(warehouse, run)
            warehouse.publish(copy)
            assert differences(warehouse, copy) == []
        assert ask() == 2
    # One for the copy that is read, and then by turns again.
    assert len(whole_copies) == 1


@pytest.mark.parametrize(
    "step", ["add_texts", "checkpoint_copy", "detach_copy", ".publishing", "/copy.duckdb"]
)
def test_a_kill_at_any_moment_leaves_a_good_copy(
    warehouse: Warehouse, tmp_path: Path, processes: ForkServerContext, step: str
) -> None:
    copy = tmp_path / "copy.duckdb"
    killed = processes.Process(target=publish_until, args=(warehouse.path, copy, step))
    killed.start()
    killed.join()
    assert killed.exitcode == 9
    with duckdb.connect(str(copy), read_only=True) as reader:
        ((runs,),) = reader.execute("SELECT count(DISTINCT run_id) FROM claims").fetchall()
    assert runs == (3 if step == "/copy.duckdb" else 2)
    claim_anew(warehouse, 4)
    warehouse.publish(copy)
    assert differences(warehouse, copy) == []
    warehouse.publish(copy)
    left = {entry.name for entry in tmp_path.iterdir()} - {warehouse.path.name}
    assert left == {"copy.duckdb", ".copy.duckdb.spare"}


def test_a_damaged_spare_is_replaced(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    spare = tmp_path / ".copy.duckdb.spare"
    spare.chmod(0o644)
    spare.write_bytes(b"no database")
    warehouse.publish(copy)
    assert differences(warehouse, copy) == []


def test_a_spare_does_not_bypass_the_check_of_the_copy(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.duckdb"
    anew = Warehouse(tmp_path / "anew.duckdb")
    claim_anew(anew, 9)
    before = copy.read_bytes()
    with pytest.raises(WarehouseError, match="was not replaced"):
        anew.publish(copy)
    assert copy.read_bytes() == before
