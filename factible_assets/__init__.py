"""factible-assets: fact-check a corpus of YouTube videos as Dagster data assets."""

from __future__ import annotations

import atexit
import gc
from typing import TYPE_CHECKING

from factible_assets.version import VERSION

if TYPE_CHECKING:
    import duckdb

__version__ = VERSION


def _freeze_imported_objects(*_: object) -> None:
    gc.callbacks.remove(_freeze_imported_objects)
    gc.freeze()
    gc.set_threshold(50_000)


# The imports of Dagster create 220,000 objects that live until the end. Collecting garbage among
# them, during the start and at the exit, would take a quarter of the start.
gc.set_threshold(300_000)
gc.callbacks.append(_freeze_imported_objects)
atexit.register(gc.freeze)


def open(*, live: bool = False) -> duckdb.DuckDBPyConnection:  # noqa: A001 - factible_assets.open()
    """Open the results to read them in SQL, polars or pandas.

    It opens the published copy of the data folder, or with `live` the warehouse itself, which a
    check cannot write as long as the connection is open. Close the connection, or use it in a
    `with` block.

    Raises FactibleError: Nothing was checked yet.
    """
    from factible_assets.runs.targets import open_store  # noqa: PLC0415 - keeps the import light
    from factible_assets.settings import load_settings  # noqa: PLC0415

    return open_store(load_settings(), live=live).open_to_read()
