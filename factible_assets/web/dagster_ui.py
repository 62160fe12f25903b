"""Runs Dagster's UI under the service's access control, with the desk beside it.

`dagster dev` alone is not safe: its web server lets any page in the user's browser launch runs,
because it answers mutations by GET, to any origin, under any name. Its processes survive the death
of their parent, and take every variable of a `.env` in the working folder into their environment,
such as code to load. So this module starts all of them: `python -m factible_assets.web.dagster_ui`
with `dev`, or for the children with `web`, `daemon` or `code` and the process id of their parent.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import dagster._cli as dagster_cli
import dagster._cli.dev as dagster_dev
import dagster._cli.utils as dagster_utils
import dagster._daemon.cli as dagster_daemon
import dagster._grpc.server as dagster_server
import uvicorn
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import HTTP_PROTOCOLS

from factible_assets.settings import Settings, load_settings
from factible_assets.web import access
from factible_assets.web.server import RequestTimeoutProtocol
from factible_assets.wording import web_address

_MODULE = "factible_assets.web.dagster_ui"
_ROLE_OF_MODULE = {"dagster_webserver": "web", "dagster._daemon": "daemon", "dagster": "code"}
_MOST_BODY_BYTES = 16 * 1024 * 1024
_EXIT_SECONDS = 30.0
_STREAM_SECONDS = 5
_REMINDER_SECONDS, _POLL_SECONDS = 20.0, 1.0

_SERVICE_PATHS = (access.DESK, "/api/v1/", "/reports/", "/feeds/", "/docs", "/openapi.json")

# Dagster's own scripts and files need other values of these two.
_HEADERS = {
    name: value
    for name, value in access.SECURITY_HEADERS.items()
    if name not in {"Content-Security-Policy", "Cache-Control"}
} | {"Referrer-Policy": "same-origin"}


def ui_policy(settings: Settings, name: str) -> access.AccessPolicy:
    """Return the access policy of a UI that listens under a host name or address.

    A browser asks its user for the token as a password. The UI sends many requests, so no quota
    applies.

    Raises SettingsError: Other machines can reach it, and there is no token or a too short one.
    """
    address = str(socket.getaddrinfo(name, None)[0][4][0])
    policy = access.AccessPolicy.from_settings(settings, name=name, address=address)
    return replace(
        policy,
        clients=replace(policy.clients, videos_per_day=None, requests_per_minute=None),
        challenge='Basic realm="Dagster; any name, the token as password"',
    )


def guarded_ui(app: ASGIApp, policy: access.AccessPolicy, service: FastAPI) -> ASGIApp:
    """Put Dagster's app and the service under one access control.

    Only administrators reach Dagster, because it can launch and delete everything. GraphQL is
    answered only by POST with the question in the body, so that no link or image can ask it.
    """
    from factible_assets.web.desk.answers import error_response  # noqa: PLC0415

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def close_runs_at_shutdown() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await service.state.shared.runs.close()
            return message

        if scope["type"] == "lifespan":
            await app(scope, close_runs_at_shutdown, send)
        elif scope["type"] == "http" and scope["path"].startswith(_SERVICE_PATHS):
            await service(scope, receive, send)
        elif problem := _problem_with(scope):
            await access.refuse(problem, error_response, scope, receive, send)
        else:
            await app(scope, receive, send)

    return access.AccessMiddleware(answer, policy, error_response, _HEADERS, _MOST_BODY_BYTES)


def _problem_with(scope: Scope) -> HTTPException | None:
    """Say why Dagster must not see a request."""
    if not scope["state"]["client"].may("admin"):
        words = f"Dagster's pages are for administrators. Yours are at {access.DESK}."
        return HTTPException(403, words)
    if scope["type"] != "http" or not scope["path"].rstrip("/").endswith("/graphql"):
        return None
    query = scope["query_string"]
    if query and scope["method"] in access.READING:
        return HTTPException(405, "Send questions by POST, as JSON.", {"Allow": "POST"})
    # Dagster answers a question in the address even if the POST has no body.
    if "query" in dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)):
        return HTTPException(400, "Send the question as JSON in the body, not in the address.")
    return None


def report_start(host: str, port: int) -> None:
    """Say on stderr when the UI answers, and until then that it is still starting."""
    started, reminders = time.monotonic(), 0
    while not _answers(host, port):
        time.sleep(_POLL_SECONDS)
        waited = time.monotonic() - started
        if waited > (reminders + 1) * _REMINDER_SECONDS:
            reminders += 1
            _say(f"Still starting after {waited:.0f} seconds: Dagster is loading.")
    _say(f"The Dagster UI answers on {web_address(host, port)}.")


def _say(words: str) -> None:
    with suppress(OSError, ValueError):  # The terminal is gone.
        print(words, file=sys.stderr, flush=True)


def _answers(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port), _POLL_SECONDS):
        return True
    return False


def _start(parts: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process of Dagster through this module."""
    interpreter, flag, module, *arguments = parts
    command = [interpreter, flag, _MODULE, _ROLE_OF_MODULE[module], str(os.getpid()), *arguments]
    return subprocess.Popen(command, **options)  # noqa: S603 - Dagster's own command line


def _end_with(parent: int) -> None:
    """End this process soon after its parent, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_EXIT_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def _serve_guarded(arguments: list[str]) -> None:
    """Run Dagster's web server with our app around its own."""
    # Only the web server's process needs these.
    import dagster_webserver.cli as dagster_web  # noqa: PLC0415

    from factible_assets.web.app import create_app  # noqa: PLC0415

    name = arguments[arguments.index("--host") + 1]
    settings = load_settings()
    policy = ui_policy(settings, name)
    service = create_app(settings, name=name, guarded_by=policy)
    web: Any = dagster_web
    make = web.create_app_from_workspace_process_context

    def make_guarded(*given: Any, **named: Any) -> ASGIApp:
        return guarded_ui(make(*given, **named), policy, service)

    web.create_app_from_workspace_process_context = make_guarded
    # Without a limit, an open stream would keep the server from ending.
    web.uvicorn = SimpleNamespace(
        run=partial(uvicorn.run, timeout_graceful_shutdown=_STREAM_SECONDS)
    )
    # Dagster lets uvicorn choose the protocol.
    HTTP_PROTOCOLS["auto"] = f"{RequestTimeoutProtocol.__module__}:RequestTimeoutProtocol"
    web.cli.main(arguments)


def main() -> None:
    role, *arguments = sys.argv[1:]
    dagster_utils._inject_local_env_file = lambda _: nullcontext()  # type: ignore[assignment, return-value]
    dagster_server.open_ipc_subprocess = _start  # type: ignore[attr-defined]
    if role == "dev":
        dagster_dev.open_ipc_subprocess = _start  # type: ignore[attr-defined]
        host, port = (arguments[arguments.index(flag) + 1] for flag in ("-h", "-p"))
        reporter = partial(report_start, host, int(port))
        threading.Thread(target=reporter, name="starting", daemon=True).start()
        # Dagster's successor of this command would start the processes without our access control.
        warnings.filterwarnings("ignore", message="Function `dev_command` is superseded")
        with tempfile.TemporaryDirectory(prefix="factible-dev-") as folder:
            os.environ["TMPDIR"] = folder  # Of all processes, whose sockets go with it.
            dagster_dev.dev_command.main(arguments)
    # Every command of Dagster below ends the process.
    parent, *arguments = arguments
    _end_with(int(parent))
    if role == "web":
        _serve_guarded(arguments)
    if role == "code":
        dagster_cli.cli.main(arguments)
    dagster_daemon.cli.main(arguments)


if __name__ == "__main__":
    main()
