"""Results from the published copy."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from factible_assets.web import state
from tests.cli.stored import VIDEO_ID, store_failed_recheck, store_sample
from tests.patience import A_DAY
from tests.report import samples
from tests.web.conftest import Serve


def test_an_empty_data_folder_has_no_videos(serve: Serve) -> None:
    client = serve()
    assert client.get("/api/v1/videos").json()["items"] == []
    for path in ("", "/history", "/report"):
        missing = client.get(f"/api/v1/videos/never-checked{path}")
        assert missing.status_code == 404
        assert "never-checked" in missing.json()["detail"]
        assert "Check it first" in missing.json()["detail"]


def test_checked_videos_are_listed_with_their_verdicts(serve: Serve, published: str) -> None:
    client = serve()
    page = client.get("/api/v1/videos", params={"limit": 1}).json()
    assert page["total"] == 1
    (item,) = page["items"]
    assert item["video_id"] == published
    counted = sum(item[name] for name in ("supports", "refutes", "mixed", "unclear", "incomplete"))
    assert counted == item["claims"] == 5
    assert client.get("/api/v1/videos", params={"offset": 1}).json()["items"] == []


def test_a_video_has_claims_verdicts_and_evidence(serve: Serve, published: str) -> None:
    result = serve().get(f"/api/v1/videos/{published}").json()
    assert result["video_id"] == published
    assert result["total_claims"] == len(result["claims"]) == 5
    seconds = [claim["start_seconds"] for claim in result["claims"]]
    assert seconds == sorted(seconds, key=lambda second: (second is None, second or 0.0))
    assert all(claim["verdict"]["claim_id"] == claim["claim_id"] for claim in result["claims"])
    quoted = [
        source for claim in result["claims"] for source in claim["evidence"] if source["quote"]
    ]
    assert quoted
    assert quoted[0]["url"].startswith("http")
    assert result["report"] == f"/reports/{quote(published, safe='')}"


def test_history_counts_every_check(serve: Serve, home: Path) -> None:
    warehouse = store_sample(home)
    store_failed_recheck(warehouse)
    warehouse.publish(home / "published.duckdb")
    client = serve()
    (item,) = client.get("/api/v1/videos").json()["items"]
    history = client.get(f"/api/v1/videos/{item['video_id']}/history").json()
    assert [check["run_id"] for check in history["checks"]] == ["run-2", "run-1"]
    assert history["checks"][0]["incomplete"] == 1
    assert history["total_changes"] == len(history["changes"]) == 0
    assert not client.get(f"/api/v1/videos/{item['video_id']}").json()["is_finished"]


def test_a_listed_video_without_verdicts_has_an_empty_history(serve: Serve, home: Path) -> None:
    warehouse = store_sample(home)
    with warehouse.connection() as connection:
        connection.execute("DELETE FROM verdict_history")
    warehouse.publish(home / "published.duckdb")
    client = serve()
    assert client.get("/api/v1/videos").json()["items"][0]["checked_at"] is None
    history = client.get(f"/api/v1/videos/{VIDEO_ID}/history")
    assert history.status_code == 200
    assert (history.json()["total_checks"], history.json()["checks"]) == (0, [])


def test_a_report_has_a_strict_policy(serve: Serve, published: str) -> None:
    client = serve()
    long, short = (
        client.get(path.format(published)) for path in ("/api/v1/videos/{}/report", "/reports/{}")
    )
    assert long.text == short.text
    assert short.headers["content-type"].startswith("text/html")
    policy = short.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    inside = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', short.text)
    assert inside is not None


def test_a_running_check_does_not_keep_readers_waiting(serve: Serve, home: Path) -> None:
    warehouse = store_sample(home)
    warehouse.publish(home / "published.duckdb")
    with warehouse.connection():
        assert serve().get("/api/v1/videos").json()["total"] == 1


@pytest.mark.parametrize("name", ["not a database", ""])
def test_an_unreadable_copy_is_a_503(
    serve: Serve, home: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    store_sample(home)
    (home / "published.duckdb").write_bytes(name.encode() * 1000)
    client = serve()
    # The page must not say that the claim is gone.
    page = client.get(f"/desk/videos/{VIDEO_ID}/claims/{samples.claim(0).claim_id}")
    assert page.status_code == 503
    answer = client.get("/api/v1/videos")
    assert answer.status_code == 503
    assert "published copy" in answer.json()["detail"]
    assert str(home) not in answer.text
    caplog.clear()
    desk = client.get("/desk")
    assert desk.status_code == 200
    assert 'action="/desk/checks"' in desk.text, "a new check publishes a new copy"
    assert "published copy" in desk.text
    assert [each.name for each in caplog.records] == ["factible.serve"]


@pytest.mark.usefixtures("published")
def test_hostile_ids_find_nothing(serve: Serve) -> None:
    client = serve()
    injected = "'; DROP TABLE videos; --"
    for each in ("..%2f..%2fetc%2fpasswd", "%00", injected, "x" * 129, "%F0%9F%92%A9"):
        for path in ("/api/v1/videos/{}", "/api/v1/videos/{}/history", "/reports/{}"):
            assert client.get(path.format(each)).status_code in {404, 422}, each
    assert client.get("/api/v1/videos").json()["total"] == 1


def test_pages_have_limits(serve: Serve) -> None:
    client = serve()
    for query in ("limit=0", "limit=201", "offset=-1", "limit=x"):
        refused = client.get(f"/api/v1/videos?{query}")
        assert refused.status_code == 422, query
        assert query.partition("=")[0] in refused.json()["detail"]


def test_more_readers_than_the_service_answers_at_once_get_their_answers(
    serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the service would refuse some of them.
    monkeypatch.setattr(state, "QUEUE_SECONDS", A_DAY)
    store = store_sample(home)
    store.publish(home / "published.duckdb")
    client = serve()
    paths = [f"/reports/{VIDEO_ID}", f"/api/v1/videos/{VIDEO_ID}", "/api/v1/videos"]

    def ask(number: int) -> int:
        return client.get(paths[number % len(paths)]).status_code

    with ThreadPoolExecutor(18) as pool:
        assert set(pool.map(ask, range(18))) == {200}
    store_failed_recheck(store)
    store.publish(home / "published.duckdb")
    assert not client.get(paths[1]).json()["is_finished"], "a new copy is seen at once"
