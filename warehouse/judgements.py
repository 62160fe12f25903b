"""What a language model as judge said: writing it, and finding what was said before.

What belongs here: the rows of `judgements` and `judge_calls`. What does not: what they mean, and
asking (factible_assets/evaluation/judging, factible_assets/judging.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime

import duckdb

from factible_assets.records import Criterion
from warehouse.errors import WarehouseIntegrityError
from warehouse.rows import to_utc
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
class JudgeCallRow:
    """One call of a judge, as the table keeps it."""

    judgement_id: str
    judging_id: str
    attempt: int
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    price_known: bool
    latency_seconds: float
    cache_hit: bool
    outcome: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class MeanTokens:
    """What a question to a judge took on average, over all of its calls."""

    input: float
    output: float


_COLUMNS = ", ".join(field.name for field in fields(JudgementRow))
_PLACES = ", ".join("?" for _ in fields(JudgementRow))
_CALL_COLUMNS = ", ".join(field.name for field in fields(JudgeCallRow))
_CALL_PLACES = ", ".join("?" for _ in fields(JudgeCallRow))


def write_judgements(
    store: Warehouse, judgements: Sequence[JudgementRow], calls: Sequence[JudgeCallRow]
) -> None:
    """Add judgements with their calls, all or none.

    Raises:
        WarehouseIntegrityError: A row breaks a rule of its table. The warehouse is as it was.
    """
    values = [
        [to_utc(each.astimezone(UTC)) if isinstance(each, datetime) else each for each in row]
        for row in map(astuple, judgements)
    ]
    with store.connection() as connection:
        # No rollback here: closing the connection discards what was not committed.
        connection.begin()
        try:
            if values:
                connection.executemany(
                    f"INSERT INTO judgements ({_COLUMNS}) VALUES ({_PLACES})",  # noqa: S608
                    values,
                )
            if calls:
                connection.executemany(
                    f"INSERT INTO judge_calls ({_CALL_COLUMNS}) "  # noqa: S608
                    f"VALUES ({_CALL_PLACES})",
                    [list(astuple(call)) for call in calls],
                )
        except duckdb.ConstraintException as failure:
            raise WarehouseIntegrityError(
                "A judgement breaks a rule of the warehouse: "
                f"{str(failure).splitlines()[0].rstrip('.')}. Nothing was written."
            ) from failure
        connection.commit()


def read_judgements(store: Warehouse, ids: Collection[str]) -> dict[str, JudgementRow]:
    """Return the best-known judgement of each id: the newest with a score, else the newest."""
    with store.connection(read_only=True) as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM judgements "  # noqa: S608
            "WHERE judgement_id IN (SELECT unnest(?)) "
            "QUALIFY row_number() OVER (PARTITION BY judgement_id "
            "ORDER BY outcome = 'ok' DESC, judged_at DESC, judging_id DESC) = 1",
            [list(ids)],
        ).fetchall()
    found = [JudgementRow(*row) for row in rows]
    found = [replace(row, judged_at=row.judged_at.replace(tzinfo=UTC)) for row in found]
    return {row.judgement_id: row for row in found}


def judge_usage(store: Warehouse, provider: str, model: str) -> dict[str, MeanTokens]:
    """Return what answered questions took on average of this judge, by criterion."""
    rows = store.query(
        "WITH used AS ("
        "  SELECT judgement_id, judging_id, sum(input_tokens) AS read, sum(output_tokens) AS wrote"
        "  FROM judge_calls GROUP BY ALL HAVING sum(input_tokens) > 0"
        ") SELECT criterion, avg(read), avg(wrote) FROM judgements "
        "JOIN used USING (judgement_id, judging_id) "
        "WHERE outcome = 'ok' AND provider = ? AND model = ? GROUP BY criterion",
        [provider, model],
    )
    return {criterion: MeanTokens(read, wrote) for criterion, read, wrote in rows.rows()}


def verdict_models(store: Warehouse, videos: Collection[str]) -> set[str]:
    """Return the models, as PROVIDER/MODEL, that reached the newest verdicts of some videos."""
    rows = store.query(
        "SELECT DISTINCT provider || '/' || model FROM current_llm_calls "
        "WHERE stage = 'verdicts' AND video_id IN (SELECT unnest(?))",
        [list(videos)],
    )
    return {row[0] for row in rows.rows()}
