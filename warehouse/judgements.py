"""What a language model as judge said before.

What belongs here: reading `judgements` and `judge_calls`. What does not: what they mean, and
asking (factible_assets/evaluation/judging, factible_assets/running/judge.py).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime

from factible_assets.records import Criterion
from resources.statements import statements
from warehouse.rows import aware
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """One judgement, as the table keeps it; its comments say what the columns mean."""

    judgement_id: str
    judging_id: str
    video_id: str
    claim_id: str
    subject_kind: str
    subject_id: str
    criterion: Criterion
    outcome: str
    score: int | None
    normalised: float | None
    reason: str
    quote: str | None
    provider: str
    model: str
    prompt_version: str
    question_hash: str
    calls: int
    cost_usd: float
    price_known: bool
    judged_at: datetime


@dataclass(frozen=True, slots=True)
class MeanTokens:
    """What a question to a judge took on average, over all of its calls."""

    input: float
    output: float


_COLUMNS = ", ".join(field.name for field in fields(JudgementRow))
_ASK = statements("warehouse", "judgements.sql")


def read_judgements(store: Warehouse, ids: Collection[str]) -> dict[str, JudgementRow]:
    """Return the best-known judgement of each id: the newest with a score, else the newest."""
    if not ids:
        return {}
    sql = _ASK["best_known"].format(columns=_COLUMNS, places=", ".join("?" for _ in ids))
    rows = (JudgementRow(*map(aware, row)) for row in store.query(sql, list(ids)).rows())
    return {row.judgement_id: row for row in rows}


def judge_usage(store: Warehouse, provider: str, model: str) -> dict[str, MeanTokens]:
    """Return what answered questions took on average of this judge, by criterion."""
    rows = store.query(_ASK["usage"], {"provider": provider, "model": model})
    return {criterion: MeanTokens(read, wrote) for criterion, read, wrote in rows.rows()}


def verdict_models(store: Warehouse, videos: Collection[str]) -> set[str]:
    """Return the models, as PROVIDER/MODEL, that reached the newest verdicts of some videos."""
    return {row[0] for row in store.query(_ASK["verdict_models"], {"videos": list(videos)}).rows()}
