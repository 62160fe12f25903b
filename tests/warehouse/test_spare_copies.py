"""A copy for readers is brought up to date by what changed, and is the same as a whole new one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.samples import fact_check, llm_call, stamp
from warehouse import publication
from warehouse.calls import record_calls
from warehouse.errors import WiderCopyError
from warehouse.store import Warehouse


@pytest.fixture(autouse=True)
def _spares_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "SMALLEST_SPARE_BYTES", 0)


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


def differences(warehouse: Warehouse, copy: Path) -> list[tuple[str, int]]:
    """How many rows of each table are in one of the two alone."""
    found = []
    with warehouse.connection(read_only=False) as connection:
        connection.execute(f"ATTACH '{copy}' AS copy (READ_ONLY)")
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'copy'"
        ).fetchall()
        for (table,) in tables:
            ours, theirs = f"FROM {table}", f"FROM copy.{table}"
            apart = f"({ours} EXCEPT ALL {theirs}) UNION ALL ({theirs} EXCEPT ALL {ours})"
            rows = len(connection.execute(apart).fetchall())
            found += [(table, rows)] if rows else []
    assert len(tables) > 25
    return found


def test_what_changed_since_is_all_that_is_written(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path]
) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in range(1, 4):
        check(warehouse, run)
        warehouse.publish(copy)
    assert len(whole_copies) == 2
    check(warehouse, 3)  # the same run once more, whose sets are replaced
    check(warehouse, 4, "w")
    record_calls(warehouse, [llm_call("w", "verdicts")], stamp(5))
    warehouse.write_rows({"recheck_launches": [_launch()]})
    with warehouse.connection() as connection:
        connection.execute("UPDATE recheck_settings SET videos_per_night = 3")
    warehouse.publish(copy)
    assert len(whole_copies) == 2
    assert differences(warehouse, copy) == []
    assert copy.stat().st_mode & 0o777 == 0o444


def test_trimmed_texts_give_their_room_back_in_copies_too(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path]
) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in (1, 2):
        check(warehouse, run)
        warehouse.publish(copy)
    with warehouse.connection() as connection:
        connection.execute("DELETE FROM page_texts")
    for made in (3, 4, 4):
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
def test_a_spare_that_somebody_reads_is_left_to_them(
    warehouse: Warehouse, tmp_path: Path, whole_copies: list[Path], reader: str
) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in (1, 2, 3):
        check(warehouse, run)
        warehouse.publish(copy)
    made = len(whole_copies)
    with READERS[reader](copy) as ask:
        assert ask() == 3
        for run in (4, 5, 6, 7):
            check(warehouse, run)
            warehouse.publish(copy)
            assert differences(warehouse, copy) == []
        assert ask() == 3
    # One for the copy that is read, and then by turns again.
    assert len(whole_copies) == made + 1


KILLED = """
import os, sys
from pathlib import Path
from tests.warehouse.samples import fact_check, stamp
from warehouse import publication
from warehouse.store import Warehouse
publication.SMALLEST_SPARE_BYTES = 0
step, calls = sys.argv[3], 0
ask, replace, link = publication._ASK, Path.replace, Path.hardlink_to
class Asked(dict):
    def __getitem__(self, name):
        if name == step: os._exit(9)
        return ask[name]
publication._ASK = Asked()
def moved(self, target):
    result = replace(self, target)
    if str(target).endswith(step): os._exit(9)
    return result
Path.replace = moved
Warehouse(sys.argv[1]).publish(sys.argv[2])
"""


@pytest.mark.parametrize(
    "step", ["add_texts", "checkpoint_copy", "detach_copy", ".publishing", "/copy.duckdb", ".spare"]
)
def test_who_is_killed_at_any_moment_leaves_a_good_copy(
    warehouse: Warehouse, tmp_path: Path, step: str
) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in (1, 2):
        check(warehouse, run)
        warehouse.publish(copy)
    check(warehouse, 3)
    command = [sys.executable, "-c", KILLED, str(warehouse.path), str(copy), step]
    done = subprocess.run(command, check=False, timeout=120)
    assert done.returncode == 9
    with duckdb.connect(str(copy), read_only=True) as reader:
        ((runs,),) = reader.execute("SELECT count(DISTINCT run_id) FROM claims").fetchall()
    assert runs == (3 if step in {"/copy.duckdb", ".spare"} else 2)
    check(warehouse, 4)
    for _ in range(3):
        warehouse.publish(copy)
        assert differences(warehouse, copy) == []
    left = {entry.name for entry in tmp_path.iterdir()} - {warehouse.path.name}
    assert left == {"copy.duckdb", ".copy.duckdb.spare"}


def test_a_damaged_spare_is_no_hindrance(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in (1, 2):
        check(warehouse, run)
        warehouse.publish(copy)
    spare = tmp_path / ".copy.duckdb.spare"
    spare.chmod(0o644)
    spare.write_bytes(b"no database")
    check(warehouse, 3)
    warehouse.publish(copy)
    assert differences(warehouse, copy) == []


def test_a_spare_is_never_a_way_around_a_copy_that_holds_more(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.duckdb"
    for run in (1, 2):
        check(warehouse, run)
        warehouse.publish(copy)
    anew = Warehouse(tmp_path / "anew.duckdb")
    check(anew, 9, "w")
    before = copy.read_bytes()
    with pytest.raises(WiderCopyError):
        anew.publish(copy)
    assert copy.read_bytes() == before
