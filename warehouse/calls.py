"""What was paid beside the sets: model calls that came to nothing, and services by the request.

What belongs here: counting, pricing and entering them. What does not: the calls of an asset's set
(sets.py), prices (resources/llm/models.yaml).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import duckdb

from factible_assets.records import LlmCall, Page, Search
from warehouse.entries import enter
from warehouse.rows import Stamp, to_frame
from warehouse.sets import insert
from warehouse.store import Warehouse


def record_calls(store: Warehouse, calls: Sequence[LlmCall], stamp: Stamp) -> None:
    """Enter calls, whatever else their run has written or will write."""
    if calls:
        frame = to_frame(LlmCall, calls, stamp)
        store.write(lambda connection: insert(connection, LlmCall, frame))


@dataclass(frozen=True, slots=True)
class ServiceUse:
    """What a run asked of a service that is paid by the request. `cost_usd` None: not known."""

    stage: Literal["search_hits", "evidence"]
    service: str
    requests: int
    cost_usd: float | None


def service_uses(
    searches: Iterable[Search],
    pages: Iterable[Page],
    services: Collection[str],
    reader: str | None,
    prices: Mapping[str, float],
) -> list[ServiceUse]:
    """Count what was answered by services, and price it.

    What took no time came from the cache, and what failed is not billed.

    Args:
        searches: Of the run.
        pages: Of the run.
        services: The search providers that are services; archives and reviewers are none.
        reader: The service that read the pages; None if this machine did.
        prices: US dollars per request, by service.
    """
    answered = Counter(
        row.provider
        for row in searches
        if row.provider in services and row.latency_seconds > 0 and row.status != "infra_error"
    )
    read = sum(page.latency_seconds > 0 and page.status == "ok" for page in pages)
    counted: list[tuple[Literal["search_hits", "evidence"], str, int]] = [
        ("search_hits", service, number) for service, number in sorted(answered.items())
    ]
    if reader is not None and read:
        counted.append(("evidence", reader, read))
    return [
        ServiceUse(stage, name, number, prices[name] * number if name in prices else None)
        for stage, name, number in counted
    ]


def enter_uses(
    connection: duckdb.DuckDBPyConnection, video_id: str, stamp: Stamp, uses: Iterable[ServiceUse]
) -> None:
    """Enter what a run asked of services, in the caller's transaction."""
    run = {"video_id": video_id, "run_id": stamp.run_id, "checked_at": stamp.checked_at}
    enter(connection, "service_uses", [asdict(use) | run for use in uses], again="replace")
