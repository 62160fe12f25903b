"""Access to the service: tokens, hosts, origins, bodies, quotas and headers."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.exceptions import HTTPException

from factible_assets.settings import Settings, SettingsError
from factible_assets.web import access, auth, server, state
from factible_assets.web.app import create_app
from factible_assets.web.auth import Clients, is_loopback
from tests.cli.stored import store_published
from tests.web.conftest import BOTH, OTHER_TOKEN, TOKEN, Serve, bearer
from tests.web.doubles import Script, listening

STREAM = "/api/v1/fact-check/stream"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - not bound
BODY = {"video_url": "everyday-beliefs-talk"}


HALF_A_BODY = (
    b"POST /api/v1/fact-check HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 60\r\n\r\n{"
)


def test_beyond_loopback_the_service_needs_a_token(home: Path) -> None:
    for address in (EVERYWHERE, "192.0.2.7", "::"):
        with pytest.raises(SettingsError, match="FACTIBLE_SERVE_TOKEN"):
            create_app(Settings(home=home), address=address)


def test_a_short_token_is_refused(home: Path) -> None:
    settings = Settings(home=home, serve_token=SecretStr("hunter2"))
    with pytest.raises(SettingsError, match="at least 16") as refused:
        create_app(settings)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_recognised(address: str) -> None:
    assert is_loopback(address)
    assert not is_loopback(EVERYWHERE)
    assert not is_loopback("192.0.2.1")


def test_without_a_valid_token_only_health_answers(serve: Serve, script: Script) -> None:
    client = serve(serve_token=BOTH)
    wrong = [{}, bearer("a-token-that-is-long-enougH"), {"Authorization": TOKEN}]
    wrong += [{"Authorization": "Bearer"}, {"Authorization": f"Basic {TOKEN}"}]
    for headers in wrong:
        for path in ("/api/v1/videos", "/openapi.json", "/reports/x", "/nothing", "/api/v1/runs"):
            refused = client.get(path, headers=headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in refused.text
        assert client.post(STREAM, json=BODY, headers=headers).status_code == 401
    assert client.get("/api/v1/health").json()["status"] == "healthy"
    assert script.workers == []
    for token in (TOKEN, OTHER_TOKEN):
        assert client.get("/api/v1/videos", headers=bearer(token)).status_code == 200


def test_other_host_names_are_refused(serve: Serve) -> None:
    client = serve(public_url="https://checks.example.org")
    hosts = ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1"]
    hosts += ["evil.example@127.0.0.1", "127.0.0.1:8000@evil.example", "127.0.0.1/evil"]
    hosts += ["localhost#evil.example", "localhost?", "[::1]evil.example", "127.0.0.1:999999"]
    for host in hosts:
        refused = client.get("/api/v1/videos", headers={"Host": host})
        assert refused.status_code in {400, 421}, host
    for host in ("localhost:1", "127.0.0.1", "[::1]:8000", "Checks.Example.org"):
        assert client.get("/api/v1/videos", headers={"Host": host}).status_code == 200


def test_only_the_whole_origin_of_the_service_is_its_own(serve: Serve, script: Script) -> None:
    script.at_once = True
    client = serve(public_url="https://checks.example.org")
    port = client.base_url.port

    def posted(host: str, *origins: str) -> int:
        headers = [("Host", host), *(("Origin", each) for each in origins)]
        return client.post(STREAM, json=BODY, headers=headers).status_code

    here, there = f"127.0.0.1:{port}", "checks.example.org"
    assert posted(here, f"http://{here}") == 200
    for origin in (f"https://{here}", "http://127.0.0.1", f"http://localhost:{port}", "null", here):
        assert posted(here, origin) == 403, origin
    # Behind a proxy with TLS, only the public address shows the pages.
    assert posted(there, "https://checks.example.org") == 200
    assert posted(there, "http://checks.example.org") == 403
    assert posted(there, "http://checks.example.org:80") == 403
    # A browser sends it once, but a forger may send it twice.
    assert posted(here, f"http://{here}", "https://evil.example") == 403
    assert posted(here, "https://evil.example", f"http://{here}") == 403


def test_pages_of_other_sites_can_launch_nothing(serve: Serve, script: Script) -> None:
    client = serve()
    foreign = client.post(STREAM, json=BODY, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        form = client.post(
            STREAM, content=b'{"video_url": "x"}', headers={"Content-Type": content_type}
        )
        assert form.status_code == 415
    asked = client.options(
        STREAM, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert "access-control-allow-origin" not in asked.headers
    assert script.workers == []


@pytest.mark.parametrize(
    ("origin", "headers", "status"),
    [
        ("chrome-extension://abcdefghijklmnop", bearer(), 202),
        ("chrome-extension://abcdefghijklmnop", bearer("wrong"), 401),
        ("chrome-extension://abcdefghijklmnop", {}, 403),
        ("chrome-extension://abcdefghijklmnop", {"Authorization": "Basic eDp5"}, 403),
        ("https://chrome-extension.example.org", bearer(), 403),
    ],
)
def test_only_a_token_lets_an_extension_of_a_browser_start_a_check(
    serve: Serve, script: Script, origin: str, headers: dict[str, str], status: int
) -> None:
    script.at_once = True
    client = serve(serve_token=BOTH)
    sent = client.post("/api/v1/fact-check", json=BODY, headers={"Origin": origin, **headers})
    assert sent.status_code == status


def test_without_tokens_no_extension_may_start_a_check(serve: Serve) -> None:
    origin = {"Origin": "chrome-extension://abcdefghijklmnop", **bearer()}
    assert serve().post("/api/v1/fact-check", json=BODY, headers=origin).status_code == 403


def test_a_listed_origin_may_call_the_service(serve: Serve, script: Script) -> None:
    script.at_once = True
    origin = "https://app.example.org"
    client = serve(serve_origins=(f"{origin}/",), serve_token=BOTH)
    leave = client.options(
        STREAM,
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        },
    )
    assert leave.headers["access-control-allow-origin"] == origin
    done = client.post(STREAM, json=BODY, headers={"Origin": origin, **bearer()})
    assert done.status_code == 200
    assert done.headers["access-control-allow-origin"] == origin


def test_a_large_body_is_refused(serve: Serve, script: Script) -> None:
    client = serve()
    large = b'{"video_url": "' + b"x" * 100_000 + b'"}'
    kind = {"Content-Type": "application/json"}
    assert client.post(STREAM, content=large, headers=kind).status_code == 413
    chunks = (large[start : start + 1000] for start in range(0, len(large), 1000))
    assert client.post(STREAM, content=chunks, headers=kind).status_code == 413
    assert script.workers == []


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"null", b"[[[[", b'{"a":NaN}', b""])
def test_a_malformed_body_gets_a_sentence(serve: Serve, body: bytes) -> None:
    refused = serve().post(STREAM, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code in {400, 422}
    assert refused.json()["detail"].endswith(".")


def test_a_method_that_an_address_does_not_take_gets_a_sentence(serve: Serve) -> None:
    client = serve()
    for path in ("/desk", "/", "/docs", "/openapi.json"):
        refused = client.put(path)
        assert refused.status_code == 405, path
        assert "GET" in refused.headers["allow"]
        assert "PUT is not possible at this address." in refused.text


def test_head_requests_are_answered(serve: Serve) -> None:
    client = serve()
    for path in ("/desk", "/docs", "/api/v1/videos"):
        head = client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-length"] == client.get(path).headers["content-length"]


def test_errors_at_the_desk_are_pages(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST_FORM_BYTES", 1000)
    limit_requests(monkeypatch, 4)
    client = serve()
    own = {"Origin": client.address, "Accept": "text/html"}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    large, small = b"link=" + b"x" * 2000, b"link=x"
    asked = [
        (413, large, own | form),
        (415, small, own | {"Content-Type": "text/plain"}),
        (403, small, own | form | {"Origin": "https://evil.example"}),
    ]
    for status, content, headers in asked:
        refused = client.post("/desk/checks", content=content, headers=headers)
        assert refused.status_code == status
        assert refused.headers["content-type"].startswith("text/html"), status
        assert 'role="alert"' in refused.text
    for _ in range(3):
        slowed = client.get("/desk", headers=own)
    assert slowed.status_code == 429
    assert 'role="alert"' in slowed.text
    assert int(slowed.headers["retry-after"]) >= 1


def test_wrong_tokens_are_slowed_but_not_a_proven_one(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(serve_token=BOTH)
    assert client.get("/api/v1/videos", headers=bearer()).status_code == 200

    def guess(number: int) -> int:
        wrong = bearer(f"a-guess-that-is-long-enough-{number}")
        return client.get("/api/v1/videos", headers=wrong).status_code

    assert [guess(number) for number in range(12)] == [401] * 10 + [429] * 2
    # A right guess looks like a wrong one, in headers and forms.
    refused = client.get("/api/v1/videos", headers=bearer(OTHER_TOKEN))
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    origin = {"Origin": client.address}
    form = client.post("/desk/sign-in", data={"token": OTHER_TOKEN}, headers=origin)
    assert form.status_code == 429
    # The holder of a proven token continues to work.
    assert client.get("/api/v1/videos", headers=bearer()).status_code == 200
    later = time.monotonic() + 61
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: later, time=time.time))
    assert client.get("/api/v1/videos", headers=bearer(OTHER_TOKEN)).status_code == 200


def test_wrong_tokens_are_counted_by_network(home: Path) -> None:
    clients = Clients.from_settings(Settings(home=home, serve_token=BOTH), beyond_loopback=False)
    for number in range(10):
        assert clients.client_with_token("a-guess-that-is-wrong", f"2001:db8::{number}") is None
    with pytest.raises(HTTPException, match="wrong tokens"):
        clients.client_with_token(TOKEN, "2001:db8::ffff")
    assert clients.client_with_token(TOKEN, "2001:db8:1::1") is not None
    assert clients.client_with_token(TOKEN, "192.0.2.1") is not None


def test_a_key_that_waited_long_enough_does_not_stop_the_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auth, "_MOST_KEYS", 1)
    limit = auth.RateLimit(1)
    limit.count("first")
    later = time.monotonic() + 61
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: later))
    assert limit.wait_seconds("first") == 0
    limit.count("second")
    assert limit.wait_seconds("second") > 0


def limit_requests(monkeypatch: pytest.MonkeyPatch, per_minute: int) -> None:
    def limited(settings: Settings, **_: bool) -> Clients:
        return Clients(settings.home / "serve.sqlite", {}, None, per_minute)

    monkeypatch.setattr(Clients, "from_settings", limited)


def test_too_many_requests_are_slowed_down(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_requests(monkeypatch, 3)
    client = serve()
    answers = [client.get("/api/v1/videos").status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]
    refused = client.get("/api/v1/videos")
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_many_requests_at_once_are_answered_or_refused_as_busy(
    home: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "QUEUE_SECONDS", 1.0)
    app = create_app(Settings(home=home), launch=script.launch)
    goes_on, answered = threading.Event(), app.state.shared.results.videos

    def slowly(**given: Any) -> Any:
        goes_on.wait()
        return answered(**given)

    monkeypatch.setattr(app.state.shared.results, "videos", slowly)
    store_published(home)
    with listening(app) as client, ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(client.get, "/api/v1/videos") for _ in range(12)]
        told = [each.result() for each in itertools.islice(as_completed(asked), 8)]
        assert {each.status_code for each in told} == {503}
        assert {each.headers["retry-after"] for each in told} == {"1"}
        assert "Try again" in told[0].json()["detail"]
        assert client.get("/api/v1/health").status_code == 200
        page = client.get("/desk", headers={"Accept": "text/html"})
        assert (page.status_code, 'role="alert"' in page.text) == (503, True)
        goes_on.set()
        assert sorted(each.result().status_code for each in asked) == [200] * 4 + [503] * 8
        assert client.get("/api/v1/videos").status_code == 200


def test_default_quotas_apply_beyond_loopback(home: Path) -> None:
    app = create_app(Settings(home=home, serve_token=BOTH), address=EVERYWHERE)
    clients = app.state.shared.clients
    assert (clients.videos_per_day, clients.requests_per_minute) == (50, 120)
    own = create_app(Settings(home=home)).state.shared.clients
    assert (own.videos_per_day, own.requests_per_minute) == (None, None)


def test_every_answer_carries_the_security_headers(serve: Serve) -> None:
    client = serve()
    answers = [
        client.get("/api/v1/health"),
        client.get("/nothing"),
        client.post(STREAM, json={}),
        client.get("/api/v1/videos", headers={"Host": "evil.example"}),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_an_unexpected_error_reveals_nothing(
    home: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(Settings(home=home), launch=script.launch)

    def fail(**_: object) -> None:
        raise RuntimeError("the-secret-in-the-message")

    monkeypatch.setattr(app.state.shared.results, "videos", fail)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get("/api/v1/videos")

    answer = asyncio.run(ask())
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_malformed_http_does_not_end_the_service(serve: Serve) -> None:
    client = serve()
    place = (client.base_url.host, client.base_url.port or 0)
    with socket.create_connection(place) as raw:
        raw.sendall(b"\x16\x03\x01\x02\x00 nonsense\r\n\r\n")
        raw.recv(100)
    assert client.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /api/v1/videos HTTP/1.1\r\nHost:",
        b"GET /api/v1/health HTTP/1.1\r\n\r\nGET /",
        HALF_A_BODY,
    ],
)
def test_a_half_sent_request_is_closed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.5)
    client = serve()
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
        raw.sendall(begun)
        with suppress(ConnectionError):
            while raw.recv(4096):
                pass
            # More bytes do not extend the time.
            raw.sendall(b"x")
    assert client.get("/api/v1/health").status_code == 200


def test_a_401_comes_before_the_body(serve: Serve, published: str) -> None:
    client = serve(serve_token=BOTH)
    unread = f"{STREAM} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as raw:
        raw.sendall(f"POST {unread}Content-Length: 60000\r\n\r\n".encode())
        assert b" 401 " in raw.recv(4096), "answered before the body came"
    assert client.get(f"/reports/{published}").status_code == 401
