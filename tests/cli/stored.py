"""A data folder with the results of the sample video of the report's tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from factible_assets.records.tables import PageText, Record
from factible_assets.stages import ids
from tests.report import samples
from tests.warehouse.samples import write_asset
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

VIDEO_ID = samples.VIDEO_ID


@cache
def _template(outcomes: tuple[str, ...]) -> Path:
    """Return a finished warehouse to copy, for making one takes most of a second."""
    folder = Path(tempfile.mkdtemp(prefix="factible-sample-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _written(folder, outcomes).path


def store_sample(home: Path, outcomes: tuple[str, ...] = samples.OUTCOMES[:5]) -> Warehouse:
    """Put a warehouse with the sample video and one verdict per outcome into a data folder."""
    home.mkdir(parents=True, exist_ok=True)
    return Warehouse(shutil.copyfile(_template(outcomes), home / "warehouse.duckdb"))


@cache
def _published_template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="factible-published-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return store_sample(folder).publish(folder / "published.duckdb")


def store_published(home: Path) -> Warehouse:
    """Put a warehouse with the sample video, and its copy for readers, into a data folder."""
    home.mkdir(parents=True, exist_ok=True)
    published = _published_template()
    live = shutil.copyfile(published.with_name("warehouse.duckdb"), home / "warehouse.duckdb")
    # The copy for readers is the newer file, as after a check.
    shutil.copyfile(published, home / published.name)
    return Warehouse(live)


def store_failed_recheck(warehouse: Warehouse) -> None:
    """Write a later run with an incomplete verdict on the first claim."""
    write_asset(
        warehouse,
        "verdicts",
        VIDEO_ID,
        [samples.verdict(0, "incomplete", reason="The search service was down.")],
        stamp=Stamp("run-2", datetime(2026, 2, 3, 4, 5, tzinfo=UTC)),
        code_version="test",
    )


def _written(home: Path, outcomes: tuple[str, ...]) -> Warehouse:
    """Write the sample video with one verdict per outcome, as one run would."""
    data = samples.report_data()
    text = PageText(content_hash=ids.content_hash(samples.PAGE), text=samples.PAGE)
    claims = tuple(samples.claim(number) for number in range(len(outcomes)))
    verdicts = [samples.verdict(number, outcome) for number, outcome in enumerate(outcomes)]
    sets: dict[str, list[Any]] = {
        "transcripts": [data.video, data.transcript, *data.segments],
        "claims": [*claims],
        "queries": [*data.queries],
        "search_hits": [*data.searches],
        "reliability_ratings": [*data.ratings],
        "evidence": [text, *data.evidence],
        "verdicts": [*verdicts],
    }
    warehouse = Warehouse(home / "warehouse.duckdb")
    warehouse.write_assets(
        VIDEO_ID,
        {asset: AssetRows(_rows(rows), code_version="test") for asset, rows in sets.items()},
        stamp=Stamp("run-1", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
    )
    return warehouse


def _rows(rows: list[Any]) -> list[Record]:
    return [row for row in rows if isinstance(row, Record)]
