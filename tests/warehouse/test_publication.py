"""Readers get a whole copy, and nobody waits for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from factible_assets.records.tables import Claim, ReviewAction
from tests.warehouse.samples import claim, fact_check, stamp, write_asset
from warehouse.bookkeeping import read_actions
from warehouse.errors import WarehouseError, WarehouseNotWritableError
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a warehouse of one check, and its copy."""
    folder = tmp_path_factory.mktemp("published")
    store = Warehouse(folder / "warehouse.duckdb")
    store.write_assets("v", fact_check("v"), stamp=stamp(100))
    store.publish(folder / "copy.duckdb")
    return folder


@pytest.fixture
def published(checked: Path, tmp_path: Path) -> tuple[Warehouse, Path]:
    shutil.copytree(checked, tmp_path, dirs_exist_ok=True)
    return Warehouse(tmp_path / "warehouse.duckdb"), tmp_path / "copy.duckdb"


def claims_in(reader: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    return reader.execute("SELECT run_id, rank FROM current_claims ORDER BY ALL").fetchall()


def test_a_copy_holds_rows_views_comments_and_constraints(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.write_assets("v", fact_check("v"), stamp=stamp(1))
    path = warehouse.publish(tmp_path / "public" / "copy.duckdb")
    copy = Warehouse(path)
    for question in (
        "SELECT * FROM evidence_chain ORDER BY ALL",
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() ORDER BY ALL",
        "SELECT table_name, comment FROM duckdb_tables() ORDER BY ALL",
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
        "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
    ):
        found = copy.query(question)
        assert found.height > 0
        assert found.equals(warehouse.query(question))
    assert [entry.name for entry in path.parent.iterdir()] == ["copy.duckdb"]


def test_a_reader_keeps_the_old_copy_while_a_new_one_is_swapped_in(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    destination = tmp_path / "copy.duckdb"
    write_asset(warehouse, "claims", "v", [claim("v", 1)], stamp=stamp(1), code_version="1")
    warehouse.publish(destination)
    # A second name for the same file, as DuckDB shares one database per path in one process.
    old_name = tmp_path / "old.duckdb"
    os.link(destination, old_name)
    with duckdb.connect(str(old_name), read_only=True) as old_reader:
        assert claims_in(old_reader) == [("run-1", 1)]
        write_asset(warehouse, "claims", "v", [claim("v", 2)], stamp=stamp(2), code_version="1")
        warehouse.publish(destination)
        assert claims_in(old_reader) == [("run-1", 1)]
        with duckdb.connect(str(destination), read_only=True) as new_reader:
            assert claims_in(new_reader) == [("run-2", 2)]


def test_a_copy_can_be_read_at_every_moment_while_it_is_replaced(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    destination = tmp_path / "copy.duckdb"
    write_asset(warehouse, "claims", "v", [claim("v", 1)], stamp=stamp(1), code_version="1")
    warehouse.publish(destination)
    done, seen = threading.Event(), []

    def read_on() -> None:
        while not done.is_set():
            with duckdb.connect(str(destination), read_only=True) as reader:
                seen.append(len(claims_in(reader)))

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        for run in range(2, 4):
            rows = [claim("v", rank) for rank in range(1, run + 1)]
            write_asset(warehouse, "claims", "v", rows, stamp=stamp(run), code_version="1")
            warehouse.publish(destination)
    finally:
        done.set()
        reader.join()
    assert seen
    assert set(seen) <= {1, 2, 3}
    assert seen == sorted(seen)


def test_rows_of_one_named_table_are_published_alone(warehouse: Warehouse, tmp_path: Path) -> None:
    destination = tmp_path / "copy.duckdb"
    write_asset(warehouse, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    act = ReviewAction(
        action_id="a1",
        video_id="v",
        claim_id="c",
        action="note",
        value="Seen.",
        reviewer="Ada",
        acted_at=stamp(1).checked_at,
    )
    warehouse.write_rows({"review_actions": [act]})
    warehouse.publish(
        destination, only_added_to="review_actions"
    )  # There is none yet: a whole one.
    write_asset(warehouse, "claims", "v", [claim("v", 2)], stamp=stamp(2), code_version="1")
    warehouse.write_rows({"review_actions": [act.model_copy(update={"action_id": "a2"})]})
    warehouse.publish(destination, only_added_to="review_actions")
    copy = Warehouse(destination)
    assert [each.action_id for each in read_actions(copy, "v")] == ["a1", "a2"]
    assert copy.read_current(Claim, "v") == [claim("v")]
    warehouse.publish(destination)
    assert copy.read_current(Claim, "v") == [claim("v", 2)]
    assert destination.stat().st_mode & 0o777 == 0o444
    assert {entry.name for entry in tmp_path.iterdir()} == {"copy.duckdb", warehouse.path.name}


def test_publication_ignores_leftovers_of_a_killed_one(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    destination = tmp_path / "copy.duckdb"
    for name in (".copy.duckdb.publishing", ".copy.duckdb.publishing.wal", "copy.duckdb.wal"):
        (tmp_path / name).write_bytes(b"half a file")
    write_asset(warehouse, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    copy = Warehouse(warehouse.publish(destination))
    assert copy.read_current(Claim, "v") == [claim("v")]
    assert {entry.name for entry in tmp_path.iterdir()} == {"copy.duckdb", warehouse.path.name}


def test_a_copy_is_never_put_in_the_place_of_the_warehouse(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    link = tmp_path / "link.duckdb"
    warehouse.query("SELECT 1")
    link.symlink_to(warehouse.path)
    with pytest.raises(WarehouseError, match="onto itself"):
        warehouse.publish(link)


def test_a_place_that_cannot_be_written_is_named(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "public").write_text("a file where a directory should be")
    with pytest.raises(WarehouseNotWritableError, match="public"):
        warehouse.publish(tmp_path / "public" / "copy.duckdb")
    assert warehouse.query("SELECT 1").height == 1


def test_a_copy_that_holds_more_than_the_warehouse_is_not_overwritten(
    published: tuple[Warehouse, Path], tmp_path: Path
) -> None:
    _, copy = published
    before = copy.read_bytes()
    anew = Warehouse(tmp_path / "anew.duckdb")
    anew.write_assets("w", fact_check("w"), stamp=stamp(2))
    with pytest.raises(WarehouseError, match=r"7 entries .* factible restore"):
        anew.publish(copy)
    assert copy.read_bytes() == before
    copy.rename(tmp_path / "kept.duckdb")
    anew.publish(copy)


def test_an_unreadable_copy_is_replaced(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_text("no database")
    warehouse.write_assets("v", fact_check("v"), stamp=stamp(1))
    assert Warehouse(warehouse.publish(copy)).video_ids() == ["v"]


@pytest.mark.parametrize("part", ["middle", "end", "all"])
def test_damage_is_called_damage_and_never_published(
    published: tuple[Warehouse, Path], part: str
) -> None:
    warehouse, copy = published
    before = copy.read_bytes()
    content = bytearray(warehouse.path.read_bytes())
    match part:
        case "middle":
            # Beyond the headers, every block.
            content[20_000:] = bytes(each ^ 0xFF for each in content[20_000:])
        case "end":
            content = content[: len(content) // 2]
        case _:
            content = bytearray()
    warehouse.path.write_bytes(content)
    for act in (lambda: warehouse.read_video("v"), lambda: warehouse.publish(copy)):
        with pytest.raises(WarehouseError, match="factible restore"):
            act()
    assert copy.read_bytes() == before


LITTLE_ROOM = """
import resource, sys
from tests.warehouse.samples import fact_check, stamp
from warehouse.bookkeeping import read_actions
from warehouse.store import Warehouse
store = Warehouse(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for act in (
    lambda: store.publish(sys.argv[2]),
    Warehouse(sys.argv[1] + ".new").ensure_exists,
    lambda: [store.write_assets("v", fact_check("v", 9), stamp=stamp(run)) for run in range(40)],
):
    try:
        act()
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits file sizes as Unix does")
def test_a_full_disk_is_reported_and_changes_nothing(
    published: tuple[Warehouse, Path], tmp_path: Path
) -> None:
    warehouse, copy = published
    before = copy.read_bytes()
    told = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, str(warehouse.path), str(copy)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.count("NoRoomError There is no room left to write") == 3, told
    assert told.stdout.count("Make room on the disk") == 3
    assert copy.read_bytes() == before
    assert warehouse.read_video("v").claims
    assert not list(tmp_path.glob(".*publishing*"))
