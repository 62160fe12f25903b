"""What stands beside the sets: what was paid, what people say of checks, what a judge says of them.

What belongs here: model calls that came to nothing, services by the request, the acts of reviewers
with what runs made of them, judgements. What does not: the calls of an asset's set (sets.py),
prices (resources/llm/models.yaml), what acts and judgements mean (stages/reviews.py,
evaluation/judging in factible_assets).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import duckdb

from factible_assets.records import Claim, JudgementRow, LlmCall, Page, ReviewAction, Search
from resources.statements import statements
from warehouse.rows import AnyRecord, Stamp, from_row, to_frame
from warehouse.sets import enter, insert
from warehouse.store import Warehouse


def record_calls(store: Warehouse, calls: Sequence[LlmCall], stamp: Stamp) -> None:
    """Enter calls, whatever else their run has written or will write."""
    if calls:
        frame = to_frame(LlmCall, calls, stamp)
        store.write(lambda connection: insert(connection, LlmCall, frame))


def service_uses(
    searches: Iterable[Search],
    pages: Iterable[Page],
    services: Collection[str],
    reader: str | None,
    prices: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Count what was answered by services that are paid by the request, and price it, as rows.

    What took no time came from the cache, and what failed is not billed. `services` are the search
    providers that are services, `reader` the one that read pages, if one did, `prices` US dollars
    per request; a cost of None is not known.
    """
    answered = Counter(
        row.provider
        for row in searches
        if row.provider in services and row.latency_seconds > 0 and row.status != "infra_error"
    )
    read = sum(page.latency_seconds > 0 and page.status == "ok" for page in pages)
    counted = [("search_hits", service, number) for service, number in sorted(answered.items())]
    if reader is not None and read:
        counted.append(("evidence", reader, read))
    return [
        {
            "stage": stage,
            "service": name,
            "requests": number,
            "cost_usd": prices[name] * number if name in prices else None,
        }
        for stage, name, number in counted
    ]


_ASK = statements("warehouse", "bookkeeping.sql")


@dataclass(frozen=True, slots=True)
class CarriedClaim:
    """A claim that a run took over: who checked it last, and when (timezone-aware)."""

    claim_id: str
    source_run_id: str
    last_checked_at: datetime


def read_actions(warehouse: Warehouse, video_id: str) -> list[ReviewAction]:
    """Return everything that reviewers did to the claims of a video, in order."""
    return _rows(warehouse, "actions", ReviewAction, video_id=video_id)


def known_claims(warehouse: Warehouse, video_id: str) -> dict[str, Claim]:
    """Return every claim that a video was ever found to make, by its id, as it was found last."""
    return {claim.claim_id: claim for claim in _rows(warehouse, "known", Claim, video_id=video_id)}


def _rows(
    warehouse: Warehouse, question: str, record: type[AnyRecord], **values: Any
) -> list[AnyRecord]:
    sql = _ASK[question].format(columns=", ".join(record.model_fields))
    return [from_row(record, tuple(row.values())) for row in warehouse.rows(sql, values)]


def read_carried(warehouse: Warehouse, video_id: str, run_id: str) -> dict[str, CarriedClaim]:
    """Return the claims that a run took over, by claim id."""
    rows = warehouse.rows(_ASK["carried"], {"video_id": video_id, "run_id": run_id})
    return {row["claim_id"]: CarriedClaim(*row.values()) for row in rows}


def remember(
    connection: duckdb.DuckDBPyConnection,
    video_id: str,
    stamp: Stamp,
    *,
    applied: Iterable[str],
    carried: Iterable[CarriedClaim],
    uses: Iterable[dict[str, Any]] = (),
) -> None:
    """Note to which acts a run keeps, which claims it took over and which services it asked.

    It is noted in the caller's transaction; for `uses` see `service_uses`. Of an act only the first
    run that kept to it is. A run that is repeated notes the same again.
    """
    run = {"video_id": video_id, "run_id": stamp.run_id}
    enter(
        connection,
        "review_applications",
        [
            {"action_id": each, "run_id": stamp.run_id, "applied_at": stamp.checked_at}
            for each in applied
        ],
        again="keep",
    )
    connection.execute(_ASK["forget_carried"], run)
    enter(connection, "carried_claims", [run | asdict(each) for each in carried])
    paid = run | {"checked_at": stamp.checked_at}
    enter(connection, "service_uses", [paid | use for use in uses], again="replace")


def read_judgements(store: Warehouse, ids: Collection[str]) -> dict[str, JudgementRow]:
    """Return the best-known judgement of each id: the newest with a score, else the newest."""
    if not ids:
        return {}
    return {
        row.judgement_id: row for row in _rows(store, "best_known", JudgementRow, ids=list(ids))
    }


def judge_usage(store: Warehouse, provider: str, model: str) -> dict[str, tuple[float, float]]:
    """Return the mean tokens, in and out, of answered questions to a judge, by criterion."""
    rows = store.rows(_ASK["usage"], {"provider": provider, "model": model})
    return {criterion: (read, wrote) for criterion, read, wrote in map(dict.values, rows)}


def verdict_models(store: Warehouse, videos: Collection[str]) -> set[str]:
    """Return the models, as PROVIDER/MODEL, that reached the newest verdicts of some videos."""
    rows = store.rows(_ASK["verdict_models"], {"videos": list(videos)})
    return {name for (name,) in map(dict.values, rows)}
