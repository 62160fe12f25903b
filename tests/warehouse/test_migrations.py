"""Older files are brought up to date, newer ones are refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from factible_assets.records import Claim, ReviewAction
from tests.warehouse.samples import (
    claim,
    evidence,
    llm_call,
    page,
    search_hit,
    stamp,
    verdict,
    write_asset,
)
from warehouse import migrations
from warehouse.bookkeeping import read_actions
from warehouse.errors import WarehouseTooNewError
from warehouse.migrations import Migration, Schema, packaged_schema
from warehouse.store import Warehouse


def later(schema: Schema, sql: str, *, views: tuple[str, ...] | None = None) -> Schema:
    """The schema with one more migration."""
    version = schema.version + 1
    step = Migration(version, f"{version:04}_later", sql)
    return replace(
        schema,
        migrations=(*schema.migrations, step),
        views=schema.views if views is None else views,
    )


def test_an_older_file_is_migrated_with_its_rows(warehouse: Warehouse) -> None:
    write_asset(warehouse, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    schema = later(packaged_schema(), "ALTER TABLE claims ADD COLUMN shade VARCHAR DEFAULT 'grey'")
    newer = Warehouse(warehouse.path, schema=schema)
    assert newer.read_current(Claim, "v") == [claim("v")]
    assert newer.query("SELECT shade FROM current_claims").rows() == [("grey",)]
    versions = newer.query("SELECT version, name FROM schema_migrations ORDER BY version").rows()
    assert versions[-1] == (schema.version, f"{schema.version:04}_later")
    assert len(versions) == schema.version


def test_a_file_of_the_first_version_grows_all_tables(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    first = replace(packaged_schema(), migrations=packaged_schema().migrations[:1], views=())
    Warehouse(path, schema=first).query("SELECT 1")
    now = Warehouse(path)
    write_asset(now, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    assert now.read_current(Claim, "v") == [claim("v")]


def test_a_file_that_was_in_use_opens_with_its_rows_though_who_migrates_it_is_killed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "warehouse.duckdb"
    schema = packaged_schema()
    Warehouse(path, schema=replace(schema, migrations=schema.migrations[:13], views=())).query(
        "SELECT 1"
    )
    rows = [claim("v"), search_hit("v"), page("v"), evidence("v"), verdict("v")]
    with duckdb.connect(path) as connection:
        for row in [*rows, llm_call("v", "claims")]:
            columns = connection.execute(f"DESCRIBE {row.table}").fetchall()
            values = {**row.model_dump(), "run_id": "run", "checked_at": "2026-01-01"}
            held = [values[name] for name, *_ in columns]
            marks = ", ".join("?" * len(held))
            connection.execute(f"INSERT INTO {row.table} VALUES ({marks})", held)  # noqa: S608 - a record's own table
    # Right after it, before the file is closed: what DuckDB cannot replay would be in its log.
    killed = (
        "import os, sys\n"
        "from warehouse.migrations import Schema\n"
        "from warehouse.store import Warehouse\n"
        "apply = Schema.apply\n"
        "Schema.apply = lambda *given: (apply(*given), os._exit(9))\n"
        "Warehouse(sys.argv[1]).query('SELECT 1')"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert done.returncode == 9
    migrated = Warehouse(path)
    newest = "SELECT max(version) FROM schema_migrations"
    assert migrated.query(newest).item() == schema.version
    assert migrated.query("SELECT recheck_due FROM verdicts").rows() == [(False,)]
    assert migrated.query("SELECT page_due FROM evidence").rows() == [(False,)]


def test_acts_of_before_are_kept_beside_those_that_came_later(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    schema = packaged_schema()
    with Warehouse(path, schema=Schema(schema.migrations[:21], ())).connection() as connection:
        connection.execute(
            "INSERT INTO review_actions BY NAME SELECT 'a1' AS action_id, 'v' AS video_id, "
            "'c1' AS claim_id, 'desk' AS reviewer, TIMESTAMP '2026-01-01' AS acted_at, "
            "1 AS position, 'note' AS action, 'Ask.' AS value, false AS seeks_opposite"
        )
        values = {
            **claim("v").model_dump(exclude={"speaker"}),
            "run_id": "run",
            "checked_at": "2026-01-01",
        }
        places = ", ".join(f"${name}" for name in values)
        connection.execute(
            f"INSERT INTO claims ({', '.join(values)}) VALUES ({places})",  # noqa: S608 - a record's own columns
            values,
        )
    now = Warehouse(path)
    given = {"video_id": "v", "reviewer": "desk", "acted_at": datetime(2026, 1, 2, tzinfo=UTC)}
    ruling = ReviewAction(
        action_id="a2",
        claim_id=claim("v").claim_id,
        action="sign",
        value="Refuted",
        stance="refutes",
        target="factible",
        reason="It does not.",
        **given,
    )
    dropped = ReviewAction(
        action_id="a3", claim_id="c1", action="drop_claim", reason="A joke.", **given
    )
    now.write_rows({"review_actions": [ruling, dropped]})
    assert [act.action for act in read_actions(now, "v")] == ["note", "sign", "drop_claim"]
    assert read_actions(now, "v")[1] == ruling
    row = now.query("SELECT claim, ruling, stance, prose, signed_by, stands FROM signed_rulings")
    assert row.rows() == [(claim("v").text, "Refuted", "refutes", "It does not.", "desk", True)]


def test_a_newer_file_is_refused_with_a_sentence_and_left_alone(warehouse: Warehouse) -> None:
    newer = later(packaged_schema(), "CREATE TABLE what_is_to_come (id INTEGER)")
    Warehouse(warehouse.path, schema=newer).query("SELECT 1")
    with pytest.raises(WarehouseTooNewError) as refusal:
        warehouse.query("SELECT 1")
    with pytest.raises(WarehouseTooNewError):
        write_asset(warehouse, "claims", "v", [], stamp=stamp(1), code_version="1")
    assert str(warehouse.path) in str(refusal.value)
    assert "Install the newer version" in str(refusal.value)


def test_a_migration_that_fails_leaves_the_file_at_its_old_version(warehouse: Warehouse) -> None:
    broken = later(packaged_schema(), "CREATE TABLE half (id INTEGER); SELECT * FROM missing")
    with pytest.raises(duckdb.CatalogException):
        Warehouse(warehouse.path, schema=broken).query("SELECT 1")
    tables = warehouse.query("SELECT table_name FROM duckdb_tables()")["table_name"]
    assert "half" not in tables


def test_changed_views_are_replaced_without_a_migration(warehouse: Warehouse) -> None:
    view = (
        "CREATE OR REPLACE VIEW failures AS SELECT 1 AS one; "
        "COMMENT ON COLUMN failures.one IS 'One.'"
    )
    changed = replace(packaged_schema(), views=(*packaged_schema().views, view))
    assert Warehouse(warehouse.path, schema=changed).query("FROM failures").rows() == [(1,)]
    assert warehouse.query("SELECT asset FROM failures").is_empty()


def test_a_file_that_is_up_to_date_is_not_written_to(warehouse: Warehouse) -> None:
    before = warehouse.path.stat()
    warehouse.query("SELECT 1")
    warehouse.read_current(Claim, "v")
    after = warehouse.path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


@pytest.mark.parametrize("names", [("0001_a.sql", "0003_b.sql"), ("0001_a.sql", "second.sql")])
def test_migrations_that_are_not_numbered_in_order_are_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(ValueError, match=r"is not named as migration"):
        Schema.load(tmp_path, tmp_path)


def test_tables_that_grow_lose_their_keys_and_nothing_else(tmp_path: Path) -> None:
    path, schema = tmp_path / "warehouse.duckdb", packaged_schema()
    with duckdb.connect(path) as connection:
        for step in schema.migrations[:19]:
            connection.execute(step.sql)
            named = [step.version, step.name]
            connection.execute("INSERT INTO schema_migrations VALUES (?, ?, now(), NULL)", named)
        # As the process of a user in another zone would bring an older file up to date.
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        row = "SELECT repeat('a', 64), 'text', 'run', TIMESTAMP '2026-01-01'"
        connection.execute(f"INSERT INTO page_texts {row}")
        columns = (
            "SELECT table_name, column_name, comment, is_nullable FROM duckdb_columns() "
            "WHERE table_name IN ('page_texts', 'reliability_ratings') ORDER BY ALL"
        )
        before = connection.execute(columns).fetchall()
    now = Warehouse(path)
    with now.connection(read_only=True) as connection:
        assert connection.execute(columns).fetchall() == before
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert now.query("FROM page_texts").rows()[0][:4] == ("a" * 64, "text", "run", moment)
    keyed = "SELECT table_name FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
    assert not {row[0] for row in now.query(keyed).rows()} & {"materializations", "page_texts"}


def test_tables_of_before_take_answer_engines_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = tmp_path / "warehouse.duckdb", packaged_schema()
    with monkeypatch.context() as before, duckdb.connect(path) as connection:
        before.setattr(migrations, "_WIDENED", ())
        Schema(schema.migrations[:26], ()).apply(connection, path)
    row = (
        "INSERT INTO reliability_ratings BY NAME SELECT 'v' AS video_id, 'a.example' AS domain, "
        "'low' AS rating, 0.3 AS score, 'answer_engine' AS source_class, [] AS datasets, "
        "[] AS reasons, 'ok' AS status, 'run' AS run_id, now() AS checked_at"
    )
    with duckdb.connect(path) as connection, pytest.raises(duckdb.ConstraintException):
        connection.execute(row)
    with Warehouse(path).connection() as connection:
        connection.execute(row)
        with pytest.raises(duckdb.ConstraintException):
            connection.execute(row.replace("answer_engine", "oracle"))
