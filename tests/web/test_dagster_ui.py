"""Access to the Dagster UI, with a stand-in for it. end_to_end/test_ui.py runs the real one."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket
from uvicorn.config import HTTP_PROTOCOLS

from factible_assets.settings import Settings, SettingsError
from factible_assets.web import dagster_ui
from factible_assets.web import server as web_server
from factible_assets.web.app import create_app
from factible_assets.web.dagster_ui import guarded_ui, report_start, ui_policy
from tests.patience import eventually
from tests.web.conftest import TOKEN, bearer

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - refused, which is the point


def ui(home: Path, **given: Any) -> ASGIApp:
    """A stand-in for Dagster's app, behind the access."""

    async def open_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    page = Route("/{path:path}", lambda _: PlainTextResponse("yes"), methods=["GET", "POST"])
    inner = Starlette(routes=[WebSocketRoute("/graphql", open_socket), page])
    settings = Settings(home=home, **given)
    policy = ui_policy(settings, LOOPBACK)
    return guarded_ui(inner, policy, create_app(settings, guarded_by=policy))


def ask(app: ASGIApp, method: str, path: str, **given: Any) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:3000") as them:
            return await them.request(method, path, **given)

    return asyncio.run(asked())


def first_answer(app: ASGIApp, **headers: str) -> str:
    """Return the type of the first message to a websocket."""
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        told.append(message)

    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "websocket", "path": "/graphql", "headers": encoded, "query_string": b""}
    asyncio.run(app({**scope, "subprotocols": []}, receive, send))  # type: ignore[arg-type]
    return str(told[0]["type"])


def test_the_ui_answers_its_own_pages(tmp_path: Path) -> None:
    app = ui(tmp_path)
    own = {"Origin": "http://localhost:3000"}
    assert ask(app, "GET", "/assets").text == "yes"
    assert ask(app, "POST", "/graphql", json={"query": "{version}"}, headers=own).text == "yes"
    assert first_answer(app, host="localhost:3000", origin=own["Origin"]) == "websocket.accept"


def test_other_pages_and_names_are_refused(tmp_path: Path) -> None:
    app = ui(tmp_path)
    foreign = {"Origin": "http://127.0.0.1:8888"}
    assert ask(app, "POST", "/graphql", json={"query": "{version}"}, headers=foreign).is_error
    assert ask(app, "POST", "/graphql?query={version}", headers=foreign).is_error
    for site in ("cross-site", "same-site"):  # A browser may send this without the origin.
        unnamed = {"Sec-Fetch-Site": site}
        asked = ask(app, "POST", "/graphql", json={"query": "{version}"}, headers=unnamed)
        assert asked.status_code == 403
    assert ask(app, "POST", "/graphql", content="{version}").status_code == 415
    # Requests without an origin, from old browsers or programs.
    for path in ("/graphql?query=mutation{x}", "/graphql/?a=b&query=mutation{x}", "/graphql?query"):
        assert ask(app, "POST", path).status_code == 400
    assert ask(app, "POST", "/graphql?op=x", json={"query": "{version}"}).text == "yes"
    assert ask(app, "GET", "/graphql?query=mutation{x}").status_code == 405
    assert ask(app, "HEAD", "/graphql/?query=mutation{x}").status_code == 405
    assert ask(app, "GET", "/", headers={"Host": "evil.example"}).status_code == 421
    assert first_answer(app, host="localhost:3000", origin="http://evil.example") == (
        "websocket.close"
    )
    assert first_answer(app, host="evil.example", origin="http://evil.example") == (
        "websocket.close"
    )


def test_a_token_is_asked_for_as_a_password(tmp_path: Path) -> None:
    app = ui(tmp_path, serve_token=SecretStr(TOKEN))
    refused = ask(app, "GET", "/assets")
    assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
    assert ask(app, "GET", "/assets", auth=("anybody", TOKEN)).text == "yes"
    assert ask(app, "GET", "/assets", headers=bearer()).text == "yes"
    assert ask(app, "GET", "/assets", auth=(TOKEN, "")).status_code == 401
    assert first_answer(app, host="localhost:3000") == "websocket.close"
    password = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    told = first_answer(app, host="localhost:3000", authorization=f"Basic {password}")
    assert told == "websocket.accept"


