"""The process that serves one model file to all runs of a data folder.

There are two processes: a keeper, and the llama.cpp server (of the wheel xllamacpp) that it starts.
Loading a model blocks all threads of a Python process, for minutes on a busy machine, so the keeper
must be separate. Three kernel locks, which a process loses however it ends, show what is alive:

- The keeper holds `server.lock`; if it is free, there is no server. The file has the address as
  JSON once the model is loaded.
- All users share `users.lock`. If the keeper can take it exclusively, nobody uses the model.
- The server reads its standard input, a pipe from the keeper. It ends with the keeper.

Users of the model import nothing from xllamacpp.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

LOCK, USERS, LOG = "server.lock", "users.lock", "server.log"
CONTEXT_TOKENS = 2_048
"""Tokens of a slot: instructions, examples and one question need about half of them."""

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0


def keep(weights: Path, folder: Path, linger_seconds: float, threads: int, slots: int) -> int:
    """Serve a model until it has had no user for `linger_seconds`; return an exit status.

    Returns 0 at once if another process already serves it.
    """
    lock = _take(folder / LOCK)
    if lock is None:
        return 0
    lock.truncate(0)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    key = secrets.token_urlsafe(32)
    command = [sys.executable, "-P", "-m", __spec__.name, "serve", str(weights)]
    with subprocess.Popen(  # noqa: S603 - our own module
        [*command, str(threads), str(slots)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None  # noqa: S101 - for the type checker
        try:
            # The key goes through the pipe, because everybody can see command lines.
            server.stdin.write(f"{key}\n")
            server.stdin.flush()
            threading.Thread(
                target=_publish, args=(server.stdout, lock, key, slots), daemon=True
            ).start()
            _wait(server, folder / USERS, linger_seconds)
            status = server.poll() or 0
            return status if status >= 0 else 1
        finally:
            lock.truncate(0)
            server.kill()


def _wait(server: subprocess.Popen[str], users: Path, linger_seconds: float) -> None:
    """Wait until the server ends or has had no users for `linger_seconds`."""
    unused_since: float | None = None
    with users.open("ab") as file:
        while server.poll() is None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                unused_since = None
            else:
                now = time.monotonic()
                unused_since = unused_since or now
                if now - unused_since >= linger_seconds:
                    return  # keep the lock: no new user while the server ends
                fcntl.flock(file, fcntl.LOCK_UN)
            time.sleep(_POLL_SECONDS)


def _publish(output: IO[str], lock: IO[bytes], key: str, slots: int) -> None:
    url = output.readline().strip()
    if url:
        lock.write(json.dumps({"url": url, "key": key, "slots": slots}).encode())
        lock.flush()


def _take(path: Path) -> IO[bytes] | None:
    """Lock a file for this process; None if another process holds it.

    It retries for some seconds, because a process that tests the lock holds it for a moment.
    """
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                file.close()
                return None
            time.sleep(0.05)
        else:
            return file


def _leave(*_: Any) -> None:
    raise SystemExit(0)


# --- The server itself --------------------------------------------------------------------------


def serve(weights: Path, threads: int, slots: int) -> int:
    """Load a model, print the address, and serve until standard input ends."""
    key = sys.stdin.readline().strip()
    import xllamacpp  # noqa: PLC0415 - the keeper does not need it

    params: Any = xllamacpp.CommonParams()
    params.model.path, params.hostnames, params.port = str(weights), ["127.0.0.1"], 0
    params.api_keys = [key]
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # Old prompts are not kept: what all share, the instructions, stays in each slot.
    params.cache_ram_mib = 0
    params.warmup = params.ui = False
    params.verbosity = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads may be in the middle of an answer


def main(arguments: list[str]) -> int:
    """Run as `keep WEIGHTS FOLDER LINGER THREADS SLOTS` or `serve WEIGHTS THREADS SLOTS`."""
    command, weights, *rest, threads, slots = arguments
    if command == "keep":
        folder, linger = rest
        return keep(Path(weights), Path(folder), float(linger), int(threads), int(slots))
    return serve(Path(weights), int(threads), int(slots))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
