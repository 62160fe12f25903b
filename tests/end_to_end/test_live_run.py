"""One video on the live web with a language model, the demo beside it, and who was asked what."""

import json
from pathlib import Path

from factible_assets.records import LlmCall, Video
from tests.end_to_end.loopback import (
    BOOTSTRAP,
    CHAT,
    CLAIMS,
    DOMAIN,
    HOSTS,
    PAGES,
    SEARCH,
    VIDEO_URL,
    loopback_world,
)
from tests.resources.transcripts.fake_youtube import VIDEO, WATCH
from warehouse.store import Warehouse


def test_an_unlisted_video_is_checked_and_nobody_is_asked_the_same_twice(
    tmp_path: Path,
) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
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

    assert {WATCH, SEARCH, CHAT, BOOTSTRAP, "/robots.txt"} <= paths
    assert {f"{DOMAIN}{host.removeprefix('www.')}" for host in HOSTS} <= paths
    assert {url.removeprefix("http://").partition("/")[2] for url in PAGES} <= {
        path.removeprefix("/") for path in paths
    }
    assert [asked for asked, times in first.items() if times > 1] == []

    # What a second run asks again is the video itself; the rest is kept.
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
    assert len(kept) == len(calls) - len(kept)
    assert kept["cost_usd"].sum() == 0
    assert calls.filter(~calls["cache_hit"])["cost_usd"].sum() > 0
    assert {call.outcome for call in store.read_current(LlmCall, VIDEO)} == {"ok"}


def test_the_demo_asks_nobody_although_keys_are_set(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {"SERPER_API_KEY": "a-key", "OPENAI_API_KEY": "another-key"}
        code, out, err = world.factible("demo", "--json")
        assert code == 0, err
        assert world.server.asked == []
    verdicts = [claim["verdict"] for claim in json.loads(out)["claims"]]
    assert {verdict["basis"] for verdict in verdicts} == {"embedded"}
    assert not (world.home / "cache").exists()
