"""Rows that belong to no set: costs, actions of reviewers, claims carried over, judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import duckdb

from factible_assets.records.tables import Claim, JudgementRow, LlmCall, Page, ReviewAction, Search
from resources.statements import statements
from warehouse.rows import Stamp, to_frame
from warehouse.sets import insert_records, insert_rows
from warehouse.store import Warehouse

_SQL = statements("warehouse", "bookkeeping.sql")
_CANDIDATES = 20


def record_calls(store: Warehouse, calls: Sequence[LlmCall], stamp: Stamp) -> None:
    """Enter model calls that belong to no set, such as those of a run that failed."""
    if calls:
        frame = to_frame(LlmCall, calls, stamp)
        store.write(lambda connection: insert_records(connection, LlmCall, frame))


def service_uses(
    searches: Iterable[Search],
    pages: Iterable[Page],
    services: Collection[str],
    reader: str | None,
    prices: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Count and price the answers of services that charge per request, as rows of `service_uses`.

    Answers from the cache have a latency of 0, and failures cost nothing. `services` are the search
    providers that charge, `reader` the service that read pages, `prices` US dollars per request. An
    unknown price gives a cost of None.
    """
    answered = Counter(
        row.provider
        for row in searches
        if row.provider in services and row.latency_seconds > 0 and row.status != "infra_error"
    )
    read = sum(page.latency_seconds > 0 and page.status == "ok" for page in pages)
    counts = [("search_hits", service, number) for service, number in sorted(answered.items())]
    if reader is not None and read:
        counts.append(("evidence", reader, read))
    return [
        {
            "stage": stage,
            "service": name,
            "requests": number,
            "cost_usd": prices[name] * number if name in prices else None,
        }
        for stage, name, number in counts
    ]


@dataclass(frozen=True, slots=True)
class CarriedClaim:
    """A claim that a run did not check: the last run that did, and its time (timezone-aware)."""

    claim_id: str
    source_run_id: str
    last_checked_at: datetime


def read_actions(warehouse: Warehouse, video_id: str) -> list[ReviewAction]:
    """Return all actions of reviewers on a video's claims, in order."""
    return warehouse.records(_SQL["actions"], ReviewAction, {"video_id": video_id})


def known_claims(warehouse: Warehouse, video_id: str) -> dict[str, Claim]:
    """Return every claim ever found in a video, by id, as the last run with it found it."""
    claims = warehouse.records(_SQL["known"], Claim, {"video_id": video_id})
    return {claim.claim_id: claim for claim in claims}


def read_carried(warehouse: Warehouse, video_id: str, run_id: str) -> dict[str, CarriedClaim]:
    """Return the claims that a run carried over unchecked, by claim id."""
    rows = warehouse.rows(_SQL["carried"], {"video_id": video_id, "run_id": run_id})
    return {row["claim_id"]: CarriedClaim(*row.values()) for row in rows}


def record_run(
    connection: duckdb.DuckDBPyConnection,
    video_id: str,
    stamp: Stamp,
    *,
    applied: Iterable[str],
    carried: Iterable[CarriedClaim],
    uses: Iterable[dict[str, Any]] = (),
) -> None:
    """Record a run's applied actions, carried claims and service uses (see `service_uses`).

    Only the first run that applies an action is recorded for it. Writes in the caller's
    transaction; a repeated run records the same again.
    """
    run = {"video_id": video_id, "run_id": stamp.run_id}
    insert_rows(
        connection,
        "review_applications",
        [
            {"action_id": action_id, "run_id": stamp.run_id, "applied_at": stamp.checked_at}
            for action_id in applied
        ],
        again="keep",
    )
    connection.execute(_SQL["forget_carried"], run)
    insert_rows(connection, "carried_claims", [run | asdict(claim) for claim in carried])
    stamped = run | {"checked_at": stamp.checked_at}
    insert_rows(connection, "service_uses", [stamped | use for use in uses], again="replace")


def claims_sharing_words(
    store: Warehouse, texts: Collection[str], *, without: str | None = None
) -> list[tuple[str, str, str]]:
    """Return claims with the most words in common with each text: text, id and words of the claim.

    `without` is a video whose claims are left out.
    """
    values = {"texts": list(texts), "video_id": without, "limit": _CANDIDATES}
    rows = store.rows(_SQL["sharing_words"], values) if texts else []
    return [(row["claim"], row["other_claim_id"], row["other"]) for row in rows]


def read_judgements(store: Warehouse, ids: Collection[str]) -> dict[str, JudgementRow]:
    """Return the newest judgement with a score of each id; without any, the newest."""
    values = {"ids": list(ids)}
    rows = store.records(_SQL["best_known"], JudgementRow, values) if ids else ()
    return {row.judgement_id: row for row in rows}


def judge_usage(store: Warehouse, provider: str, model: str) -> dict[str, tuple[float, float]]:
    """Return the mean input and output tokens of a judge's answered questions, by criterion."""
    rows = store.rows(_SQL["usage"], {"provider": provider, "model": model})
    return {criterion: (read, wrote) for criterion, read, wrote in map(dict.values, rows)}


def verdict_models(store: Warehouse, videos: Collection[str]) -> set[str]:
    """Return the models, as PROVIDER/MODEL, behind the newest verdicts of some videos."""
    rows = store.rows(_SQL["verdict_models"], {"videos": list(videos)})
    return {name for (name,) in map(dict.values, rows)}
