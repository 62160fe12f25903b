"""Dagster's UI behind the walls of the service, the desk beside it, all ending with their starter.

What belongs here: what `factible dev` changes of `dagster dev`. What does not: what the walls are
(access.py), the desk (app.py, desk/), where the data folder is (launch.py).

Dagster's web server lets any page in the user's browser launch runs: it answers mutations by GET,
to any origin, under any name. Its processes outlive a `dagster dev` that is killed. And each takes
all that a `.env` of the working folder says into its environment, such as code to load. So all are
started through this module: `python -m factible_assets.web.dagster_ui`, then `dev`, or for
its children `web`, `daemon` or `code` with the process id of their starter.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
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
from factible_assets.wording import counted, web_address

_MODULE = "factible_assets.web.dagster_ui"
_ROLES = {"dagster_webserver": "web", "dagster._daemon": "daemon", "dagster": "code"}
_MOST_BODY_BYTES = 16 * 1024 * 1024
_GOODBYE_SECONDS = 30.0
_TEMPORARY = "factible-dev-"
_STREAM_SECONDS = 5
"""How long who follows a check is waited for at the end."""

_SERVICE = (access.DESK, "/api/v1/", "/reports/", "/docs", "/openapi.json")
"""What the service answers beside Dagster's own pages."""

_UNSUITED = {"Content-Security-Policy", "Cache-Control"}
"""What Dagster's own scripts and files could not live with."""

_HEADERS = {name: value for name, value in access.SECURITY_HEADERS.items() if name not in _UNSUITED}
_HEADERS["Referrer-Policy"] = "same-origin"


def admission(settings: Settings, name: str) -> access.Admission:
    """Return who is let in to the UI that listens on a host of that name or address.

    A browser asks its user for the token as a password. The UI asks often, and is not counted.

    Raises SettingsError: Others could reach it, and there is no token, or none that is a secret.
    """
    address = str(socket.getaddrinfo(name, None)[0][4][0])
    admits = access.Admission.of(settings, name=name, address=address)
    return replace(
        admits,
        clients=replace(admits.clients, videos_per_day=None, requests_per_minute=None),
        challenge='Basic realm="Dagster; any name, the token as password"',
    )


def behind_walls(app: ASGIApp, admits: access.Admission, service: FastAPI) -> ASGIApp:
    """Return Dagster's app, and the service beside it, behind the access.

    Dagster is asked by POST alone, and by administrators: who asks it can launch and delete all.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def until_the_end() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await service.state.house.runs.close()
            return message

        if scope["type"] == "lifespan":
            await app(scope, until_the_end, send)
            return
        path = scope["path"]
        if scope["type"] == "http" and path.startswith(_SERVICE):
            await service(scope, receive, send)
            return
        asks = scope["type"] == "http" and path.rstrip("/").endswith("/graphql")
        if not scope["state"]["client"].may("admin"):
            words = f"Dagster's pages are for administrators; yours are at {access.DESK}."
            await access.refuse(HTTPException(403, words), scope, receive, send)
        elif asks and scope["query_string"] and scope["method"] in access.READING:
            # A page anywhere can have an address loaded.
            problem = HTTPException(405, "Send questions by POST, as JSON.", {"Allow": "POST"})
            await access.refuse(problem, scope, receive, send)
        elif asks and "query" in dict(
            parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        ):
            # Dagster answers what stands in an address also if a POST brings no body.
            problem = HTTPException(
                400, "Send the question as JSON in the body, not in the address."
            )
            await access.refuse(problem, scope, receive, send)
        else:
            await app(scope, receive, send)

    return access.Walls(answer, admits, headers=_HEADERS, most_body_bytes=_MOST_BODY_BYTES)


class Starting:
    """Tells on stderr what the start of the UI waits for, as long as nobody answers there."""

    _FIRST_SECONDS, _NEXT_SECONDS, _LOOK_SECONDS = 15.0, 30.0, 1.0
    _WAITS_FOR: ClassVar = {
        "dev": "Dagster to load",
        "code": "the code server, which loads the pipeline",
        "daemon": "the web server and the daemon, which load Dagster",
    }

    def __init__(self, host: str, port: int) -> None:
        self._place = (host, port)
        self.role = "dev"
        """The process that was started last."""

    def tell(self) -> None:
        """Tell until the UI answers; the processes are watched by Dagster."""
        began, told = time.monotonic(), self._FIRST_SECONDS - self._NEXT_SECONDS
        while not self._answers():
            time.sleep(self._LOOK_SECONDS)
            waited = time.monotonic() - began
            if waited >= told + self._NEXT_SECONDS:
                told = waited
                waits_for = self._WAITS_FOR.get(self.role, self._WAITS_FOR["daemon"])
                _say(
                    f"Still starting after {waited:.0f} seconds: waiting for {waits_for}.{_busy()}"
                )
        _say(f"The Dagster UI answers on {web_address(*self._place)}.")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(self._place, self._LOOK_SECONDS):
                return True
        except OSError:
            return False


def _say(words: str) -> None:
    with suppress(OSError, ValueError):  # of a terminal that is gone
        print(words, file=sys.stderr, flush=True)


def _busy() -> str:
    """Say how busy the machine is, if it is."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < 2 * cores:
        return ""
    return f" The machine is busy: {load:.0f} processes want its {counted(cores, 'core')}."


