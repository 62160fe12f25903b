from __future__ import annotations

from datetime import UTC, datetime

import pytest

from factible_assets.records.tables import JudgementRow
from tests.warehouse.samples import claim, stamp, write_asset
from warehouse.bookkeeping import read_judgements
from warehouse.errors import WarehouseIntegrityError
from warehouse.store import Warehouse

ROW = JudgementRow(
    judgement_id="j1",
    judging_id="first",
    video_id="v",
    claim_id="claim-v-1",
    subject_kind="claim",
    subject_id="claim-v-1",
    criterion="claim_quality",
    outcome="ok",
    score=2,
    normalised=1.0,
    reason="It stands alone.",
    quote="Claim 1",
    provider="openai",
    model="m",
    prompt_version="claim_quality-1-00000000",
    question_hash="00",
    calls=1,
    cost_usd=0.1,
    price_known=True,
    judged_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
)
CALL: dict[str, object] = {
    "judgement_id": "j1",
    "judging_id": "first",
    "attempt": 1,
    "provider": "openai",
    "model": "m",
    "input_tokens": 10,
    "output_tokens": 2,
    "cost_usd": 0.1,
    "price_known": True,
    "latency_seconds": 0.5,
    "cache_hit": False,
    "outcome": "ok",
    "reason": None,
}


def changed(row: JudgementRow, **values: object) -> JudgementRow:
    return row.model_copy(update=values)


FAILED = changed(
    ROW, judging_id="second", outcome="infra_error", score=None, normalised=None, quote=None
)


def test_judgements_are_read_back(in_memory: Warehouse) -> None:
    in_memory.write_rows({"judgements": [ROW], "judge_calls": [CALL]})
    assert read_judgements(in_memory, ["j1", "j2"]) == {"j1": ROW}
    assert in_memory.query("SELECT input_tokens FROM judge_calls").rows() == [(10,)]


def test_a_later_outage_does_not_displace_a_score(in_memory: Warehouse) -> None:
    in_memory.write_rows({"judgements": [ROW], "judge_calls": []})
    in_memory.write_rows(
        {
            "judgements": [changed(FAILED, judged_at=datetime(2027, 1, 1, tzinfo=UTC))],
            "judge_calls": [],
        }
    )
    assert read_judgements(in_memory, ["j1"]) == {"j1": ROW}


@pytest.mark.parametrize(
    "row",
    [
        changed(FAILED, score=1, normalised=0.5),
        changed(FAILED, normalised=0.5),
        changed(ROW, score=None, normalised=None, quote=None),
        changed(ROW, score=3),
        changed(ROW, quote=None),
        changed(ROW, reason=""),
    ],
    ids=["outage scored", "half scored", "ok unscored", "off the scale", "no quote", "no reason"],
)
def test_a_row_that_is_half_a_score_is_refused_as_a_whole(
    in_memory: Warehouse, row: JudgementRow
) -> None:
    with pytest.raises(WarehouseIntegrityError, match=r"break a rule of the warehouse: .*CHECK"):
        in_memory.write_rows(
            {"judgements": [changed(ROW, judgement_id="j0"), row], "judge_calls": []}
        )
    assert in_memory.query("FROM judgements").is_empty()


def test_scores_count_only_current_rows(in_memory: Warehouse) -> None:
    write_asset(in_memory, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    gone = changed(ROW, judgement_id="j2", subject_id="claim-v-9", claim_id="claim-v-9")
    in_memory.write_rows({"judgements": [ROW, gone], "judge_calls": []})
    scores = in_memory.query("SELECT video_id, n, mean_normalised FROM judge_scores")
    assert set(scores.rows()) == {("v", 1, 1.0), (None, 1, 1.0)}
