"""A model file of this machine as a language model that is asked for its next token.

Holding the machine's one server process while it is needed, and asking it, belong here. That
process does not (local_server.py). It needs the package xllamacpp, of the extra `local`.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from pydantic import SecretStr

from resources.llm import backend, base, local_server
from resources.llm.labels_openai import OpenAILabels
from resources.llm.limits import RateLimiter
from resources.llm.prompt import Message
from resources.llm.registry import ModelInfo, Price, ProviderInfo
from resources.llm.structured import StructuredModel

_log = logging.getLogger(__name__)

PROVIDER = "local"
_POLL_SECONDS = 0.1
_SAID_EVERY_SECONDS = 15.0
_IDLE_SECONDS = 30.0
"""How long a user that asks nothing keeps the server."""
_LINGER_SECONDS = 5.0
"""How long a server without users goes on, so that commands in a row load the model once."""
_ANSWER_SECONDS = 1_800.0
"""An answer takes a second on two quiet cores, and waits for those of all other runs."""
_STARTED: list[subprocess.Popen[bytes]] = []
"""Servers that this process started and has not reaped yet. They may outlive a `LocalServer`."""
_CORES_OF_A_SLOT, _MOST_SLOTS, _MOST_THREADS = 4, 4, 16


def is_installed() -> bool:
    """Tell whether the extra `local` is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and the key that it wants."""

    url: str
    key: SecretStr


class LocalServer:
    """A user's hold on the server process of one model file. Close it after use.

    `folder` is where its locks, its address and its log lie. It is for this user alone. The server
    is started by whoever needs it first, and ends some seconds after its last user, however that
    ends; a user that asks nothing for half a minute counts as none.
    """

    def __init__(
        self,
        weights: Path,
        folder: Path,
        *,
        cores: int | None = None,
        linger_seconds: float = _LINGER_SECONDS,
    ) -> None:
        self._weights, self._folder, self._linger = weights, folder, linger_seconds
        cores = cores or len(os.sched_getaffinity(0))
        self.slots = max(1, min(_MOST_SLOTS, cores // _CORES_OF_A_SLOT))
        self._cores = cores
        self._held: IO[bytes] | None = None
        self._asking = 0
        self._release_later: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Address]:
        """Hold the server for one question, and start it if there is none.

        Raises:
            BackendError: The server cannot be started, or the model cannot be loaded.
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
        """Stop being a user of the server."""
        if self._release_later is not None:
            self._release_later.cancel()
            self._release_later = None
        if self._held is not None:
            self._held.close()
            self._held = None
        _STARTED[:] = [each for each in _STARTED if each.poll() is None]

    async def _address(self) -> Address:
        began = said = time.monotonic()
        started: subprocess.Popen[bytes] | None = None
        while True:
            if self._hold():
                if self._is_served():
                    if found := self._read():
                        return found
                elif started is None or (status := started.poll()) == 0:
                    # One that found another server to be starting has ended with 0.
                    started = self._start()
                elif status is not None:
                    raise backend.BackendError("lasting", self._failure())
            now = time.monotonic()
            if now - said >= _SAID_EVERY_SECONDS:
                said = now
                _log.warning(
                    "Waiting for the model %s to load (%.0f seconds so far).",
                    self._weights.name,
                    now - began,
                )
            await asyncio.sleep(_POLL_SECONDS)

    def _hold(self) -> bool:
        """Become a user; False while the server that nobody used any more is ending."""
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
        """Tell whether a keeper is alive: it holds its lock."""
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
            said = json.loads((self._folder / local_server.LOCK).read_bytes())
            return Address(said["url"], SecretStr(said["key"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _start(self) -> subprocess.Popen[bytes]:
        if not is_installed():
            raise backend.BackendError(
                "lasting",
                "the package xllamacpp is not installed; install it with "
                "`pip install 'factible-assets[local]'`",
            )
        given = (self._weights, self._folder, self._linger, self._idle_cores(), self.slots)
        with (self._folder / local_server.LOG).open("wb") as log:
            started = subprocess.Popen(  # noqa: S603 - our own module
                # -P: nothing in the present folder is taken for the module.
                [sys.executable, "-P", "-m", local_server.__name__, "keep", *map(str, given)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C ends the users; the server ends after them.
                start_new_session=True,
            )
        _STARTED.append(started)
        return started

    def _idle_cores(self) -> int:
        """Return how many threads the server gets: the idle share of the cores.

        Its threads wait for each other after every step. On a busy machine two of them work less
        than one alone.
        """
        idle = max(0.0, 1.0 - os.getloadavg()[0] / (os.cpu_count() or 1))
        return max(1, min(_MOST_THREADS, round(self._cores * idle)))

    def _failure(self) -> str:
        try:
            log = (self._folder / local_server.LOG).read_text("utf-8", "replace")
        except OSError:
            log = ""
        said = backend.one_line("".join(log.strip().splitlines()[-1:]))
        return (
            f"the model {self._weights.name} could not be loaded"
            f"{f'; the end of {self._folder / local_server.LOG}: {said}' if said else ''}"
        )


class _LocalLabels(OpenAILabels):
    """The model of a server process that may be another one, at another address, each time."""

    def __init__(self, info: ModelInfo, server: LocalServer, policy: backend.CallPolicy) -> None:
        self._server = server
        self._at: Address | None = None
        super().__init__(info, ProviderInfo(PROVIDER, "openai", "http://127.0.0.1"), None, policy)
        self.host = "this machine"

    async def ask(
        self, messages: Sequence[Message], request: base.ModelRequest[Any], mode: base.AnswerMode
    ) -> backend.Reply:
        """Send one request; see Backend.ask."""
        async with self._server.use() as address:
            if address != self._at:
                old, self._at = self._client, address
                self._client = old.with_options(
                    base_url=f"{address.url}/v1", api_key=address.key.get_secret_value()
                )
                self._secrets = (address.key,)
            return await super().ask(messages, request, mode)

    async def aclose(self) -> None:
        """Close the client, and stop being a user of the server."""
        self._server.close()
        await super().aclose()


def local_model(name: str, identity: str, server: LocalServer) -> StructuredModel:
    """Return the model of a server process, which answers with its next token's alternatives.

    `identity` tells apart model files in a cache, whatever the address: the SHA-256 of the file.
    """
    policy = backend.CallPolicy(answer_seconds=_ANSWER_SECONDS)
    # Loading is waited for in `ask`, as long as the process lives.
    policy = replace(policy, patience_seconds=_ANSWER_SECONDS)
    info = ModelInfo(name, PROVIDER, local_server.CONTEXT_TOKENS, Price(0.0, 0.0))
    model = StructuredModel(
        _LocalLabels(info, server, policy), limiter=RateLimiter(max_concurrent=server.slots)
    )
    model.identity = f"{PROVIDER} {identity}"
    return model
