"""A model file on this machine as a language model, served by one process for all runs.

local_server.py is that process. It needs the package xllamacpp (the extra `local`).
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import json
import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import SecretStr

from resources.errors import install_command
from resources.llm import backend, base, local_server
from resources.llm.limits import RateLimiter
from resources.llm.openai import OpenAIBackend
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo, Price, ProviderInfo
from resources.llm.structured import StructuredModel

_log = logging.getLogger(__name__)

PROVIDER = "local"
_POLL_SECONDS = 0.1
_REPORT_SECONDS = 15.0
_IDLE_SECONDS = 30.0
"""How long an idle user keeps the server."""
_LINGER_SECONDS = 5.0
"""How long a server outlives its last user, so that successive commands load the model once."""
_ANSWER_SECONDS = 1_800.0
"""An answer takes a second on two idle cores, but waits for the answers of all other runs."""
_STARTED: list[subprocess.Popen[bytes]] = []
"""Child processes not reaped yet. They may outlive a `LocalServer`."""
_CORES_OF_A_SLOT, _MOST_SLOTS, _MOST_THREADS = 4, 4, 16


def is_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    key: SecretStr


class LocalServer:
    """One user of the server process of a model file. Close it after use.

    `folder`, private to this account, holds its locks, address and log. The first user starts the
    server. It ends some seconds after its last user, however that one ends. A user that is idle for
    half a minute no longer counts.
    """

    def __init__(
        self, weights: Path, folder: Path, *, linger_seconds: float = _LINGER_SECONDS
    ) -> None:
        self._weights, self._folder, self._linger = weights, folder, linger_seconds
        # macOS has no such function.
        usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        self._cores = len(usable(0))
        self.slots = max(1, min(_MOST_SLOTS, self._cores // _CORES_OF_A_SLOT))
        self._held: IO[bytes] | None = None
        self._asking = 0
        self._release_later: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Address]:
        """Keep the server alive for one question; start it if necessary.

        Raises BackendError if the server does not start or the model does not load.
        """
        self._asking += 1
        if self._release_later is not None:
            self._release_later.cancel()
        try:
            yield await self._address()
        finally:
            self._asking -= 1
            if not self._asking:
                loop = asyncio.get_running_loop()
                self._release_later = loop.call_later(_IDLE_SECONDS, self.close)

    def close(self) -> None:
        if self._release_later is not None:
            self._release_later.cancel()
            self._release_later = None
        if self._held is not None:
            self._held.close()
            self._held = None
        _STARTED[:] = [process for process in _STARTED if process.poll() is None]

    async def _address(self) -> Address:
        began = reported = time.monotonic()
        started: subprocess.Popen[bytes] | None = None
        while True:
            if self._hold():
                if self._is_served():
                    if address := self._read():
                        return address
                elif started is None or (status := started.poll()) == 0:
                    # Status 0: it found another server.
                    started = self._start()
                elif status is not None:
                    raise backend.BackendError("lasting", self._failure())
            now = time.monotonic()
            if now - reported >= _REPORT_SECONDS:
                reported = now
                _log.warning(
                    "Waiting for the model %s to load (%.0f seconds so far).",
                    self._weights.name,
                    now - began,
                )
            await asyncio.sleep(_POLL_SECONDS)

    def _hold(self) -> bool:
        """Become a user; False while an unused server is ending."""
        if self._held is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                file = (self._folder / local_server.USERS).open("ab")
            except OSError as error:
                raise backend.BackendError(
                    "lasting",
                    f"the folder {self._folder} cannot be written ({error.strerror}); correct its "
                    "permissions",
                ) from None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            self._held = file
        return True

    def _is_served(self) -> bool:
        """Tell whether a server is alive, by its lock."""
        try:
            with (self._folder / local_server.LOCK).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def _read(self) -> Address | None:
        """Return the server's address; None while it loads."""
        try:
            written = json.loads((self._folder / local_server.LOCK).read_bytes())
            return Address(written["url"], SecretStr(written["key"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _start(self) -> subprocess.Popen[bytes]:
        if not is_installed():
            raise backend.BackendError(
                "lasting", f"the package xllamacpp is not installed: {install_command('local')}"
            )
        arguments = (self._weights, self._folder, self._linger, self._idle_cores(), self.slots)
        with (self._folder / local_server.LOG).open("wb") as log:
            started = subprocess.Popen(  # noqa: S603 - our own module
                # -P: a file in the working folder cannot pose as the module.
                [sys.executable, "-P", "-m", local_server.__name__, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C ends the users; the server ends after them.
                start_new_session=True,
            )
        _STARTED.append(started)
        return started

    def _idle_cores(self) -> int:
        """Return the number of threads for the server: the idle share of the cores, rounded up.

        Its threads wait for each other after every step. On a busy machine two do less than one.
        The load of the caller counts too, but the caller waits while the server works.
        """
        idle = max(0.0, 1.0 - os.getloadavg()[0] / (os.cpu_count() or 1))
        return max(1, min(_MOST_THREADS, math.ceil(self._cores * idle)))

    def _failure(self) -> str:
        log = ""
        with suppress(OSError):
            log = (self._folder / local_server.LOG).read_text("utf-8", "replace")
        last = backend.one_line("".join(log.strip().splitlines()[-1:]))
        end = f"; the end of {self._folder / local_server.LOG}: {last}" if last else ""
        return f"the model {self._weights.name} could not be loaded{end}"


class _LocalBackend(OpenAIBackend):
    """The model of a server process, whose address changes with each restart."""

    def __init__(self, info: ModelInfo, server: LocalServer, policy: backend.CallPolicy) -> None:
        self._server = server
        self._at: Address | None = None
        super().__init__(info, ProviderInfo(PROVIDER, "openai", "http://127.0.0.1"), None, policy)
        self.host = "this machine"

    async def ask(
        self, messages: Sequence[Message], request: base.ModelRequest[Any], mode: base.AnswerMode
    ) -> backend.Reply:
        async with self._server.use() as address:
            if address != self._at:
                old, self._at = self._client, address
                self._client = old.with_options(
                    base_url=f"{address.url}/v1", api_key=address.key.get_secret_value()
                )
                self._secrets = (address.key,)
            return await super().ask(messages, request, mode)

    async def aclose(self) -> None:
        self._server.close()
        await super().aclose()


def local_model(name: str, identity: str, server: LocalServer) -> StructuredModel:
    """Return the model of a server process.

    `identity` tells model files apart in a cache, at any address: the SHA-256 of the file.
    """
    # `ask` waits for the model to load as long as the process lives.
    policy = backend.CallPolicy(answer_seconds=_ANSWER_SECONDS, patience_seconds=_ANSWER_SECONDS)
    info = ModelInfo(name, PROVIDER, local_server.CONTEXT_TOKENS, Price(0.0, 0.0))
    model = StructuredModel(
        _LocalBackend(info, server, policy), limiter=RateLimiter(max_concurrent=server.slots)
    )
    model.identity = f"{PROVIDER} {identity}"
    return model
