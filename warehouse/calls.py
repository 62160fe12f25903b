"""Model calls of work that came to nothing: they were paid, and no set of rows will carry them.

What belongs here: entering them. What does not: the calls of an asset's set (sets.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from factible_assets.records import LlmCall
from warehouse.rows import Stamp, to_frame
from warehouse.sets import insert
from warehouse.store import Warehouse


def record_calls(store: Warehouse, calls: Sequence[LlmCall], stamp: Stamp) -> None:
    """Enter calls, whatever else their run has written or will write."""
    if calls:
        with store.connection() as connection:
            connection.begin()
            insert(connection, LlmCall, to_frame(LlmCall, calls, stamp))
            connection.commit()
