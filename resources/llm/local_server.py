"""The process that serves one model file to all runs of a data folder, with llama.cpp (xllamacpp).

Two kernel locks, which a process loses however it ends, show what is alive:

- The server holds `server.lock`; if it is free, there is no server. The file has the address as
  JSON once the model is loaded.
- All users share `users.lock`. If the server can take it exclusively, nobody uses the model. It
  cannot look while it loads the model, because that blocks all threads of a Python process.

Users of the model import nothing from xllamacpp.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import IO, Any

LOCK, USERS, LOG = "server.lock", "users.lock", "server.log"
CONTEXT_TOKENS = 2_048
"""Tokens of a slot: instructions, examples and one question need about half of them."""
_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0


def main(weights: str, folder: str, linger_seconds: str, threads: str, slots: str) -> int:
    """Serve a model until it has had no user for `linger_seconds`; return an exit status.

    Returns 0 at once if another process already serves it.
    """
    lock = _take(Path(folder) / LOCK)
    if lock is None:
        return 0
    lock.truncate(0)
    key = secrets.token_urlsafe(32)
    server = _load(weights, key, int(threads), int(slots))
    lock.write(json.dumps({"url": server.listening_address, "key": key}).encode())
    lock.flush()
    _wait(Path(folder) / USERS, float(linger_seconds))
    lock.truncate(0)
    os._exit(0)  # its threads may be in the middle of an answer


def _load(weights: str, key: str, threads: int, slots: int) -> Any:
    import xllamacpp  # noqa: PLC0415 - a process that finds another server does not need it

    params: Any = xllamacpp.CommonParams()
    params.model.path, params.hostnames, params.port = weights, ["127.0.0.1"], 0
    params.api_keys = [key]
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # No cache of old prompts: the common part, the instructions, stays in each slot.
    params.cache_ram_mib = 0
    params.warmup = params.ui = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def _wait(users: Path, linger_seconds: float) -> None:
    """Wait until there have been no users for `linger_seconds`."""
    unused_since: float | None = None
    # Stays open: after the return it keeps its lock, so that no new user comes.
    descriptor = os.open(users, os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            unused_since = None
        else:
            unused_since = unused_since or time.monotonic()
            if time.monotonic() - unused_since >= linger_seconds:
                return
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(_POLL_SECONDS)


def _take(path: Path) -> IO[bytes] | None:
    """Lock a file for this process; None if another process holds it.

    It retries for some seconds, because a process that tests the lock holds it for a moment.
    """
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return file
    file.close()
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
