"""Old texts go, everything that was said with them stays, and the file becomes shorter."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from factible_assets.records.tables import Evidence, PageText
from tests.warehouse.samples import (
    FIRST_CHECK,
    QUOTE,
    asset_rows,
    evidence,
    fact_check,
    page,
    page_text,
    sha256,
    stamp,
    write_asset,
)
from warehouse import upkeep
from warehouse.errors import WarehouseIntegrityError
from warehouse.store import Warehouse
from warehouse.upkeep import compact, trim_texts

LATER = FIRST_CHECK + timedelta(days=100)
ANOTHER = "Another text that says so: 9 of 10 bees 🐝 are solitary. " + "And more. " * 50_000


@pytest.fixture(scope="module")
def rechecked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two checks; the second time the page has another text, so the first is old."""
    path = tmp_path_factory.mktemp("rechecked") / "warehouse.duckdb"
    store = Warehouse(path)
    first = ANOTHER.index(QUOTE)
    changed = {"content_hash": sha256(ANOTHER), "quote_start": first}
    rows = (
        page("v").model_copy(update={"content_hash": sha256(ANOTHER)}),
        PageText(content_hash=sha256(ANOTHER), text=ANOTHER),
        evidence("v").model_copy(update={**changed, "quote_end": first + len(QUOTE)}),
    )
    store.write_assets("v", fact_check("v") | {"evidence": asset_rows(*rows)}, stamp=stamp(1))
    store.write_assets("v", fact_check("v"), stamp=stamp(2))
    return path


@pytest.fixture
def warehouse(rechecked: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copyfile(rechecked, tmp_path / "it's a warehouse.duckdb"))


def test_the_text_goes_and_the_quote_stays_with_its_offsets_and_hash(warehouse: Warehouse) -> None:
    quotes = "SELECT quote, quote_start, content_hash FROM evidence ORDER BY ALL"
    before = warehouse.query(quotes).rows()
    assert trim_texts(warehouse, before=LATER, now=LATER) == (1, len(ANOTHER))
    assert warehouse.query(quotes).rows() == before
    stored = warehouse.query("SELECT content_hash FROM page_texts").rows()
    assert stored == [(page_text().content_hash,)]
    states = warehouse.query("SELECT content_hash, state, characters FROM text_states").rows()
    assert sorted(states) == sorted(
        [
            (sha256(ANOTHER), "trimmed", len(ANOTHER)),
            (page_text().content_hash, "stored", len(page_text().text)),
        ]
    )


def test_young_and_current_texts_stay(warehouse: Warehouse) -> None:
    assert trim_texts(warehouse, before=FIRST_CHECK, now=LATER)[0] == 0
    assert trim_texts(warehouse, before=LATER, now=LATER, dry_run=True)[0] == 1
    assert warehouse.query("SELECT count(*) FROM page_texts").item() == 2
    trim_texts(warehouse, before=LATER, now=LATER)
    assert trim_texts(warehouse, before=LATER, now=LATER)[0] == 0


def test_a_text_that_is_found_again_is_stored_again(warehouse: Warehouse) -> None:
    trim_texts(warehouse, before=LATER, now=LATER)
    again = PageText(content_hash=sha256(ANOTHER), text=ANOTHER)
    first = ANOTHER.index(QUOTE)
    quoted = evidence("v").model_copy(
        update={
            "content_hash": sha256(ANOTHER),
            "quote_start": first,
            "quote_end": first + len(QUOTE),
        }
    )
    write_asset(warehouse, "evidence", "v", [again, quoted], stamp=stamp(3), code_version="1")
    assert warehouse.query("SELECT DISTINCT state FROM text_states").rows() == [("stored",)]


def test_a_compacted_file_is_shorter_and_the_same(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_GRACE_SECONDS", 0.0)  # Nobody else has the file open.
    texts = [" ".join(str(hash((number, word))) for word in range(20_000)) for number in range(12)]
    for run, pages in enumerate([[page_text(text) for text in texts], []]):
        write_asset(warehouse, "evidence", "w", pages, stamp=stamp(run), code_version="1")
    trim_texts(warehouse, before=LATER, now=LATER)
    rows = warehouse.read_current(Evidence, "v")
    before = warehouse.path.stat().st_size
    freed = compact(warehouse)
    assert freed == before - warehouse.path.stat().st_size
    assert freed > before / 3
    assert warehouse.read_current(Evidence, "v") == rows != []
    # The copy has the rules of the file, views, comments and the schema's version.
    twice = [evidence("v"), evidence("v"), page("v"), page_text()]
    with pytest.raises(WarehouseIntegrityError):
        write_asset(warehouse, "evidence", "v", twice, stamp=stamp(50), code_version="1")
    assert warehouse.query("SELECT count(*) FROM recheck_plan").item() == 1
    assert warehouse.query(
        "SELECT comment FROM duckdb_tables() WHERE table_name = 'trimmed_texts'"
    ).item()


def test_nothing_is_lost_that_another_process_writes_meanwhile(warehouse: Warehouse) -> None:
    script = (
        "import sys\n"
        "from tests.warehouse.samples import fact_check, stamp\n"
        "from warehouse.store import Warehouse\n"
        "for run in range(3, 6):\n"
        "    Warehouse(sys.argv[1]).write_assets('v', fact_check('v'), stamp=stamp(run))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(warehouse.path)]) as writer:
        while writer.poll() is None:
            compact(warehouse)
    assert writer.returncode == 0
    runs = warehouse.query("SELECT count(DISTINCT run_id) FROM verdict_history").item()
    assert runs == 5
