"""Metrics of a check as work: finished verdicts, failed services, time, tokens and money."""

from __future__ import annotations

import math
from typing import Literal

from factible_assets.evaluation.figures import Ratio
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import METHOD


def complete_verdicts(rows: VideoRows) -> Ratio:
    """Return the share of claims with a complete verdict."""
    complete = sum(verdict.status == "complete" for verdict in rows.verdicts)
    return Ratio(complete, len(rows.claims))


def decided_verdicts(rows: VideoRows) -> Ratio:
    """Return the share of complete verdicts with another stance than unclear."""
    stances = [verdict.stance for verdict in rows.verdicts if verdict.stance is not None]
    return Ratio(sum(stance != "unclear" for stance in stances), len(stances))


def infrastructure_failure_rate(rows: VideoRows) -> Ratio:
    """Return the share of attempts that failed because a service failed.

    |infra_error| / |attempted| over queries, searches, ratings, pages, evidence and model calls,
    without skipped rows and cached answers. Undefined without attempts.
    """
    kinds = (rows.queries, rows.searches, rows.ratings, rows.pages, rows.evidence)
    attempts = [row.status for kind in kinds for row in kind if row.status != "skipped"]
    calls = [call.outcome for call in rows.llm_calls if not call.cache_hit]
    failed = attempts.count("infra_error") + calls.count("infra_error")
    return Ratio(failed, len(attempts) + len(calls))


def seconds_of(asset: str, rows: VideoRows) -> float | None:
    """Return the time that an asset took; None if it did not run."""
    return rows.sets[asset].duration_seconds if asset in rows.sets else None


def usage(
    column: Literal["cost_usd", "input_tokens", "output_tokens"], rows: VideoRows
) -> float | None:
    """Return the sum of a column of the model calls.

    None if no asset ran, and for costs if the price of a call is unknown.
    """
    calls = rows.llm_calls
    is_unpriced = column == "cost_usd" and not all(call.price_known for call in calls)
    if is_unpriced or not rows.sets.keys() & set(METHOD):
        return None
    return math.fsum(getattr(call, column) for call in calls)