def test_beyond_this_machine_the_ui_needs_a_token(tmp_path: Path) -> None:
    ui_policy(Settings(home=tmp_path), "localhost")
    with pytest.raises(SettingsError, match="FACTIBLE_SERVE_TOKEN"):
        ui_policy(Settings(home=tmp_path), EVERYWHERE)


def test_no_process_reads_the_env_file_of_the_working_folder(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / ".env").write_text(f"DAGSTER_HOME={tmp_path}/theirs\nPYTHONPATH={tmp_path}\n")
    process = [sys.executable, "-m", dagster_ui.__name__, "code", str(os.getpid())]
    told = subprocess.run(
        [*process, "instance", "info"],
        cwd=tmp_path,
        env={**os.environ, "DAGSTER_HOME": str(mine)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"$DAGSTER_HOME: {mine}" in told


def test_a_slow_start_is_reported_until_the_ui_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dagster_ui, "_REMINDER_SECONDS", 0.05)
    monkeypatch.setattr(dagster_ui, "_POLL_SECONDS", 0.01)
    with socket.socket() as reserved:
        reserved.bind((LOOPBACK, 0))
        port = reserved.getsockname()[1]
        thread = threading.Thread(target=report_start, args=(LOOPBACK, port))
        thread.start()
        said = ""

        def hears(words: str) -> bool:
            nonlocal said
            said += capsys.readouterr().err
            return words in said

        eventually(lambda: hears("Dagster is loading."))
        assert "answers on" not in said
        reserved.listen()
        thread.join()
    assert hears(f"The Dagster UI answers on http://{LOOPBACK}:{port}.")


def test_half_a_request_to_the_ui_is_closed_and_a_socket_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "REQUEST_SECONDS", 0.3)
    import dagster_webserver.cli as dagster_web  # noqa: PLC0415 - a second that no other test needs

    monkeypatch.setattr(dagster_web.cli, "main", lambda _: None)
    monkeypatch.setitem(HTTP_PROTOCOLS, "auto", "auto")
    monkeypatch.setattr(dagster_web, "create_app_from_workspace_process_context", None)
    monkeypatch.setenv("FACTIBLE_HOME", str(tmp_path))
    dagster_ui._serve_guarded(["--host", LOOPBACK])

    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        await asyncio.sleep(1.0)
        await websocket.send_text("still here")

    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[WebSocketRoute("/", talk)])))
    with socket.create_server((LOOPBACK, 0)) as door:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        place = door.getsockname()
        with socket.create_connection(place) as half, socket.create_connection(place) as whole:
            half.sendall(b"GET / HTTP/1.1\r\nHost:")
            key = base64.b64encode(b"0123456789abcdef")
            whole.sendall(
                b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                + key
                + b"\r\n\r\n"
            )
            assert half.recv(100) == b""
            heard = b""
            while b"still here" not in heard:
                part = whole.recv(4096)
                assert part, "the socket was closed"
                heard += part
        server.should_exit = True
        thread.join()


def test_reviewers_get_the_desk_but_not_dagster(tmp_path: Path) -> None:
    tokens = SecretStr(f"Ada:review:{TOKEN}, root:admin:another-{TOKEN}")
    settings = Settings(home=tmp_path, serve_token=tokens)
    policy = ui_policy(settings, LOOPBACK)
    inner = Starlette(routes=[Route("/{path:path}", lambda _: PlainTextResponse("Dagster"))])
    app = guarded_ui(inner, policy, create_app(settings, guarded_by=policy))
    assert "Check a video" in ask(app, "GET", "/desk", headers=bearer()).text
    assert "<feed" in ask(app, "GET", "/feeds/verdicts.atom", headers=bearer()).text
    assert ask(app, "GET", "/api/v1/videos", headers=bearer()).json()["total"] == 0
    assert ask(app, "GET", "/desk", headers={"Accept": "text/html"}).status_code == 303
    assert ask(app, "GET", "/assets", headers=bearer()).status_code == 403
    assert ask(app, "GET", "/assets", headers=bearer(f"another-{TOKEN}")).text == "Dagster"
