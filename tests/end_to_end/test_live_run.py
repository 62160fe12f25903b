"""One video on the live web with a language model, and all requests."""

import json
from pathlib import Path

import pytest

from factible_assets.records.tables import LlmCall, Video
from tests.end_to_end.loopback import (
    BOOTSTRAP,
    CHAT,
    CLAIMS,
    DOMAIN,
    FACT_CHECKS,
    HOSTS,
    PAGES,
    SEARCH,
    VIDEO_URL,
    answer_as_asked,
    loopback_world,
)
from tests.resources.llm import vendors
from tests.resources.transcripts.fake_youtube import VIDEO, WATCH
from tests.servers import Exchange
from warehouse.store import Warehouse


async def strict(exchange: Exchange) -> None:
    """Answer as the vendor does who enforces its rules."""
    sent = exchange.asked.json
    assert isinstance(sent, dict)
    await (vendors.against_openai(sent) or answer_as_asked)(exchange)


def test_an_unlisted_video_is_checked_without_repeated_questions(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        # Two keys are enough.
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
        world.server.on(CHAT, strict)
        code, out, err = world.factible("check", VIDEO_URL, "--json")
        assert code == 0, err
        result = json.loads(out)
        first = world.questions()
        paths = {asked.path for asked in world.server.asked}
        asked_before = len(world.server.asked)
        again, _, err = world.factible("check", VIDEO_URL, "--force", "--json")
        assert again == 0, err
        second = [asked.path for asked in world.server.asked[asked_before:]]

    assert [claim["text"] for claim in result["claims"]] == list(CLAIMS)
    assert {claim["verdict"]["stance"] for claim in result["claims"]} == {"refutes"}
    assert {claim["verdict"]["basis"] for claim in result["claims"]} == {"llm"}
    assert FACT_CHECKS not in paths, "without its key nobody looks for earlier fact-checks"

    assert {WATCH, SEARCH, CHAT, BOOTSTRAP, "/robots.txt"} <= paths
    assert {f"{DOMAIN}{host.removeprefix('www.')}" for host in HOSTS} <= paths
    assert {url.removeprefix("http://").partition("/")[2] for url in PAGES} <= {
        path.removeprefix("/") for path in paths
    }
    assert [asked for asked, times in first.items() if times > 1] == []

    # A second run asks only for the video; the cache has the rest.
    assert WATCH in second
    assert {path for path in second if path in {SEARCH, CHAT, BOOTSTRAP}} == set()
    assert [path for path in second if path.startswith(DOMAIN)] == []
    assert [path for path in second if f"http://{HOSTS[0]}{path}" in PAGES] == []

    store = Warehouse(world.home / "warehouse.duckdb")
    (video,) = store.read_current(Video, VIDEO)
    assert (video.title, video.channel, video.duration_seconds) == (
        "On children",
        "The Channel",
        213,
    )
    calls = store.query("SELECT run_id, cache_hit, cost_usd, claim_id FROM llm_calls")
    kept = calls.filter(calls["cache_hit"])
    assert len(kept) == len(calls) - len(kept) == world.server.count(CHAT), "none was in vain"
    assert kept["cost_usd"].sum() == 0
    assert calls.filter(~calls["cache_hit"])["cost_usd"].sum() > 0
    assert {call.outcome for call in store.read_current(LlmCall, VIDEO)} == {"ok"}
    costs = store.query(
        "SELECT kind, sum(requests), sum(cost_usd), bool_and(cost_known) FROM costs "
        "WHERE requests > from_cache GROUP BY kind ORDER BY kind"
    ).rows()
    asked = sum(path == SEARCH for path in (asked.path for asked in world.server.asked))
    (model, search) = costs
    assert search == ("search", asked, pytest.approx(asked / 1_000), True)
    assert (model[0], model[3]) == ("model", True)
    paid = store.query("SELECT sum(cost_usd) FROM llm_calls").item()
    assert model[2] == pytest.approx(paid)
