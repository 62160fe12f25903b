"""What an evaluation's answers took: time, tokens, money, and how often services failed.

What belongs here: metrics over latencies, calls and statuses. What does not: quality.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from factible_assets.evaluation.figures import Ratio
from factible_assets.records import LlmCall, Page, Search, Status


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds that the operations of one stage took, each alone.

    The percentiles interpolate linearly between order statistics.
    """

    stage: str
    n: int
    total: float
    mean: float
    median: float
    p95: float


def latency_by_stage(
    searches: Sequence[Search], pages: Sequence[Page], calls: Sequence[LlmCall]
) -> tuple[Latency, ...]:
    """Summarise searches, fetches and model calls by stage (Factible, section 2.6.1).

    Answers from a cache took no service's time and are left out.
    """
    by_stage: dict[str, list[float]] = defaultdict(list)
    by_stage["web search"] = [row.latency_seconds for row in searches]
    by_stage["page fetch"] = [row.latency_seconds for row in pages]
    for call in calls:
        if not call.cache_hit:
            by_stage[f"model: {call.stage}"].append(call.latency_seconds)
    summaries = []
    for stage, took in by_stage.items():
        if took:
            total = math.fsum(took)
            median, p95 = map(float, np.percentile(took, [50, 95]))
            summaries.append(Latency(stage, len(took), total, total / len(took), median, p95))
    return tuple(summaries)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one model cost in one stage, as its API reported it. Cached answers cost nothing."""

    stage: str
    model: str
    calls: int
    cached: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


def usage_by_stage(calls: Sequence[LlmCall]) -> tuple[Usage, ...]:
    """Add up tokens and cost by stage and model, in order of name."""
    groups: dict[tuple[str, str], list[LlmCall]] = defaultdict(list)
    for call in calls:
        groups[call.stage, call.model].append(call)
    return tuple(
        Usage(
            stage=stage,
            model=model,
            calls=len(group),
            cached=sum(call.cache_hit for call in group),
            failed=sum(call.outcome != "ok" for call in group),
            input_tokens=sum(call.input_tokens for call in group),
            output_tokens=sum(call.output_tokens for call in group),
            cost_usd=math.fsum(call.cost_usd for call in group),
        )
        for (stage, model), group in sorted(groups.items())
    )


class HasStatus(Protocol):
    """A row of any stage."""

    @property
    def status(self) -> Status: ...  # noqa: D102


def infrastructure_failure_rate(rows: Iterable[HasStatus]) -> Ratio:
    """Return the share of attempted work that failed because a service failed.

    |infra_error| / |attempted|; what a rule skipped was not attempted. Undefined if nothing was.
    """
    attempted = [row.status for row in rows if row.status != "skipped"]
    return Ratio(attempted.count("infra_error"), len(attempted))
