"""The record of costs has every paid model call, even of a failed stage."""

import json
import random
from pathlib import Path

import pytest

from benchmarks.ledger import ledger
from tests.end_to_end.loopback import CHAT, VIDEO_URL, loopback_world
from tests.resources.llm.servers import say
from tests.servers import Behaviour
from tests.shortcuts import prepare
from warehouse.store import Warehouse

INCOMPLETE_SETS = """
    SELECT m.asset, m.row_count, count(v.claim_id) AS found
    FROM materializations m LEFT JOIN verdict_history v
      ON m.video_id = v.video_id AND m.run_id = v.run_id
    WHERE m.asset = 'verdicts' GROUP BY ALL HAVING found <> m.row_count
"""

KEYS = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}


@pytest.mark.parametrize(
    ("behaviour", "outcome", "requests", "words"),
    [
        (say("openai", "", refusal="I cannot help with that."), "refused", 1, "declined"),
        (
            say("openai", '{"the', finish="length", usage=(900, 1_200)),
            "truncated",
            2,
            "FACTIBLE_REASONING_EFFORT",
        ),
    ],
    ids=["refusal", "cut off"],
)
def test_a_failing_stage_is_asked_once_and_its_calls_are_recorded(
    tmp_path: Path, behaviour: Behaviour, outcome: str, requests: int, words: str
) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = KEYS
        world.server.on(CHAT, behaviour)
        code, out, err = world.factible("check", VIDEO_URL, "--json")
        document = json.loads(out)
        assert (document["success"], document["exit_code"]) == (False, code)
        assert words in " ".join(document["failures"])
        assert words in " ".join(err.split())
        assert world.server.count(CHAT) == requests
    calls = Warehouse(world.home / "warehouse.duckdb").query(
        "SELECT stage, outcome, cost_usd > 0 AS paid FROM llm_calls"
    )
    assert calls.rows() == [("claims", outcome, True)] * requests


def test_a_killed_check_is_finished_and_records_every_paid_answer(tmp_path: Path) -> None:
    prepare(tmp_path / "home")
    found = ledger(tmp_path, random.Random(1), kills=1)
    assert found.kills == 1
    assert found.answered > 4
    assert found.missing == 0
    assert found.certain_usd == pytest.approx(found.billed_usd * found.rows / found.answered)
    (store,) = map(Warehouse, tmp_path.rglob("warehouse.duckdb"))
    assert store.query("FROM current_verdicts").height == 2
    assert store.query(INCOMPLETE_SETS).is_empty()
