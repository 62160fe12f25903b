"""A warehouse of an older schema, and assertions on its upgrade."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from factible_assets.records.tables import Claim
from tests.warehouse.samples import claim, write_asset
from warehouse.bookkeeping import read_actions
from warehouse.rows import Stamp
from warehouse.store import Warehouse

SCHEMA_31 = Path(__file__).with_name("schema_31.sql").read_text(encoding="utf-8")


def assert_is_upgraded(store: Warehouse) -> None:
    (found,) = store.read_current(Claim, "v")
    assert (found.text, found.speaker) == ("Bees sleep.", "Ann")
    assert [act.action for act in read_actions(store, "v")] == ["note"]
    assert store.query("SELECT text FROM page_texts").item() == "Bees rest at night."
    assert store.query("SELECT videos_per_night FROM recheck_settings").item() == 3
    tables = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%migrations%'"
    assert store.query(tables).is_empty()
    later = Stamp("later", datetime(2026, 2, 1, tzinfo=UTC))
    write_asset(store, "claims", "v", [claim("v")], stamp=later, code_version="1")
    assert store.read_current(Claim, "v") == [claim("v")]
