"""`factible restore` replaces a damaged or lost warehouse by the published copy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from factible_assets.records.tables import Verdict
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_published
from tests.warehouse.older import SCHEMA_31
from warehouse.store import Warehouse


@pytest.fixture
def published(home: Path) -> Path:
    store_published(home)
    return home / "published.duckdb"


def verdicts(home: Path) -> int:
    return len(Warehouse(home / "warehouse.duckdb").read_current(Verdict, VIDEO_ID))


def cut_in_half(warehouse: Path) -> None:
    os.truncate(warehouse, warehouse.stat().st_size // 2)


def flip_a_byte_of_the_log(warehouse: Path) -> None:
    """Leave a write-ahead log as a killed process does, and damage it in its middle."""
    writes = (
        "import duckdb, os, sys; held = duckdb.connect(sys.argv[1]); "
        "held.execute('CREATE TABLE t AS SELECT range AS i FROM range(1000)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", writes, warehouse], check=True)
    flip(warehouse.with_name(f"{warehouse.name}.wal"))


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x41
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [cut_in_half, flip_a_byte_of_the_log])
def test_a_damaged_warehouse_is_named_with_its_remedy_replaced_and_kept(
    factible: Run, home: Path, published: Path, damage: Callable[[Path], None]
) -> None:
    damage(home / "warehouse.duckdb")
    damaged = (home / "warehouse.duckdb").read_bytes()
    for command, code in (("status", 5), ("doctor", 1)):
        told = factible(command)
        assert told.exit_code == code
        words = " ".join(f"{told.stdout} {told.stderr}".replace("│", " ").split())
        assert "it is damaged" in words
        assert "factible restore" in words
        assert command != "status" or "have a verdict" in told.stdout, "the copy answers"
    checked = factible("check", "everyday-beliefs-talk")
    assert checked.exit_code != 0
    assert "factible restore" in checked.stderr
    done = json.loads(factible("restore", "--json").stdout)
    assert done["videos"] == 1
    assert Path(done["replaced"]).read_bytes() == damaged
    assert verdicts(home) == 5
    assert published.exists()
    assert factible("status").exit_code == 0


def test_doctor_reads_every_block(factible: Run, home: Path, published: Path) -> None:
    flip(home / "warehouse.duckdb")
    told = factible("doctor")
    assert told.exit_code == 1
    assert "it is damaged" in " ".join(told.stdout.replace("│", " ").split())


def test_a_lost_warehouse_comes_back(factible: Run, home: Path, published: Path) -> None:
    (home / "warehouse.duckdb").unlink()
    refused = factible("check", "everyday-beliefs-talk")
    assert refused.exit_code == 1
    assert "factible restore" in refused.stderr
    assert not (home / "warehouse.duckdb").exists()
    result = factible("restore")
    assert result.exit_code == 0, result.stderr
    assert "is the published copy again, with 1 video" in result.stdout
    assert verdicts(home) == 5
    Warehouse(home / "warehouse.duckdb").publish(published)


def test_a_linked_warehouse_is_replaced_where_its_file_lies(
    factible: Run, home: Path, published: Path, tmp_path: Path
) -> None:
    link, file = home / "warehouse.duckdb", tmp_path / "elsewhere.duckdb"
    link.rename(file)
    link.symlink_to(file)
    flip_a_byte_of_the_log(file)
    done = json.loads(factible("restore", "--json").stdout)
    assert link.readlink() == file
    assert Path(done["replaced"]).parent == tmp_path
    assert Path(f"{done['replaced']}.wal").exists()
    assert verdicts(home) == 5


def test_a_new_warehouse_in_the_place_of_a_lost_one_gives_way_and_is_kept(
    factible: Run, home: Path, published: Path
) -> None:
    (home / "warehouse.duckdb").unlink()
    Warehouse(home / "warehouse.duckdb").query("SELECT 1")
    assert factible("restore").exit_code == 0
    assert verdicts(home) == 5
    assert len(list(home.glob("warehouse.duckdb.replaced-*"))) == 1


def test_a_whole_warehouse_stays(factible: Run, home: Path, published: Path) -> None:
    before = (home / "warehouse.duckdb").read_bytes()
    result = factible("restore")
    assert result.exit_code == 2
    assert "nothing to restore" in result.stderr
    assert (home / "warehouse.duckdb").read_bytes() == before


def test_without_a_copy_or_with_a_damaged_one_nothing_is_changed(factible: Run, home: Path) -> None:
    assert "no published copy" in factible("restore").stderr
    home.mkdir()
    (home / "published.duckdb").write_bytes(b"no database")
    (home / "warehouse.duckdb").write_bytes(b"none either")
    result = factible("restore")
    assert result.exit_code == 5
    assert "is damaged too" in result.stderr
    assert {path.name for path in home.iterdir()} == {"published.duckdb", "warehouse.duckdb"}


def test_a_warehouse_of_an_older_version_is_upgraded_and_published(
    factible: Run, home: Path
) -> None:
    (home / "experiments").mkdir(parents=True)
    for name in ("warehouse.duckdb", "experiments/own.duckdb"):
        with duckdb.connect(home / name) as connection:
            connection.execute(SCHEMA_31)
    refused = factible("sql", "SELECT 1")
    assert refused.exit_code != 0
    assert "Run: factible upgrade" in refused.stderr
    upgraded = factible("upgrade", "--json")
    assert upgraded.exit_code == 0, upgraded.stderr
    experiment, live = sorted(json.loads(upgraded.stdout), key=lambda each: each["warehouse"])
    assert Path(experiment["kept"]).parent.name == "experiments"
    assert Path(live["kept"]).exists()
    assert "Bees sleep." in factible("sql", "SELECT text FROM claims").stdout
    assert factible("upgrade").exit_code == 0


@pytest.mark.usefixtures("published")
def test_the_settings_of_a_lake_are_shown_in_quotes(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factible_assets.cli.machine.move_into", lambda *_: [])
    location = "ducklake:postgres:dbname=factible host=db"
    result = factible("migrate", "home", location)
    assert f"FACTIBLE_WAREHOUSE='{location}'" in result.stdout