def _start(
    parts: Sequence[str], starting: Starting | None = None, **options: Any
) -> subprocess.Popen[Any]:
    interpreter, flag, module, *arguments = parts
    if starting is not None:
        starting.role = _ROLES[module]
    role = [_ROLES[module], str(os.getpid())]
    command = [interpreter, flag, _MODULE, *role, *arguments]
    return subprocess.Popen(command, **options)  # noqa: S603 - Dagster's own command line


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """Lead temporary files of all processes below into one folder, which is gone at the end.

    Dagster leaves its sockets where it is killed. Its start removes the folders that nobody locks.
    """
    common = Path(tempfile.gettempdir())
    made = Path(tempfile.mkdtemp(prefix=f".{_TEMPORARY}"))
    held = os.open(made, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    folder = made.rename(common / made.name[1:])  # under its own name it appears locked
    for other in common.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):  # locked, another user's, or gone
            descriptor = os.open(other, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(other)
            finally:
                os.close(descriptor)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        os.environ["TMPDIR"] = tempfile.tempdir = str(common)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _end_with(starter: int) -> None:
    """End this process soon after its starter has ended, however that came about."""

    def watch() -> None:
        while os.getppid() == starter:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GOODBYE_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end-with-starter", daemon=True).start()


def _serve_walled(arguments: list[str]) -> None:
    # Not for the others.
    import dagster_webserver.cli as dagster_web  # noqa: PLC0415

    from factible_assets.web.app import create_app  # noqa: PLC0415

    name = arguments[arguments.index("--host") + 1]
    settings = load_settings()
    admits = admission(settings, name)
    service = create_app(settings, name=name, admission=admits)
    web: Any = dagster_web
    make = web.create_app_from_workspace_process_context

    def walled(*given: Any, **named: Any) -> ASGIApp:
        return behind_walls(make(*given, **named), admits, service)

    web.create_app_from_workspace_process_context = walled
    # Whoever follows a check would keep the server from ending.
    run = partial(uvicorn.run, timeout_graceful_shutdown=_STREAM_SECONDS)
    web.uvicorn = SimpleNamespace(run=run)
    # Dagster leaves uvicorn the choice of the protocol.
    HTTP_PROTOCOLS["auto"] = (
        f"{access.ImpatientProtocol.__module__}:{access.ImpatientProtocol.__qualname__}"
    )
    web.cli.main(arguments)


def main() -> None:
    """Be one of the processes."""
    role, *arguments = sys.argv[1:]
    dagster_utils._inject_local_env_file = lambda _: nullcontext()  # type: ignore[assignment, return-value]
    dagster_server.open_ipc_subprocess = _start  # type: ignore[attr-defined]
    if role == "dev":
        host, port = (arguments[arguments.index(flag) + 1] for flag in ("-h", "-p"))
        starting = Starting(host, int(port))
        started = partial(_start, starting=starting)
        dagster_server.open_ipc_subprocess = started  # type: ignore[attr-defined]
        dagster_dev.open_ipc_subprocess = started  # type: ignore[attr-defined]
        threading.Thread(target=starting.tell, name="starting", daemon=True).start()
        # What stands in for it starts these processes otherwise, and without the access.
        warnings.filterwarnings("ignore", message="Function `dev_command` is superseded")
        with own_temporary_folder():
            dagster_dev.dev_command.main(arguments)
    starter, *arguments = arguments
    _end_with(int(starter))
    if role == "web":
        _serve_walled(arguments)
    if role == "code":
        dagster_cli.cli.main(arguments)
    dagster_daemon.cli.main(arguments)


if __name__ == "__main__":
    main()
